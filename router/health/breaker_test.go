package health

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The tests run in bubbles, whose clock stands still while anything runs: a busy
// machine can neither end a window early nor close a breaker in between.

func settings() BreakerSettings {
	return BreakerSettings{Failures: 5, Consecutive: 3, Window: time.Hour, OpenFor: time.Minute, Lease: time.Minute}
}

func grant(t testing.TB, b *Breaker) *Grant {
	t.Helper()
	g, ok := b.Allow()
	if !ok {
		t.Fatal("refused")
	}
	return g
}

// halfOpen lets the time pass after which the breaker admits a probe.
func halfOpen(t testing.TB, b *Breaker) {
	t.Helper()
	<-time.After(b.set.OpenFor + time.Nanosecond)
	if got := state(b); got != "half-open" {
		t.Fatalf("%s when its time has passed", got)
	}
}

func state(b *Breaker) string { return b.State(time.Now().UnixNano()) }

func TestBreakerRules(t *testing.T) {
	for name, c := range map[string]struct {
		outcomes string // f failure, s success, n neutral
		want     string
	}{
		"two in a row stay closed":         {"ff", "closed"},
		"three in a row open":              {"fff", "open"},
		"a success breaks the row":         {"ffsff", "closed"},
		"a neutral end does not break it":  {"ffnf", "open"},
		"a thousand neutral ends":          {"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn", "closed"},
		"five in the window open":          {"ffsfsfsf", "open"},
		"four in the window do not":        {"ffsfsf", "closed"},
		"successes do not outweigh so few": {"ssssssssssfff", "open"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := NewBreaker(settings())
				for _, o := range c.outcomes {
					g := grant(t, b)
					switch o {
					case 'f':
						g.Failure()
					case 's':
						g.Success()
					default:
						g.Neutral()
					}
				}
				if got := state(b); got != c.want {
					t.Errorf("%s after %s", got, c.outcomes)
				}
			})
		})
	}
}

// Rolling buckets forget failures that are far apart; the row must not.
func TestSlowSeriesOfFailuresOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := settings()
		set.Window, set.OpenFor = 10*time.Millisecond, time.Minute
		b := NewBreaker(set)
		for range 3 {
			grant(t, b).Failure()
			<-time.After(12 * time.Millisecond) // longer than the window
		}
		if state(b) != "open" {
			t.Errorf("three failures in a row, each in a window of its own: %s", state(b))
		}
	})
}

func TestOneProbeOfTwoHundredConcurrentRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBreaker(settings())
		for range 3 {
			grant(t, b).Failure()
		}
		halfOpen(t, b)
		var probes atomic.Int64
		var wg sync.WaitGroup
		begin := make(chan struct{})
		for range 200 {
			wg.Go(func() {
				<-begin
				if _, ok := b.Allow(); ok {
					probes.Add(1)
				}
			})
		}
		close(begin)
		wg.Wait()
		if n := probes.Load(); n != 1 {
			t.Errorf("%d probes", n)
		}
		if ok, again := b.Peek(time.Now().UnixNano()); ok || again == 0 {
			t.Error("selection still sees a place for a second probe")
		}
	})
}

func TestProbeThatNeverReportsLosesItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := settings()
		set.Lease = 5 * time.Millisecond
		b := NewBreaker(set)
		for range 3 {
			grant(t, b).Failure()
		}
		halfOpen(t, b)
		lost := grant(t, b)
		<-time.After(10 * time.Millisecond)
		second := grant(t, b)
		lost.Success() // too late: it must not close the breaker
		if state(b) != "half-open" {
			t.Errorf("a late report made it %s", state(b))
		}
		second.Success()
		if state(b) != "closed" {
			t.Errorf("%s after a good probe", state(b))
		}
	})
}

func TestProbeDecides(t *testing.T) {
	for outcome, want := range map[string]string{"f": "open", "s": "closed", "n": "half-open"} {
		synctest.Test(t, func(t *testing.T) {
			b := NewBreaker(settings())
			for range 3 {
				grant(t, b).Failure()
			}
			halfOpen(t, b)
			g := grant(t, b)
			switch outcome {
			case "f":
				g.Failure()
			case "s":
				g.Success()
			case "n":
				g.Neutral()
			}
			if got := state(b); got != want {
				t.Errorf("%s after a probe that ended %s, want %s", got, outcome, want)
			}
			if outcome == "n" {
				grant(t, b).Success() // the place is free again
			}
		})
	}
}

func TestTakenBackFailureClosesTheBreakerAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := settings()
		set.OpenFor = time.Minute
		b := NewBreaker(set)
		grant(t, b).Failure()
		grant(t, b).Failure()
		last := grant(t, b).Failure()
		if state(b) != "open" {
			t.Fatal("not open")
		}
		b.TakeBack(last)
		if state(b) != "closed" {
			t.Fatalf("%s after the third failure was taken back", state(b))
		}
		b.TakeBack(last) // a second time changes nothing
		grant(t, b).Failure()
		if state(b) != "open" {
			t.Error("the two failures that stayed were forgotten")
		}
	})
}

func TestStaleGrantsSayNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBreaker(settings())
		old := make([]*Grant, 10)
		for i := range old {
			old[i] = grant(t, b)
		}
		for range 3 {
			grant(t, b).Failure()
		}
		halfOpen(t, b)
		grant(t, b).Success()
		for _, g := range old {
			g.Failure()
		}
		if state(b) != "closed" {
			t.Errorf("answers to requests of before made it %s", state(b))
		}
		grant(t, b).Failure()
		if state(b) != "closed" {
			t.Errorf("old failures were counted into a new row: %s", state(b))
		}
	})
}
