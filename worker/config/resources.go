package config

import (
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
)

// RouterConfig returns the pool as the router takes it.
func (c Config) RouterConfig() router.Config {
	longest, _ := c.longestAttempt()
	p := router.Config{
		Name: c.Pool.Name, Affinity: c.Pool.Affinity, CrossBoundary: c.Pool.CrossBoundary,
		Breaker: router.Breaker{
			Failures: c.Pool.Breaker.Failures, Consecutive: c.Pool.Breaker.Consecutive,
			Window: c.Pool.Breaker.Window, OpenFor: c.Pool.Breaker.OpenFor,
		},
		NeutralCost:    c.Pool.NeutralCost,
		LongestAttempt: longest,
	}
	if key := c.Temporal.APIKey.Reveal(); key != "" { // a gateway of the house may serve both
		p.Secrets = append(p.Secrets, router.Secret(key))
	}
	for _, r := range c.Pool.Resources {
		out := router.Resource{
			Name: r.Name, Kind: r.Kind, API: r.API, BaseURL: r.BaseURL, Key: router.Secret(r.Key.Reveal()),
			Account: r.Account, Boundary: r.Boundary, Region: r.Region, SafetyPolicy: r.SafetyPolicy, Weight: r.Weight,
			Quota:   router.Quota{RequestsPerMinute: r.Quota.RequestsPerMinute, TokensPerMinute: r.Quota.TokensPerMinute},
			Neutral: router.Neutral{Off: r.Neutral.Off, MaxOutputTokens: r.Neutral.MaxOutputTokens, Timeout: r.Neutral.Timeout},
		}
		for _, h := range r.Headers {
			out.Headers = append(out.Headers, router.Header{Name: h.Name, Value: h.Value, Secret: router.Secret(h.Secret.Reveal())})
		}
		for _, dep := range r.Deployments {
			out.Deployments = append(out.Deployments, router.Deployment{
				Model: dep.Model, Deployment: dep.Deployment, Price: dep.Price, Capability: dep.Capability,
				Free: dep.Price.Input == 0 || dep.Price.Output == 0, // a missing price was refused; this 0 was written down
			})
		}
		p.Resources = append(p.Resources, out)
	}
	return p
}

// endpoint is what the checks of package router look at.
func (r Resource) endpoint() router.Resource {
	return router.Resource{Kind: r.Kind, API: r.API, BaseURL: r.BaseURL}
}

// RequestURL is what requests to the resource are posted to.
func (r Resource) RequestURL() string { return r.endpoint().RequestURL() }

// Endpoint names what the resource's health is about, for the pool's record: the
// address, and the headers that may lead to another host behind it. It has no
// part of a credential: what it is made of could be guessed from it.
func (r Resource) Endpoint() string {
	about := r.BaseURL
	for _, h := range r.Headers {
		about += "\n" + strings.ToLower(h.Name) + ": " + h.Value
	}
	return onceward.EndpointDigest(about)
}
