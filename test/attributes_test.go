package test

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/test/harness"
)

// An operator finds runs by what they are, how they ended and what they cost.
func TestRunsAreFoundByTheirSearchAttributes(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{})
	held := newGate(t)
	b.OnBeforeCommit(held.hold)
	b.StartWorker(false)
	order := b.Order()
	run := b.StartRefund("run", order)
	held.await(t, b)
	harness.Until(b, run.ID, onceward.QueryStatus, "a pending action", func(s onceward.Status) bool { return len(s.Actions) == 1 })
	held.release()
	result := run.Result()
	got := b.Attributes(run.ID)
	for name, want := range map[string]string{
		onceward.AttributeAgent: `"refunds"`, onceward.AttributeStatus: `"closed"`, onceward.AttributeOutcome: `"completed"`, onceward.AttributeAttempts: `3`,
	} {
		if got[name] != want {
			t.Errorf("%s is %s, want %s", name, got[name], want)
		}
	}
	if got[onceward.AttributeResource] == "" || got[onceward.AttributeCostUSD] == "" || got[onceward.AttributeCostUSD] == "0" {
		t.Errorf("resource %s and cost %s, want both", got[onceward.AttributeResource], got[onceward.AttributeCostUSD])
	}
	if pending := got[onceward.AttributePendingActions]; strings.Contains(pending, order) {
		t.Errorf("a closed run lists %s as pending (%+v)", pending, result.Actions)
	}
}

// A namespace that nobody set up has no such attributes. Runs go on without, and
// set them as soon as it has them.
func TestRunsGoOnInANamespaceWithoutSearchAttributes(t *testing.T) {
	t.Parallel()
	server, err := harness.Server{NoAttributes: true}.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	b := harness.New(t, harness.Options{
		Server: server, Lease: shortLease, Payments: payments.Config{Fault: payments.Fault{Kind: payments.DropBeforeCommit, Times: 1}},
	})
	w := b.StartWorker(false)
	b.Said(w, "search attributes are missing")
	order := b.Order()
	run := b.Start("run", "UnsettledWorkflow", "Please refund "+order+".")
	waiting := awaitsOperator(b, harness.Action(order)) // and the run waits with it, without an attempt
	if out, said, err := b.Command("setup"); err != nil {
		t.Fatalf("setup: %v\n%s%s", err, out, said)
	}
	b.Said(w, "search attributes are there now")
	out, said, err := b.Command("list", "--status", "running")
	if err != nil || !strings.Contains(said, "1 open workflows have no search attributes") {
		t.Errorf("E34 a list that leaves an open run out does not say so: %v\n%s%s", err, out, said)
	}
	resolve(t, b, harness.Action(order), onceward.Resolve{Status: onceward.StatusRejected, By: "ops", Version: waiting.Version})
	b.Check(run, order, harness.Want{Outcome: onceward.OutcomeCompleted, Posts: 1, Text: "rejected"})
	if got := b.Attributes(run.ID); got[onceward.AttributeStatus] != `"closed"` || got[onceward.AttributeAgent] == "" {
		t.Errorf("E34 a run that was opened without attributes ends with %v", got)
	}
	if _, said, err := b.Command("list"); err != nil || said != "" {
		t.Errorf("with nothing left out: %v, %q", err, said)
	}
}

// A worker may be allowed to list runs and not the attributes themselves.
func TestAttributesThatMayNotBeListedAreUsedAllTheSame(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{})
	b.StartWorker(false, "--deny=ListSearchAttributes")
	order := b.Order()
	run := b.StartRefund("run", order)
	b.Check(run, order, paid())
	if got := b.Attributes(run.ID); got[onceward.AttributeStatus] != `"closed"` {
		t.Errorf("E34 ListSearchAttributes is denied: the run ends with %v", got)
	}
}
