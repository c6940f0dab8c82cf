package config

import (
	"time"

	"gopkg.in/yaml.v3"

	"github.com/onceward/onceward"
)

// neutralCost reads the most that one neutral request may cost.
func (l *loader) neutralCost(o *object, dst *onceward.MicroUSD) {
	var usd float64
	if !o.number("neutral_cost_usd", &usd) {
		return
	}
	if usd > 0 && usd < 1e-6 { // it would be rounded up, or read as no amount at all
		l.d.refuse(o.at("neutral_cost_usd"), "is less than 0.000001, the least that is counted; leave it out for 0.005, and write neutral: off at a resource that is not to be tested")
		return
	}
	if usd <= 0 || usd > 1e6 {
		l.d.refuse(o.at("neutral_cost_usd"), "is not an amount in US dollars above 0; leave it out for 0.005, and write neutral: off at a resource that is not to be tested")
		return
	}
	*dst = onceward.FromUSD(usd)
}

// neutral reads how a resource is tested: off, or what its neutral requests need.
func (l *loader) neutral(o *object, n *Neutral) {
	node := o.get("neutral")
	if node == nil {
		return
	}
	if node.Kind == yaml.ScalarNode {
		if n.Off = node.Value == "off"; !n.Off {
			l.d.refuse(o.at("neutral"), "is neither off nor keys and values such as {max_output_tokens: 64}; leave it out for the default")
		}
		return
	}
	s, ok := o.child("neutral")
	if !ok {
		return
	}
	s.integer("max_output_tokens", &n.MaxOutputTokens)
	if n.MaxOutputTokens == 0 && s.get("max_output_tokens") != nil {
		l.d.refuse(s.at("max_output_tokens"), "%s", noTokens)
	}
	s.duration("timeout", &n.Timeout)
	if n.Timeout == 0 && s.get("timeout") != nil {
		l.d.refuse(s.at("timeout"), "is not positive; leave it out for 25s")
	}
	s.end()
}

const noTokens = "is not positive: an answer needs some; leave it out for 16, or write neutral: off for no neutral requests"

// checkNeutral refuses neutral requests that could not be sent, or not in time.
func checkNeutral(r Resource, at func(string) string, refuse refusal) {
	n := r.Neutral
	switch {
	case n.MaxOutputTokens < 0:
		refuse(at("neutral.max_output_tokens"), "%s", noTokens)
	case n.Timeout < 0:
		refuse(at("neutral.timeout"), "is not positive; leave it out for 25s")
	case n.Timeout > onceward.NeutralTimeout:
		refuse(at("neutral.timeout"), "is longer than %s, and a test of the pool's has no more time", onceward.NeutralTimeout.Round(time.Second))
	}
	for _, d := range r.Deployments {
		if most := d.Capability.MaxOutputTokens; most > 0 && n.MaxOutputTokens > most {
			refuse(at("neutral.max_output_tokens"), "is more than a deployment of the resource may put out, %d (capability.max_output_tokens); make it at most that", most)
			return
		}
	}
}
