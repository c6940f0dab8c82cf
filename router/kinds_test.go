package router

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// wall refuses one prompt, and serves all others.
func wall(status int, header map[string]string) answerer {
	return func(q asked, n int) (int, map[string]string, string) {
		if strings.Contains(q.body, "DROP TABLE") {
			return status, header, firewall
		}
		return fine(q, n)
	}
}

// noisy lets one run be refused and others be served, until passed tests have become
// as rare as they get.
func (l *lab) noisy(name string) {
	l.set(name, wall(403, nil))
	last := 0
	for i := range 3000 {
		l.call(name, fmt.Sprint("bad ", i), "DROP TABLE")
		l.call(name, fmt.Sprint("good ", i), "hello")
		l.settle(time.Second)
		if n := l.neutrals(name); n != last {
			if last = n; n == 8 {
				return
			}
		}
	}
	l.t.Fatalf("%d neutral requests", last)
}

// E01: a page that asks to be left alone for an hour is believed of a neutral request
// only.
func TestE01APageWithARetryAfterClosesNothing(t *testing.T) {
	inLab(t, []string{"a", "b"}, nil, func(l *lab) {
		for _, name := range []string{"a", "b"} {
			l.set(name, wall(503, map[string]string{"Retry-After": "3600"}))
			if f := l.call(name, "r", "DROP TABLE"); f == nil || f.Class != onceward.ClassOverloaded {
				t.Fatalf("%+v", f)
			}
		}
		if where, f := l.ask("another", "hello"); where == "" || f != nil {
			t.Errorf("%q %+v", where, f)
		}
		l.settle(0)
		if l.neutrals("a") != 1 || l.state("a") != "clear" {
			t.Errorf("%d neutral requests, %s", l.neutrals("a"), l.state("a"))
		}
	})
	inLab(t, []string{"a"}, nil, func(l *lab) {
		l.set("a", func(asked, int) (int, map[string]string, string) {
			return 503, map[string]string{"Retry-After": "30"}, ""
		})
		l.call("a", "r", "x")
		l.settle(0)
		if left := time.Until(status(t, l.r, "a").ThrottledUntil); left != 30*time.Second {
			t.Errorf("left alone for %s after a neutral request was told so", left)
		}
	})
}

// E03: an outage convicts within seconds, also where tests had become rare because
// what failed before was some run's own.
func TestE03AnOutageAfterMuchNoiseConvicts(t *testing.T) {
	inLab(t, []string{"a"}, nil, func(l *lab) {
		l.noisy("a")
		l.set("a", always(500, internal))
		for i := range 20 {
			l.ask(fmt.Sprint("out ", i), "x")
			l.settle(time.Second)
		}
		if l.state("a") != "open" {
			t.Errorf("%s after 20 s", l.state("a"))
		}
	})
}

// E04: what is asked for beyond a minute is tested then, however lately the pair passed.
func TestE04ALongWaitIsTestedAfterAMinuteWhateverWasBefore(t *testing.T) {
	inLab(t, []string{"a"}, nil, func(l *lab) {
		l.noisy("a")
		l.set("a", runsOnly(func(q asked, n int) (int, map[string]string, string) {
			return 429, map[string]string{"Retry-After": "86400"}, tooMany
		}))
		l.call("a", "r", "x")
		l.set("a", fine)
		if n := l.away(3600); n < 55 || n > 65 {
			t.Errorf("closed for %d s", n)
		}
	})
}

// E04: a late answer of a burst says nothing after a test that was sent later passed.
func TestE04ALateRefusalOpensNoWindowAfterAPassedTest(t *testing.T) {
	inLab(t, []string{"a"}, nil, func(l *lab) {
		hold := make(chan struct{})
		l.set("a", runsOnly(func(q asked, n int) (int, map[string]string, string) {
			if strings.Contains(q.body, "late") {
				<-hold
			}
			return 429, map[string]string{"Retry-After": "3600"}, tooMany
		}))
		go l.call("a", "late", "late")
		l.settle(0)
		l.call("a", "r", "x")
		l.settle(5 * time.Second)
		if _, err := l.r.Test(context.Background(), "a", "m", 0); err != nil {
			t.Fatal(err)
		}
		close(hold)
		l.settle(0)
		if st := status(t, l.r, "a"); !st.ThrottledUntil.IsZero() {
			t.Errorf("closed again until %s", st.ThrottledUntil)
		}
	})
}

// The bound of the hour lets runs work a breaker only after a failed test, and no
// longer than it holds.
func TestTheBoundOfTheHourConvictsNobodyByRuns(t *testing.T) {
	inLab(t, []string{"a"}, nil, func(l *lab) {
		l.set("a", runsOnly(always(500, internal)))
		for i := range 1500 {
			l.call("a", fmt.Sprint("run ", i), "x")
			l.settle(time.Second)
			if l.state("a") == "open" {
				t.Fatalf("open after %d s and %d passed tests", i, l.neutrals("a"))
			}
		}
	})
	inLab(t, []string{"a"}, nil, func(l *lab) {
		l.set("a", always(500, internal))
		l.call("a", "r", "x")
		for range 1800 {
			l.ask("waiting", "x")
			l.settle(time.Second)
		}
		l.set("a", runsOnly(fine))
		l.away(60)
		l.settle(3 * time.Hour)
		release := make(chan struct{})
		l.set("a", runsOnly(func(asked, int) (int, map[string]string, string) { <-release; return 500, nil, internal }))
		for i := range 8 {
			go l.call("a", fmt.Sprint("later ", i), "x")
		}
		l.settle(0)
		close(release)
		l.settle(time.Second)
		if l.state("a") == "open" {
			t.Error("runs opened it")
		}
	})
}

// Others of an account are tested when one is convicted, not each time that it is
// tested again.
func TestOthersAreNotTestedWithEachTestOfTheConvicted(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	inLab(t, names, func(c *Config) {
		for i := range c.Resources {
			c.Resources[i].Account = "one"
		}
	}, func(l *lab) {
		l.set("a", always(402, noMoney))
		l.call("a", "r", "x")
		l.settle(time.Hour)
		for _, name := range names[1:] {
			if l.neutrals(name) != 1 {
				t.Errorf("%s: %d neutral requests", name, l.neutrals(name))
			}
		}
	})
}

// A run that waits for a test whose permits are out waits; it does not ask again and
// again.
func TestWaitingForATestWithoutPermitsIsNoSpinning(t *testing.T) {
	inLab(t, []string{"a"}, func(c *Config) { c.Resources[0].MaxInFlight = 1 }, func(l *lab) {
		release := make(chan struct{})
		l.set("a", func(q asked, n int) (int, map[string]string, string) { <-release; return fine(q, n) })
		go l.call("a", "long", "x")
		l.settle(0)
		// The clock of the bubble stands still while anything spins.
		got := l.r.Verdicts(context.Background(), []onceward.SuspectRoute{{Resource: "a", Model: "m", Since: time.Now()}}, true)
		if len(got) != 1 || got[0].Judged != onceward.JudgedSuspected {
			t.Errorf("%+v", got)
		}
		close(release)
	})
}
