package classify

import (
	"strings"

	"github.com/onceward/onceward"
)

// shapeless holds for an answer without anything in it: the transport's doing.
func shapeless(e *envelope) bool {
	return e.empty || e.nullBody || e.emptyObject && e.codeCount == 0 && len(e.text) == 0 && !e.hasError
}

// elsewhere holds for a success that has nothing of an answer in it.
func elsewhere(e *envelope) bool {
	return answered(e) && e.transport == HTTP && !e.sse && !e.answerKeys() && !e.usage
}

// answerRules judge an answer that carries no error and is yet no use. Refusals
// and filters come before emptiness: both leave the content empty.
var answerRules = []rule{
	{class: onceward.ClassNetwork, when: func(e *envelope) bool { return e.readErr && !e.hasError && e.status < 300 }},
	{class: onceward.ClassEmptyOutput, over: []override{effect(onceward.EffectBreaker), scope(onceward.ScopeResource)}, when: func(e *envelope) bool {
		return shapeless(e) && e.transport != Connection && (e.status == 0 || answered(e))
	}},
	{class: onceward.ClassNetwork, when: func(e *envelope) bool { return e.empty && e.transport == Connection && e.status == 0 }},
	{class: onceward.ClassContentFiltered, when: func(e *envelope) bool { return strings.HasPrefix(e.end, "blocked_") }},
	{class: onceward.ClassContentFiltered, words: "filter ended it"},
	{class: onceward.ClassContentFiltered, when: func(e *envelope) bool { return answered(e) && e.filtered && !e.hasOutput() }},
	{class: onceward.ClassPolicyBlocked, words: "guardrail ended it"},
	{class: onceward.ClassRefusal, words: "refusal ended it"},
	{class: onceward.ClassRefusal, when: func(e *envelope) bool { return answered(e) && e.sawRefusal }},
	{class: onceward.ClassContextLength, words: "window ended it"},
	{class: onceward.ClassIncompleteOutput, when: func(e *envelope) bool { return !e.hasError && e.respStatus == "incomplete" }},
	{class: onceward.ClassIncompleteOutput, when: func(e *envelope) bool { return !e.hasError }, words: "limit ended it"},
	{class: onceward.ClassServerError, words: "server ended it"},
	{class: onceward.ClassInvalidOutput, words: "broken output ended it"},
	{class: onceward.ClassCancelled, when: func(e *envelope) bool { return !e.hasError && e.respStatus == "cancelled" && e.status < 300 }},
	{class: onceward.ClassServerError, when: func(e *envelope) bool {
		return !e.hasError && e.respStatus == "failed" && e.status < 300 && e.codeCount <= 2 && len(e.text) == 0
	}},
	// Arguments that end in the middle were cut at the cap, whatever the reason says.
	{class: onceward.ClassIncompleteOutput, when: func(e *envelope) bool { return answered(e) && e.argsCut }, over: []override{repair(onceward.RepairNone)}},
	{class: onceward.ClassInvalidOutput, when: func(e *envelope) bool { return answered(e) && e.argsBad }},
	{class: onceward.ClassInvalidOutput, when: func(e *envelope) bool { return answered(e) && e.sse && e.broken }},
	{class: onceward.ClassInvalidOutput, when: func(e *envelope) bool { return answered(e) && e.sse && e.nullError && e.frames == 1 }},
	// A stream that stopped before its end: the transport's doing, too.
	{class: onceward.ClassNetwork, when: func(e *envelope) bool {
		return answered(e) && e.sse && !e.sawTerminal && e.jsonBody && !e.terminalType() && e.sawOutputEvent
	}},
	{class: onceward.ClassEmptyOutput, over: []override{effect(onceward.EffectBreaker), scope(onceward.ScopeResource)}, when: func(e *envelope) bool {
		return answered(e) && e.sse && !e.sawTerminal && !e.terminalType() && !e.hasOutput()
	}},
	{class: onceward.ClassNetwork, when: func(e *envelope) bool { return answered(e) && e.transport == HTTP && e.jsonBody && e.cut }},
	{class: onceward.ClassEmptyOutput, when: func(e *envelope) bool {
		return answered(e) && (e.outputKey || e.choicesKey || e.contentKey) && !e.hasOutput()
	}},
	// "completed" and nothing to show for it: with usage the answer was lost,
	// without it this is no answer to a streaming request at all.
	{class: onceward.ClassInvalidOutput, when: func(e *envelope) bool { return answered(e) && e.respStatus == "completed" && !e.outputKey && e.usage }},
	{class: onceward.ClassUnsupportedCapability, when: func(e *envelope) bool { return answered(e) && e.respStatus == "completed" && !e.outputKey }},
	// Another service answers well, as it answers everybody.
	{class: onceward.ClassEndpointMisconfigured, when: func(e *envelope) bool { return elsewhere(e) && (e.markup || e.object == "list") }},
	{class: onceward.ClassEndpointMisconfigured, when: elsewhere, words: "state of another service"},
	{class: onceward.ClassEndpointMisconfigured, when: elsewhere, words: "words of another service"},
	{class: onceward.ClassInvalidOutput, when: func(e *envelope) bool { return answered(e) && len(e.text) == 0 }},
	{class: onceward.ClassInvalidOutput, when: func(e *envelope) bool { return answered(e) && e.hasOutput() }},
}

func (e *envelope) terminalType() bool {
	switch e.typ {
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.canceled",
		"response.done", "error", "message_stop", "response.error":
		return true
	}
	return false
}

// failedTerminal reports whether the bytes end a response as a failure.
func (e *envelope) failedTerminal() bool {
	switch e.typ {
	case "response.failed", "response.incomplete", "response.cancelled", "response.canceled", "response.error", "error":
		return true
	case "response.completed", "response.done":
		return e.hasError || e.respStatus == "failed" || e.respStatus == "incomplete"
	}
	if e.typ != "" && strings.HasPrefix(e.typ, "response.") && !e.hasError {
		return false
	}
	switch e.respStatus {
	case "failed", "incomplete", "cancelled":
		return true
	}
	return e.hasError || e.object == "error"
}
