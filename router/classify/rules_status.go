package classify

import "github.com/onceward/onceward"

// statusRules read the status where no code and no text has said more. Status
// alone never makes a 400 anybody's fault but the request's.
var statusRules = []rule{
	{class: onceward.ClassEndpointMisconfigured, when: between(300, 399)},
	{class: onceward.ClassEndpointMisconfigured, when: (*envelope).silent},
	{class: onceward.ClassAuthentication, when: is(401)},
	{class: onceward.ClassBilling, when: is(402)},
	{class: onceward.ClassPermission, when: is(403)},
	{class: onceward.ClassStaleAnchor, when: func(e *envelope) bool { return e.status < 500 && len(e.text) == 0 }, words: "not_found_error"},
	{class: onceward.ClassModelUnavailable, words: "ResourceNotFoundException"},
	// A 404 that is typed as the request's fault is about something in the
	// request, not about the address.
	{class: onceward.ClassInvalidRequest, when: func(e *envelope) bool { return e.status == 404 && len(e.text) > 0 }, words: "invalid_request_error"},
	{class: onceward.ClassEndpointMisconfigured, when: is(404, 405, 406, 410, 421, 426, 501, 505)},
	{class: onceward.ClassTimeout, when: is(408, 504, 522, 524, 598, 599)},
	{class: onceward.ClassStateConflict, when: is(409, 423)},
	{class: onceward.ClassRequestTooLarge, when: is(413, 414, 431)},
	{class: onceward.ClassInvalidRequest, when: is(415, 422)},
	{class: onceward.ClassServerError, when: is(424)},
	{class: onceward.ClassRateLimited, when: is(425, 429)},
	{class: onceward.ClassRegionBlocked, when: is(451)},
	{class: onceward.ClassCancelled, when: is(499)},
	{class: onceward.ClassOverloaded, when: is(503)},
	{class: onceward.ClassNetwork, when: is(521, 523, 525)},
	{class: onceward.ClassEndpointMisconfigured, when: is(526)},
	{class: onceward.ClassServerError, when: between(500, 599)},
}

// typeRules read the generic types: better than nothing, and only that.
var typeRules = []rule{
	{class: onceward.ClassPermission, words: "permission_error"},
	{class: onceward.ClassOverloaded, when: undecided, words: "service_unavailable"},
	{class: onceward.ClassServerError, when: undecided, words: "server_error"},
	{class: onceward.ClassServerError, when: undecided, words: "internalserverexception"},
	{class: onceward.ClassStaleAnchor, when: func(e *envelope) bool { return e.status == 0 && len(e.text) == 0 }, words: "not_found_error of an anchor"},
	{class: onceward.ClassInvalidRequest, when: func(e *envelope) bool { return e.status < 500 }, words: "INVALID_ARGUMENT"},
}

// lastRules end the table.
var lastRules = []rule{
	{class: onceward.ClassUnknown, when: between(400, 499), over: []override{fallback(false)}},
	{class: onceward.ClassServerError, when: func(e *envelope) bool { return e.hasError && e.status < 300 }},
	{class: onceward.ClassInvalidOutput, when: answered},
	{class: onceward.ClassNetwork, when: func(e *envelope) bool { return e.status == 0 && e.plain && e.transport != HTTP }},
	{class: onceward.ClassUnknown},
}
