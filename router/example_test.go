package router_test

import (
	"context"
	"fmt"
	"log"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
	"github.com/onceward/onceward/router/routertest"
)

// Two resources serve one model; the first has no credit left. That answer only makes
// it suspect: a neutral request of the router's own finds the same, and the first is not
// asked again. The walk goes on to the second.
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
	disabled := make(chan router.Change, 1)
	cfg.OnChange = func(c router.Change) {
		if c.Event == router.EventDisabled {
			disabled <- c
		}
	}
	r, err := router.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()

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
		c := <-disabled // a run would not wait for it: the resource is avoided meanwhile
		fmt.Printf("%s is off after a test: %s\n", c.Resource, c.Reason)
	}
	// Output:
	// swedencentral: billing (sent): Insufficient credits
	// swedencentral is off after a test: Insufficient credits
	// dropped swedencentral at disabled
	// eastus2: ok
}
