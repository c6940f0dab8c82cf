package router

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/onceward/onceward/router/health"
)

// late lets neutral requests take a while.
func late(d time.Duration, a answerer) answerer {
	return func(q asked, n int) (int, map[string]string, string) {
		if q.neutral {
			<-time.After(d)
		}
		return a(q, n)
	}
}

// opened makes a resource's breaker open.
func (l *lab) opened(name string) {
	l.t.Helper()
	l.set(name, always(500, internal))
	for i := range 3 {
		l.call(name, fmt.Sprint("opener ", i), "x")
	}
	l.settle(8 * time.Second)
	if l.state(name) != "open" {
		l.t.Fatalf("%s is %s", name, l.state(name))
	}
}

// away counts the seconds in which a run that asks each second is not served.
func (l *lab) away(most int) int {
	for n := range most {
		if where, f := l.ask("waiting", "x"); where != "" && f == nil {
			return n
		}
		l.settle(time.Second)
	}
	return most
}

// What only a test brings back is tested once nothing is in the way of that test any
// more, and a run that waits for it does not wait for ever.
func TestATestThatCouldNotBeMadeWhenItWasDueIsMadeUp(t *testing.T) {
	forADay := func(asked, int) (int, map[string]string, string) {
		return 429, map[string]string{"Retry-After": "86400"}, tooMany
	}
	ordered := func(l *lab) {
		l.set("a", late(12*time.Second, always(500, internal)))
		go func() { _, _ = l.r.Test(context.Background(), "a", "m", 0) }()
		l.settle(13 * time.Second)
	}
	operator := func(l *lab) {
		_ = l.r.Disable("a", "", "maintenance", time.Now().Add(5*time.Minute))
		l.settle(6 * time.Minute)
	}
	for name, c := range map[string]struct{ ill, between func(*lab) }{
		"E03: an open pair, and an ordered test was in flight": {
			ill: func(l *lab) { l.opened("a"); l.ask("waiting", "x") }, between: ordered,
		},
		"E03: an open pair, and an operator had the resource off": {
			ill: func(l *lab) { l.opened("a") }, between: operator,
		},
		"E01: a pair switched off here, and an operator had the resource off": {
			ill: func(l *lab) { l.set("a", always(402, noMoney)); l.call("a", "r", "x"); l.settle(0) }, between: operator,
		},
		"E04: a long window, and an operator had the resource off": {
			ill: func(l *lab) { l.set("a", forADay); l.call("a", "r", "x") }, between: operator,
		},
		"E04: a long window, and the pool had the pair off": {
			ill: func(l *lab) { l.set("a", forADay); l.call("a", "r", "x") },
			between: func(l *lab) {
				l.r.Adopt("a", "m", health.Disabled{Reason: "of the record", Since: time.Now()})
				l.settle(2 * time.Minute)
				_ = l.r.Enable("a", "m")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, []string{"a"}, nil, func(l *lab) {
				c.ill(l)
				c.between(l)
				l.set("a", fine)
				if n := l.away(3600); n > 30 || l.state("a") != "clear" {
					t.Errorf("away for %d s more, %s", n, l.state("a"))
				}
			})
		})
	}
}

// A failure during an ordered test, which has no consequences, is looked into.
func TestASuspicionDuringAnOrderedTestIsTested(t *testing.T) {
	inLab(t, []string{"a", "b"}, nil, func(l *lab) {
		l.set("a", late(5*time.Second, always(401, badKey)))
		go func() { _, _ = l.r.Test(context.Background(), "a", "m", 0) }()
		l.settle(time.Second)
		l.call("a", "r", "x")
		l.settle(20 * time.Second)
		if l.state("a") != "off" || l.neutrals("a") != 2 {
			t.Errorf("%s after %d neutral requests", l.state("a"), l.neutrals("a"))
		}
	})
}

// A test that was sent before an operator enabled a pair does not switch it off again.
func TestATestOfBeforeDoesNotOverruleAnOperator(t *testing.T) {
	inLab(t, []string{"a"}, nil, func(l *lab) {
		l.set("a", late(10*time.Second, always(402, noMoney)))
		l.call("a", "r", "x")
		l.settle(11*time.Second + time.Minute) // its next test is in flight
		_ = l.r.Enable("a", "m")
		l.settle(time.Hour)
		if l.state("a") != "clear" || l.neutrals("a") != 2 {
			t.Errorf("%s after %d neutral requests", l.state("a"), l.neutrals("a"))
		}
	})
}

// An ordered test that passes closes a breaker whose time is over.
func TestAnOrderedPassClosesTheBreaker(t *testing.T) {
	inLab(t, []string{"a"}, nil, func(l *lab) {
		l.opened("a")
		l.settle(6 * time.Minute) // nobody wants it: it is not tested
		l.set("a", fine)
		if _, err := l.r.Test(context.Background(), "a", "m", 0); err != nil || l.state("a") != "clear" || l.events("a", EventClosed) != 1 {
			t.Errorf("%v, %s", err, l.state("a"))
		}
	})
}
