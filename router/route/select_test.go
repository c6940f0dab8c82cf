package route

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/health"
)

var now = time.Now()

func candidate(name, model string, change ...func(*Candidate)) *Candidate {
	h := &health.Resource{}
	c := &Candidate{
		Resource: &Resource{Name: name, Account: name, Boundary: name, Region: "eu", SafetyPolicy: "v1", Weight: 1, Health: h},
		Model:    model, Deployment: model + "-1", Price: onceward.Price{Input: 1_000_000, CachedInput: 100_000, Output: 10_000_000},
		Capability: onceward.Capability{MaxInputTokens: 100_000, MaxOutputTokens: 10_000, ToolCalling: true, StrictSchema: true},
		Health: health.NewPair(h, health.BreakerSettings{
			Failures: 5, Consecutive: 1, Window: time.Minute, OpenFor: time.Minute}),
	}
	for _, f := range change {
		f(c)
	}
	return c
}

func ask(change ...func(*onceward.RouteRequest)) *onceward.RouteRequest {
	req := &onceward.RouteRequest{
		RunKey: "wf/1", Turn: 2, Attempt: 1, Models: []string{"m"}, CrossBoundary: CrossStrip, Bytes: 300, Now: now,
		Requirements: onceward.Requirements{OutputTokens: 1000, ToolCalling: true}, AttemptCost: 1_000_000, Remaining: 1_000_000,
	}
	for _, f := range change {
		f(req)
	}
	return req
}

func TestOwnerThatIsNotThereIsSaidToBeMissing(t *testing.T) {
	decision := NewTable([]*Candidate{candidate("a", "m"), candidate("b", "m")}, true).Select(ask(func(r *onceward.RouteRequest) { r.Owner = "nowhere" }), now)
	if len(decision.Dropped) != 2 || !strings.HasSuffix(decision.Dropped[0].Reason, "no resource with this model has that name") {
		t.Errorf("decision %+v", decision)
	}
}

// one drops candidate a at one step; b stays.
func TestEachStepDropsWithItsReason(t *testing.T) {
	type change = func(*Candidate)
	type asking = func(*onceward.RouteRequest)
	for name, c := range map[string]struct {
		a      change
		ask    asking
		step   string
		reason string
		again  bool
	}{
		"subset":                  {ask: func(r *onceward.RouteRequest) { r.Resources = []string{"b"} }, step: StepSubset, reason: "task"},
		"owner":                   {ask: func(r *onceward.RouteRequest) { r.Owner = "b" }, step: StepOwner, reason: "b"},
		"owner of a compaction":   {ask: func(r *onceward.RouteRequest) { r.Sealed = []string{"b"} }, step: StepOwner, reason: "compaction item of b"},
		"boundary":                {ask: func(r *onceward.RouteRequest) { r.Boundaries, r.CrossBoundary = []string{"b"}, CrossWait }, step: StepBoundary, reason: "reasoning of b"},
		"boundary that must fail": {ask: func(r *onceward.RouteRequest) { r.Boundaries, r.CrossBoundary = []string{"b"}, CrossFail }, step: StepBoundary, reason: "reasoning of b"},
		"requirements":            {a: func(c *Candidate) { c.Capability.ToolCalling = false }, step: StepRequirements, reason: "tool_calling"},
		"context after rendering": {a: func(c *Candidate) { c.Capability.MaxInputTokens = 100 }, step: StepRequirements, reason: "max_input_tokens: need 164, have 100"},
		"price of an attempt":     {a: func(c *Candidate) { c.Price.Output = 2_000_000_000 }, step: StepPrice, reason: "at most 1.000000"},
		"price of what is left":   {a: func(c *Candidate) { c.Price.Output = 50_000_000 }, ask: func(r *onceward.RouteRequest) { r.Remaining = 20_000 }, step: StepPrice, reason: "0.020000 left"},
		"excluded for the run":    {ask: exclude(onceward.ExcludedRoute{Resource: "a", Class: onceward.ClassBilling}), step: StepExcluded, reason: "run after billing"},
		"excluded model":          {ask: exclude(onceward.ExcludedRoute{Resource: "a", Model: "m", Class: onceward.ClassUnknown}), step: StepExcluded, reason: "unknown"},
		"excluded for a window":   {ask: exclude(onceward.ExcludedRoute{Resource: "a", Class: onceward.ClassRateLimited, Until: now.Add(time.Minute)}), step: StepExcluded, reason: "until", again: true},
		"excluded in this turn":   {ask: exclude(onceward.ExcludedRoute{Resource: "a", Class: onceward.ClassTimeout, Soft: true, Turn: 2}), step: StepExcluded, reason: "this turn after timeout"},
		"disabled resource":       {a: func(c *Candidate) { c.Resource.Health.Switch.Disable(health.Disabled{Reason: "no money", Since: now}) }, step: StepDisabled, reason: "no money"},
		"disabled pair": {a: func(c *Candidate) {
			c.Health.Switch.Disable(health.Disabled{Reason: "gone", Since: now, Until: now.Add(time.Hour)})
		}, step: StepDisabled, reason: "gone", again: true},
		"breaker":                  {a: open, step: StepBreaker, reason: "open", again: true},
		"throttled resource":       {a: func(c *Candidate) { c.Resource.Health.Throttle.Refused(now, now, time.Minute, 0, time.Hour, true) }, step: StepThrottled, reason: "until", again: true},
		"throttled pair":           {a: func(c *Candidate) { c.Health.Throttle.Refused(now, now, time.Minute, 0, time.Hour, true) }, step: StepThrottled, reason: "until", again: true},
		"quota":                    {a: func(c *Candidate) { drain(&c.Resource.Health.Requests) }, step: StepQuota, reason: "do not fit until", again: true},
		"quota by headers":         {a: func(c *Candidate) { drain(&c.Health.Tokens) }, step: StepQuota, reason: "1164 tokens", again: true},
		"suspect":                  {a: suspect(1), step: StepSuspect, reason: "after server_error, 1 strikes, avoided until"},
		"suspect on trial":         {a: onTrial, step: StepSuspect, reason: "its one request is in flight", again: true},
		"load":                     {a: func(c *Candidate) { c.MaxInFlight = 3; c.Resource.Health.InFlight.Store(3) }, step: StepLoad, reason: "3 requests in flight", again: true},
		"warm but above its share": {a: func(c *Candidate) { c.Resource.Health.InFlight.Store(1000) }, ask: func(r *onceward.RouteRequest) { r.Warm = "a" }, step: StepLoad, reason: "its share"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := candidate("a", "m"), candidate("b", "m")
			if c.a != nil {
				c.a(a)
			}
			req := ask()
			if c.ask != nil {
				c.ask(req)
			}
			d := NewTable([]*Candidate{a, b}, true).Select(req, now)
			if d.Route == nil || d.Route.Resource != "b" || len(d.Dropped) != 1 {
				t.Fatalf("decision %+v", d)
			}
			if got := d.Dropped[0]; got.Resource != "a" || got.Step != c.step || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("dropped %+v", got)
			}
			b.Resource.Health.Switch.Disable(health.Disabled{Reason: "off", Since: now})
			if name == "warm but above its share" || name == "excluded in this turn" || name == "suspect" {
				return // a is a candidate again when nothing else is left
			}
			d = NewTable([]*Candidate{a, b}, true).Select(req, now)
			if d.Route != nil || len(d.Dropped) != 2 || d.RetryAt.After(now) != c.again {
				t.Errorf("with nothing left: %+v", d)
			}
		})
	}
}

func exclude(e onceward.ExcludedRoute) func(*onceward.RouteRequest) {
	return func(r *onceward.RouteRequest) { r.Excluded = append(r.Excluded, e) }
}

func open(c *Candidate) {
	if g, ok := c.Health.Breaker.Allow(); ok {
		g.Failure(false)
	}
}

func suspect(strikes int) func(*Candidate) {
	return func(c *Candidate) {
		for i := range strikes {
			c.Health.Suspicion.Fail(now, fmt.Sprint("run ", i), onceward.ClassServerError)
		}
	}
}

// onTrial makes a pair of many strikes whose avoidance is over, and whose one request
// is out.
func onTrial(c *Candidate) {
	for i := range 3 {
		c.Health.Suspicion.Fail(now.Add(-time.Minute), fmt.Sprint("run ", i), onceward.ClassServerError)
	}
	if _, refusal := c.Health.Acquire(now, 1, 0); refusal != nil {
		panic(refusal.Step)
	}
}

func TestSuspicionIsIgnoredWhereNothingElseIsLeft(t *testing.T) {
	other := func(c *Candidate) { c.Boundary = "elsewhere" }
	for name, c := range map[string]struct {
		all     []*Candidate
		models  []string
		reads   string // a boundary of the run's reasoning
		want    string // resource/model
		reason  string
		dropped int
		again   bool
	}{
		"a sole suspect":                {all: []*Candidate{candidate("a", "m", suspect(9))}, want: "a/m", reason: "suspect, no other left"},
		"all suspect":                   {all: []*Candidate{candidate("a", "m", suspect(2)), candidate("b", "m", suspect(2))}, want: "?/m", reason: "suspect, no other left"},
		"never for a fallback model":    {all: []*Candidate{candidate("a", "m", suspect(2)), candidate("b", "n")}, models: []string{"m", "n"}, want: "a/m"},
		"never to strip reasoning":      {all: []*Candidate{candidate("a", "m", suspect(2)), candidate("b", "m", other)}, reads: "a", want: "a/m"},
		"another of the boundary":       {all: []*Candidate{candidate("a", "m", suspect(2)), candidate("b", "m", func(c *Candidate) { c.Boundary = "a" })}, reads: "a", want: "b/m", dropped: 1},
		"many strikes, one is out":      {all: []*Candidate{candidate("a", "m", onTrial)}, dropped: 1, again: true},
		"and no fallback model for it":  {all: []*Candidate{candidate("a", "m", onTrial), candidate("b", "n")}, models: []string{"m", "n"}, dropped: 1, again: true},
		"one out, another suspect":      {all: []*Candidate{candidate("a", "m", onTrial), candidate("b", "m", suspect(1))}, want: "b/m", reason: "suspect", dropped: 1},
		"an acquitted one is as others": {all: []*Candidate{candidate("a", "m", suspect(1), func(c *Candidate) { c.Health.Suspicion.Acquit(now) })}, want: "a/m", reason: "only candidate"},
	} {
		t.Run(name, func(t *testing.T) {
			req := ask()
			if c.models != nil {
				req.Models = c.models
			}
			if c.reads != "" {
				req.Boundaries = []string{c.reads}
			}
			d := NewTable(c.all, true).Select(req, now)
			if c.want == "" {
				if d.Route != nil || d.RetryAt.After(now) != c.again || d.RetryAt.Sub(now) > 15*time.Second || len(d.Dropped) != c.dropped {
					t.Errorf("decision %+v", d)
				}
				return
			}
			if d.Route == nil || len(d.Dropped) != c.dropped || !strings.Contains(d.Route.Reason, c.reason) ||
				strings.Replace(c.want, "?", d.Route.Resource, 1) != d.Route.Resource+"/"+d.Route.Model {
				t.Errorf("route %+v, dropped %+v", d.Route, d.Dropped)
			}
		})
	}
}

func drain(b *health.Bucket) {
	b.SetLimit(2000)
	b.Take(now.UnixNano(), 2000)
}

func TestFallbackModelServesOnlyWhenTheFirstHasNoneLeft(t *testing.T) {
	a, b, c := candidate("a", "m"), candidate("b", "m"), candidate("c", "other")
	table := NewTable([]*Candidate{a, b, c}, true)
	req := ask(func(r *onceward.RouteRequest) { r.Models = []string{"m", "other"} })
	if d := table.Select(req, now); d.Route.Model != "m" {
		t.Errorf("route %+v", d.Route)
	}
	open(a)
	open(b)
	d := table.Select(req, now)
	if d.Route == nil || d.Route.Resource != "c" || len(d.Dropped) != 2 {
		t.Errorf("decision %+v", d)
	}
	d = table.Select(ask(func(r *onceward.RouteRequest) { r.Models = []string{"nobody"} }), now)
	if d.Route != nil || len(d.Dropped) != 1 || d.Dropped[0].Step != StepRequirements || d.Dropped[0].Model != "nobody" {
		t.Errorf("decision %+v", d)
	}
}

func TestSoftExclusionsAreUsedAgainOnlyWhenNothingElseIsLeft(t *testing.T) {
	soft := func(resource string) func(*onceward.RouteRequest) {
		return exclude(onceward.ExcludedRoute{Resource: resource, Class: onceward.ClassServerError, Soft: true, Turn: 2})
	}
	table := NewTable([]*Candidate{candidate("a", "m"), candidate("b", "m"), candidate("c", "other")}, true)
	models := func(r *onceward.RouteRequest) { r.Models = []string{"m", "other"} }
	if d := table.Select(ask(soft("a"), soft("b"), models), now); d.Route.Resource != "c" {
		t.Errorf("the fallback model was passed over: %+v", d.Route)
	}
	last := func(r *onceward.RouteRequest) { r.Last = "server_error" }
	d := table.Select(ask(soft("a"), soft("b"), last), now)
	if d.Route == nil || d.Route.Reason != "same resource again: no other left, after server_error" {
		t.Errorf("decision %+v", d)
	}
	d = table.Select(ask(soft("a"), soft("b"), soft("c"), models, func(r *onceward.RouteRequest) { r.Turn = 3 }), now)
	if d.Route == nil || d.Route.Model != "m" || len(d.Dropped) != 0 {
		t.Errorf("soft exclusions of another turn count: %+v", d)
	}
	d = table.Select(ask(soft("a"), func(r *onceward.RouteRequest) { r.Turn, r.Warm = 3, "a" }), now)
	if d.Route.Resource != "a" || len(d.Dropped) != 0 {
		t.Errorf("a soft exclusion of another turn counts: %+v", d)
	}
	waiting := exclude(onceward.ExcludedRoute{Resource: "a", Class: onceward.ClassRateLimited, Soft: true, Turn: 2, Until: now.Add(time.Minute)})
	hard := exclude(onceward.ExcludedRoute{Resource: "b", Class: onceward.ClassBilling})
	d = table.Select(ask(waiting, hard), now)
	if d.Route != nil || !d.RetryAt.Equal(now.Add(time.Minute)) || len(d.Dropped) != 2 {
		t.Errorf("decision %+v", d)
	}
}

func TestReasoningIsKeptWherePossible(t *testing.T) {
	a, b := candidate("a", "m"), candidate("b", "m")
	table := NewTable([]*Candidate{a, b}, true)
	in := func(list ...string) func(*onceward.RouteRequest) {
		return func(r *onceward.RouteRequest) { r.Boundaries = list }
	}
	for _, key := range []string{"k1", "k2", "k3", "k4", "k5"} {
		d := table.Select(ask(in("b"), func(r *onceward.RouteRequest) { r.RunKey = key }), now)
		if d.Route.Resource != "b" || d.Route.StripReasoning {
			t.Errorf("%s: %+v", key, d.Route)
		}
	}
	open(b)
	if d := table.Select(ask(in("b")), now); d.Route.Resource != "a" || !d.Route.StripReasoning {
		t.Errorf("%+v", d.Route)
	}
	if d := table.Select(ask(in("a", "b")), now); d.Route.Resource != "a" || !d.Route.StripReasoning {
		t.Errorf("the other half of the reasoning is left out and nobody says so: %+v", d.Route)
	}
}

func TestReasonsAreBounded(t *testing.T) {
	a := candidate("a", "m")
	a.Health.Switch.Disable(health.Disabled{Reason: strings.Repeat("ä", 500), Since: now})
	d := NewTable([]*Candidate{a}, true).Select(ask(), now)
	if r := d.Dropped[0].Reason; len(r) > maxReason || !utf8.ValidString(r) {
		t.Errorf("%d bytes: %q", len(r), r)
	}
}

func TestRepairThatLeavesReasoningOutIsSaidOnTheRoute(t *testing.T) {
	table := NewTable([]*Candidate{candidate("a", "m")}, true)
	for _, boundaries := range [][]string{nil, {"a"}} {
		d := table.Select(ask(func(r *onceward.RouteRequest) { r.Boundaries, r.Repair = boundaries, onceward.RepairStripReasoning }), now)
		if d.Route.StripReasoning != (boundaries != nil) {
			t.Errorf("with reasoning of %v: %+v", boundaries, d.Route)
		}
	}
}

func TestRouteHoldsWhatTheReservationNeeds(t *testing.T) {
	table := NewTable([]*Candidate{candidate("a", "m")}, true)
	d := table.Select(ask(func(r *onceward.RouteRequest) { r.Repair = onceward.RepairRaiseOutput }), now)
	want := onceward.Route{Resource: "a", Account: "a", Model: "m", Deployment: "m-1", Boundary: "a", Reason: "the only candidate left",
		InputTokens: 164, MaxOutputTokens: 2000, Ceiling: 164 + 20_000, Repair: onceward.RepairRaiseOutput}
	if *d.Route != want {
		t.Errorf("got  %+v\nwant %+v", *d.Route, want)
	}
	c := onceward.Capability{MaxOutputTokens: 1500}
	for repair, want := range map[onceward.Repair]int{onceward.RepairRaiseOutput: 1500, onceward.RepairLowerOutput: 500, onceward.RepairStripIDs: 1000} {
		if got := OutputTokens(1000, repair, c); got != want {
			t.Errorf("%s: %d, want %d", repair, got, want)
		}
	}
	if got := OutputTokens(10, onceward.RepairLowerOutput, c); got != 10 {
		t.Errorf("lowered to %d", got)
	}
}

func TestWarmResourceIsKept(t *testing.T) {
	var all []*Candidate
	for i := range 5 {
		all = append(all, candidate(fmt.Sprint("r", i), "m"))
	}
	for _, c := range all {
		d := NewTable(all, true).Select(ask(func(r *onceward.RouteRequest) { r.Warm = c.Name }), now)
		if d.Route.Resource != c.Name || d.Route.Reason != "warm prompt cache" {
			t.Errorf("warm %s: %+v", c.Name, d.Route)
		}
	}
}

func TestWithoutAffinityTheLighterOfTwoServes(t *testing.T) {
	a, b := candidate("a", "m"), candidate("b", "m")
	a.Resource.Health.InFlight.Store(5)
	for turn := range 20 {
		d := NewTable([]*Candidate{a, b}, false).Select(ask(func(r *onceward.RouteRequest) { r.Turn = turn }), now)
		if d.Route.Resource != "b" {
			t.Fatalf("turn %d: %+v", turn, d.Route)
		}
	}
	b.Resource.Health.InFlight.Store(5)
	a.Health.ObserveFirstEvent(time.Second)
	b.Health.ObserveFirstEvent(3 * time.Second)
	for turn := range 20 {
		d := NewTable([]*Candidate{a, b}, false).Select(ask(func(r *onceward.RouteRequest) { r.Turn = turn }), now)
		if d.Route.Resource != "a" {
			t.Fatalf("the slower one serves turn %d", turn)
		}
	}
}

// Taking one resource away moves its own runs and no others; weights are shares.
func TestRendezvousMovesOnlyTheRunsOfTheLostResource(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "n")
		var all []*Candidate
		for i := range n {
			w := float64(rapid.IntRange(1, 5).Draw(t, "weight"))
			all = append(all, candidate(fmt.Sprint("resource-", i), "m", func(c *Candidate) { c.Weight = w }))
		}
		lost := rapid.IntRange(0, n-1).Draw(t, "lost")
		rest := append(append([]*Candidate(nil), all[:lost]...), all[lost+1:]...)
		before, after := NewTable(all, true), NewTable(rest, true)
		for range 20 {
			key := rapid.StringN(1, 80, -1).Draw(t, "key")
			req := ask(func(r *onceward.RouteRequest) { r.RunKey = key })
			was, is := before.Select(req, now).Route.Resource, after.Select(req, now).Route.Resource
			if was != all[lost].Name && was != is {
				t.Fatalf("%q moved from %s to %s when %s was lost", key, was, is, all[lost].Name)
			}
		}
	})
}

func TestRendezvousSharesByWeight(t *testing.T) {
	all := []*Candidate{candidate("a", "m"), candidate("b", "m"), candidate("c", "m", func(c *Candidate) { c.Weight = 2 })}
	table, count := NewTable(all, true), map[string]int{}
	const runs = 20000
	for i := range runs {
		count[table.Select(ask(func(r *onceward.RouteRequest) { r.RunKey = fmt.Sprint("workflow-", i, "/run") }), now).Route.Resource]++
	}
	for name, want := range map[string]float64{"a": 0.25, "b": 0.25, "c": 0.5} {
		if got := float64(count[name]) / runs; got < want*0.95 || got > want*1.05 {
			t.Errorf("%s serves %.3f, want %.3f", name, got, want)
		}
	}
}

func TestBoundedLoadSpreadsWhatAffinityCrowds(t *testing.T) {
	var all []*Candidate
	for i := range 4 {
		all = append(all, candidate(fmt.Sprint("r", i), "m"))
	}
	table := NewTable(all, true)
	for range 400 { // one run key: affinity alone would send all to one
		d := table.Select(ask(), now)
		table.Find(d.Route.Resource, "m").Resource.Health.InFlight.Add(1)
	}
	for _, c := range all {
		if n := c.Resource.Health.InFlight.Load(); n > 130 {
			t.Errorf("%s has %d of 400", c.Name, n)
		}
	}
}

// met is a copy of Missing that allocates nothing; this holds them together.
func TestMetAgreesWithMissing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
		num := func(name string) int { return rapid.IntRange(0, 3).Draw(t, name) }
		words := func(name string) []string {
			return rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y"}), 0, 2).Draw(t, name)
		}
		word := func(name string) string { return rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, name) }
		r := onceward.Requirements{
			InputTokens: num("in"), OutputTokens: num("out"), ToolCalling: flag("tc"), ParallelTools: flag("pt"), StrictSchema: flag("ss"),
			ImageInput: flag("ii"), ListOutput: flag("lo"), HostedTools: words("ht"), Region: words("region"), SafetyPolicy: word("policy"),
			Locale: word("locale"), EvalProfile: word("profile"), MinimumPassRate: 0.5, MaxP95Latency: time.Duration(num("p95")),
		}
		c := onceward.Capability{
			MaxInputTokens: num("cin"), MaxOutputTokens: num("cout"), ToolCalling: flag("ctc"), ParallelTools: flag("cpt"), StrictSchema: flag("css"),
			ImageInput: flag("cii"), ListOutput: flag("clo"), HostedTools: words("cht"), Locales: words("clocale"), P95Latency: time.Duration(num("cp95")),
			EvalProfiles: map[string]float64{word("cprofile"): float64(num("rate")) / 3},
		}
		region, policy := word("cregion"), word("cpolicy")
		missing := r.Missing(c, region, policy)
		if got := met(&r, r.InputTokens, r.OutputTokens, &c, region, policy); got != (len(missing) == 0) {
			t.Fatalf("met %v, missing %v", got, missing)
		}
	})
	// A new requirement must come into both.
	if n := reflect.TypeFor[onceward.Requirements]().NumField(); n != 14 {
		t.Errorf("Requirements has %d fields, met knows 14", n)
	}
}

func TestSelectionOfTenTakesTwoAllocationsAtMost(t *testing.T) {
	var all []*Candidate
	for i := range 10 {
		all = append(all, candidate(fmt.Sprint("resource-", i), "m"))
	}
	table, req := NewTable(all, true), ask()
	if n := testing.AllocsPerRun(100, func() { table.Select(req, now) }); n > 2 {
		t.Errorf("%.0f allocations", n)
	}
}
