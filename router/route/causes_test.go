package route

import (
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/health"
)

// E20: what a selection dropped all candidates for is the class of its failure.
func TestCauseOfASelectionThatFindsNothing(t *testing.T) {
	type asking = func(*onceward.RouteRequest)
	off := func(class onceward.Class) func(*Candidate) {
		return func(c *Candidate) {
			c.Resource.Health.Switch.Disable(health.Disabled{Class: class, Reason: "because", Since: now})
		}
	}
	small := func(c *Candidate) { c.Capability.MaxInputTokens = 50 }
	smaller := func(c *Candidate) { c.Capability.MaxInputTokens = 40 }
	deaf := func(c *Candidate) { c.Capability.ToolCalling = false }
	both := func(c *Candidate) { small(c); deaf(c) }
	for name, c := range map[string]struct {
		a, b    func(*Candidate)
		ask     asking
		want    onceward.Class
		message string
		needed  int
		most    int
	}{
		"E20 too small for the input, both of them": {a: small, b: smaller, want: onceward.ClassContextLength, message: "needs 164 input tokens, and no candidate takes more than 50", needed: 164, most: 50},
		"E20 too small, and another not asked for":  {a: small, b: deaf, ask: func(r *onceward.RouteRequest) { r.Resources = []string{"a"} }, want: onceward.ClassContextLength, needed: 164, most: 50},
		"E20 too small, and another not the owner":  {a: small, ask: func(r *onceward.RouteRequest) { r.Owner = "a" }, want: onceward.ClassContextLength, needed: 164, most: 50},
		"E20 too small, and a model nobody serves":  {a: small, b: small, ask: func(r *onceward.RouteRequest) { r.Models = []string{"nobody", "m"} }, want: onceward.ClassContextLength, needed: 164, most: 50},
		"one too small, one after it said so": {a: small, ask: func(r *onceward.RouteRequest) {
			r.Excluded = []onceward.ExcludedRoute{{Resource: "b", Class: onceward.ClassContextLength}}
		}, want: onceward.ClassContextLength, needed: 164, most: 50},
		"a capability": {a: deaf, b: deaf, want: onceward.ClassUnsupportedCapability, message: "a/m: tool_calling"},
		"a capability, with one that is small too": {a: both, b: deaf, want: onceward.ClassUnsupportedCapability, message: "tool_calling"},
		"an output limit":                          {ask: func(r *onceward.RouteRequest) { r.Requirements.OutputTokens = 20_000 }, want: onceward.ClassUnsupportedCapability, message: "max_output_tokens"},
		"a region":                                 {ask: func(r *onceward.RouteRequest) { r.Requirements.Region = []string{"us"} }, want: onceward.ClassRegionBlocked, message: "region"},
		"a safety policy":                          {ask: func(r *onceward.RouteRequest) { r.Requirements.SafetyPolicy = "v9" }, want: onceward.ClassPolicyBlocked, message: "safety_policy"},
		"billing":                                  {a: off(onceward.ClassBilling), b: off(onceward.ClassBilling), want: onceward.ClassBilling, message: "because"},
		"authentication":                           {a: off(onceward.ClassAuthentication), b: off(onceward.ClassAuthentication), want: onceward.ClassAuthentication},
		"a person":                                 {a: off(""), b: off(""), want: onceward.ClassNoRoute, message: "2 disabled"},
		"a throttle":                               {a: throttled, b: throttled, want: onceward.ClassRateLimited},
		"another boundary":                         {ask: func(r *onceward.RouteRequest) { r.Boundaries, r.CrossBoundary = []string{"x"}, CrossFail }, want: onceward.ClassUndecryptableReasoning},
		"a compaction item":                        {ask: func(r *onceward.RouteRequest) { r.Sealed = []string{"x"} }, want: onceward.ClassResourceAffinity},
		"a model that nobody serves":               {ask: func(r *onceward.RouteRequest) { r.Models = []string{"nobody"} }, want: onceward.ClassModelUnavailable},
		"resources that nobody has":                {ask: func(r *onceward.RouteRequest) { r.Resources = []string{"x"} }, want: onceward.ClassNoRoute},
		"one of each":                              {a: small, b: deaf, want: onceward.ClassNoRoute, message: "1 context_length_exceeded, 1 unsupported_capability"},
		"one too small, one that costs too much":   {a: small, b: func(c *Candidate) { c.Price.Output = 1_000_000_000_000 }, want: onceward.ClassNoRoute, message: "1 context_length_exceeded, 1 price"},
	} {
		t.Run(name, func(t *testing.T) {
			change := func(f func(*Candidate)) func(*Candidate) {
				if f == nil {
					return func(*Candidate) {}
				}
				return f
			}
			req := ask()
			if c.ask != nil {
				c.ask(req)
			}
			d := NewTable([]*Candidate{candidate("a", "m", change(c.a)), candidate("b", "m", change(c.b))}, true).Select(req, now)
			if d.Route != nil {
				t.Fatalf("a route: %+v", d.Route)
			}
			f := onceward.NoRoute(d.Dropped)
			if f.Class != c.want || !strings.Contains(f.Message, c.message) || f.Needed != c.needed || f.Available != c.most {
				t.Errorf("failure %+v of %+v", *f, d.Dropped)
			}
			if !f.NotSent || f.StateEffect != onceward.EffectNone || f.Repair != onceward.RepairNone || f.FallbackEligible {
				t.Errorf("a selection has effects: %+v", *f)
			}
		})
	}
	if f := onceward.NoRoute([]onceward.Dropped{{Resource: "a", Step: StepRequirements, Reason: "max_input_tokens: need 9, have 5"}}); f.Class != onceward.ClassNoRoute {
		t.Errorf("what an older release wrote down became %s", f.Class)
	}
}

func throttled(c *Candidate) {
	c.Resource.Health.Throttle.Refused(now, now, time.Minute, time.Second, time.Hour, true)
}
