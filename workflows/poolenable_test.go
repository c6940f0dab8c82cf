package workflows

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

const (
	quota = onceward.ClassQuotaExhausted
	key   = onceward.ClassAuthentication
	model = onceward.ClassModelUnavailable
)

func failing(class onceward.Class, wait time.Duration) onceward.PoolTest {
	return onceward.PoolTest{Verdict: onceward.VerdictFailed, Class: class, Error: string(class), RetryAfter: wait, By: "w2"}
}

func TestRouteComesBackWhenItsTestSays(t *testing.T) {
	at := time.Date(2026, 7, 9, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		test onceward.PoolTest
		want time.Duration // zero: it does not by itself
		says bool
	}{
		"what was asked for":                       {failing(quota, 30*time.Minute), 30 * time.Minute, true},
		"nothing was asked for":                    {failing(key, 0), 0, true},
		"a class with a time of its own":           {failing(model, 0), 30 * time.Minute, true},
		"the longer of both":                       {failing(model, time.Hour), time.Hour, true},
		"passed":                                   {onceward.PoolTest{Verdict: onceward.VerdictPassed, RetryAfter: time.Hour}, 0, false},
		"unclear, with a class that disables":      {onceward.PoolTest{Verdict: onceward.VerdictUnclear, Class: quota, RetryAfter: time.Hour}, 0, false},
		"throttled":                                {onceward.PoolTest{Verdict: onceward.VerdictThrottled, Class: onceward.ClassRateLimited, RetryAfter: time.Hour}, 0, false},
		"failed for what is each worker's own":     {failing(onceward.ClassServerError, time.Hour), 0, false},
		"a verdict of a build that has other ones": {onceward.PoolTest{Verdict: "doubtful", Class: quota, RetryAfter: time.Hour}, 0, false},
	} {
		c.test.At = at
		want := time.Time{}
		if c.want > 0 {
			want = at.Add(c.want)
		}
		if until, says := comesBack(c.test); !until.Equal(want) || says != c.says {
			t.Errorf("%s: back at %v, %v; want %v, %v", name, until, says, want, c.says)
		}
	}
}

// playTests reports a route and answers its tests in turn, the last of them for ever: with
// a retest of a minute, doubling, they come at 0, 1, 3, 7, 15, 31 and 63 minutes. It
// returns the class on record and how long the route stays away after the newest test,
// half a minute after each of them.
func playTests(t *testing.T, version int, tests ...onceward.PoolTest) (classes []onceward.Class, waits []time.Duration) {
	t.Helper()
	p := newPoolPlay(t, func(n int, _ onceward.TestInput) (onceward.PoolTest, error) { return tests[min(n, len(tests))-1], nil })
	p.input.Version = version
	p.after(time.Second, func() { p.report("w1") })
	for i := range tests {
		p.after(30*time.Second+time.Duration(1<<i-1)*time.Minute, func() {
			h := p.health()
			if len(h.Disabled) != 1 {
				t.Fatalf("after %d tests the record is %+v", len(p.inputs), h)
			}
			wait := time.Duration(0)
			if d := h.Disabled[0]; !d.Until.IsZero() {
				wait = d.Until.Sub(h.Tests[0].At).Round(time.Second)
			}
			classes, waits = append(classes, h.Disabled[0].Class), append(waits, wait)
		})
	}
	_ = p.run(30*time.Second + time.Duration(1<<(len(tests)-1))*time.Minute)
	return classes, waits
}

func TestNewestTestAloneSaysWhenARouteComesBack(t *testing.T) {
	nothing := onceward.PoolTest{Verdict: onceward.VerdictUnclear, Class: quota, RetryAfter: time.Hour}
	throttled := onceward.PoolTest{Verdict: onceward.VerdictThrottled, Class: onceward.ClassRateLimited, RetryAfter: time.Hour}
	for name, c := range map[string]struct {
		tests   []onceward.PoolTest
		classes []onceward.Class
		waits   []time.Duration
	}{
		"a quota for half an hour, then a refused key": {
			[]onceward.PoolTest{failing(quota, 30*time.Minute), failing(key, 0)},
			[]onceward.Class{quota, key}, []time.Duration{30 * time.Minute, 0},
		},
		"a refused key, then a quota for half an hour": {
			[]onceward.PoolTest{failing(key, 0), failing(quota, 30*time.Minute)},
			[]onceward.Class{key, quota}, []time.Duration{0, 30 * time.Minute},
		},
		"the same, for shorter and longer": {
			[]onceward.PoolTest{failing(quota, 2*time.Hour), failing(quota, 10*time.Minute), failing(quota, time.Hour), failing(quota, 0)},
			[]onceward.Class{quota, quota, quota, quota}, []time.Duration{2 * time.Hour, 10 * time.Minute, time.Hour, 0},
		},
		"what is no verdict about it changes nothing": {
			[]onceward.PoolTest{failing(quota, 10*time.Minute), nothing, failing(onceward.ClassServerError, time.Hour), throttled},
			[]onceward.Class{quota, quota, quota, quota}, []time.Duration{10 * time.Minute, 9 * time.Minute, 7 * time.Minute, 3 * time.Minute},
		},
	} {
		t.Run(name, func(t *testing.T) {
			classes, waits := playTests(t, onceward.PoolVersion, c.tests...)
			if !slices.Equal(classes, c.classes) || !slices.Equal(waits, c.waits) {
				t.Errorf("classes %v, times %v; want %v, %v", classes, waits, c.classes, c.waits)
			}
		})
	}
	t.Run("an execution of an earlier build goes on as it began", func(t *testing.T) {
		if _, waits := playTests(t, renewing-1, failing(quota, 30*time.Minute), failing(key, 0), failing(model, 5*time.Minute)); !slices.Equal(waits, []time.Duration{30 * time.Minute, 29 * time.Minute, 5 * time.Minute}) {
			t.Errorf("times %v", waits)
		}
	})
}

// A model that is missing for an hour is tested all the while, and comes back by time only
// half an hour after the last test that missed it.
func TestModelThatIsMissingForAnHourStaysAway(t *testing.T) {
	p := newPoolPlay(t, says(onceward.VerdictFailed, model))
	p.after(time.Second, func() { p.report("w1") })
	for after := time.Minute; after <= time.Hour; after += time.Minute {
		p.after(after, func() {
			if h := p.health(); len(h.Disabled) != 1 || len(h.Enabled) != 0 {
				t.Errorf("after %s the record is %+v", after, h)
			}
		})
	}
	p.after(62*time.Minute, func() {
		if h := p.health(); len(h.Disabled) != 0 || len(p.inputs) != 6 || h.Enabled[0].By != "expiry" || h.Enabled[0].Endpoint != "here" {
			t.Errorf("half an hour after the last of %d tests the record is %+v", len(p.inputs), h)
		}
	})
	_ = p.run(62*time.Minute + time.Second)
}

func TestFailedTestDisablesNothingThatAnOperatorHasEnabledMeanwhile(t *testing.T) {
	for _, name := range []string{"a", "a/m"} {
		var p *poolPlay
		p = newPoolPlay(t, func(n int, _ onceward.TestInput) (onceward.PoolTest, error) {
			if n == 2 {
				p.update(onceward.UpdateEnable, change(name), func(_ any, err error) {
					if err != nil {
						t.Error(err)
					}
				})
			}
			return failing(quota, time.Hour), nil
		})
		p.after(time.Second, func() { p.report("w1") })
		p.after(10*time.Minute, func() {
			if h := p.health(); len(h.Disabled)+len(h.Reported)+len(h.Alone) != 0 || len(p.inputs) != 2 || h.Tests[0].Passed {
				t.Errorf("%s: after %d tests the record is %+v", name, len(p.inputs), h)
			}
		})
		_ = p.run(11 * time.Minute)
	}
}

// change is dana's, about a route in an operator's spelling.
func change(route string) onceward.PoolChange {
	resource, model, _ := strings.Cut(route, "/")
	return onceward.PoolChange{Resource: resource, Model: model, By: "dana", Reason: "why"}
}

func TestEnablingMeansWhatItSays(t *testing.T) {
	off := func(route, by string) onceward.Disabled {
		c := change(route)
		d := onceward.Disabled{Resource: c.Resource, Model: c.Model, By: by, Class: quota}
		if by == "" {
			d.Endpoint = "here"
		}
		return d
	}
	finding := func(route string) onceward.PoolFinding {
		c := change(route)
		return onceward.PoolFinding{PoolReport: onceward.PoolReport{Resource: c.Resource, Model: c.Model, Endpoint: "here", By: "w1"}, Heard: time.Now().Add(time.Hour), NextTest: time.Now().Add(time.Hour)}
	}
	two := []onceward.Disabled{off("a/m", ""), off("a/n", ""), off("b/m", "")}
	for name, c := range map[string]struct {
		health  onceward.PoolHealth
		enable  string
		changed []string
		left    int
		refused string
	}{
		"a resource: all that tests disabled of it": {onceward.PoolHealth{Disabled: two}, "a", []string{"a/m@here", "a/n@here"}, 1, ""},
		"a model: that one":                         {onceward.PoolHealth{Disabled: two}, "a/n", []string{"a/n@here"}, 2, ""},
		"at every address": {onceward.PoolHealth{Disabled: []onceward.Disabled{off("a/m", ""), {Resource: "a", Model: "m", Endpoint: "there"}}}, "a",
			[]string{"a/m@here", "a/m@there"}, 0, ""},
		"what workers found alone": {onceward.PoolHealth{Alone: []onceward.PoolFinding{finding("a/m")}, Reported: []onceward.PoolFinding{finding("a/m"), finding("a/n"), finding("b/m")}}, "a",
			[]string{"a/m@here", "a/n@here"}, 1, ""},
		"an operator's decision about the whole, alone": {onceward.PoolHealth{Disabled: append(slices.Clone(two), off("a", "lee"))}, "a", []string{"a@"}, 3, ""},
		"tests, and not what an operator decided of a model": {onceward.PoolHealth{Disabled: []onceward.Disabled{off("a/m", ""), off("a/n", "lee")}}, "a",
			[]string{"a/m@here"}, 1, ""},
		"an operator's decision about a model":              {onceward.PoolHealth{Disabled: []onceward.Disabled{off("a/n", "lee")}}, "a/n", []string{"a/n@"}, 0, ""},
		"an older report about a whole resource":            {onceward.PoolHealth{Disabled: []onceward.Disabled{off("a", ""), off("a/m", "")}}, "a", []string{"a@here", "a/m@here"}, 0, ""},
		"a route that no configuration has any more":        {onceward.PoolHealth{Disabled: []onceward.Disabled{off("z/m", "lee")}}, "z/m", []string{"z/m@"}, 0, ""},
		"nothing is disabled":                               {onceward.PoolHealth{}, "a", nil, 0, "pool: a is not disabled"},
		"nothing of the model is":                           {onceward.PoolHealth{Disabled: two[:1]}, "a/n", nil, 1, "pool: a/n is not disabled"},
		"a model of a resource that an operator holds":      {onceward.PoolHealth{Disabled: append(slices.Clone(two), off("a", "lee"))}, "a/m", nil, 4, "pool: lee keeps attempts away from all of a: enable a, without a model"},
		"a model of a resource that is disabled as a whole": {onceward.PoolHealth{Disabled: []onceward.Disabled{off("a", "")}}, "a/m", nil, 1, "pool: all of a is disabled: enable a, without a model"},
		"only an operator disabled a model":                 {onceward.PoolHealth{Disabled: []onceward.Disabled{off("a/n", "lee")}}, "a", nil, 1, "pool: no test has disabled anything of a; lee has disabled a/n: enable that"},
		"only what is gone, by an operator":                 {onceward.PoolHealth{Disabled: []onceward.Disabled{off("z/n", "lee")}}, "z", nil, 1, "pool: no test has disabled anything of z; lee has disabled z/n: enable that"},
		"no such resource":                                  {onceward.PoolHealth{Disabled: two}, "c", nil, 3, `pool: there is no resource "c"; there are [a b]`},
		"odd characters":                                    {onceward.PoolHealth{Disabled: two}, "a/m\x1b[2J\nn", nil, 3, `pool: resource a has no model "m\x1b[2J\nn"; it has [m n]`},
		"letters of another case":                           {onceward.PoolHealth{Disabled: two}, "A", nil, 3, `pool: there is no resource "A"; there are [a b]`},
		"a slash in the model":                              {onceward.PoolHealth{Disabled: two}, "a/m/n", nil, 3, `pool: resource a has no model "m/n"; it has [m n]`},
		"a mask":                                            {onceward.PoolHealth{Disabled: two}, "*", nil, 3, `pool: there is no resource "*"; there are [a b]`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPoolPlay(t, says(onceward.VerdictPassed, ""))
			p.input.Health = c.health
			p.input.Services[0].Routes = []onceward.PoolRoute{{Resource: "a", Endpoint: "here", Models: []string{"m", "n"}}, {Resource: "b", Endpoint: "here", Models: []string{"m"}}}
			p.input.Services = append(p.input.Services, service("two", "there"))
			p.after(time.Second, func() {
				before := p.health()
				p.update(onceward.UpdateEnable, change(c.enable), func(answer any, err error) {
					if c.refused != "" {
						if err == nil || !strings.Contains(err.Error(), c.refused) {
							t.Errorf("answered %v, %v; want %q", answer, err, c.refused)
						}
						return
					}
					var changed []string
					for _, e := range answer.(onceward.PoolEnabled).Changed {
						if e.By != "dana" || e.At.IsZero() {
							t.Errorf("enabled %+v", e)
						}
						changed = append(changed, routeName(e.Resource, e.Model)+"@"+e.Endpoint)
					}
					if err != nil || !slices.Equal(changed, c.changed) {
						t.Errorf("enabled %v, %v; want %v", changed, err, c.changed)
					}
				})
				p.after(time.Second, func() {
					after := p.health()
					if n := len(after.Disabled) + len(after.Reported) + len(after.Alone); n != c.left || c.refused != "" && after.Version != before.Version || len(after.Enabled) != len(c.changed) {
						t.Errorf("%d are left of %+v; the record is %+v", n, before, after)
					}
				})
			})
			_ = p.run(time.Minute)
		})
	}
}

// Two operators at once: each change is taken as a whole, in the order in which they came.
func TestOperatorsChangesFollowOneAnother(t *testing.T) {
	p := newPoolPlay(t, says(onceward.VerdictFailed, quota))
	p.after(time.Second, func() { p.report("w1") })
	var said []string
	send := func(update, route string) {
		p.update(update, change(route), func(_ any, err error) {
			if err != nil {
				said = append(said, err.Error())
			}
		})
	}
	p.after(10*time.Second, func() {
		send(onceward.UpdateEnable, "a")
		send(onceward.UpdateDisable, "a")
		send(onceward.UpdateEnable, "a/m")
		send(onceward.UpdateEnable, "a")
		send(onceward.UpdateEnable, "a")
		send(onceward.UpdateDisable, "a/m")
	})
	p.after(20*time.Second, func() {
		if h := p.health(); len(h.Disabled) != 1 || h.Disabled[0].By != "dana" || h.Disabled[0].Model != "m" || len(h.Enabled) != 2 {
			t.Errorf("the record is %+v", h)
		}
		if len(said) != 2 || !strings.Contains(said[0], "keeps attempts away from all of a") || !strings.Contains(said[1], "a is not disabled") {
			t.Errorf("refused %q", said)
		}
	})
	_ = p.run(time.Minute)
}

// What was enabled at one address says nothing about a report from another.
func TestEnablingAtOneAddressLeavesAnotherAlone(t *testing.T) {
	p := newPoolPlay(t, says(onceward.VerdictFailed, quota))
	p.input.Services = append(p.input.Services, service("two", "there"))
	var old onceward.PoolReport
	p.after(time.Second, func() {
		p.report("w1")
		old = onceward.PoolReport{Resource: "a", Model: "m", Endpoint: "there", Class: quota, At: p.env.Now(), By: "w3"}
	})
	p.after(10*time.Second, func() { p.update(onceward.UpdateEnable, change("a"), func(any, error) {}) })
	p.after(20*time.Second, func() {
		p.env.SignalWorkflow(onceward.SignalReport, old)
		old.Endpoint = "here"
		p.env.SignalWorkflow(onceward.SignalReport, old)
	})
	p.after(40*time.Second, func() {
		if h := p.health(); len(h.Disabled) != 1 || h.Disabled[0].Endpoint != "there" || len(h.Enabled) != 1 || h.Enabled[0].Endpoint != "here" {
			t.Errorf("the record is %+v, want the address alone that nobody has enabled", h)
		}
	})
	_ = p.run(50 * time.Second)
}

// A worker of this build makes an execution of an earlier one begin anew, with its record
// and once nothing is under way; an update that comes meanwhile is answered.
func TestExecutionOfAnEarlierBuildBeginsAnew(t *testing.T) {
	p := newPoolPlay(t, says(onceward.VerdictFailed, quota))
	p.input.Version = renewing - 1
	p.after(time.Second, func() { p.report("w1") })
	answered := 0
	p.after(10*time.Second, func() {
		p.update(onceward.UpdateTest, change("a/m"), func(_ any, err error) {
			if answered++; err != nil {
				t.Error(err)
			}
		})
		older := service("one", "here")
		older.Version = renewing - 1
		p.env.SignalWorkflow(onceward.SignalRoutes, older)
	})
	p.after(11*time.Second, func() {
		if h := p.health(); h.Loop != renewing-1 {
			t.Errorf("its loop is %d", h.Loop)
		}
		newer := service("one", "here")
		newer.Version = onceward.PoolVersion
		p.env.SignalWorkflow(onceward.SignalRoutes, newer)
		p.update(onceward.UpdateEnable, change("a/m"), func(_ any, err error) {
			if answered++; err != nil {
				t.Error(err)
			}
		})
	})
	err := p.run(time.Hour)
	var next *workflow.ContinueAsNewError
	var in onceward.PoolInput
	if !errors.As(err, &next) || dataOf(next, &in) != nil || in.Version != onceward.PoolVersion || len(in.Health.Enabled) != 1 || len(in.Health.Tests) != 1 || answered != 2 {
		t.Errorf("%v, %d answers, carried %+v", err, answered, in)
	}
}

// The answer to an enabling is read by a command of an earlier build.
func TestAnswerToAnEnablingIsARecordToo(t *testing.T) {
	data := converter.GetDefaultDataConverter()
	payloads, err := data.ToPayloads(onceward.PoolEnabled{PoolHealth: onceward.PoolHealth{Version: 7}, Changed: []onceward.Enabled{{Resource: "a"}}})
	var old onceward.PoolHealth
	if err != nil || data.FromPayloads(payloads, &old) != nil || old.Version != 7 {
		t.Errorf("read %+v, %v", old, err)
	}
}
