package chaos

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/samples/refund/payments"
)

// page is what a proxy says in the place of the API.
const page = "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"

// invented is the end that a gateway makes up when its upstream broke.
const invented = "data: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\",\"object\":\"response\",\"status\":\"in_progress\",\"model\":\"gpt-5.6\",\"output\":[]}}\n\n" +
	"data: {\"type\":\"response.completed\",\"sequence_number\":1,\"response\":{\"id\":\"resp_1\",\"object\":\"response\",\"status\":\"completed\",\"model\":\"gpt-5.6\",\"output\":[],\"usage\":{\"input_tokens\":0,\"output_tokens\":0,\"total_tokens\":0}}}\n\n"

// resourceFaults are what a resource does to an attempt. None of them answers in
// the model's place with something that could be taken for its answer.
var resourceFaults = []routertest.Fault{
	routertest.FailWith(500, ""), routertest.FailWith(503, ""), routertest.FailWith(529, ""), routertest.FailWith(408, ""),
	{Kind: routertest.FaultStatus, Status: 429, Header: map[string]string{"Retry-After-Ms": "100"}},
	{Kind: routertest.FaultStatus, Status: 502, Body: page, Header: map[string]string{"Content-Type": "text/html"}},
	{Kind: routertest.FaultStatus, Status: 200, Body: invented, Header: map[string]string{"Content-Type": "text/event-stream"}},
	{Kind: routertest.FaultHTML, Only: routertest.Runs}, routertest.Page(403, "").Of(routertest.Runs), routertest.Page(400, "").Of(routertest.Runs), {Kind: routertest.FaultEmpty}, {Kind: routertest.FaultNull}, {Kind: routertest.FaultObject},
	{Kind: routertest.FaultReset}, {Kind: routertest.FaultClose},
	{Kind: routertest.FaultCutEvents, AfterEvents: 3}, {Kind: routertest.FaultCutEvents, AfterEvents: 6, RST: true},
	{Kind: routertest.FaultCutBytes, AfterBytes: 700},
	{Kind: routertest.FaultNoTerminal}, {Kind: routertest.FaultTwoTerminals}, {Kind: routertest.FaultBrokenEvent, AfterEvents: 4},
	{Kind: routertest.FaultFailed}, {Kind: routertest.FaultFailed, AfterEvents: 5}, {Kind: routertest.FaultErrorEvent, AfterEvents: 5, Flat: true},
	{Kind: routertest.FaultJSON}, {Kind: routertest.FaultNoUsage}, {Kind: routertest.FaultNoOutput}, {Kind: routertest.FaultBrokenArguments},
	{Kind: routertest.FaultIncomplete}, {Kind: routertest.FaultSlow, Delay: 300 * time.Millisecond, EventDelay: 20 * time.Millisecond},
}

func spoilResource(w *world, dice *rand.Rand) (string, func()) {
	f := resourceFaults[dice.IntN(len(resourceFaults))]
	f.Times = 1 + dice.IntN(3)
	resources := w.bench.Pool.Resources()
	if at := dice.IntN(len(resources) + 1); at < len(resources) {
		f.Resource = resources[at].Name()
	}
	w.cuts = w.cuts || f.Kind == routertest.FaultIncomplete
	w.pages = w.pages || f.Kind == routertest.FaultHTML
	must(w.t, w.bench.Pool.AddFaults(f))
	return fmt.Sprintf("%s %d, %d times, on %q", f.Kind, f.Status, f.Times, f.Resource), nil
}

// loseKey has one resource refuse everybody for a while, tests too: it is convicted,
// and comes back by the pool's own test.
func loseKey(w *world, dice *rand.Rand) (string, func()) {
	resources := w.bench.Pool.Resources()
	f := routertest.FailWith(401, "").On(resources[dice.IntN(len(resources))].Name())
	f.ID = fmt.Sprintf("key-%d", dice.Uint64())
	must(w.t, w.bench.Pool.AddFaults(f))
	w.lost = true
	return f.Resource, func() { w.bench.Pool.RemoveFault(f.ID) }
}

func spoilPayments(w *world, dice *rand.Rand) (string, func()) {
	faults := []payments.Fault{
		{Kind: payments.CommitThenDrop}, {Kind: payments.CommitThenDrop}, {Kind: payments.DropBeforeCommit},
		{Kind: payments.CommitThenSlow, Delay: time.Duration(1+dice.IntN(7)) * time.Second},
		{Kind: payments.StoredStatus, Status: 500}, {Kind: payments.StoredStatus, Status: 503},
		{Kind: payments.Slow, Delay: time.Duration(100+dice.IntN(500)) * time.Millisecond},
	}
	for _, status := range []int{408, 409, 423, 425, 429, 500, 502, 503} {
		faults = append(faults, payments.Fault{Kind: payments.AnswerStatus, Status: status})
	}
	f := faults[dice.IntN(len(faults))]
	f.Times = 1 + dice.IntN(2)
	must(w.t, w.bench.Payments.SetFault(f))
	return fmt.Sprintf("%s, %d times", f, f.Times), nil
}

// lag is how long the read of payments may be behind. It is less than every
// agent's Settle, which promises that.
const lag = 300 * time.Millisecond

func spoilRead(w *world, dice *rand.Rand) (string, func()) {
	f := payments.Fault{Kind: payments.AnswerStatus, Status: 503}
	if dice.IntN(2) == 0 {
		f = payments.Fault{Kind: payments.Lag, Delay: lag}
	}
	f.Times = 1 + dice.IntN(4)
	must(w.t, w.bench.Payments.SetReadFault(f))
	return fmt.Sprintf("%s, %d times", f, f.Times), func() { must(w.t, w.bench.Payments.SetReadFault(payments.Fault{})) }
}

func spoilGateway(w *world, dice *rand.Rand) (string, func()) {
	statuses := []int{202, 204, 409, 425, 429, 500, 502, 504}
	f := &gatewayFault{status: statuses[dice.IntN(len(statuses))], times: 1 + dice.IntN(2)}
	switch dice.IntN(5) {
	case 0:
		f.passes = true
	case 1, 2, 3:
		f.status, f.later = 0, time.Duration(500+dice.IntN(3500))*time.Millisecond
	}
	w.gateway.set(f)
	return fmt.Sprintf("%+v", *f), func() { w.gateway.set(nil) }
}
