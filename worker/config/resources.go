package config

import (
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
		LongestAttempt: longest,
	}
	for _, r := range c.Pool.Resources {
		out := router.Resource{
			Name: r.Name, Kind: r.Kind, API: r.API, BaseURL: r.BaseURL, Key: router.Secret(r.Key.Reveal()),
			Account: r.Account, Boundary: r.Boundary, Region: r.Region, SafetyPolicy: r.SafetyPolicy, Weight: r.Weight,
			Quota: router.Quota{RequestsPerMinute: r.Quota.RequestsPerMinute, TokensPerMinute: r.Quota.TokensPerMinute},
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
