package onceward

import (
	"fmt"
	"slices"
	"time"
)

// Capability is the versioned record of what a deployment can do. The zero
// value can do nothing.
type Capability struct {
	Version            string             `json:"version"`
	MaxInputTokens     int                `json:"max_input_tokens"`
	MaxOutputTokens    int                `json:"max_output_tokens"`
	ToolCalling        bool               `json:"tool_calling"`
	ParallelTools      bool               `json:"parallel_tools"`
	StrictSchema       bool               `json:"strict_schema"`
	EncryptedReasoning bool               `json:"encrypted_reasoning"`
	OmitReasoningIDs   bool               `json:"omit_reasoning_ids"` // reasoning_id: omit
	ImageInput         bool               `json:"image_input"`
	ListOutput         bool               `json:"list_output"` // tool outputs may be lists of parts
	HostedTools        []string           `json:"hosted_tools,omitempty"`
	EvalProfiles       map[string]float64 `json:"eval_profiles,omitempty"`
	P95Latency         time.Duration      `json:"p95_latency"`
	Locales            []string           `json:"locales,omitempty"` // empty: all
}

// Requirements is what a turn needs of a deployment. The zero value needs
// nothing. Token counts are filled in each turn, after rendering.
type Requirements struct {
	InputTokens     int           `json:"input_tokens,omitempty"`
	OutputTokens    int           `json:"output_tokens,omitempty"`
	ToolCalling     bool          `json:"tool_calling,omitempty"`
	ParallelTools   bool          `json:"parallel_tools,omitempty"`
	StrictSchema    bool          `json:"strict_schema,omitempty"`
	ImageInput      bool          `json:"image_input,omitempty"`
	ListOutput      bool          `json:"list_output,omitempty"`
	HostedTools     []string      `json:"hosted_tools,omitempty"`
	Region          []string      `json:"region,omitempty"` // one of these
	SafetyPolicy    string        `json:"safety_policy,omitempty"`
	Locale          string        `json:"locale,omitempty"`
	EvalProfile     string        `json:"eval_profile,omitempty"`
	MinimumPassRate float64       `json:"minimum_pass_rate,omitempty"`
	MaxP95Latency   time.Duration `json:"max_p95_latency,omitempty"`
}

// Missing names every requirement that a deployment with capability c on a
// resource in region with safety policy does not meet; none means that it may
// serve. Nothing is ever truncated to make it fit.
func (r Requirements) Missing(c Capability, region, policy string) []string {
	var missing []string
	need := func(ok bool, format string, args ...any) {
		if !ok {
			missing = append(missing, fmt.Sprintf(format, args...))
		}
	}
	need(r.InputTokens <= c.MaxInputTokens, "max_input_tokens: need %d, have %d", r.InputTokens, c.MaxInputTokens)
	need(r.OutputTokens <= c.MaxOutputTokens, "max_output_tokens: need %d, have %d", r.OutputTokens, c.MaxOutputTokens)
	need(!r.ToolCalling || c.ToolCalling, "tool_calling")
	need(!r.ParallelTools || c.ParallelTools, "parallel_tools")
	need(!r.StrictSchema || c.StrictSchema, "strict_schema")
	need(!r.ImageInput || c.ImageInput, "image_input")
	need(!r.ListOutput || c.ListOutput, "list_output")
	for _, tool := range r.HostedTools {
		need(slices.Contains(c.HostedTools, tool), "hosted_tools: need %s", tool)
	}
	need(len(r.Region) == 0 || slices.Contains(r.Region, region), "region: need one of %v, have %q", r.Region, region)
	need(r.SafetyPolicy == "" || r.SafetyPolicy == policy, "safety_policy: need %s, have %q", r.SafetyPolicy, policy)
	need(r.Locale == "" || len(c.Locales) == 0 || slices.Contains(c.Locales, r.Locale), "locale: need %s", r.Locale)
	if r.EvalProfile != "" {
		rate, ok := c.EvalProfiles[r.EvalProfile]
		need(ok, "eval_profile: %s was never run", r.EvalProfile)
		need(!ok || rate >= r.MinimumPassRate, "minimum_pass_rate: need %.3f on %s, have %.3f", r.MinimumPassRate, r.EvalProfile, rate)
	}
	need(r.MaxP95Latency == 0 || c.P95Latency > 0 && c.P95Latency <= r.MaxP95Latency, "max_p95_latency: need %s, have %s", r.MaxP95Latency, c.P95Latency)
	return missing
}

// Tighten returns requirements at least as strict as both r and other.
func (r Requirements) Tighten(other Requirements) (Requirements, error) {
	r.InputTokens = max(r.InputTokens, other.InputTokens)
	r.OutputTokens = max(r.OutputTokens, other.OutputTokens)
	r.ToolCalling = r.ToolCalling || other.ToolCalling
	r.ParallelTools = r.ParallelTools || other.ParallelTools
	r.StrictSchema = r.StrictSchema || other.StrictSchema
	r.ImageInput = r.ImageInput || other.ImageInput
	r.ListOutput = r.ListOutput || other.ListOutput
	r.HostedTools = append(slices.Clone(r.HostedTools), other.HostedTools...)
	if len(other.Region) > 0 {
		if len(r.Region) > 0 {
			var both []string
			for _, region := range r.Region {
				if slices.Contains(other.Region, region) {
					both = append(both, region)
				}
			}
			if len(both) == 0 {
				return r, fmt.Errorf("region: %v and %v have none in common", r.Region, other.Region)
			}
			r.Region = both
		} else {
			r.Region = slices.Clone(other.Region)
		}
	}
	for _, pair := range []struct {
		key  string
		mine *string
		its  string
	}{{"safety_policy", &r.SafetyPolicy, other.SafetyPolicy}, {"locale", &r.Locale, other.Locale}, {"eval_profile", &r.EvalProfile, other.EvalProfile}} {
		switch {
		case pair.its == "" || *pair.mine == pair.its:
		case *pair.mine == "":
			*pair.mine = pair.its
		default:
			return r, fmt.Errorf("%s: %s and %s cannot both hold", pair.key, *pair.mine, pair.its)
		}
	}
	r.MinimumPassRate = max(r.MinimumPassRate, other.MinimumPassRate)
	if r.MaxP95Latency == 0 || other.MaxP95Latency > 0 && other.MaxP95Latency < r.MaxP95Latency {
		r.MaxP95Latency = other.MaxP95Latency
	}
	return r, nil
}
