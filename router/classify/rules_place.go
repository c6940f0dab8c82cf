package classify

import (
	"github.com/onceward/onceward"
)

// placeRules are about where the request came from and where it went.
var placeRules = []rule{
	{class: onceward.ClassRegionBlocked, strong: true, words: "virtual network/firewall rules"},
	{class: onceward.ClassRegionBlocked, strong: true, when: is(403, 503, 401), words: "sorry, you have been blocked"},
	{class: onceward.ClassEndpointMisconfigured, strong: true, when: func(e *envelope) bool { return !e.page || e.status < 500 }, words: "api version not supported"},
	// It is the address that was given up, not a model.
	{class: onceward.ClassEndpointMisconfigured, when: between(300, 499), words: "no longer"},
	{class: onceward.ClassEndpointMisconfigured, words: "UnknownOperationException"},
	{class: onceward.ClassEndpointMisconfigured, words: "api version"},
	// A page where JSON was due: a portal, a login, a maintenance notice.
	{class: onceward.ClassEndpointMisconfigured, when: func(e *envelope) bool { return e.page && e.status >= 200 && e.status < 400 }},
}
