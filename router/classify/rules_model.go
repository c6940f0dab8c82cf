package classify

import (
	"regexp"
	"strings"

	"github.com/onceward/onceward"
)

// modelRules are about what this deployment serves and what it can do.
var modelRules = []rule{
	{class: onceward.ClassUnsupportedCapability, strong: true, words: "no endpoints found that support"},
	{class: onceward.ClassModelUnavailable, words: "model_not_found"},
	{class: onceward.ClassModelUnavailable, strong: true, words: "try pulling it first"},
	{class: onceward.ClassModelUnavailable, strong: true, words: "model"},

	// The account is entitled to other models: the pair is lost, not the resource.
	{class: onceward.ClassModelUnavailable, when: is(400, 401, 403, 404), words: "your plan"},
	{class: onceward.ClassModelUnavailable, words: "endpoint"},

	// Local servers say 500 for a modality that the model lacks.
	{class: onceward.ClassUnsupportedCapability, strong: true, words: "image input is not supported"},
	{class: onceward.ClassUnsupportedCapability, when: func(e *envelope) bool { return e.status != 429 && e.status != 401 }, words: "unsupported_parameter"},
	{class: onceward.ClassUnsupportedCapability, strong: true, words: "doesn't support", when: func(e *envelope) bool {
		return e.status != 429 && e.status != 415 && (e.status < 500 || e.status == 501) && e.transport != Connection
	}},
	// A cap on the output that is this model's, not everybody's.
	{class: onceward.ClassUnsupportedCapability, when: is(400, 422), words: "max_tokens"},
	{class: onceward.ClassUnsupportedCapability, when: aboutTools, words: "supported values are"},
	// A role that came with the newer APIs.
	{class: onceward.ClassUnsupportedCapability, when: is(400, 422), words: "developer"},
	{class: onceward.ClassUnsupportedCapability, when: func(e *envelope) bool { return e.status < 429 && !pathParam(e.param) }, words: "unknown variant"},
	// A host that refuses the input without a word about what is wrong with it
	// lacks an item type: one that knows the type says which field it dislikes.
	{class: onceward.ClassUnsupportedCapability, when: func(e *envelope) bool { return e.status == 400 && e.param == "input" }, words: "invalid input"},
}

// aboutTools holds when the refused value is the type of a tool or an item.
func aboutTools(e *envelope) bool {
	return toolParam.MatchString(e.param) || toolParam.Match(e.text)
}

var toolParam = regexp.MustCompile(`(?:^|[ '])(?:tools[.\[]\d+\]?[\w.\[\]]*(?:type)?|tool_choice)\b`)

// pathParam tells a field inside the caller's items from a parameter.
func pathParam(p string) bool { return strings.Contains(p, "[") }
