// Package routertest is a scripted pool of resources that speak the OpenAI
// Responses API, or Chat Completions, on loopback, for tests of agents and
// routers and for local development without an account.
//
// Each resource is an HTTP server with its own port, key, deployments,
// encryption boundary, stored state and faults. It checks a request as
// strictly as the real API does (unknown parameters, call and output pairing,
// sealed reasoning, ids of another resource), answers by a scripted [Model]
// as JSON or as a stream of events, records every request and lets a test wait
// for any of it instead of sleeping.
//
//	pool, err := routertest.New(routertest.Config{
//		Resources: []routertest.Resource{{Name: "swedencentral"}, {Name: "eastus2"}},
//		Model:     routertest.RefundModel(),
//	})
//	if err != nil { ... }
//	defer pool.Close()
//	err = pool.SetFaults(routertest.FailWith(503, "").On("swedencentral").For(1))
//	base := pool.Resource("eastus2").URL()
//
// A fault is a kind of answer and the conditions under which it is given: a
// resource, what was sent ([Match]: a marker in the body, a header or a key, the
// size of the body, the output limit), the n-th request or a share of them.
//
//	routertest.Page(403, "").Where(routertest.Match{Marker: "DROP TABLE"})   // a firewall
//	routertest.FailWith(402, "").Where(routertest.Match{OutputAbove: 200})   // little money
//	routertest.FailWith(500, "").On("swedencentral").ShareOf(2, 5)           // flaky
//	routertest.Fault{Kind: routertest.FaultCache}                            // a gateway
//
// Requests by which a router tests health carry [NeutralHeader]. They are
// recorded, but every count, number, hook and script leaves them out and has a
// counterpart for them: [Pool.Neutrals], [Pool.AwaitNeutral], [Pool.OnNeutral],
// and both sorts together in [Pool.Traffic] and [Pool.Counts]. They meet the
// same faults, unless a fault is [Fault.Of] one sort.
//
// The whole of [Config] but the Go functions in it can be read from JSON by
// [Load], so a stand-alone process can serve the same pool; its faults are then
// changed over the control listener (see [Config.Control]).
package routertest
