package classify

import (
	"github.com/onceward/onceward"
)

// callerRules are what our own side did: nobody's health.
var callerRules = []rule{
	{class: onceward.ClassConnectionExpired, over: []override{fallback(false)}, words: "websocket connection limit reached"},
	{class: onceward.ClassDeadlineExceeded, when: undecided, words: "client aborted"},
	{class: onceward.ClassCancelled, when: is(0, 200, 499), words: "context canceled"},
	// A tool server that the request names refused or failed: whatever status and
	// words it answered with, they are not the resource's.
	{class: onceward.ClassInvalidRequest, words: "mcp server"},
	{class: onceward.ClassCancelled, words: "response_cancelled"},
}
