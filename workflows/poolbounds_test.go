package workflows

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// crowd is as many services as are asked for, each with a resource of its own.
func crowd(n int) []onceward.PoolRoutes {
	var all []onceward.PoolRoutes
	for i := range n {
		s := service(fmt.Sprintf("s%02d", i), "here")
		s.Routes[0].Resource = fmt.Sprintf("r%02d", i)
		all = append(all, s)
	}
	return all
}

func TestServicesThatAreTooManyForgetNothingOfOneAnother(t *testing.T) {
	p := newPoolPlay(t, says(onceward.VerdictFailed, onceward.ClassBilling))
	p.input.Services = crowd(maxServices)
	report := func(resource string) {
		p.env.SignalWorkflow(onceward.SignalReport, onceward.PoolReport{Resource: resource, Model: "m", Endpoint: "here", Class: onceward.ClassBilling, At: p.env.Now(), By: "w1"})
	}
	tell := func(s onceward.PoolRoutes) {
		s.Version = onceward.PoolVersion
		p.env.SignalWorkflow(onceward.SignalRoutes, s)
	}
	last := crowd(maxServices + 1)[maxServices]
	p.after(time.Second, func() { report("r00"); report("r07") })
	p.after(3*time.Second, func() { tell(last) }) // r00 has no place any more
	p.after(4*time.Second, func() { report(last.Routes[0].Resource) })
	p.after(30*time.Second, func() {
		if h := p.health(); len(h.Disabled) != 3 || len(h.Services) != maxServices || h.Services[0] != "s01" || len(h.Tests) != 3 {
			t.Errorf("the record is %+v", h)
		}
	})
	p.after(10*time.Minute, func() { tell(crowd(1)[0]) }) // its worker does not find it: it takes the place of the next
	p.after(10*time.Minute+30*time.Second, func() {
		h := p.health()
		if len(h.Disabled) != 3 || h.Services[0] != "s00" || h.Services[1] != "s02" {
			t.Errorf("the record is %+v", h)
		}
		for _, d := range h.Disabled {
			if d.Failed == 0 {
				t.Errorf("%+v is not tested any more", d)
			}
		}
		gone := service("s07", "here")
		gone.Routes[0].Resource = "other"
		tell(gone) // it gives its route up, and nobody else has it
	})
	p.after(11*time.Minute, func() {
		if h := p.health(); len(h.Disabled) != 2 || len(h.Tests) != 2 {
			t.Errorf("the record is %+v", h)
		}
	})
	_ = p.run(12 * time.Minute)
}

func TestServicesKeepTheRoutesThatFit(t *testing.T) {
	large := func(name string, models int) onceward.PoolRoutes {
		s := service(name, "here")
		s.Routes[0].Models = make([]string, models)
		return s
	}
	for name, c := range map[string]struct {
		version int
		had     []onceward.PoolRoutes
		next    onceward.PoolRoutes
		want    string
	}{
		"the oldest is forgotten":             {renewing, []onceward.PoolRoutes{large("a", 1000), large("b", 900)}, large("c", 900), "b c"},
		"one that tells again is the newest":  {renewing, []onceward.PoolRoutes{large("a", 1000), large("b", 900)}, large("a", 1000), "b a"},
		"the newest stays, however large":     {renewing, []onceward.PoolRoutes{large("a", 1), large("b", 1)}, large("c", maxRoutes+1), "c"},
		"a gap is not filled by an older one": {renewing, []onceward.PoolRoutes{large("a", 1), large("b", maxRoutes)}, large("c", 1), "c"},
		"in a loop of an earlier build":       {renewing - 1, []onceward.PoolRoutes{large("a", maxRoutes), large("b", 1)}, large("c", 1), "a b c"},
	} {
		p := &pool{in: onceward.PoolInput{Version: c.version}, services: c.had}
		p.keepServices(c.next)
		var names []string
		for _, s := range p.services {
			names = append(names, s.Service)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: kept %s, want %s", name, got, c.want)
		}
	}
}

func TestFullestRecordFitsInAMemo(t *testing.T) {
	now := time.Date(2026, 7, 9, 12, 0, 0, 123456789, time.UTC)
	worst := strings.Repeat("<", maxSummary) // six bytes each in JSON
	model := strings.Repeat("m", 60)
	p := &pool{in: onceward.PoolInput{Version: renewing}, services: crowd(maxServices)}
	resource := strings.Repeat("r", 30)
	for i := range 2 * maxDisabled {
		at := now.Add(time.Duration(i) * time.Second)
		d := onceward.Disabled{Resource: resource, Model: model, Endpoint: "0123456789abcdef", Class: onceward.ClassEndpointMisconfigured, Reason: worst, Since: at, Until: at, NextTest: at, Failed: 100, Limit: 100000}
		if i >= maxConvicted {
			d = onceward.Disabled{Resource: resource, Model: model, Reason: worst, By: "dana", Since: at, Until: at}
		}
		if len(p.health.Disabled) < maxDisabled {
			p.health.Disabled = append(p.health.Disabled, d)
		}
		test := onceward.PoolTest{Resource: resource, Model: model, Endpoint: d.Endpoint, At: at, Verdict: onceward.VerdictFailed, Class: d.Class, Error: worst, RetryAfter: time.Hour, InputTokens: 20, OutputTokens: 20, By: resource}
		f := onceward.PoolFinding{PoolReport: onceward.PoolReport{Resource: resource, Model: model, Endpoint: d.Endpoint, Class: d.Class, Reason: worst, At: at, Until: at, By: resource, Limit: 100}, Heard: at, Tried: 10, NextTest: at}
		p.health.Reported = latest(append(p.health.Reported, f), maxFindings)
		f.Test = &test
		p.health.Alone = latest(append(p.health.Alone, f), maxFindings)
		p.health.Tests = append(p.health.Tests, test)
		p.health.Enabled = append(p.health.Enabled, onceward.Enabled{Resource: resource, Model: model, Endpoint: "0123456789abcdef", At: at, By: worst[:100]})
		p.health.Neutrals = append(p.health.Neutrals, onceward.NeutralCount{Resource: resource, Model: model, Endpoint: "0123456789abcdef", Passed: 1e6, Failed: 1e6, InputTokens: 1e8, OutputTokens: 1e8, Last: at, Unusable: worst})
	}
	p.bound()
	raw, err := json.Marshal(p.health)
	if err != nil || len(raw) > 1500<<10 {
		t.Errorf("the record has %d bytes, %v; with a codec's 30 %% more it is to fit in 2 MB", len(raw), err)
	}
	if !p.full() || len(p.health.Disabled) != maxDisabled || len(p.health.Tests) != maxTests || len(p.health.Neutrals) != maxNeutrals || len(p.health.Enabled) != maxEnabled {
		t.Errorf("%d disabled, %d tests, %d counts, %d enabled", len(p.health.Disabled), len(p.health.Tests), len(p.health.Neutrals), len(p.health.Enabled))
	}
	if d := p.health.Disabled[maxDisabled-1]; len(d.Reason) < fewWords-3 {
		t.Errorf("an operator's reason is %q", d.Reason)
	}
	before := p.health.Tests[0].Error
	p.in.Version = renewing - 1
	p.health.Tests[0].Error = worst
	if p.bound(); p.health.Tests[0].Error != worst || p.full() {
		t.Errorf("a loop of an earlier build cuts %q to %q", worst, before)
	}
}

func TestWhatNobodyHasIsLeftOutFirstThenTheOldest(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	list := keepNewest([]int{5, -9, 2, 7, -1, 3}, 3, func(n int) (bool, time.Time) { return n > 0, at(max(n, -n)) })
	if fmt.Sprint(list) != "[5 7 3]" {
		t.Errorf("kept %v, want 5, 7 and 3", list)
	}
	if few := keepNewest([]int{1, 2}, 3, func(int) (bool, time.Time) { return false, at(0) }); len(few) != 2 {
		t.Errorf("kept %v of two", few)
	}
}

func TestFullRecordLeavesAFindingToItsWorker(t *testing.T) {
	p := newPoolPlay(t, says(onceward.VerdictFailed, onceward.ClassBilling))
	for i := range maxConvicted {
		p.input.Health.Disabled = append(p.input.Health.Disabled, onceward.Disabled{Resource: "b", Model: fmt.Sprint(i)})
	}
	p.after(time.Second, func() { p.report("w1") })
	p.after(5*time.Second, func() {
		if h := p.health(); len(h.Disabled) != maxConvicted || len(h.Reported) != 1 || h.Reported[0].NextTest.IsZero() {
			t.Errorf("%d disabled, reported %+v", len(h.Disabled), h.Reported)
		}
		p.update(onceward.UpdateEnable, onceward.PoolChange{Resource: "b", Model: "7", By: "dana"}, func(any, error) {})
	})
	p.after(time.Minute, func() {
		if h := p.health(); len(h.Disabled) != maxConvicted || len(h.Reported) != 0 || h.Disabled[maxConvicted-1].Resource != "a" {
			t.Errorf("%d disabled, reported %+v", len(h.Disabled), h.Reported)
		}
	})
	_ = p.run(2 * time.Minute)
}
