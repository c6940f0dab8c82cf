// Package router makes one attempt at a model response: it chooses a route,
// sends exactly one HTTP request, reads the answer, judges it and keeps the
// health of the pool. There is no Temporal in it; the run that owns retries and
// budget sits above.
//
// Below it, one concept each: classify names failures, wire speaks the
// Responses API, chat speaks Chat Completions in its place, route selects, health
// remembers. routertest is a scripted pool to test with.
package router
