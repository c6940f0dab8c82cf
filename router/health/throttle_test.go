package health

import (
	"fmt"
	"testing"
	"time"
)

const base = 5 * time.Second

func TestLongestWindowWinsInAnyOrder(t *testing.T) {
	for name, waits := range map[string][]time.Duration{
		"rising":  {time.Second, 5 * time.Second, 20 * time.Second},
		"falling": {20 * time.Second, 5 * time.Second, time.Second},
		"mixed":   {5 * time.Second, 20 * time.Second, 0},
	} {
		var w Throttle
		for i, d := range waits { // all were in flight before the first answer
			w.Refused(t0.Add(time.Duration(i)*time.Millisecond), t0.Add(-time.Second), d, time.Second, time.Hour, true)
		}
		if ok, _ := w.Peek(t0.Add(19 * time.Second).UnixNano()); ok {
			t.Errorf("%s: open after 19 s", name)
		}
		if ok, _ := w.Peek(t0.Add(21 * time.Second).UnixNano()); !ok {
			t.Errorf("%s: still closed after 21 s", name)
		}
	}
}

// E04: hosts that say 0, or nothing, are left alone for longer each time.
func TestFloorGrowsWithEachRefusalAndShrinksWithEachSuccess(t *testing.T) {
	for name, c := range map[string]struct {
		events string // r: refused when the window has ended, b: one more of the same burst, s: served, w: 6 minutes pass
		want   string
	}{
		"E04 six in a row":                 {"rrrrrr", "5s 10s 20s 40s 1m0s 1m0s"},
		"E04 many answers of one moment":   {"rbbbr", "5s 5s 5s 5s 10s"},
		"a success halves it":              {"rrrsr", "5s 10s 20s 20s"},
		"many successes forget it":         {"rrrsssssr", "5s 10s 20s 5s"},
		"forgotten after five minutes":     {"rrwr", "5s 10s 5s"},
		"a success without a window is no": {"sr", "5s"},
	} {
		t.Run(name, func(t *testing.T) {
			var w Throttle
			now, got := t0, ""
			for _, e := range c.events {
				switch e {
				case 's':
					now = now.Add(time.Second)
					w.Served(now)
				case 'w':
					now = now.Add(6 * time.Minute)
				case 'b', 'r':
					sent := now
					if e == 'b' {
						sent = t0.Add(-time.Second)
					}
					until, test := w.Refused(now, sent, 0, base, 10*time.Minute, true)
					if test {
						t.Error("a test of nothing asked")
					}
					got += fmt.Sprint(" ", until.Sub(now).Round(time.Second))
					if e == 'r' && len(c.events) > 1 && c.events[1] != 'b' {
						now = until
					}
				}
			}
			if got[1:] != c.want {
				t.Errorf("%s, want %s", got[1:], c.want)
			}
		})
	}
}

func TestLongWaitsAreBelievedAfterATest(t *testing.T) {
	var w Throttle
	until, test := w.Refused(t0, t0, time.Hour, base, 10*time.Minute, true)
	if until.Sub(t0) != time.Minute || !test {
		t.Fatalf("closed for %s, test %v", until.Sub(t0), test)
	}
	if ok, again := w.Peek(until.Add(time.Second).UnixNano()); ok || again <= until.UnixNano() {
		t.Error("a run may pass before the test")
	}
	now := until.Add(time.Second)
	if until = w.TestedAgain(now, now, 0, base, 10*time.Minute); until.Sub(now) != 10*time.Minute {
		t.Errorf("after a refused test closed for %s", until.Sub(now))
	}
	w.Over(until) // a test that passed
	if ok, _ := w.Peek(until.UnixNano()); !ok || !w.Asked(until.UnixNano()).IsZero() {
		t.Error("a passed test did not end it")
	}
	w.Refused(until, until, time.Hour, base, 10*time.Minute, true)
	w.Over(until.Add(-time.Second)) // sent before
	if ok, _ := w.Peek(until.UnixNano()); ok {
		t.Error("a test of before ended a newer window")
	}
}

func TestWithoutTestsOnlyASecondRefusalIsBelievedForLonger(t *testing.T) {
	var w Throttle
	until, test := w.Refused(t0, t0, time.Hour, base, 10*time.Minute, false)
	if until.Sub(t0) != time.Minute || test {
		t.Fatalf("closed for %s, test %v", until.Sub(t0), test)
	}
	if ok, _ := w.Peek(until.UnixNano()); !ok {
		t.Fatal("nobody finds out")
	}
	if again, _ := w.Refused(until, until, time.Hour, base, 10*time.Minute, false); again.Sub(until) != 10*time.Minute {
		t.Errorf("then closed for %s", again.Sub(until))
	}
}
