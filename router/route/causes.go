package route

import (
	"strings"

	"github.com/onceward/onceward"
)

// because is a list of causes. A route that a person disabled has none.
func because(class onceward.Class) []onceward.Class {
	if class == "" {
		return nil
	}
	return []onceward.Class{class}
}

// excluded is a candidate that the run itself passes over.
func excluded(c *Candidate, e *onceward.ExcludedRoute, reason string) onceward.Dropped {
	return onceward.Dropped{Resource: c.Name, Model: c.Model, Step: StepExcluded, Reason: reason, Causes: because(e.Class)}
}

// unmet is a candidate that does not meet requirements, and which kinds of them.
func unmet(r onceward.Requirements, c *Candidate) onceward.Dropped {
	missing := func(r onceward.Requirements) bool { return len(r.Missing(c.Capability, c.Region, c.SafetyPolicy)) > 0 }
	d := onceward.Dropped{
		Resource: c.Name, Model: c.Model, Step: StepRequirements,
		Reason: strings.Join(r.Missing(c.Capability, c.Region, c.SafetyPolicy), "; "),
	}
	rest := r
	rest.InputTokens, rest.Region, rest.SafetyPolicy = 0, nil, ""
	for _, kind := range []struct {
		class onceward.Class
		need  onceward.Requirements
	}{
		{onceward.ClassContextLength, onceward.Requirements{InputTokens: r.InputTokens}},
		{onceward.ClassUnsupportedCapability, rest},
		{onceward.ClassRegionBlocked, onceward.Requirements{Region: r.Region}},
		{onceward.ClassPolicyBlocked, onceward.Requirements{SafetyPolicy: r.SafetyPolicy}},
	} {
		if missing(kind.need) {
			d.Causes = append(d.Causes, kind.class)
		}
	}
	if r.InputTokens > c.Capability.MaxInputTokens {
		d.Needed, d.Available = r.InputTokens, c.Capability.MaxInputTokens
	}
	return d
}
