package test

import (
	"net/http/httptest"
	"strings"
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
		Faults:   []routertest.Fault{routertest.FailWith(402, "").For(1)},
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
	command("pool", "enable", refused.Resource, "--by", "ops", "--pool", b.Queue)
	if out := command("show", run.ID); !strings.Contains(out, string(id)) || !strings.Contains(out, "billing") || !strings.Contains(out, "awaiting_operator") {
		t.Errorf("E30 show:\n%s", out)
	}
	if out, said, err := b.Command("show", run.ID); err == nil || !strings.Contains(said, "--codec-endpoint") {
		t.Errorf("E30 show without the codec: %v\n%s%s", err, out, said)
	}
	if out := command("resolve", string(id), "--status", "rejected", "--by", "ops", "--note", "not in their books"); !strings.Contains(out, "rejected") {
		t.Errorf("E30 resolve:\n%s", out)
	}
	if result := run.Result(); result.Outcome != onceward.OutcomeCompleted {
		t.Errorf("outcome %s (%s)", result.Outcome, result.Reason)
	}
	for _, h := range []harness.History{b.History(run.ID, ""), b.History(id.WorkflowID(), ""), b.History(pool, "")} {
		for _, text := range []string{"Please refund", "not in their books", refused.Reason, "not paid", "Decide whether"} {
			if h.Holds(text) {
				t.Errorf("E30 the history of %s holds %q in clear", h.WorkflowID, text)
			}
		}
		if err := h.Replay(); err != nil {
			t.Error(err)
		}
	}
}

// A run that waits for an answer is completed through a codec server as well.
func TestRunIsCompletedThroughACodecServer(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{
		Converter: sealed.New(sealed.Fault{}).Converter(), Degraded: "manual_completion_required",
		Faults: []routertest.Fault{routertest.FailWith(401, "")},
	})
	server := httptest.NewServer(converter.NewPayloadCodecHTTPHandler(sealed.New(sealed.Fault{})))
	t.Cleanup(server.Close)
	b.StartWorker(false, "--seal", "codec")
	run := b.StartRefund("run", b.Order())
	waitsForPerson(b, run, onceward.OutcomeManualCompletion)
	if out, said, err := b.Command("complete", run.ID, "--by", "ops", "--text", "We refund by hand.", "--codec-endpoint", server.URL); err != nil {
		t.Fatalf("E30 complete: %v\n%s%s", err, out, said)
	}
	if result := run.Result(); result.CompletedBy != "ops" || result.Text != "We refund by hand." {
		t.Errorf("E30 completed by %q with %q", result.CompletedBy, result.Text)
	}
}
