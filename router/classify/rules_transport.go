package classify

import (
	"github.com/onceward/onceward"
)

// neverConnected reports a connection that never stood: the request was not taken.
func (e *envelope) neverConnected() bool { return e.says(table().neverConn) }

// overTheWire holds where the text is the transport's own: there was no status,
// or a gateway reports its upstream in a 5xx.
func overTheWire(e *envelope) bool {
	return e.status == 0 || e.transport == Connection || e.status >= 500 || (e.status < 300 && !e.jsonBody)
}

// brokenWire is narrower: a gateway that answers in JSON speaks for itself, and
// then its status says more than the words that it quotes.
func brokenWire(e *envelope) bool { return overTheWire(e) && (e.status < 500 || !e.jsonBody) }

// transportRules are what broke between us and the resource.
var transportRules = []rule{
	{class: onceward.ClassTimeout, strong: true, when: not(400, 401, 403, 404, 422), words: "ModelTimeoutException"},
	// A drained connection is housekeeping, not ill health.
	{class: onceward.ClassNetwork, over: []override{effect(onceward.EffectNone)}, words: "errcode=no_error"},
	{class: onceward.ClassTimeout, strong: true, when: overTheWire, words: "deadline exceeded"},
	{class: onceward.ClassNetwork, strong: true, when: brokenWire, words: "connection refused"},
	{class: onceward.ClassNetwork, strong: true, when: overTheWire, words: "eof"},
	{class: onceward.ClassNetwork, when: undecided, words: "terminated"},
}
