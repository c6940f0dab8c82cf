package test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.temporal.io/sdk/converter"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/test/harness"
	"github.com/onceward/onceward/test/sealed"
)

// With a codec in the client's options nothing that was said is in clear, and an
// operator sees and decides all the same, through a codec server.
func TestEverythingGoesThroughTheClientsCodec(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{
		Converter: sealed.New(sealed.Fault{}).Converter(), Lease: shortLease,
		Faults:   unpaid(),
		Payments: payments.Config{Fault: payments.Fault{Kind: payments.DropBeforeCommit, Times: 1}},
	})
	server := httptest.NewServer(converter.NewPayloadCodecHTTPHandler(sealed.New(sealed.Fault{})))
	t.Cleanup(server.Close)
	command := func(args ...string) string {
		t.Helper()
		out, said, err := b.Command(append(args, "--codec-endpoint", server.URL)...)
		if err != nil {
			t.Errorf("E30 %s: %v\n%s%s", args[0], err, out, said)
		}
		return out
	}
	b.StartWorker(false, "--seal", "codec")
	order := b.Order()
	run := b.Start("run", "UnsettledWorkflow", "Please refund "+order+".")
	id := harness.Action(order)
	awaitsOperator(b, id)

	pool := onceward.PoolWorkflowID(b.Queue)
	health := harness.Until(b, pool, onceward.QueryHealth, "a disabled resource", func(h onceward.PoolHealth) bool { return len(h.Disabled) == 1 })
	refused := health.Disabled[0]
	if out := command("pool", "show", "--pool", b.Queue); !strings.Contains(out, refused.Resource) || !strings.Contains(out, "billing") {
		t.Errorf("E30 pool show:\n%s", out)
	}
	refusesInClear(t, b, "pool", "disable", refused.Resource, "--by", "ops", "--reason", inClear, "--pool", b.Queue)
	refusesInClear(t, b, "pool", "enable", refused.Resource+"/"+refused.Model, "--by", inClear, "--pool", b.Queue)
	command("pool", "enable", refused.Resource+"/"+refused.Model, "--by", "ops", "--pool", b.Queue)
	if out := command("show", run.ID); !strings.Contains(out, string(id)) || !strings.Contains(out, "billing") || !strings.Contains(out, "awaiting_operator") {
		t.Errorf("E30 show:\n%s", out)
	}
	refusesInClear(t, b, "show", run.ID)
	refusesInClear(t, b, "pool", "show", "--pool", b.Queue)
	refusesInClear(t, b, "resolve", string(id), "--status", "rejected", "--by", "ops", "--note", inClear)
	refusesInClear(t, b, "resolve", string(id), "--status", "reversed", "--by", "ops", "--note", inClear)
	if out := command("resolve", string(id), "--status", "rejected", "--by", "ops", "--note", "not in their books"); !strings.Contains(out, "rejected") {
		t.Errorf("E30 resolve:\n%s", out)
	}
	b.Receipt(id)
	refusesInClear(t, b, "resolve", string(id), "--status", "reversed", "--by", "ops", "--note", inClear)
	if result := run.Result(); result.Outcome != onceward.OutcomeCompleted {
		t.Errorf("outcome %s (%s)", result.Outcome, result.Reason)
	}
	for _, h := range []harness.History{b.History(run.ID, ""), b.History(id.WorkflowID(), ""), b.History(pool, "")} {
		for _, text := range []string{"Please refund", "not in their books", inClear, refused.Reason, "not paid", "Decide whether"} {
			if h.Holds(text) {
				t.Errorf("E30 the history of %s holds %q in clear", h.WorkflowID, text)
			}
		}
		if err := h.Replay(); err != nil {
			t.Error(err)
		}
	}
}

// inClear is what an operator says without the workers' codec.
const inClear = "said in clear"

// refusesInClear is a command that names the codec server it needs, and sends nothing.
func refusesInClear(t *testing.T, b *harness.Bench, args ...string) {
	t.Helper()
	if out, said, err := b.Command(args...); err == nil || !strings.Contains(said, "--codec-endpoint") {
		t.Errorf("E30 %s without the codec: %v\n%s%s", strings.Join(args, " "), err, out, said)
	}
}

// A run that waits for an answer is completed through a codec server as well, and
// not without one. A change whose answer cannot be read is told as taken.
func TestRunIsCompletedThroughACodecServer(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{
		Converter: sealed.New(sealed.Fault{}).Converter(), Degraded: "manual_completion_required",
		Faults: []routertest.Fault{routertest.FailWith(401, "")},
	})
	codec := converter.NewPayloadCodecHTTPHandler(sealed.New(sealed.Fault{}))
	var encoded atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if encoded.Load() { // it is gone once it has written what is sent
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		encoded.Store(strings.HasSuffix(r.URL.Path, "/encode"))
		codec.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b.StartWorker(false, "--seal", "codec")
	run := b.StartRefund("run", b.Order())
	waitsForPerson(b, run, onceward.OutcomeManualCompletion)
	refusesInClear(t, b, "complete", run.ID, "--by", "ops", "--text", inClear)
	out, said, err := b.Command("complete", run.ID, "--by", "ops", "--text", "We refund by hand.", "--codec-endpoint", server.URL)
	if err == nil || !strings.Contains(said, "it was taken, but its answer cannot be read here") {
		t.Fatalf("E30 complete: %v\n%s%s", err, out, said)
	}
	if result := run.Result(); result.CompletedBy != "ops" || result.Text != "We refund by hand." {
		t.Errorf("E30 completed by %q with %q", result.CompletedBy, result.Text)
	}
	if b.History(run.ID, "").Holds(inClear) {
		t.Error("E30 the history holds a refused completion in clear")
	}
}
