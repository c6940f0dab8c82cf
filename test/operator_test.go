package test

import (
	"fmt"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/test/harness"
)

// waitsForPerson waits until a run says that somebody has to decide.
func waitsForPerson(b *harness.Bench, run *harness.Run, outcome onceward.Outcome) onceward.Status {
	return harness.Until(b, run.ID, onceward.QueryStatus, "waiting_person", func(s onceward.Status) bool {
		return s.Status == onceward.StatusWaitingPerson && s.Outcome == outcome
	})
}

func TestNobodyCanReadTheOutcome(t *testing.T) {
	lost := payments.Fault{Kind: payments.CommitThenDrop, Times: 1}
	dropped := payments.Fault{Kind: payments.DropBeforeCommit, Times: 1}
	decide := func(decision onceward.Resolve, signal bool) func(*testing.T, *harness.Bench, *harness.Run, string) {
		return func(t *testing.T, b *harness.Bench, run *harness.Run, order string) {
			t.Helper()
			id := harness.Action(order)
			waiting := awaitsOperator(b, id)
			waitsForPerson(b, run, onceward.OutcomeUnknown)
			decision.Version = waiting.Version
			if !signal {
				resolve(t, b, id, decision)
				return
			}
			if err := b.Client.SignalWorkflow(b.Context(), id.WorkflowID(), "", onceward.UpdateResolve, decision); err != nil {
				t.Errorf("signal: %v", err)
			}
		}
	}
	committed := onceward.Resolve{Status: onceward.StatusCommitted, Ref: "rf-000001", By: "ops"}
	table(t, map[string]fault{
		"the read is down: the operator says committed and the run completes": {
			options: harness.Options{Lease: shortLease, Payments: payments.Config{Fault: lost}},
			arm: func(b *harness.Bench) {
				b.OnAfterCommit(first(func() {
					_ = b.Payments.SetReadFault(payments.Fault{Kind: payments.AnswerStatus, Status: 503}) // a fault that can be acted out is never refused
				}))
			},
			during: decide(committed, false), want: paid(),
			check: expect(onceward.StateCommitted, onceward.VerifiedByOperator, 1), actionAs: "action-resolved"},
		"absent proves nothing: the operator says rejected and the run completes": {
			workflow: "UnsettledWorkflow", options: harness.Options{Lease: shortLease, Payments: payments.Config{Fault: dropped}},
			during: decide(onceward.Resolve{Status: onceward.StatusRejected, By: "ops", Note: "never arrived"}, false),
			want:   harness.Want{Outcome: onceward.OutcomeCompleted, Posts: 1, Text: "rejected"},
			check:  expect(onceward.StateRejected, onceward.VerifiedByOperator, 1)},
		"absent proves nothing: a signal decides as well": {
			workflow: "UnsettledWorkflow", options: harness.Options{Lease: shortLease, Payments: payments.Config{Fault: dropped}},
			during: decide(onceward.Resolve{Status: onceward.StatusRejected, By: "ops"}, true),
			want:   harness.Want{Outcome: onceward.OutcomeCompleted, Posts: 1, Text: "rejected"},
			check:  expect(onceward.StateRejected, onceward.VerifiedByOperator, 1)},
	})
}

func TestWrongDecisionIsRefusedAndTheRunStands(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{Lease: shortLease, Payments: payments.Config{Fault: payments.Fault{Kind: payments.DropBeforeCommit, Times: 1}}})
	held := newGate(t)
	b.OnRead(held.hold)
	b.StartWorker(false)
	order := b.Order()
	run := b.Start("run", "UnsettledWorkflow", "Please refund "+order+".")
	id := harness.Action(order)
	held.await(t, b)
	good := onceward.Resolve{Status: onceward.StatusRejected, By: "ops"}
	refusedWith(t, b.Update(id.WorkflowID(), onceward.UpdateResolve, good, nil), "awaits no operator")
	held.release()

	waiting := awaitsOperator(b, id)
	good.Version = waiting.Version
	for _, wrong := range []struct {
		decision any
		reason   string
	}{
		{onceward.Resolve{Status: "paid", Ref: "x", By: "ops", Version: waiting.Version}, "status"},
		{onceward.Resolve{Status: onceward.StatusAccepted, Ref: "x", By: "ops", Version: waiting.Version}, "status"},
		{onceward.Resolve{Status: onceward.StatusCommitted, By: "ops", Version: waiting.Version}, "without a ref"},
		{onceward.Resolve{Status: onceward.StatusRejected, Version: waiting.Version}, "by is empty"},
		{onceward.Resolve{Status: onceward.StatusRejected, By: "ops"}, "version 0"},
		{onceward.Resolve{Status: onceward.StatusRejected, By: "ops", Version: waiting.Version - 1}, "not the state's version"},
		{"rejected", ""},
	} {
		err := b.Update(id.WorkflowID(), onceward.UpdateResolve, wrong.decision, nil)
		refusedWith(t, err, wrong.reason)
	}
	for _, junk := range []any{"rejected", onceward.Resolve{Status: onceward.StatusRejected, By: "ops", Version: 7}} {
		if err := b.Client.SignalWorkflow(b.Context(), id.WorkflowID(), "", onceward.UpdateResolve, junk); err != nil {
			t.Fatal(err)
		}
	}
	still := harness.Until(b, id.WorkflowID(), onceward.QueryReceipt, "two refused signals", func(r onceward.ActionReceipt) bool { return len(r.Refused) == 2 })
	if still.Status != onceward.StateAwaitingOperator {
		t.Errorf("a refused decision decided: %+v", still)
	}
	refusedWith(t, b.Update(run.ID, onceward.UpdateComplete, onceward.Complete{By: "ops", Text: "done"}, nil), "does not wait for a completion")
	waitsForPerson(b, run, onceward.OutcomeUnknown)

	resolve(t, b, id, good)
	b.Check(run, order, harness.Want{Outcome: onceward.OutcomeCompleted, Posts: 1, Text: "rejected"})
	if err := b.Update(id.WorkflowID(), onceward.UpdateResolve, good, nil); err == nil {
		t.Error("a closed action took a decision")
	}
}

// docs/operating.md has these command lines.
func TestTemporalCommandDecidesAndCompletes(t *testing.T) {
	t.Run("an action", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{Lease: shortLease, Payments: payments.Config{Fault: payments.Fault{Kind: payments.DropBeforeCommit, Times: 1}}})
		b.StartWorker(false)
		order := b.Order()
		run := b.Start("run", "UnsettledWorkflow", "Please refund "+order+".")
		id := harness.Action(order)
		waiting := awaitsOperator(b, id)
		version := fmt.Sprintf(`"version":%d`, waiting.Version)
		if out, err := b.CLI("workflow", "query", "-w", id.WorkflowID(), "--name", "onceward.receipt"); err != nil || !strings.Contains(out, version) {
			t.Errorf("query: %v\n%s", err, out)
		}
		resolve := []string{"workflow", "update", "execute", "-w", id.WorkflowID(), "--name", "onceward.resolve", "--input"}
		if out, err := b.CLI(append(resolve, `{"status":"rejected","by":"dana"}`)...); err == nil || !strings.Contains(out, "version") {
			t.Errorf("a decision without the version: %v\n%s", err, out)
		}
		if out, err := b.CLI(append(resolve, `{"status":"rejected","by":"dana","note":"never arrived",`+version+`}`)...); err != nil {
			t.Errorf("resolve: %v\n%s", err, out)
		}
		if got := receipt(t, run.Result()); got.Status != onceward.StateRejected || got.ResolvedBy != "dana" {
			t.Errorf("receipt %+v, want dana's", got)
		}
	})
	t.Run("a run", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{Degraded: "manual_completion_required", Faults: []routertest.Fault{routertest.FailWith(401, "")}})
		b.StartWorker(false)
		run := b.StartRefund("run", b.Order())
		waitsForPerson(b, run, onceward.OutcomeManualCompletion)
		if out, err := b.CLI("workflow", "signal", "-w", run.ID, "--name", "onceward.complete", "--input", `{"by":"dana","text":"Refunded by hand."}`); err != nil {
			t.Errorf("complete: %v\n%s", err, out)
		}
		if result := run.Result(); result.CompletedBy != "dana" || result.Text != "Refunded by hand." {
			t.Errorf("completed by %q with %q", result.CompletedBy, result.Text)
		}
	})
}

// Somebody terminates an Action while its commit is at the product. No run may
// commit again; only a run of the Action that just records a decision goes on.
func TestTerminatedActionIsOnlyResolved(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{})
	held := newGate(t)
	b.OnBeforeCommit(held.hold)
	b.StartWorker(false)
	order := b.Order()
	run := b.StartRefund("run", order)
	held.await(t, b)
	id := harness.Action(order)
	if err := b.Client.TerminateWorkflow(b.Context(), id.WorkflowID(), "", "test"); err != nil {
		t.Fatal(err)
	}
	held.release()
	if _, err := b.Payments.WaitCommitted(b.Context(), 1); err != nil {
		t.Fatal(err)
	}
	status := waitsForPerson(b, run, onceward.OutcomeUnknown)
	if len(status.Actions) != 1 || status.Actions[0].Status != onceward.StateUnknown {
		t.Errorf("the run shows %+v, want the action as unknown", status.Actions)
	}
	listsOpen(t, b, id, run.ID)
	var input onceward.ActionInput
	b.Input(id.WorkflowID(), &input)
	input.Resolve = &onceward.Resolve{Status: onceward.StatusCommitted, Ref: "rf-000001", By: "ops", Note: "seen in the ledger"}
	if _, err := b.Client.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{
		ID: id.WorkflowID(), TaskQueue: b.Queue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
	}, onceward.WorkflowAction, input); err != nil {
		t.Fatal(err)
	}
	result, _ := b.Check(run, order, paid())
	if got := receipt(t, result); got.Status != onceward.StateCommitted || got.VerifiedBy != onceward.VerifiedByOperator || got.ResolvedBy != "ops" || got.Commits != 0 {
		t.Errorf("receipt %+v, want the operator's, without a commit", got)
	}
}

// No resource is left after the commit, and the task asks for a person.
func TestPersonCompletesTheRun(t *testing.T) {
	gone := routertest.FailWith(401, "")
	gone.Match.Turn = routertest.At(2)
	fault{
		options: harness.Options{Degraded: "manual_completion_required", Faults: []routertest.Fault{gone}},
		during: func(t *testing.T, b *harness.Bench, run *harness.Run, _ string) {
			waitsForPerson(b, run, onceward.OutcomeManualCompletion)
			refusedWith(t, b.Update(run.ID, onceward.UpdateComplete, onceward.Complete{By: "ops"}, nil), "text is empty")
			refusedWith(t, b.Update(run.ID, onceward.UpdateComplete, onceward.Complete{Text: "done"}, nil), "by is empty")
			if err := b.Update(run.ID, onceward.UpdateComplete, onceward.Complete{By: "ops", Text: "Your refund was made."}, nil); err != nil {
				t.Error(err)
			}
		},
		want: paid(func(w *harness.Want) { w.Text = "Your refund was made." }),
		check: func(t *testing.T, _ *harness.Bench, result onceward.Result, _ []harness.History) {
			if result.CompletedBy != "ops" || receipt(t, result).Status != onceward.StateCommitted {
				t.Errorf("result %+v, want completed by ops with the receipt", result)
			}
		},
	}.run(t)
}

// A cancelled run does not take its action with it: what was sent is followed to
// its end.
func TestCancelledRunLeavesItsActionAlone(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{})
	held := newGate(t)
	b.OnBeforeCommit(held.hold)
	b.StartWorker(false)
	order := b.Order()
	run := b.StartRefund("run", order)
	held.await(t, b)
	if err := b.Client.CancelWorkflow(b.Context(), run.ID, ""); err != nil {
		t.Fatal(err)
	}
	result := run.Result()
	if result.Outcome != onceward.OutcomeCancelled || receipt(t, result).Status.Final() {
		t.Errorf("result %+v, want cancelled with the action still open", result)
	}
	held.release()
	if got := b.Receipt(harness.Action(order)); got.Status != onceward.StateCommitted || got.VerifiedBy != onceward.VerifiedByResponse {
		t.Errorf("receipt %+v, want committed by the response", got)
	}
	b.Check(run, order, harness.Want{Outcome: onceward.OutcomeCancelled, Refunds: 1, Posts: 1})
}
