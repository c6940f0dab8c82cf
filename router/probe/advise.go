package probe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/redact"
)

// differences compares what was found with what the configuration says.
func differences(report Report) []Difference {
	out := []Difference{}
	for _, r := range report.Resources {
		c := r.dep.Capability
		add := func(key, says, should, why string) {
			out = append(out, Difference{Resource: r.Resource, Model: r.Model, Key: key, Says: says, Should: should, Why: why})
		}
		if w := r.Window; w.Holds == No {
			add("capability.max_input_tokens", strconv.Itoa(c.MaxInputTokens), w.should(), w.Why)
		}
		if len(r.Errors) > 0 {
			continue
		}
		if found := r.EncryptedReasoning; found != Unknown && (found == Yes) != c.EncryptedReasoning {
			add("capability.encrypted_reasoning", strconv.FormatBool(c.EncryptedReasoning), strconv.FormatBool(found == Yes), "an answer came "+map[Answer]string{Yes: "with", No: "without"}[found]+" encrypted reasoning")
		}
		switch {
		case r.IDsKept == No && r.IDsOmitted == Yes && !c.OmitReasoningIDs:
			add("capability.reasoning_id", "keep", "omit", "a replay with item ids is refused, one without is accepted")
		case r.IDsOmitted == No && r.IDsKept == Yes && c.OmitReasoningIDs:
			add("capability.reasoning_id", "omit", "keep", "a replay without item ids is refused, one with them is accepted")
		}
		if r.StrictSchema == No && c.StrictSchema {
			add("capability.strict_schema", "true", "false", "a schema that strict mode must refuse was taken")
		}
	}
	return append(out, boundaries(report)...)
}

// boundaries compares the declared encryption boundaries with the pairs.
func boundaries(report Report) []Difference {
	declared := map[string]string{}
	for _, r := range report.Resources {
		declared[r.Resource] = r.in.Boundary
		if r.in.Boundary == "" {
			declared[r.Resource] = r.Resource
		}
	}
	var out []Difference
	for _, group := range groups(report) {
		for i, a := range group {
			for _, b := range group[i+1:] {
				if declared[a] != declared[b] {
					out = append(out, Difference{
						Resource: b, Key: "encryption_boundary", Says: declared[b], Should: declared[a],
						Why: fmt.Sprintf("%s and %s read each other's reasoning", a, b),
					})
					declared[b] = declared[a]
				}
			}
		}
	}
	for _, r := range report.Resources {
		shared := slices.ContainsFunc(report.Resources, func(o Resource) bool { return o.Resource != r.Resource && declared[o.Resource] == declared[r.Resource] })
		if shared && r.ReadsReasoning == No {
			out = append(out, Difference{
				Resource: r.Resource, Model: r.Model, Key: "encryption_boundary", Says: declared[r.Resource], Should: r.Resource,
				Why: "it takes spoiled reasoning too, so that reasoning sent there may be lost in silence",
			})
			declared[r.Resource] = r.Resource
		}
	}
	for _, p := range report.Pairs {
		if p.Accepted == No && declared[p.From] == declared[p.To] {
			out = append(out, Difference{
				Resource: p.To, Model: p.Model, Key: "encryption_boundary", Says: declared[p.To], Should: p.To,
				Why: fmt.Sprintf("%s cannot read what %s wrote: %s", p.To, p.From, p.Why),
			})
		}
	}
	return out
}

// groups puts resources together that read each other's reasoning, both ways.
func groups(report Report) [][]string {
	reads := map[string]bool{}
	for _, p := range report.Pairs {
		key := p.From + "\x00" + p.To
		if _, seen := reads[key]; !seen {
			reads[key] = p.Accepted == Yes
		}
		reads[key] = reads[key] && p.Accepted == Yes
	}
	var out [][]string
	for _, r := range report.Resources {
		fits := func(group []string) bool {
			for _, member := range group {
				if member == r.Resource || !reads[member+"\x00"+r.Resource] || !reads[r.Resource+"\x00"+member] {
					return false
				}
			}
			return true
		}
		placed := slices.ContainsFunc(out, func(g []string) bool { return slices.Contains(g, r.Resource) })
		for i := range out {
			if !placed && fits(out[i]) {
				out[i], placed = append(out[i], r.Resource), true
			}
		}
		if !placed {
			out = append(out, []string{r.Resource})
		}
	}
	return out
}

// short makes a refusal fit a table, without secrets.
func short(s string) string {
	s = redact.Shapes(strings.Join(strings.Fields(s), " "), onceward.MaxFailureMessage)
	return s[:min(len(s), 200)]
}
