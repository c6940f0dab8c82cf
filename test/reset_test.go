package test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/test/harness"
)

// gate holds something back until the test opens it.
type gate struct {
	reached, open chan struct{}
	once          sync.Once
}

func newGate(t *testing.T) *gate {
	g := &gate{reached: make(chan struct{}), open: make(chan struct{})}
	t.Cleanup(g.release)
	return g
}

// hold is a hook: the first call waits for release.
func (g *gate) hold(n int) {
	if n == 1 {
		close(g.reached)
		<-g.open
	}
}

func (g *gate) release() { g.once.Do(func() { close(g.open) }) }

// await waits until something is held.
func (g *gate) await(t *testing.T, b *harness.Bench) {
	t.Helper()
	select {
	case <-g.reached:
	case <-b.Context().Done():
		t.Fatal("nothing came to the gate")
	}
}

// where a run is reset to.
var resetPoints = map[string]func(*harness.Bench, *harness.Run) int64{
	"its first task":            func(b *harness.Bench, r *harness.Run) int64 { return b.FirstTask(r.ID) },
	"the task before the write": func(b *harness.Bench, r *harness.Run) int64 { return b.TaskBefore(r.ID, onceward.ActivityAct, 1) },
}

func reset(w *harness.Want) { w.Reset, w.NotSent, w.Text = true, -1, "" }

func TestRunIsResetToBefore(t *testing.T) {
	for name, point := range resetPoints {
		t.Run(name+" after it has paid: the receipt is found", func(t *testing.T) {
			t.Parallel()
			b := harness.New(t, harness.Options{})
			b.StartWorker(false)
			order := b.Order()
			run := b.StartRefund("run", order)
			before := receipt(t, run.Result())
			b.Reset(run.ID, point(b, run))
			result, chain := b.Check(run, order, paid(reset))
			if after := receipt(t, result); after.Ref != before.Ref || len(chain) < 2 {
				t.Errorf("receipt %s after the reset and %s before, over %d executions", after.Ref, before.Ref, len(chain))
			}
			recordAll(t, chain, "refund-reset", "")
		})
		t.Run(name+" while it pays: paid once", func(t *testing.T) {
			t.Parallel()
			b := harness.New(t, harness.Options{})
			held := newGate(t)
			b.OnBeforeCommit(held.hold)
			b.StartWorker(false)
			order := b.Order()
			run := b.StartRefund("run", order)
			held.await(t, b)
			b.Reset(run.ID, point(b, run))
			b.Scheduled(run.ID, onceward.ActivityAct, 1)
			held.release()
			b.Check(run, order, paid(reset))
		})
		t.Run(name+" when payments lost the answer: paid once", func(t *testing.T) {
			t.Parallel()
			b := harness.New(t, harness.Options{Payments: payments.Config{Fault: payments.Fault{Kind: payments.CommitThenDrop, Times: 1}}})
			b.StartWorker(false)
			order := b.Order()
			run := b.StartRefund("run", order)
			b.Scheduled(harness.Action(order).WorkflowID(), onceward.CommitActivity("refunds", "create_refund"), 1)
			b.Reset(run.ID, point(b, run))
			b.Check(run, order, paid(reset))
		})
	}
}

// tasks are the workflow tasks of a history that a reset can go back to.
func tasks(h harness.History) []int64 {
	var out []int64
	for _, e := range h.Events {
		if e.GetWorkflowTaskCompletedEventAttributes() != nil {
			out = append(out, e.GetEventId())
		}
	}
	return out
}

// Wherever a person resets a run to, one refund is all there is.
func TestRunIsResetToEachOfItsTasks(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{Payments: payments.Config{Fault: payments.Fault{Kind: payments.CommitThenDrop, Times: 1}}})
	b.StartWorker(false)
	order := b.Order()
	run := b.StartRefund("run", order)
	ref := receipt(t, run.Result()).Ref
	all := []harness.History{b.History(run.ID, run.First)}
	points := tasks(all[0])
	for _, point := range points {
		again := b.ResetExecution(run.ID, run.First, point)
		result := run.Result()
		if result.Outcome != onceward.OutcomeCompleted || receipt(t, result).Ref != ref {
			t.Errorf("reset to %d: outcome %s (%s), receipt %+v, want completed with %s", point, result.Outcome, result.Reason, result.Actions, ref)
		}
		h := b.History(run.ID, again)
		if err := h.Replay(); err != nil {
			t.Errorf("reset to %d: %v", point, err)
		}
		all = append(all, h)
	}
	if len(points) < 4 {
		t.Errorf("the run has %d tasks, which tests little", len(points))
	}
	effects(t, b, order, 1, 1)
	if reserved, requests := harness.Reserved(b.Attempts(all)), b.Pool.Attempts(); requests > reserved {
		t.Errorf("%d requests, %d attempts reserved over all executions", requests, reserved)
	}
}

// A reset while an attempt is in flight re-dispatches its activity without any
// workflow code. The reservation is of the run before, so nothing may be sent.
func TestResetWhileAnAttemptIsInFlightSendsItOnce(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{})
	held := newGate(t)
	b.Pool.OnRequest(func(r harness.Request) {
		if r.Seq == 2 {
			held.hold(1)
		}
	})
	b.StartWorker(false)
	order := b.Order()
	run := b.StartRefund("run", order)
	held.await(t, b)
	// The task that scheduled this attempt is done; the next one is the reset's.
	b.Reset(run.ID, b.TaskBefore(run.ID, onceward.ReadActivity("refunds", "get_order"), 1))
	held.release()
	b.Check(run, order, paid(reset))
}

func TestAnotherRunProposesTheSameRefund(t *testing.T) {
	t.Run("after it was paid: already committed under the same ref, whatever the reason says", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{})
		b.StartWorker(false)
		order := b.Order()
		first := receipt(t, b.StartRefund("one", order).Result())
		run := b.StartRefund("two", order)
		second := run.Result()
		if got := receipt(t, second); got.Ref != first.Ref || got.Digest != first.Digest {
			t.Errorf("receipt %+v, want that of the first run %+v", got, first)
		}
		outputs := harness.Outputs(run.Transcript())
		if last := outputs[len(outputs)-1]; last.Field("status") != "already_committed" || last.Field("ref") != first.Ref {
			t.Errorf("the model was told %s, want already_committed and %s", last.Text, first.Ref)
		}
		one := harness.Outputs((&harness.Run{ID: first.Run}).In(b).Transcript())
		if one[1].Arguments == outputs[1].Arguments {
			t.Errorf("both runs gave the same reason, which tests nothing: %s", one[1].Arguments)
		}
		effects(t, b, order, 1, 1)
	})
	t.Run("at the same time: paid once, two receipts", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{})
		held := newGate(t)
		b.OnBeforeCommit(held.hold)
		b.StartWorker(false)
		order := b.Order()
		runs := []*harness.Run{b.StartRefund("one", order), b.StartRefund("two", order)}
		for _, run := range runs {
			b.Scheduled(run.ID, onceward.ActivityAct, 1)
		}
		held.release()
		refs := map[string]bool{}
		for _, run := range runs {
			refs[receipt(t, run.Result()).Ref] = true
		}
		if len(refs) != 1 {
			t.Errorf("refs %v, want one", refs)
		}
		effects(t, b, order, 1, 1)
	})
	t.Run("after Temporal forgot the action: the read before the commit finds it", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{})
		b.StartWorker(false)
		order := b.Order()
		before := receipt(t, b.StartRefund("one", order).Result())
		b.Forget(harness.Action(order).WorkflowID())
		result := b.StartRefund("two", order).Result()
		if after := receipt(t, result); after.Ref != before.Ref || after.Commits != 0 || after.VerifiedBy != onceward.VerifiedByRead {
			t.Errorf("receipt %+v, want %s by a read, without a commit", after, before.Ref)
		}
		effects(t, b, order, 1, 1)
	})
	t.Run("thirty times at once: thirty receipts, paid once", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{})
		b.StartWorker(false)
		order := b.Order()
		var runs []*harness.Run
		for i := range 30 {
			runs = append(runs, b.StartRefund(fmt.Sprint(i), order))
		}
		refs := map[string]int{}
		for _, run := range runs {
			refs[receipt(t, run.Result()).Ref]++
		}
		if len(refs) != 1 || refs["rf-000001"] != 30 {
			t.Errorf("refs %v, want rf-000001 thirty times", refs)
		}
		effects(t, b, order, 1, 1)
	})
	t.Run("with another amount: a conflict that carries the old receipt", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{})
		b.StartWorker(false)
		order := b.Order()
		paidFirst := receipt(t, b.StartRefund("one", order).Result())
		model := proposes(order, 1)
		if err := b.Pool.SetModel("", model); err != nil {
			t.Fatal(err)
		}
		run := b.StartRefund("two", order)
		result := run.Result()
		outputs := harness.Outputs(run.Transcript())
		if len(outputs) != 1 || outputs[0].Field("status") != "action_conflict" || outputs[0].Field("ref") != paidFirst.Ref {
			t.Errorf("the model was told %+v, want action_conflict with %s", outputs, paidFirst.Ref)
		}
		if result.Outcome != onceward.OutcomeCompleted {
			t.Errorf("outcome %s (%s)", result.Outcome, result.Reason)
		}
		effects(t, b, order, 1, 1)
	})
}

// effects counts refunds of an order and requests for them.
func effects(t *testing.T, b *harness.Bench, order string, refunds, posts int) {
	t.Helper()
	stats, err := b.Payments.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if got := stats.ByAction[string(harness.Action(order))]; got != refunds {
		t.Errorf("%d refunds of %s, want %d", got, order, refunds)
	}
	if got := len(b.Keys()); got != posts {
		t.Errorf("payments received %d requests to refund, want %d", got, posts)
	}
}

func TestActionItselfIsReset(t *testing.T) {
	t.Run("when it is closed: it adopts what its read finds", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{})
		b.StartWorker(false)
		order := b.Order()
		before := receipt(t, b.StartRefund("run", order).Result())
		id := harness.Action(order)
		b.Reset(id.WorkflowID(), b.FirstTask(id.WorkflowID()))
		if after := b.Receipt(id); after.Status != onceward.StateCommitted || after.Ref != before.Ref || after.VerifiedBy != onceward.VerifiedByRead {
			t.Errorf("receipt %+v, want committed %s by a read", after, before.Ref)
		}
		effects(t, b, order, 1, 1)
	})
	t.Run("when it is closed, to each of its tasks: never a second refund", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{Lease: shortLease, Payments: payments.Config{Fault: payments.Fault{Kind: payments.DropBeforeCommit, Times: 1}}})
		b.StartWorker(false)
		order := b.Order()
		before := receipt(t, b.StartRefund("run", order).Result())
		id := harness.Action(order)
		base := b.Chain(id.WorkflowID())[0]
		for _, point := range tasks(base) {
			b.ResetExecution(id.WorkflowID(), base.RunID, point)
			if after := b.Receipt(id); after.Status != onceward.StateCommitted || after.Ref != before.Ref {
				t.Errorf("reset to %d: receipt %+v, want committed %s", point, after, before.Ref)
			}
		}
		effects(t, b, order, 1, 2)
	})
	t.Run("when it is closed and its read lags: it waits for an operator and never commits", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{Lease: shortLease})
		b.StartWorker(false)
		order := b.Order()
		receipt(t, b.StartRefund("run", order).Result())
		if err := b.Payments.SetReadFault(payments.Fault{Kind: payments.Lag, Delay: time.Hour}); err != nil {
			t.Fatal(err)
		}
		id := harness.Action(order)
		b.Reset(id.WorkflowID(), b.FirstTask(id.WorkflowID()))
		if waiting := awaitsOperator(b, id); waiting.Commits != 0 {
			t.Errorf("receipt %+v, want no commit", waiting)
		}
		effects(t, b, order, 1, 1)
	})
	t.Run("with the commit at the product: it adopts what its read finds", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{})
		held := newGate(t)
		b.OnBeforeCommit(held.hold)
		b.StartWorker(false)
		order := b.Order()
		run := b.StartRefund("run", order)
		held.await(t, b)
		id := harness.Action(order)
		b.Reset(id.WorkflowID(), b.FirstTask(id.WorkflowID()))
		harness.Until(b, id.WorkflowID(), onceward.QueryReceipt, "reconciling", func(r onceward.ActionReceipt) bool {
			return r.Status == onceward.StateReconciling && r.Reconciled > 0
		})
		held.release()
		result, _ := b.Check(run, order, paid())
		if got := receipt(t, result); got.Commits != 0 || got.VerifiedBy != onceward.VerifiedByRead {
			t.Errorf("receipt %+v, want what the read of the reset action found", got)
		}
	})
	t.Run("with the commit at the product past its lease: it waits for an operator and never commits", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{Lease: shortLease})
		held := newGate(t)
		b.OnBeforeCommit(held.hold)
		b.StartWorker(false)
		order := b.Order()
		run := b.StartRefund("run", order)
		held.await(t, b)
		id := harness.Action(order)
		b.Reset(id.WorkflowID(), b.FirstTask(id.WorkflowID()))
		waiting := awaitsOperator(b, id)
		if waiting.Commits != 0 {
			t.Errorf("the action that was reset committed %d times", waiting.Commits)
		}
		held.release()
		if _, err := b.Payments.WaitCommitted(b.Context(), 1); err != nil {
			t.Fatal(err)
		}
		resolve(t, b, id, onceward.Resolve{Status: onceward.StatusCommitted, Ref: "rf-000001", By: "ops", Version: waiting.Version})
		_, chain := b.Check(run, order, paid())
		recordAll(t, chain, "", "action-reset-reads")
	})
	t.Run("when an operator has resolved it: the old decision does not decide again", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{Lease: shortLease, Payments: payments.Config{Fault: payments.Fault{Kind: payments.DropBeforeCommit, Times: 1}}})
		b.StartWorker(false)
		order := b.Order()
		run := b.Start("run", "UnsettledWorkflow", "Please refund "+order+".")
		id := harness.Action(order)
		waiting := awaitsOperator(b, id)
		resolve(t, b, id, onceward.Resolve{Status: onceward.StatusCommitted, Ref: "R1", By: "ops", Version: waiting.Version})
		if got := receipt(t, run.Result()); got.Ref != "R1" || got.ResolvedBy != "ops" {
			t.Errorf("receipt %+v, want the operator's", got)
		}
		b.Reset(id.WorkflowID(), b.FirstTask(id.WorkflowID()))
		again := awaitsOperator(b, id)
		if again.Ref == "R1" || again.Version == waiting.Version {
			t.Errorf("after the reset %+v: the old decision came back", again)
		}
		effects(t, b, order, 0, 1)
		resolve(t, b, id, onceward.Resolve{Status: onceward.StatusRejected, By: "ops", Version: again.Version})
		if got := b.Receipt(id); got.Status != onceward.StateRejected {
			t.Errorf("receipt %+v, want rejected", got)
		}
	})
}

// awaitsOperator waits until an action says so.
func awaitsOperator(b *harness.Bench, id onceward.ActionID) onceward.ActionReceipt {
	return harness.Until(b, id.WorkflowID(), onceward.QueryReceipt, "awaiting_operator", func(r onceward.ActionReceipt) bool {
		return r.Status == onceward.StateAwaitingOperator
	})
}

// resolve sends a decision that must be accepted.
func resolve(t *testing.T, b *harness.Bench, id onceward.ActionID, decision onceward.Resolve) {
	t.Helper()
	if err := b.Update(id.WorkflowID(), onceward.UpdateResolve, decision, nil); err != nil {
		t.Fatalf("resolve %s: %v", id, err)
	}
}

// refusedWith demands that an error names its reason.
func refusedWith(t *testing.T, err error, reason string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("error %v, want %q in it", err, reason)
	}
}
