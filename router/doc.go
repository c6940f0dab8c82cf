// Package router makes one attempt at a model response: it chooses a route,
// sends exactly one HTTP request, reads the answer, judges it and keeps the
// health of the pool. There is no Temporal in it; the run that owns retries and
// budget sits above.
//
// What a run is answered only raises a suspicion, for its words may be a caller's, a
// firewall's or a proxy's. The router looks into it with a neutral request of its own
// (tester.go), and only what that finds convicts (judgement.go).
//
// Below it, one concept each: classify names failures, wire speaks the
// Responses API, chat speaks Chat Completions in its place, route selects, health
// remembers. routertest is a scripted pool to test with.
package router
