package router

import "github.com/onceward/onceward"

// Untested returns the pairs that get no neutral requests by this configuration, and
// why. It asks nobody.
func (c Config) Untested() []onceward.NeutralCount {
	c = c.withDefaults()
	var out []onceward.NeutralCount
	for _, r := range c.Resources {
		for _, d := range r.Deployments {
			if why := r.withoutNeutral(d, c.NeutralCost); why != "" {
				out = append(out, onceward.NeutralCount{Resource: r.Name, Model: d.Model, Unusable: why})
			}
		}
	}
	return out
}
