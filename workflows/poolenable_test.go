package workflows

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func failing(class onceward.Class, wait time.Duration) onceward.PoolTest {
	return onceward.PoolTest{Verdict: onceward.VerdictFailed, Class: class, Error: string(class), RetryAfter: wait, By: "w2"}
}

// Whatever earlier tests have found, the newest one says when a route comes back.
func TestNewestTestSaysWhenARouteComesBack(t *testing.T) {
	quota, key := failing(onceward.ClassQuotaExhausted, 30*time.Minute), failing(onceward.ClassAuthentication, 0)
	unclear := onceward.PoolTest{Verdict: onceward.VerdictUnclear, By: "w2"}
	broken := failing(onceward.ClassServerError, time.Hour)
	for name, c := range map[string]struct {
		tests []onceward.PoolTest // one after another; the last goes on
		at    time.Duration
		class onceward.Class // still disabled for
		back  time.Duration  // after the newest test that convicts; zero: never by itself
	}{
		"a quota that comes back":                  {[]onceward.PoolTest{quota}, time.Minute, onceward.ClassQuotaExhausted, 30 * time.Minute},
		"a quota, and then the key is refused":     {[]onceward.PoolTest{quota, key}, 55 * time.Minute, onceward.ClassAuthentication, 0},
		"a key, and then a quota that comes back":  {[]onceward.PoolTest{key, quota}, 15 * time.Minute, onceward.ClassQuotaExhausted, 30 * time.Minute},
		"a quota whose wait grows":                 {[]onceward.PoolTest{quota, failing(onceward.ClassQuotaExhausted, 5*time.Hour)}, 55 * time.Minute, onceward.ClassQuotaExhausted, 5 * time.Hour},
		"what says nothing moves nothing":          {[]onceward.PoolTest{quota, unclear}, 20 * time.Minute, onceward.ClassQuotaExhausted, 30 * time.Minute},
		"nor does what is the worker's own affair": {[]onceward.PoolTest{key, broken}, 55 * time.Minute, onceward.ClassAuthentication, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var convicted time.Time
			var p *poolPlay
			p = newPoolPlay(t, func(n int, _ onceward.TestInput) (onceward.PoolTest, error) {
				test := c.tests[min(n, len(c.tests))-1]
				if convicts(test) {
					convicted = p.env.Now()
				}
				return test, nil
			})
			p.after(time.Second, func() { p.report("w1") })
			p.after(c.at, func() {
				h := p.health()
				if len(h.Disabled) != 1 || h.Disabled[0].Class != c.class || len(p.inputs) < len(c.tests) {
					t.Fatalf("after %d tests the record is %+v", len(p.inputs), h)
				}
				until := h.Disabled[0].Until
				if c.back == 0 && !until.IsZero() || c.back > 0 && until.Sub(convicted).Round(time.Second) != c.back {
					t.Errorf("it comes back at %s, want %s after %s", until, c.back, convicted)
				}
			})
			_ = p.run(c.at + time.Second)
		})
	}
}

func TestEnablingAResourceMeansItsModels(t *testing.T) {
	found := func(model string) onceward.Disabled {
		return onceward.Disabled{Resource: "a", Model: model, Endpoint: "here", Class: onceward.ClassModelUnavailable, Reason: "gone"}
	}
	held := func(model string) onceward.Disabled {
		return onceward.Disabled{Resource: "a", Model: model, Reason: "maintenance", By: "dana"}
	}
	reported := onceward.PoolFinding{PoolReport: onceward.PoolReport{Resource: "a", Model: "n", Endpoint: "here", By: "w1"}}
	other := onceward.Disabled{Resource: "b", Model: "m", Endpoint: "here", Class: onceward.ClassBilling}
	for name, c := range map[string]struct {
		disabled []onceward.Disabled
		alone    []onceward.PoolFinding
		model    string
		refused  string
		left     []string
	}{
		"each model that a test has disabled":         {disabled: []onceward.Disabled{found("m"), found("n"), other}, left: []string{"b/m"}},
		"one that an operator has disabled":           {disabled: []onceward.Disabled{held("m"), found("n"), other}, left: []string{"b/m"}},
		"what one worker has found":                   {disabled: []onceward.Disabled{other}, alone: []onceward.PoolFinding{reported}, left: []string{"b/m"}},
		"of a resource that is held, the hold alone":  {disabled: []onceward.Disabled{held(""), found("m")}, alone: []onceward.PoolFinding{reported}, left: []string{"a/m", "a/n alone"}},
		"one model alone":                             {disabled: []onceward.Disabled{found("m"), found("n")}, model: "m", left: []string{"a/n"}},
		"one model at every address":                  {disabled: []onceward.Disabled{found("m"), {Resource: "a", Model: "m", Endpoint: "there"}}, model: "m"},
		"no model of a resource that is held":         {disabled: []onceward.Disabled{held("")}, model: "m", refused: "all of a is, which `enable a` ends", left: []string{"a"}},
		"nothing of a resource that is not disabled":  {disabled: []onceward.Disabled{other}, refused: "pool: a is not disabled", left: []string{"b/m"}},
		"nothing of a resource that nobody has":       {disabled: []onceward.Disabled{found("m")}, model: "zz", refused: `has no model "zz"`, left: []string{"a/m"}},
		"of what no configuration has any more, also": {disabled: []onceward.Disabled{held("old")}, model: "old"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPoolPlay(t, says(onceward.VerdictPassed, ""))
			p.input.Health = onceward.PoolHealth{Disabled: slices.Clone(c.disabled), Alone: c.alone}
			for i := range p.input.Health.Alone {
				p.input.Health.Alone[i].Heard = p.begun
			}
			p.after(time.Second, func() {
				p.update(onceward.UpdateEnable, onceward.PoolChange{Resource: "a", Model: c.model, By: "eve"}, func(_ any, err error) {
					if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
						t.Errorf("answered %v, want %q", err, c.refused)
					}
				})
			})
			p.after(2*time.Second, func() {
				h := p.health()
				var left []string
				for _, d := range h.Disabled {
					left = append(left, routeName(d.Resource, d.Model))
				}
				for _, f := range h.Alone {
					left = append(left, routeName(f.Resource, f.Model)+" alone")
				}
				if !slices.Equal(left, c.left) {
					t.Errorf("off are %v, want %v", left, c.left)
				}
				if n := len(h.Enabled); (n == 1) != (c.refused == "") || n == 1 && (h.Enabled[0].By != "eve" || h.Enabled[0].Model != c.model || h.Enabled[0].Endpoint != "") {
					t.Errorf("on record as enabled: %+v", h.Enabled)
				}
			})
			_ = p.run(3 * time.Second)
		})
	}
}

// A resource that is enabled at one address says nothing of its name at another.
func TestEnablingIsAboutAnAddress(t *testing.T) {
	p := newPoolPlay(t, says(onceward.VerdictUnclear, ""))
	p.input.Services = append(p.input.Services, service("two", "there"))
	at := p.begun.Add(-time.Minute)
	p.input.Health.Enabled = []onceward.Enabled{{Resource: "a", Model: "m", Endpoint: "there", At: at, By: "a passed test"}}
	p.after(time.Second, func() {
		for _, endpoint := range []string{"here", "there"} {
			p.env.SignalWorkflow(onceward.SignalReport, onceward.PoolReport{Resource: "a", Model: "m", Endpoint: endpoint, Class: onceward.ClassPermission, At: at.Add(-time.Second), By: "w1"})
		}
	})
	p.after(2*time.Second, func() {
		if h := p.health(); len(h.Reported) != 1 || h.Reported[0].Endpoint != "here" {
			t.Errorf("reported are %+v, want only that of the address that nobody enabled since", h.Reported)
		}
	})
	_ = p.run(3 * time.Second)
}
