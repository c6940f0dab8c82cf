package judges

import (
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
	"github.com/onceward/onceward/router/routertest"
)

// mixed is a pool of one scripted resource of ours and one of another maker. The
// function makes routers over both that know nothing of each other.
func mixed(t *testing.T) (func() *router.Router, *routertest.Pool) {
	t.Helper()
	installed(t)
	foreign := serveScript(t, "aimock.mjs")
	pool, base := refundPool(t)
	return func() *router.Router {
		return routerOf(t, resource("ours", base, able()), resource("foreign", foreign+"/v1", able()))
	}, pool
}

func TestCorpusRefundGoesOnAcrossMakers(t *testing.T) {
	t.Parallel()
	newRouter, pool := mixed(t)
	r := newRouter()
	for name, routes := range map[string][]string{
		"foreign alone":   {"foreign"},
		"from ours":       {"ours", "foreign", "ours"},
		"to ours":         {"foreign", "ours", "foreign"},
		"ours in between": {"foreign", "ours", "ours"},
	} {
		said, items := refund(t, r, routes...)
		if !strings.Contains(said, refunded) {
			t.Errorf("%s: %q", name, said)
		}
		calls, outputs := 0, 0
		for _, item := range items {
			switch item.Type {
			case "function_call":
				calls++
			case "function_call_output":
				outputs++
			}
		}
		if calls != 2 || outputs != 2 {
			t.Errorf("%s: %d calls and %d outputs", name, calls, outputs)
		}
	}
	served(t, pool, 2+1+2, 0) // what another maker minted is never refused by ours
}

func TestCorpusForeignFailuresAreNamedAndOursAnswers(t *testing.T) {
	t.Parallel()
	newRouter, pool := mixed(t)
	for word, want := range map[string]onceward.Class{
		"fail": onceward.ClassOverloaded, "limit": onceward.ClassRateLimited, "cut": onceward.ClassNetwork,
	} {
		t.Run(word+" is "+string(want), func(t *testing.T) {
			r, before := newRouter(), pool.Attempts()
			ask := onceward.ModelRequest{Route: to("foreign"), Items: []onceward.Item{text(t, "user", word)}, Timeouts: patient()}
			_, f := call(t, r, ask)
			if f == nil {
				t.Fatal("no failure")
			}
			if f.Class != want || !f.FallbackEligible || f.Resource != "foreign" {
				t.Errorf("%s of %s, want %s: %s", f.Class, f.Resource, want, f.Message)
			}
			decision := r.Select(onceward.RouteRequest{
				RunKey: "run/1", Turn: 1, Attempt: 2, Models: []string{model}, Bytes: 100, Requirements: onceward.Requirements{OutputTokens: 100},
				Excluded: []onceward.ExcludedRoute{{Resource: "foreign", Class: f.Class, Soft: true, Turn: 1}},
			})
			if decision.Route == nil || decision.Route.Resource != "ours" {
				t.Fatalf("the walk went on to %+v", decision)
			}
			if !slices.ContainsFunc(decision.Dropped, func(d onceward.Dropped) bool { return d.Resource == "foreign" }) {
				t.Errorf("it is not said why foreign was passed over: %+v", decision.Dropped)
			}
			ask.Route = *decision.Route
			mustCall(t, r, ask)
			if n := pool.Attempts() - before; n != 1 {
				t.Errorf("ours saw %d requests", n)
			}
		})
	}
}
