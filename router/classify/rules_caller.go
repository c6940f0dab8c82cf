package classify

import (
	"github.com/onceward/onceward"
)

// callerRules are what our own side did: nobody's health.
var callerRules = []rule{
	{class: onceward.ClassConnectionExpired, over: []override{fallback(false)}, codes: []string{"websocket_connection_limit_reached"}, any: []string{
		"websocket connection limit reached",
	}},
	{class: onceward.ClassDeadlineExceeded, when: undecided, any: []string{"client aborted", "client deadline exceeded", "caller's deadline",
		"deadline expired", "client disconnected", "client closed request after",
	}},
	{class: onceward.ClassCancelled, when: is(0, 200, 499), any: []string{"context canceled", "context cancelled", "request canceled", "request cancelled",
		"response body closed", "operation was aborted", "operation was canceled", "operation was cancelled", "user aborted", "aborterror", "cancellederror",
		"cancelederror", "task was destroyed", "request was aborted", "call was cancelled", "canceled by the user", "cancelled by the user",
	}, none: []string{"client.timeout", "by server", "by the server", "awaiting headers", "while waiting for connection"}},
	// A tool server that the request names refused or failed: whatever status and
	// words it answered with, they are not the resource's.
	{class: onceward.ClassInvalidRequest, codes: []string{"external_connector_error"}, any: []string{"mcp server"}, re: either(
		`(?:error|fail|could not|unable)[^\n]{0,60}mcp server`, `mcp server[^\n]{0,80}(?:error|fail|unreachable|\b[45]\d\d\b)`,
	)},
	{class: onceward.ClassCancelled, codes: []string{"response_cancelled", "client_closed_request"}},
}
