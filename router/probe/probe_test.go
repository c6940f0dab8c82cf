package probe_test

import (
	"context"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
	"github.com/onceward/onceward/router/probe"
	"github.com/onceward/onceward/router/routertest"
)

var thinking = routertest.Model{Rules: []routertest.Rule{{
	Name: "think",
	ReplyFunc: func(req routertest.Request) []routertest.Out {
		if req.Includes("reasoning.encrypted_content") {
			return []routertest.Out{{Reasoning: &routertest.Reasoning{}}, routertest.Say("391")}
		}
		return []routertest.Out{routertest.Say("391")}
	},
}}}

func poolConfig(pool *routertest.Pool, declare func(*router.Resource)) router.Config {
	var cfg router.Config
	for _, s := range pool.Resources() {
		r := router.Resource{Name: s.Name(), Kind: router.KindCompatible, BaseURL: s.URL(), Key: "sk-secret", Boundary: s.Name(), Deployments: []router.Deployment{{
			Model: "m", Deployment: "m", Capability: onceward.Capability{EncryptedReasoning: true, StrictSchema: true},
		}}}
		if declare != nil {
			declare(&r)
		}
		cfg.Resources = append(cfg.Resources, r)
	}
	return cfg
}

func TestProbeFindsBoundariesDriftAndWhatTheConfigurationShouldSay(t *testing.T) {
	pool := routertest.Start(t, routertest.Config{Model: thinking, Resources: []routertest.Resource{
		{Name: "A", EncryptionBoundary: "eu"},
		{Name: "B", EncryptionBoundary: "eu", Drift: routertest.Drift{Model: "m-2026-07-09", ReasoningStatus: true}},
		{Name: "C"},
		{Name: "D", NoEncryptedReasoning: true},
	}})
	report, err := probe.Run(context.Background(), probe.Config{Pool: poolConfig(pool, nil)})
	if err != nil {
		t.Fatal(err)
	}
	pairs := map[string]probe.Answer{}
	for _, p := range report.Pairs {
		pairs[p.From+p.To] = p.Accepted
	}
	for pair, want := range map[string]probe.Answer{"AB": probe.Yes, "BA": probe.Yes, "AC": probe.No, "CA": probe.No, "DA": probe.Unknown} {
		if pairs[pair] != want {
			t.Errorf("%s: %s, want %s", pair, pairs[pair], want)
		}
	}
	found := map[string]string{}
	for _, d := range report.Differences {
		found[d.Resource+" "+d.Key] = d.Should
	}
	if found["B encryption_boundary"] != "A" || found["D capability.encrypted_reasoning"] != "false" || len(found) != 2 {
		t.Errorf("differences %v", report.Differences)
	}
	if len(report.Drift) != 1 || report.Drift[0].Fact != "served model" || report.Drift[0].Values["B"] != "m-2026-07-09" {
		t.Errorf("drift %+v", report.Drift)
	}
	for _, r := range report.Resources {
		if r.StoreHonoured != probe.Yes || r.StrictSchema != probe.Yes || r.IDsKept != probe.Yes {
			t.Errorf("%s: %+v", r.Resource, r)
		}
	}
	if report.Requests != pool.Attempts()+4 { // and one GET a resource
		t.Errorf("%d requests counted, %d came", report.Requests, pool.Attempts()+4)
	}
	if limit := 4*6 + 6; report.Requests > limit {
		t.Errorf("%d requests, more than a handful a resource (%d)", report.Requests, limit)
	}
}

func TestProbeSaysWhenADeclaredBoundaryDoesNotHold(t *testing.T) {
	pool := routertest.Start(t, routertest.Config{Model: thinking, Resources: []routertest.Resource{{Name: "A"}, {Name: "B"}}})
	report, err := probe.Run(context.Background(), probe.Config{Pool: poolConfig(pool, func(r *router.Resource) { r.Boundary = "shared" })})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Differences) != 2 || !strings.Contains(report.Differences[0].Why, "cannot read") {
		t.Errorf("differences %+v", report.Differences)
	}
}

func TestProbeReportsADeadResourceAndGoesOn(t *testing.T) {
	pool := routertest.Start(t, routertest.Config{Model: thinking, Resources: []routertest.Resource{{Name: "A"}, {Name: "B"}}})
	if err := pool.SetFaults(routertest.FailWith(401, `{"error":{"message":"Incorrect API key provided: sk-secret","code":"invalid_api_key"}}`).On("A").For(0)); err != nil {
		t.Fatal(err)
	}
	report, err := probe.Run(context.Background(), probe.Config{Pool: poolConfig(pool, nil)})
	if err != nil {
		t.Fatal(err)
	}
	errors := strings.Join(report.Resources[0].Errors, " ")
	if !strings.Contains(errors, "authentication") || strings.Contains(errors, "sk-secret") {
		t.Errorf("errors of A: %s", errors)
	}
	if report.Resources[1].StoreHonoured != probe.Yes {
		t.Errorf("B was not probed: %+v", report.Resources[1])
	}
}

func TestProbeTellsNoKeyAndSendsTheHeadersOfTheResource(t *testing.T) {
	pool := routertest.Start(t, routertest.Config{Model: thinking, Resources: []routertest.Resource{{Name: "A"}, {Name: "B"}}})
	const key = "orchid-gateway-42-north"
	if err := pool.SetFaults(routertest.FailWith(503, `{"error":{"message":"upstream refused consumer `+key+`"}}`).On("A").For(0)); err != nil {
		t.Fatal(err)
	}
	report, err := probe.Run(context.Background(), probe.Config{Pool: poolConfig(pool, func(r *router.Resource) {
		r.Key, r.Headers = key, []router.Header{{Name: "X-Provider", Value: "openai"}}
	})})
	if err != nil {
		t.Fatal(err)
	}
	if found := strings.Join(report.Resources[0].Errors, " "); !strings.Contains(found, "upstream refused consumer [redacted]") {
		t.Errorf("errors of A: %s", found)
	}
	for _, req := range pool.Resource("B").Requests() {
		if req.Header.Get("X-Provider") != "openai" {
			t.Errorf("a request without the header: %v", req.Header)
		}
	}
}

func TestProbeAsksNothingOfAChatResource(t *testing.T) {
	pool := routertest.Start(t, routertest.Config{Model: thinking, Resources: []routertest.Resource{{Name: "A"}, {Name: "B", API: routertest.APIChatCompletions}}})
	report, err := probe.Run(context.Background(), probe.Config{Pool: poolConfig(pool, func(r *router.Resource) {
		if r.Name == "B" {
			r.API = router.APIChatCompletions
		}
	})})
	if err != nil || len(report.Resources) != 2 || len(report.Resources[1].Errors) != 1 || len(report.Resources[0].Errors) != 0 {
		t.Errorf("%+v, %v", report.Resources, err)
	}
	if n := len(pool.Resource("B").Requests()); n != 0 {
		t.Errorf("%d requests to B", n)
	}
	for _, d := range report.Differences {
		if d.Resource == "B" {
			t.Errorf("advice about what was not asked: %+v", d)
		}
	}
}
