package worker

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
	"github.com/onceward/onceward/router/health"
)

// poolOfTwo returns a sync over a router with resources a and b, without any
// service behind it: adopting a record needs none.
func poolOfTwo(t *testing.T) *poolSync {
	t.Helper()
	s := &poolSync{by: "w1", reports: make(chan onceward.PoolReport, poolReports)}
	deployment := router.Deployment{Model: "m", Deployment: "m", Price: onceward.Price{Input: 1, CachedInput: 1, Output: 1},
		Capability: onceward.Capability{Version: "1", MaxInputTokens: 1, MaxOutputTokens: 1}}
	r, err := router.New(router.Config{Name: "p", Resources: []router.Resource{
		{Name: "a", Kind: "compatible", BaseURL: "http://127.0.0.1:1/v1/", Deployments: []router.Deployment{deployment}},
		{Name: "b", Kind: "compatible", BaseURL: "http://127.0.0.1:2/v1/", Deployments: []router.Deployment{deployment}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	s.router = r
	s.routes.Routes = []onceward.PoolRoute{
		{Resource: "a", Endpoint: onceward.EndpointDigest("http://127.0.0.1:1/v1/"), Models: []string{"m"}},
		{Resource: "b", Endpoint: onceward.EndpointDigest("http://127.0.0.1:2/v1/"), Models: []string{"m"}},
	}
	return s
}

func off(s *poolSync) map[string]string {
	out := map[string]string{}
	for _, c := range s.router.Off() {
		out[c.Resource+"/"+c.Model] = c.Disabled.Reason
	}
	return out
}

func TestAdoptBringsTheRouterInStepWithTheRecord(t *testing.T) {
	s := poolOfTwo(t)
	since := time.Now()
	s.adopt(onceward.PoolHealth{Disabled: []onceward.Disabled{
		{Resource: "a", Class: onceward.ClassBilling, Reason: "out of credits", Since: since},
		{Resource: "b", Model: "m", Reason: "drifting", By: "ann", Since: since},
		{Resource: "gone", Reason: "of an older configuration", Since: since},
	}})
	got := off(s)
	if len(got) != 2 || got["a/"] != "out of credits" || got["b/m"] != "by ann: drifting" {
		t.Fatalf("disabled %v", got)
	}
	if n := len(s.reports); n != 0 {
		t.Errorf("%d reports of what the record already has", n)
	}
	s.adopt(onceward.PoolHealth{Disabled: []onceward.Disabled{{Resource: "a", Reason: "out of credits", Since: since}}})
	if got := off(s); len(got) != 1 || got["a/"] == "" {
		t.Errorf("after b was enabled elsewhere: %v, want a alone", got)
	}
}

func TestAdoptPassesOverTheSameNameAtAnotherAddress(t *testing.T) {
	s := poolOfTwo(t)
	s.adopt(onceward.PoolHealth{Disabled: []onceward.Disabled{
		{Resource: "a", Endpoint: onceward.EndpointDigest("https://a.example/v1/"), Reason: "billing"},
		{Resource: "b", Endpoint: onceward.EndpointDigest("http://127.0.0.1:2/v1/"), Reason: "billing"},
	}})
	if got := off(s); len(got) != 1 || got["b/"] == "" {
		t.Errorf("disabled %v, want b alone: the record's a is another one", got)
	}
}

// found is a conviction of this worker's own.
func found(s *poolSync, at time.Time) router.Change {
	return router.Change{Resource: "a", Model: "m", Event: router.EventDisabled, Limit: 200,
		Disabled: health.Disabled{Class: onceward.ClassBilling, Reason: "402", Since: at}}
}

func finding(s *poolSync, by string, at time.Time) onceward.PoolFinding {
	return onceward.PoolFinding{PoolReport: onceward.PoolReport{Resource: "a", Model: "m", Endpoint: s.endpoint("a"), By: by, At: at}}
}

func TestReportSaysWhoFoundItAndAtWhichLimit(t *testing.T) {
	s := poolOfTwo(t)
	at := time.Now()
	s.enqueue(found(s, at))
	if r := <-s.reports; r.By != "w1" || r.Limit != 200 || r.Class != onceward.ClassBilling || r.Endpoint != s.endpoint("a") || !r.At.Equal(at) {
		t.Errorf("reported %+v", r)
	}
	adopted := found(s, at)
	adopted.Disabled.Adopted = true
	if s.enqueue(adopted); len(s.reports) != 0 {
		t.Error("what others decided was reported")
	}
}

func TestReportIsToldUntilTheRecordHasIt(t *testing.T) {
	s := poolOfTwo(t)
	at := time.Now()
	for name, c := range map[string]struct {
		record onceward.PoolHealth
		heard  bool
	}{
		"an empty record":             {onceward.PoolHealth{}, false},
		"reported by this worker":     {onceward.PoolHealth{Reported: []onceward.PoolFinding{finding(s, "w1", at)}}, true},
		"reported by another":         {onceward.PoolHealth{Reported: []onceward.PoolFinding{finding(s, "w2", at)}}, false},
		"alone":                       {onceward.PoolHealth{Alone: []onceward.PoolFinding{finding(s, "w1", at)}}, true},
		"alone with what came before": {onceward.PoolHealth{Alone: []onceward.PoolFinding{finding(s, "w1", at.Add(-time.Second))}}, false},
		"at another address": {onceward.PoolHealth{Alone: []onceward.PoolFinding{{PoolReport: onceward.PoolReport{
			Resource: "a", Model: "m", Endpoint: "elsewhere", By: "w1", At: at,
		}}}}, false},
	} {
		if got := s.heard(c.record, found(s, at)); got != c.heard {
			t.Errorf("%s: heard %v, want %v", name, got, c.heard)
		}
	}
	for name, c := range map[string]struct {
		enabled onceward.Enabled
		lifts   bool
	}{
		"of the whole resource, later": {onceward.Enabled{Resource: "a", At: at.Add(time.Second)}, true},
		"at this address, later":       {onceward.Enabled{Resource: "a", Model: "m", Endpoint: s.endpoint("a"), At: at.Add(time.Second)}, true},
		"at another address, later":    {onceward.Enabled{Resource: "a", Model: "m", Endpoint: "elsewhere", At: at.Add(time.Second)}, false},
		"no later":                     {onceward.Enabled{Resource: "a", Model: "m", At: at}, false},
	} {
		if got := s.enabledSince(onceward.PoolHealth{Enabled: []onceward.Enabled{c.enabled}}, found(s, at)); got != c.lifts {
			t.Errorf("an enabling %s lifts what was found: %v, want %v", name, got, c.lifts)
		}
	}
}

func TestNobodyAdoptsWhatIsReportedOrAlone(t *testing.T) {
	s := poolOfTwo(t)
	s.adopt(onceward.PoolHealth{
		Reported: []onceward.PoolFinding{finding(s, "w2", time.Now())}, Alone: []onceward.PoolFinding{finding(s, "w3", time.Now())},
	})
	if got := off(s); len(got) != 0 {
		t.Errorf("disabled %v, want nothing", got)
	}
}

func TestNeutralCountsAreToldAsDifferencesOnce(t *testing.T) {
	s := poolOfTwo(t)
	count := func(passed int, unusable string) []onceward.NeutralCount {
		return []onceward.NeutralCount{{Resource: "a", Model: "m", Passed: passed, InputTokens: 20 * passed, Unusable: unusable}, {Resource: "b", Model: "m"}}
	}
	told := func(counts []onceward.NeutralCount) {
		s.counted.told = map[route]onceward.NeutralCount{}
		for _, c := range counts {
			s.counted.told[route{c.Resource, c.Model}] = c
		}
	}
	s.last.Neutrals = []onceward.NeutralCount{{Resource: "b", Model: "m", Endpoint: s.endpoint("b"), Unusable: "neutral: off"}}
	first := s.uncounted(count(2, ""))
	if len(first) != 2 || first[0].Passed != 2 || first[0].Endpoint != s.endpoint("a") || first[1].Resource != "b" || first[1].Unusable != "" {
		t.Fatalf("told first %+v, want two of a, and that b can be tested now", first)
	}
	told(count(2, ""))
	if again := s.uncounted(count(2, "")); len(again) != 0 {
		t.Errorf("told twice: %+v", again)
	}
	s.counted.told = nil
	s.last.Neutrals = nil
	if all := s.uncounted(count(0, "")); len(all) != 2 {
		t.Errorf("told a record that has no route %+v, want both", all)
	}
	told(count(2, ""))
	if next := s.uncounted(count(5, "unclear")); len(next) != 1 || next[0].Passed != 3 || next[0].InputTokens != 60 || next[0].Unusable != "unclear" {
		t.Errorf("told next %+v, want three more of a", next)
	}
}

func TestFindingThatIsNotHeldAnyMoreIsTakenBack(t *testing.T) {
	s := poolOfTwo(t)
	at := time.Now()
	s.last = onceward.PoolHealth{Alone: []onceward.PoolFinding{finding(s, "w1", at), finding(s, "w2", at)}}
	if got := s.acquitted(); len(got) != 1 || got[0].Resource != "a" || !got[0].At.Equal(at) {
		t.Errorf("taken back %+v, want this worker's own", got)
	}
}

// counter is a metrics handler that keeps what was counted.
type counter struct {
	client.MetricsHandler
	seen map[string]int
	tags string
}

func (c counter) WithTags(tags map[string]string) client.MetricsHandler {
	c.tags = tags["resource"] + "/" + tags["model"] + " " + tags["event"]
	return c
}
func (c counter) Counter(name string) client.MetricsCounter { return counting{c, name} }

type counting struct {
	c    counter
	name string
}

func (c counting) Inc(n int64) { c.c.seen[c.name+" "+c.c.tags] += int(n) }

func TestEveryEventIsLoggedAndCounted(t *testing.T) {
	for event, level := range map[router.Event]string{
		router.EventSuspected: "INFO", router.EventAcquitted: "INFO", router.EventClosed: "INFO", router.EventEnabled: "INFO", router.EventUsable: "INFO",
		router.EventConvicted: "WARN", router.EventOpened: "WARN", router.EventDisabled: "WARN", router.EventUnusable: "WARN",
	} {
		s := poolOfTwo(t)
		var out strings.Builder
		seen := map[string]int{}
		s.log, s.metrics = slog.New(slog.NewTextHandler(&out, nil)), counter{seen: seen}
		s.changed(router.Change{Resource: "a", Model: "m", Event: event, Class: onceward.ClassBilling, Reason: "402 here",
			Test: &onceward.PoolTest{Verdict: onceward.VerdictFailed, InputTokens: 21, OutputTokens: 16}})
		for _, want := range []string{"level=" + level, "resource " + string(event), "resource=a model=m class=billing", `reason="402 here"`, "verdict=failed", "input_tokens=21 output_tokens=16"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in %s", event, want, out.String())
			}
		}
		if (level == "WARN") != strings.Contains(out.String(), "remedy=") || seen["onceward_health a/m "+string(event)] != 1 {
			t.Errorf("%s: %s, counted %v", event, out.String(), seen)
		}
		if reported := len(s.reports) == 1; reported != (event == router.EventDisabled) {
			t.Errorf("%s: reported %v", event, reported)
		}
	}
}

func TestEveryProcessHasAnIdentityOfItsOwn(t *testing.T) {
	if a, b := identity(), identity(); a == b || len(a) > 120 || strings.ContainsAny(a, " \n") {
		t.Errorf("identities %q and %q", a, b)
	}
}
