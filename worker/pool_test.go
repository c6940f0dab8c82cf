package worker

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
	"github.com/onceward/onceward/router/health"
)

// poolOfTwo returns a sync over a router with resources a and b, without any
// service behind it: adopting a record needs none.
func poolOfTwo(t *testing.T) *poolSync {
	t.Helper()
	s := &poolSync{reports: make(chan onceward.PoolReport, poolReports)}
	deployment := router.Deployment{Model: "m", Deployment: "m", Price: onceward.Price{Input: 1, CachedInput: 1, Output: 1},
		Capability: onceward.Capability{Version: "1", MaxInputTokens: 1, MaxOutputTokens: 1}}
	r, err := router.New(router.Config{Name: "p", Resources: []router.Resource{
		{Name: "a", Kind: "compatible", BaseURL: "http://127.0.0.1:1/v1/", Deployments: []router.Deployment{deployment}},
		{Name: "b", Kind: "compatible", BaseURL: "http://127.0.0.1:2/v1/", Deployments: []router.Deployment{deployment}},
	}})
	if err != nil {
		t.Fatal(err)
	}
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

func TestAdoptTellsALostReportAgainAndBelievesALaterEnabling(t *testing.T) {
	s := poolOfTwo(t)
	// A finding of this worker's own, as an attempt leaves it.
	finding := time.Now()
	s.router.Adopt("a", "", health.Disabled{Reason: "placeholder", Since: finding})
	own := s.router.Off()[0]
	own.Disabled.Class = onceward.ClassBilling
	s.enqueue(own)
	if report := <-s.reports; report.Resource != "a" || report.Class != onceward.ClassBilling || !report.At.Equal(finding) {
		t.Errorf("reported %+v", report)
	}
	own.Disabled.Scope = onceward.ScopeEgress
	s.enqueue(own)
	if len(s.reports) != 0 {
		t.Error("a fault of this worker's own network was told to every worker")
	}
	s.adopt(onceward.PoolHealth{Enabled: []onceward.Enabled{{Resource: "a", At: finding.Add(time.Second), By: "ann"}}})
	if got := off(s); len(got) != 0 {
		t.Errorf("still disabled after ann enabled it: %v", got)
	}
}
