package classify

import (
	"net/http"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/page"
)

// proxyRefusal stands for headers that only a proxy on our own way out sends.
const proxyRefusal = "refused_by_our_proxy"

// egressRules are about our own way out, which all resources share and each
// worker has for itself: what is in it refuses no account and no address.
var egressRules = []rule{
	{class: onceward.ClassRegionBlocked, when: is(http.StatusProxyAuthRequired)},
	{class: onceward.ClassRegionBlocked, words: "refused by our proxy"},
	{class: onceward.ClassRegionBlocked, words: "our way out", when: func(e *envelope) bool {
		return !e.jsonBody && (e.status == http.StatusForbidden || e.status == http.StatusUnavailableForLegalReasons)
	}},
	{class: onceward.ClassEndpointMisconfigured, when: is(http.StatusNetworkAuthenticationRequired), over: []override{scope(onceward.ScopeEgress)}},
	// The proxy's answer to CONNECT: there is no status, because it is not the
	// resource's.
	{class: onceward.ClassEndpointMisconfigured, words: "proxy authentication required",
		when: func(e *envelope) bool { return e.transport == Connection }, over: []override{scope(onceward.ScopeEgress)}},
	// net/http quotes the piece of an answer that broke off in its headers: half a
	// header is no reason, and half a status line no other protocol.
	{class: onceward.ClassNetwork, words: "malformed mime header", when: wireOnly},
	{class: onceward.ClassNetwork, words: "malformed http response", when: wireOnly},
	// Our own machine has no sockets left: no resource is ill, and another one
	// would not be reached either until some are freed.
	{class: onceward.ClassNetwork, words: "too many open files", when: wireOnly, over: []override{effect(onceward.EffectNone), scope(onceward.ScopeEgress)}},
}

// wireOnly holds where the words are those of our own side of the connection.
func wireOnly(e *envelope) bool { return e.status == 0 || e.readErr || e.transport == Connection }

// refused holds for a 4xx that says of the request alone that it was refused.
func (e *envelope) refused() bool {
	switch e.status {
	case 401, 402, 403, 404, 407, 408, 413, 414, 429, 431:
		return false
	}
	return e.status >= 400 && e.status < 500
}

// silent holds for an answer that says no more than its status does, or in the
// mark-up of another API.
func (e *envelope) silent() bool {
	bare := !e.named && e.status != http.StatusConflict && e.status != http.StatusLocked && page.StatusName(string(e.text))
	// The request's type is always the API's, so that a 415 is of somebody who did not see it.
	return e.refused() && e.transport != Connection && (e.markup || bare || e.status == http.StatusUnsupportedMediaType && !e.hasError)
}

// pageRules are about a page where the API's answer was due: it says nothing about
// the request. What 401, 402, 403 and the statuses of load mean is left to them.
var pageRules = []rule{
	{class: onceward.ClassRequestTooLarge, words: "too large", when: func(e *envelope) bool { return e.page && e.status == 400 }},
	{class: onceward.ClassEndpointMisconfigured, when: func(e *envelope) bool { return e.page && e.refused() }},
	// What a firewall, or the server in front, says without mark-up.
	{class: onceward.ClassEndpointMisconfigured, words: "invalid hostname", when: func(e *envelope) bool {
		return e.plain && !e.jsonBody && e.transport != Connection && e.status >= 400 && e.status < 500 && (e.status < 401 || e.status > 403) && e.status != 429
	}},
}
