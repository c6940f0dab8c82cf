package router_test

import (
	"context"
	"fmt"
	"log"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
	"github.com/onceward/onceward/router/routertest"
)

// Two resources serve one model; the first has no credit left. The walk goes on
// to the second, and the first is not asked again.
func Example() {
	scripted, err := routertest.New(routertest.Config{
		Resources: []routertest.Resource{{Name: "swedencentral"}, {Name: "eastus2"}},
		Faults:    []routertest.Fault{routertest.FailWith(402, `{"error":{"message":"Insufficient credits"}}`).On("swedencentral")},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer scripted.Close()

	var cfg router.Config
	for _, s := range scripted.Resources() {
		cfg.Resources = append(cfg.Resources, router.Resource{
			Name: s.Name(), Kind: router.KindAzure, BaseURL: s.URL(),
			Deployments: []router.Deployment{{
				Model:      "gpt-5.6",
				Price:      onceward.Price{Input: onceward.FromUSD(1.25), CachedInput: onceward.FromUSD(0.125), Output: onceward.FromUSD(10)},
				Capability: onceward.Capability{MaxInputTokens: 272_000, MaxOutputTokens: 32_000},
			}},
		})
	}
	r, err := router.New(cfg)
	if err != nil {
		log.Fatal(err)
	}

	question, err := onceward.Text("user", "Say ok.")
	if err != nil {
		log.Fatal(err)
	}
	ask := onceward.RouteRequest{RunKey: "workflow/run", Turn: 1, Models: []string{"gpt-5.6"}, Warm: "swedencentral", Bytes: len(question.Raw)}
	ask.Requirements.OutputTokens = 100
	for {
		decision := r.Select(ask)
		for _, d := range decision.Dropped {
			fmt.Println("dropped", d.Resource, "at", d.Step)
		}
		if decision.Route == nil {
			log.Fatal("no route is left")
		}
		res, err := r.Call(context.Background(), onceward.ModelRequest{Route: *decision.Route, Items: []onceward.Item{question}})
		if err == nil {
			fmt.Printf("%s: %s\n", decision.Route.Resource, res.Text)
			return
		}
		fmt.Printf("%s: %v\n", decision.Route.Resource, err)
	}
	// Output:
	// swedencentral: billing (sent): Insufficient credits
	// dropped swedencentral at disabled
	// eastus2: ok
}
