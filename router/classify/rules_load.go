package classify

import (
	"github.com/onceward/onceward"
)

// gatewayRules come before the model's: a gateway with nothing behind it calls
// that a missing model as well.
var gatewayRules = []rule{
	{class: onceward.ClassGatewayExhausted, strong: true, words: "no deployments available"},
	{class: onceward.ClassGatewayExhausted, strong: true, words: "no available"},
	// A model that will be back is no model that is missing.
	{class: onceward.ClassOverloaded, strong: true, when: is(429, 500, 502, 503), words: "try again"},
}

// loadRules tell "you ask too much" (a window) from "we have no room" (health).
var loadRules = []rule{
	// Shared capacity upstream of a reseller is not our rate.
	{class: onceward.ClassOverloaded, strong: true, words: "overloaded_error"},
	{class: onceward.ClassOverloaded, strong: true, words: "at capacity"},
	{class: onceward.ClassOverloaded, strong: true, words: "capacity"},
	{class: onceward.ClassOverloaded, when: func(e *envelope) bool { return e.status == 503 || e.status == 200 && e.typ != "error" }, words: "slow_down"},
	{class: onceward.ClassOverloaded, when: is(529, 498)},
	// A server whose model process died may call that a bad request.
	{class: onceward.ClassServerError, strong: true, words: "model has crashed"},

	{class: onceward.ClassRateLimited, strong: true, words: "rate_limit_exceeded"},
	{class: onceward.ClassRateLimited, strong: true, words: "rate limit", when: func(e *envelope) bool {
		return e.status != 402 && (e.status < 500 || e.status == 503) || e.statusInBody == 429
	}},
}
