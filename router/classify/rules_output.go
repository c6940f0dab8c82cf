package classify

import "github.com/onceward/onceward"

// outputRules are errors that report the model's output, not the request: the
// model answered, and another attempt may answer better.
var outputRules = []rule{
	{class: onceward.ClassInvalidOutput, strong: true, words: "tool call validation failed"},
	{class: onceward.ClassIncompleteOutput, words: "model output limit was reached"},
	{class: onceward.ClassEmptyOutput, strong: true, words: "model returned an empty"},
}

// requestRules are plain faults of the request.
var requestRules = []rule{
	{class: onceward.ClassInvalidRequest, when: clientFault, over: []override{fallback(true)}, words: "image", re: imageLimits},
	{class: onceward.ClassInvalidRequest, when: clientFault, words: "invalid_value"},
	{class: onceward.ClassInvalidRequest, when: clientFault, words: "invalid schema for"},
	{class: onceward.ClassInvalidRequest, when: clientFault, words: "names"},
	// No server fails inside on a name: it says so with the wrong status. Whether
	// another one would is open, so the walk goes on.
	{class: onceward.ClassServerError, strong: true, when: is(500), over: []override{effect(onceward.EffectNone), scope(onceward.ScopeRequest)},
		words: "names"},
}

// clientFault holds for the statuses of a refused request, and where no status
// says anything else. What our own reading reports is never the request's fault:
// "malformed" is said of the bytes that came.
func clientFault(e *envelope) bool {
	switch e.status {
	case 400, 409, 415, 417, 422:
		return true
	case 404:
		return e.codeCount > 0 || len(e.text) > 0 && !e.page
	}
	return e.status < 300 && !e.readErr && (e.hasError || e.plain) && e.transport != Connection
}
