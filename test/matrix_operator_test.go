package test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/test/harness"
)

// moment is a place in an Action's life at which a person lays hands on it.
type moment struct {
	workflow string // "": the refund sample
	payments payments.Config
	lease    time.Duration // 0: long, as nothing waits for its end
	arm      func(*harness.Bench, *gate)
	// reached waits for the moment where no gate does.
	reached func(*harness.Bench, onceward.ActionID)
	// again: an Action that goes on learns that nothing was paid, and commits again.
	again bool
}

// moments of an open Action, in the order in which it lives through them.
var moments = map[string]moment{
	"in its read before the commit": {arm: func(b *harness.Bench, g *gate) { b.OnRead(g.hold) }},
	"with the commit at payments":   {arm: func(b *harness.Bench, g *gate) { b.OnBeforeCommit(g.hold) }},
	"when payments has paid":        {arm: func(b *harness.Bench, g *gate) { b.OnAfterCommit(g.hold) }},
	"in a reconciliation that will find it": {
		payments: payments.Config{Fault: payments.Fault{Kind: payments.CommitThenDrop, Times: 1}},
		arm:      func(b *harness.Bench, g *gate) { b.OnRead(second(g.hold)) }},
	"in a reconciliation that will find nothing": {again: true, lease: shortLease,
		payments: payments.Config{Fault: payments.Fault{Kind: payments.DropBeforeCommit, Times: 1}},
		arm:      func(b *harness.Bench, g *gate) { b.OnRead(second(g.hold)) }},
	"when it awaits an operator": {workflow: "UnsettledWorkflow", lease: shortLease,
		payments: payments.Config{Fault: payments.Fault{Kind: payments.DropBeforeCommit, Times: 1}},
		reached:  func(b *harness.Bench, id onceward.ActionID) { awaitsOperator(b, id) }},
}

// second calls a hook the second time, as if it were the first.
func second(hook func(int)) func(int) {
	return func(n int) {
		if n == 2 {
			hook(1)
		}
	}
}

// hand is what a person does to an Action; the count of requests to refund that
// may come after it depends on it.
type hand struct {
	lay    func(*testing.T, *harness.Bench, onceward.ActionID)
	goesOn bool // the Action is left as it was, and may commit again by itself
	closes bool // the Action is closed without a receipt
}

var hands = map[string]hand{
	"reset to each of its tasks": {lay: func(_ *testing.T, b *harness.Bench, id onceward.ActionID) {
		base := b.History(id.WorkflowID(), "")
		for _, point := range tasks(base) {
			b.ResetExecution(id.WorkflowID(), base.RunID, point)
			harness.Until(b, id.WorkflowID(), onceward.QueryReceipt, "a state", func(r onceward.ActionReceipt) bool { return r.Status != "" })
		}
	}},
	"terminated": {closes: true, lay: func(t *testing.T, b *harness.Bench, id onceward.ActionID) {
		if err := b.Client.TerminateWorkflow(b.Context(), id.WorkflowID(), "", "test"); err != nil {
			t.Fatal(err)
		}
	}},
	"terminated and reset": {lay: func(t *testing.T, b *harness.Bench, id onceward.ActionID) {
		if err := b.Client.TerminateWorkflow(b.Context(), id.WorkflowID(), "", "test"); err != nil {
			t.Fatal(err)
		}
		b.Reset(id.WorkflowID(), b.FirstTask(id.WorkflowID()))
	}},
	"cancelled": {goesOn: true, lay: func(t *testing.T, b *harness.Bench, id onceward.ActionID) {
		if err := b.Client.CancelWorkflow(b.Context(), id.WorkflowID(), ""); err != nil {
			t.Fatal(err)
		}
	}},
}

// Whatever a person does to an Action in the Temporal UI, and whenever: nothing
// is paid twice, and where nobody can tell any more the run says so and a person
// decides with `onceward resolve`.
func TestHandsAreLaidOnAnOpenAction(t *testing.T) {
	for when, m := range moments {
		for how, h := range hands {
			t.Run(how+" "+when, func(t *testing.T) {
				t.Parallel()
				b := harness.New(t, harness.Options{Lease: m.lease, Payments: m.payments})
				held := newGate(t)
				if m.arm != nil {
					m.arm(b, held)
				}
				worker := b.StartWorker(false)
				order := b.Order()
				id := harness.Action(order)
				if m.workflow == "" {
					m.workflow = "RefundWorkflow"
				}
				run := b.Start("run", m.workflow, "Please refund "+order+".")
				if m.reached == nil {
					held.await(t, b)
				} else {
					m.reached(b, id)
				}
				h.lay(t, b, id)
				held.release()
				b.StartWorker(false)
				if err := worker.Stop(); err != nil { // what was in flight has ended then
					t.Errorf("the worker ended with %v", err)
				}
				b.AwaitPaid()
				if h.closes || !decided(b, id) {
					waitsForPerson(b, run, onceward.OutcomeUnknown)
					decideByCommand(t, b, id, truth(t, b))
				}
				run.Result()
				want := harness.Want{Outcome: onceward.OutcomeCompleted, Refunds: paidNow(t, b), Posts: len(b.Keys()), NotSent: -1}
				if most := 1 + count(h.goesOn && m.again); want.Posts > most {
					t.Errorf("%d requests to refund, want at most %d", want.Posts, most)
				}
				result, _ := b.Check(run, order, want)
				got := receipt(t, result)
				if committed := got.Status == onceward.StateCommitted; committed != (want.Refunds == 1) || committed && got.Ref != "rf-000001" {
					t.Errorf("receipt %+v, and payments made %d refunds", got, want.Refunds)
				}
			})
		}
	}
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// paidNow counts what payments has paid.
func paidNow(t *testing.T, b *harness.Bench) int {
	t.Helper()
	stats, err := b.Payments.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if stats.Refunds > 1 {
		t.Errorf("%d refunds, want at most 1", stats.Refunds)
	}
	return stats.Refunds
}

// truth is what an operator decides who has looked at payments.
func truth(t *testing.T, b *harness.Bench) []string {
	t.Helper()
	if paidNow(t, b) == 0 {
		return []string{"--status", "rejected"}
	}
	return []string{"--status", "committed", "--ref", "rf-000001"}
}

// decided waits until an action has its receipt or awaits an operator, and
// reports the former.
func decided(b *harness.Bench, id onceward.ActionID) bool {
	return harness.Until(b, id.WorkflowID(), onceward.QueryReceipt, "its end", func(r onceward.ActionReceipt) bool {
		return r.Status.Final() || r.Status == onceward.StateAwaitingOperator
	}).Status.Final()
}

// decideByCommand decides an action as an operator does.
func decideByCommand(t *testing.T, b *harness.Bench, id onceward.ActionID, decision []string) {
	t.Helper()
	args := append([]string{"resolve", string(id), "--by", "ops"}, decision...)
	if _, errs, err := b.Command(args...); err != nil {
		t.Errorf("resolve: %v: %s", err, errs)
	}
}

// A closed Action cannot be taken back: whoever tries leaves it as it was, and the
// next run gets its receipt.
func TestHandsAreLaidOnAClosedAction(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{})
	b.StartWorker(false)
	order := b.Order()
	before := receipt(t, b.StartRefund("one", order).Result())
	id := harness.Action(order)
	if err := b.Client.TerminateWorkflow(b.Context(), id.WorkflowID(), "", "test"); err == nil {
		t.Error("a closed action was terminated")
	}
	if err := b.Client.CancelWorkflow(b.Context(), id.WorkflowID(), ""); err != nil { // the server takes it and does nothing
		t.Error(err)
	}
	if _, errs, err := b.Command("resolve", string(id), "--status", "rejected", "--by", "ops"); err == nil || !strings.Contains(errs, "a receipt is final") {
		t.Errorf("resolve of a closed action: %v: %s, want that a receipt is final", err, errs)
	}
	if after := receipt(t, b.StartRefund("two", order).Result()); after.Ref != before.Ref || after.Status != onceward.StateCommitted {
		t.Errorf("receipt %+v, want that of before %+v", after, before)
	}
	effects(t, b, order, 1, 1)
}

// Two operators decide a terminated Action at the same moment, one each way. One
// of them decides; the other is told.
func TestTwoOperatorsDecideATerminatedAction(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{Payments: payments.Config{Fault: payments.Fault{Kind: payments.DropBeforeCommit, Times: 1}}})
	held := newGate(t)
	b.OnPost(held.hold)
	b.StartWorker(false)
	order := b.Order()
	run := b.StartRefund("run", order)
	held.await(t, b)
	id := harness.Action(order)
	hands["terminated"].lay(t, b, id)
	held.release()
	waitsForPerson(b, run, onceward.OutcomeUnknown)
	harness.Binary(t, "./cmd/onceward")
	if _, said, err := b.Command("resolve", string(id), "--by", "ops", "--status", "rejected", "--version", "1"); err == nil || !strings.Contains(said, "without --version") {
		t.Errorf("a decision for a state before the action was closed: %v %s", err, said)
	}
	var both sync.WaitGroup
	errs := make([]error, 2)
	for i, decision := range [][]string{{"--status", "committed", "--ref", "R1"}, {"--status", "rejected"}} {
		both.Go(func() {
			_, _, errs[i] = b.Command(append([]string{"resolve", string(id), "--by", "ops"}, decision...)...)
		})
	}
	both.Wait()
	got := receipt(t, run.Result())
	accepted := map[onceward.ActionState]int{onceward.StateCommitted: 0, onceward.StateRejected: 1}
	if i, final := accepted[got.Status]; !final || errs[i] != nil || errs[1-i] == nil {
		t.Errorf("receipt %+v, the operators were told %v; want one decision and one refusal", got, errs)
	}
	effects(t, b, order, 0, 1)
	if _, _, err := b.Command("resolve", string(id), "--by", "ops", "--status", "rejected"); err == nil {
		t.Error("an action that was decided took another decision")
	}
}

// The run that waits for a receipt is reset to each of its tasks, one after
// another; only then does payments answer.
func TestRunIsResetWhileItWaitsForAReceipt(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{})
	held := newGate(t)
	b.OnBeforeCommit(held.hold)
	b.StartWorker(false)
	order := b.Order()
	run := b.StartRefund("run", order)
	waits := func() {
		harness.Until(b, run.ID, onceward.QueryStatus, "waits for the receipt", func(s onceward.Status) bool {
			return strings.HasPrefix(s.Waiting, "the receipt of "+string(harness.Action(order)))
		})
	}
	held.await(t, b)
	waits()
	base := b.History(run.ID, run.First)
	points := tasks(base)
	for _, point := range []int64{points[0], points[len(points)/2], points[len(points)-1]} {
		b.ResetExecution(run.ID, run.First, point)
	}
	waits()
	held.release()
	b.Check(run, order, paid(reset))
}

// Somebody terminates the run in the middle of the commit. Its Action goes on,
// and the next run finds the receipt.
func TestTerminatedRunLeavesItsActionAlone(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{})
	held := newGate(t)
	b.OnBeforeCommit(held.hold)
	b.StartWorker(false)
	order := b.Order()
	run := b.StartRefund("one", order)
	held.await(t, b)
	if err := b.Client.TerminateWorkflow(b.Context(), run.ID, "", "test"); err != nil {
		t.Fatal(err)
	}
	held.release()
	if got := b.Receipt(harness.Action(order)); got.Status != onceward.StateCommitted || got.Commits != 1 {
		t.Errorf("receipt %+v, want committed once", got)
	}
	if got := receipt(t, b.StartRefund("two", order).Result()); got.Status != onceward.StateCommitted || got.Run != run.ID {
		t.Errorf("receipt %+v, want that of the run that was terminated", got)
	}
	effects(t, b, order, 1, 1)
}

// A run is cancelled, and its Result says what is known of the action: nothing
// that was sent is hidden, nothing is stopped half way.
func TestRunIsCancelled(t *testing.T) {
	cancel := func(t *testing.T, b *harness.Bench, run *harness.Run) {
		t.Helper()
		if err := b.Client.CancelWorkflow(b.Context(), run.ID, ""); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("0.2 s after the refund was sent: the result lists the action, which is committed after it", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{})
		held := newGate(t)
		b.OnBeforeCommit(held.hold)
		b.StartWorker(false)
		order := b.Order()
		run := b.StartRefund("run", order)
		held.await(t, b)
		sent := time.NewTimer(200 * time.Millisecond)
		<-sent.C
		cancel(t, b, run)
		result := run.Result()
		// An action that does not answer a query in time is listed by what is known without it.
		open := []onceward.ActionState{onceward.StateCommitting, onceward.StateProposed}
		if got := receipt(t, result); result.Outcome != onceward.OutcomeCancelled || !slices.Contains(open, got.Status) || got.ActionID != harness.Action(order) {
			t.Errorf("result %+v, want cancelled with the action committing", result)
		}
		held.release()
		if got := b.Receipt(harness.Action(order)); got.Status != onceward.StateCommitted || got.VerifiedBy != onceward.VerifiedByResponse || got.Commits != 1 {
			t.Errorf("receipt %+v, want committed once, by the response", got)
		}
		effects(t, b, order, 1, 1)
		if report := show(t, b, run); len(report.Actions) != 1 || report.Actions[0].Status != string(onceward.StateCommitted) {
			t.Errorf("show says %+v, want the action as committed", report.Actions)
		}
	})
	t.Run("before the model has answered once: nothing is paid, no action is listed", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{})
		held := newGate(t)
		b.Pool.OnRequest(func(r harness.Request) { held.hold(r.Seq) })
		b.StartWorker(false)
		order := b.Order()
		run := b.StartRefund("run", order)
		held.await(t, b)
		cancel(t, b, run)
		result := run.Result()
		held.release()
		if result.Outcome != onceward.OutcomeCancelled || len(result.Actions) != 0 {
			t.Errorf("result %+v, want cancelled without an action", result)
		}
		b.Check(run, order, harness.Want{Outcome: onceward.OutcomeCancelled})
	})
	t.Run("before it has begun: nothing is sent at all", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{})
		order := b.Order()
		run := b.StartRefund("run", order)
		cancel(t, b, run)
		b.StartWorker(false)
		b.Check(run, order, harness.Want{Outcome: onceward.OutcomeCancelled})
		if n := b.Pool.Attempts(); n != 0 {
			t.Errorf("%d requests of a run that was cancelled before it began", n)
		}
	})
	t.Run("while it waits for a person: the result says that nobody knows, and the action can still be decided", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{Lease: shortLease, Payments: payments.Config{Fault: payments.Fault{Kind: payments.DropBeforeCommit, Times: 1}}})
		b.StartWorker(false)
		order := b.Order()
		id := harness.Action(order)
		run := b.Start("run", "UnsettledWorkflow", "Please refund "+order+".")
		waitsForPerson(b, run, onceward.OutcomeUnknown)
		cancel(t, b, run)
		result := run.Result()
		if got := receipt(t, result); result.Outcome != onceward.OutcomeCancelled || got.Status != onceward.StateAwaitingOperator {
			t.Errorf("result %+v, want cancelled with the action awaiting an operator", result)
		}
		decideByCommand(t, b, id, []string{"--status", "rejected"})
		if got := b.Receipt(id); got.Status != onceward.StateRejected || got.ResolvedBy != "ops" {
			t.Errorf("receipt %+v, want rejected by ops", got)
		}
		b.Check(run, order, harness.Want{Outcome: onceward.OutcomeCancelled, Posts: 1})
	})
	t.Run("while a person should complete it: cancelled, with the receipt", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{Degraded: "manual_completion_required", Faults: goneAfterTheCommit()})
		b.StartWorker(false)
		order := b.Order()
		run := b.StartRefund("run", order)
		waitsForPerson(b, run, onceward.OutcomeManualCompletion)
		cancel(t, b, run)
		result, _ := b.Check(run, order, paid(func(w *harness.Want) { w.Outcome, w.Text = onceward.OutcomeCancelled, "" }))
		if got := receipt(t, result); got.Status != onceward.StateCommitted {
			t.Errorf("receipt %+v, want committed", got)
		}
	})
}

// goneAfterTheCommit leaves no resource for the explanation.
func goneAfterTheCommit() []routertest.Fault {
	gone := routertest.FailWith(401, "")
	gone.Match.Turn = routertest.At(2)
	return []routertest.Fault{gone}
}
