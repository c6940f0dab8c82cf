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
	return BreakerSettings{Failures: 5, Consecutive: 3, Window: time.Hour, OpenFor: time.Minute}
}

func grant(t testing.TB, b *Breaker) *Grant {
	t.Helper()
	g, ok := b.Test()
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
						g.Failure(false)
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
			grant(t, b).Failure(false)
			<-time.After(12 * time.Millisecond) // longer than the window
		}
		if state(b) != "open" {
			t.Errorf("three failures in a row, each in a window of its own: %s", state(b))
		}
	})
}

func TestOneTestOfTwoHundredAndNoRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBreaker(settings())
		for range 3 {
			grant(t, b).Failure(false)
		}
		halfOpen(t, b)
		var tests, runs atomic.Int64
		var wg sync.WaitGroup
		begin := make(chan struct{})
		for range 200 {
			wg.Go(func() {
				<-begin
				if _, ok := b.Allow(); ok {
					runs.Add(1)
				}
				if _, ok := b.Test(); ok {
					tests.Add(1)
				}
			})
		}
		close(begin)
		wg.Wait()
		if tests.Load() != 1 || runs.Load() != 0 {
			t.Errorf("%d tests and %d runs", tests.Load(), runs.Load())
		}
		if ok, again := b.Peek(time.Now().UnixNano()); ok || again <= time.Now().UnixNano() {
			t.Error("selection sees a place for a run, or when to look for one is over")
		}
	})
}

func TestProbeDecides(t *testing.T) {
	for outcome, want := range map[string]string{"f": "open", "s": "closed", "n": "half-open"} {
		synctest.Test(t, func(t *testing.T) {
			b := NewBreaker(settings())
			for range 3 {
				grant(t, b).Failure(false)
			}
			halfOpen(t, b)
			g := grant(t, b)
			switch outcome {
			case "f":
				g.Failure(false)
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

func TestStaleGrantsSayNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBreaker(settings())
		old := make([]*Grant, 10)
		for i := range old {
			old[i] = grant(t, b)
		}
		for range 3 {
			grant(t, b).Failure(false)
		}
		halfOpen(t, b)
		grant(t, b).Success()
		for _, g := range old {
			g.Failure(false)
		}
		if state(b) != "closed" {
			t.Errorf("answers to requests of before made it %s", state(b))
		}
		grant(t, b).Failure(false)
		if state(b) != "closed" {
			t.Errorf("old failures were counted into a new row: %s", state(b))
		}
	})
}

// Where no test can tell, one run takes the half-open grant.
func TestByRunsOneRequestIsTheProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBreaker(settings())
		b.ByRuns(true)
		for range 3 {
			g, ok := b.Allow()
			if !ok {
				t.Fatal("refused while closed")
			}
			g.Failure(false)
		}
		if _, ok := b.Allow(); ok {
			t.Error("a run while it is open")
		}
		halfOpen(t, b)
		if ok, _ := b.Peek(time.Now().UnixNano()); !ok {
			t.Error("selection sees no place for the one request")
		}
		first, ok := b.Allow()
		_, second := b.Allow()
		if !ok || second {
			t.Fatalf("first %v, second %v", ok, second)
		}
		if ok, _ := b.Peek(time.Now().UnixNano()); ok {
			t.Error("selection sees a place for a second one")
		}
		first.Success()
		if state(b) != "closed" {
			t.Error(state(b))
		}
	})
}

func TestOneMarkOpensThePairOfManyStrikes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBreaker(settings())
		grant(t, b).Failure(true)
		if state(b) != "open" {
			t.Error(state(b))
		}
	})
}
