package router_test

import (
	"context"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
	"github.com/onceward/onceward/router/routertest"
)

func TestTestOfADisabledResource(t *testing.T) {
	for name, c := range map[string]struct {
		fault routertest.Fault
		want  onceward.Class // empty: passes
	}{
		"works again":   {},
		"still refused": {fault: routertest.FailWith(402, `{"error":{"message":"Insufficient credits","code":402}}`), want: onceward.ClassBilling},
		"down":          {fault: routertest.FailWith(503, ``), want: onceward.ClassOverloaded},
	} {
		t.Run(name, func(t *testing.T) {
			pool := routertest.Start(t, routertest.Config{Resources: []routertest.Resource{{Name: "A"}}})
			if c.want != "" {
				if err := pool.SetFaults(c.fault); err != nil {
					t.Fatal(err)
				}
			}
			changes := 0
			r, err := router.New(router.Config{Name: "p", OnChange: func(router.Change) { changes++ }, Resources: []router.Resource{{
				Name: "A", Kind: "compatible", BaseURL: pool.Resource("A").URL(),
				Deployments: []router.Deployment{{Model: "m", Deployment: "m", Price: onceward.Price{Input: 1, CachedInput: 1, Output: 1},
					Capability: onceward.Capability{Version: "1", MaxInputTokens: 1000, MaxOutputTokens: 1000}}},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Disable("A", "", "billing", time.Time{}); err != nil {
				t.Fatal(err)
			}
			changes = 0
			test, err := r.Test(context.Background(), "A", "", 0)
			if err != nil || test.Class != c.want || test.Passed != (c.want == "") {
				t.Errorf("%+v, %v, want class %q", test, err, c.want)
			}
			if n, runs := len(pool.Neutrals()), pool.Attempts(); n != 1 || runs != 0 {
				t.Errorf("%d neutral requests and %d attempts, want 1 and 0", n, runs)
			}
			if changes != 0 || r.Health()[0].Disabled == nil {
				t.Errorf("the test changed health by itself: %d changes, %+v", changes, r.Health()[0])
			}
		})
	}
}
