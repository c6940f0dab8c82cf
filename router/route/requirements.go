package route

import (
	"slices"

	"github.com/onceward/onceward"
)

// met reports whether Requirements.Missing names nothing. It is the same rule
// without a list of reasons, because a selection must not allocate for
// candidates that pass; a test holds the two together.
func met(r *onceward.Requirements, input, output int, c *onceward.Capability, region, policy string) bool {
	if input > c.MaxInputTokens || output > c.MaxOutputTokens ||
		r.ToolCalling && !c.ToolCalling || r.ParallelTools && !c.ParallelTools || r.StrictSchema && !c.StrictSchema ||
		r.ImageInput && !c.ImageInput || r.ListOutput && !c.ListOutput ||
		r.SafetyPolicy != "" && r.SafetyPolicy != policy ||
		len(r.Region) > 0 && !slices.Contains(r.Region, region) ||
		r.Locale != "" && len(c.Locales) > 0 && !slices.Contains(c.Locales, r.Locale) ||
		r.MaxP95Latency != 0 && (c.P95Latency <= 0 || c.P95Latency > r.MaxP95Latency) {
		return false
	}
	for _, tool := range r.HostedTools {
		if !slices.Contains(c.HostedTools, tool) {
			return false
		}
	}
	if r.EvalProfile != "" {
		rate, ok := c.EvalProfiles[r.EvalProfile]
		return ok && rate >= r.MinimumPassRate
	}
	return true
}
