package test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/test/harness"
)

// E36: answers that are neither yes nor no, from a product that keeps to its keys.
func TestAnswerIsNeitherYesNorNo(t *testing.T) {
	decide := func(t *testing.T, b *harness.Bench, run *harness.Run, order string) {
		t.Helper()
		waitsForPerson(b, run, onceward.OutcomeUnknown)
		decideByCommand(t, b, harness.Action(order), []string{"--status", "rejected", "--note", "seen at payments"})
	}
	conflict := func(posts int) harness.Want {
		return harness.Want{Outcome: onceward.OutcomeCompleted, Posts: posts, Text: "rejected"}
	}
	decided := func(t *testing.T, b *harness.Bench, result onceward.Result, chain []harness.History) {
		t.Helper()
		expect(onceward.StateRejected, onceward.VerifiedByOperator, len(b.Keys()))(t, b, result, chain)
		if keys := b.Keys(); len(slices.Compact(keys)) != 1 {
			t.Errorf("keys %q, want one: another would be another refund", keys)
		}
	}
	table(t, map[string]fault{
		"E36 payments stored its first 500 under the key: a person decides, and no second key is used": {
			workflow: "KeyedWorkflow", options: harness.Options{Lease: shortLease, Payments: payments.Config{Fault: payments.Fault{Kind: payments.StoredStatus, Status: http.StatusInternalServerError, Times: 1}}},
			during: decide, want: conflict(2), check: decided},
		"E36 payments says 500 again and again without a word about the key: a person decides after two": {
			workflow: "KeyedWorkflow", options: harness.Options{Lease: shortLease, Payments: payments.Config{Fault: payments.Fault{Kind: payments.AnswerStatus, Status: http.StatusInternalServerError}}},
			during: decide, want: conflict(2), check: decided},
		"E36 payments is at work on an earlier request: it is read, not refused": {
			options: harness.Options{Lease: shortLease, Payments: payments.Config{Fault: payments.Fault{Kind: payments.AnswerStatus, Status: http.StatusTooEarly, Times: 1}}},
			want:    paid(twoPosts), check: expect(onceward.StateCommitted, onceward.VerifiedByResponse, 2)},
	})
}

// E36: somebody else has used the key for another refund.
func TestKeyBearsOtherContent(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{Payments: payments.Config{Dedupe: true}})
	order := b.Order()
	id := harness.Action(order)
	b.Pay(id.Key(), payments.RefundRequest{ActionID: "refund/another/v1", OrderID: order, AmountCents: b.Amount(order), Reason: "another"})
	b.StartWorker(false)
	run := b.StartRefund("run", order)
	status := waitsForPerson(b, run, onceward.OutcomeUnknown)
	if got := status.Actions[0]; got.Status != onceward.StateAwaitingOperator || !strings.Contains(got.Reason, "another body") {
		t.Errorf("the run shows %+v, want that the action awaits an operator and why", got)
	}
	decideByCommand(t, b, id, []string{"--status", "rejected", "--note", "the key is that of another refund"})
	result := run.Result()
	if got := receipt(t, result); got.Status != onceward.StateRejected || got.Commits != 1 || result.Outcome != onceward.OutcomeCompleted {
		t.Errorf("outcome %s, receipt %+v; want rejected by the operator after one commit", result.Outcome, got)
	}
	out, errs, err := b.Command("show", run.ID)
	if err != nil || !strings.Contains(out, "note: the key is that of another refund") {
		t.Errorf("E33 show has no note of who decided: %v %s\n%s", err, errs, out)
	}
}

// pending makes payments show nothing of what it paid, for as long as a test lasts.
func pending(b *harness.Bench) func(int) {
	return first(func() { _ = b.Payments.SetReadFault(payments.Fault{Kind: payments.Lag, Delay: 24 * time.Hour}) })
}

// sentBack makes the bank say that what it accepted failed after all.
func sentBack(t *testing.T, b *harness.Bench) {
	t.Helper()
	if err := b.Payments.SetReadFault(payments.Fault{Kind: payments.AnswerStatus, Status: http.StatusGone}); err != nil {
		t.Fatal(err)
	}
}

// E37: the product accepts and is not done for longer than a run waits.
func TestAcceptedIsSubmittedAndGoesOnByItself(t *testing.T) {
	begin := func(t *testing.T) (*harness.Bench, string, *harness.Run) {
		t.Helper()
		b := harness.New(t, harness.Options{})
		b.OnAfterCommit(pending(b))
		b.StartWorker(false)
		order := b.Order()
		run := b.Start("one", "BankWorkflow", "Please refund "+order+".")
		result := run.Result()
		if got := receipt(t, result); result.Outcome != onceward.OutcomeResultDelayed || got.Status != onceward.StateAccepted || !strings.Contains(result.Text, "submitted") {
			t.Errorf("outcome %s, text %q, receipt %+v; want result_delayed, and that the model told of it as submitted", result.Outcome, result.Text, got)
		}
		outputs := harness.Outputs(run.Transcript())
		if last := outputs[len(outputs)-1]; last.Field("status") != "submitted" || last.Field("ref") != "rf-000001" {
			t.Errorf("the model was told %s, want submitted and the ref", last.Text)
		}
		return b, order, run
	}
	t.Run("E37 and is done: the next run hears already committed, with its time", func(t *testing.T) {
		t.Parallel()
		b, order, _ := begin(t)
		if err := b.Payments.SetReadFault(payments.Fault{}); err != nil {
			t.Fatal(err)
		}
		made := b.Receipt(harness.Action(order))
		if made.Status != onceward.StateCommitted || made.Commits != 1 {
			t.Errorf("receipt %+v, want committed once", made)
		}
		toldAgain(t, b, b.Start("two", "BankWorkflow", "Please refund "+order+"."), made)
		effects(t, b, order, 1, 1)
	})
	t.Run("E37 and sends it back: it is reversed, a person decides, nothing is made again", func(t *testing.T) {
		t.Parallel()
		b, order, one := begin(t)
		id := harness.Action(order)
		sentBack(t, b)
		reversed := harness.Until(b, id.WorkflowID(), onceward.QueryReceipt, "reversed", func(r onceward.ActionReceipt) bool { return r.Status == onceward.StateReversed })
		if reversed.Ref != "rf-000001" || reversed.Reversal == nil || reversed.Reversal.Reason != "the bank sent it back" || reversed.VerifiedBy != onceward.VerifiedByRead {
			t.Errorf("receipt %+v, want the ref, why it was reversed and that a read says so", reversed)
		}
		two := b.Start("two", "BankWorkflow", "Please refund "+order+".")
		waitsForPerson(b, two, onceward.OutcomeUnknown)
		decideByCommand(t, b, id, []string{"--status", "rejected", "--note", "dana calls the customer"})
		if got := receipt(t, two.Result()); got.Status != onceward.StateRejected || got.Reversal == nil || got.Ref != "rf-000001" {
			t.Errorf("receipt %+v, want rejected, and that it was reversed", got)
		}
		out, _, err := b.Command("show", one.ID)
		if err != nil || !strings.Contains(out, "was reversed, as the reconciliation read says: the bank sent it back") {
			t.Errorf("show of the run that submitted it: %v\n%s", err, out)
		}
		effects(t, b, order, 1, 1)
	})
}

// toldAgain checks that a run is told of an effect as made before.
func toldAgain(t *testing.T, b *harness.Bench, run *harness.Run, made onceward.ActionReceipt) {
	t.Helper()
	run.Result()
	outputs := harness.Outputs(run.Transcript())
	last := outputs[len(outputs)-1]
	if at := last.Field("at"); last.Field("status") != "already_committed" || last.Field("ref") != made.Ref || at != made.At.UTC().Format(time.RFC3339) {
		t.Errorf("the model was told %s, want already_committed, %s and %s", last.Text, made.Ref, made.At)
	}
}

// E37: a product reports days later that a committed effect failed.
func TestReversalIsRecordedAndNothingIsMadeAgain(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{})
	b.StartWorker(false)
	order := b.Order()
	one := b.StartRefund("one", order)
	made := receipt(t, one.Result())
	id := harness.Action(order)
	report := []string{"resolve", string(id), "--by", "the bank", "--status", "reversed"}
	if _, errs, err := b.Command(report...); err == nil || !strings.Contains(errs, "reason is empty") {
		t.Errorf("a report that says nothing: %v %s", err, errs)
	}
	for range 2 { // a report may come twice
		if out, errs, err := b.Command(append(report, "--note", "sent back")...); err != nil || !strings.Contains(out, "reversed") {
			t.Errorf("report: %v %s %s", err, errs, out)
		}
	}
	reversed := harness.Until(b, id.WorkflowID(), onceward.QueryReceipt, "reversed", func(r onceward.ActionReceipt) bool { return r.Status == onceward.StateReversed })
	if reversed.Ref != made.Ref || reversed.Commits != made.Commits {
		t.Errorf("receipt %+v, want what is known of %+v", reversed, made)
	}
	listsOpen(t, b, id, one.ID) // its only run has ended
	two := b.StartRefund("two", order)
	waitsForPerson(b, two, onceward.OutcomeUnknown)
	base := b.History(id.WorkflowID(), "")
	for _, point := range tasks(base) { // an operator resets what records it
		b.ResetExecution(id.WorkflowID(), base.RunID, point)
		harness.Until(b, id.WorkflowID(), onceward.QueryReceipt, "reversed again", func(r onceward.ActionReceipt) bool { return r.Status == onceward.StateReversed })
	}
	decideByCommand(t, b, id, []string{"--status", "rejected"})
	if got := receipt(t, two.Result()); got.Status != onceward.StateRejected || got.Reversal == nil || got.Reversal.By != "the bank" || got.Commits != made.Commits {
		t.Errorf("receipt %+v, want rejected, and that it was reversed", got)
	}
	if _, errs, err := b.Command(append(report, "--note", "sent back")...); err == nil || !strings.Contains(errs, "only what is closed as committed") {
		t.Errorf("a report about what was decided: %v %s", err, errs)
	}
	if got := receipt(t, b.StartRefund("three", order).Result()); got.Status != onceward.StateRejected {
		t.Errorf("the next run's receipt is %+v, want rejected", got)
	}
	if report := show(t, b, one); report.Actions[0].Status != string(onceward.StateRejected) {
		t.Errorf("show of the first run says %+v, want what it is now", report.Actions[0])
	}
	effects(t, b, order, 1, 1)
}

// listsOpen waits until an action stands in the list of those that wait for a person:
// the server's list follows a moment later.
func listsOpen(t *testing.T, b *harness.Bench, id onceward.ActionID, run string) {
	t.Helper()
	var rows []struct {
		ActionID onceward.ActionID    `json:"action_id"`
		Status   onceward.ActionState `json:"status"`
		WaitsFor string               `json:"waits_for"`
		Since    string               `json:"since"`
		Reason   string               `json:"reason"`
		Run      string               `json:"run"`
	}
	for b.Context().Err() == nil {
		out, errs, err := b.Command("list", "--actions", "--json")
		if rows = nil; err != nil || json.Unmarshal([]byte(out), &rows) != nil {
			t.Fatalf("list --actions: %v: %s%s", err, out, errs)
		}
		for _, r := range rows {
			if r.ActionID != id {
				continue
			}
			if r.WaitsFor != "person" || r.Since == "" || r.Reason == "" || r.Run != run {
				t.Errorf("list --actions says %+v, want who has to decide, since when, why, and the run %s", r, run)
			}
			if out, _, err := b.Command("list", "--actions"); err != nil || !strings.Contains(out, string(id)) || !strings.Contains(out, string(r.Status)) {
				t.Errorf("list --actions: %v\n%s", err, out)
			}
			return
		}
	}
	t.Fatalf("list --actions never has %s: %+v", id, rows)
}

// E38: the runs of one workflow id are told apart, the executions of one run are not.
func TestRepetitionIsToldByRun(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{})
	b.StartWorker(false)
	order := b.Order()
	first := b.StartRefund("one", order)
	made := receipt(t, first.Result())
	if made.RunID != first.First {
		t.Errorf("the receipt names the run %q, want %q", made.RunID, first.First)
	}
	b.Reset(first.ID, b.FirstTask(first.ID))
	first.Result()
	if outputs := harness.Outputs(first.Transcript()); outputs[len(outputs)-1].Field("status") != "committed" {
		t.Errorf("the run that made it and was reset was told %s, want committed", outputs[len(outputs)-1].Text)
	}
	toldAgain(t, b, b.StartRefund("one", order), made) // the same workflow id
	toldAgain(t, b, b.StartRefund("two", order), made)
	effects(t, b, order, 1, 1)
}

// E33: an operator's words arrive while no worker looks, in the very task in which
// the run or its action ends.
func TestWordsThatComeWithTheEndAreKept(t *testing.T) {
	t.Run("E33 a run that ends has them in its result and in show", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{})
		held := newGate(t)
		b.Pool.OnRequest(func(r harness.Request) {
			if r.Seq == 3 { // the last answer
				held.hold(1)
			}
		})
		worker := b.StartWorker(false)
		run := b.StartRefund("run", b.Order())
		held.await(t, b)
		worker.Terminate() // it polls no more, and waits for the answer
		b.Said(worker, "stops polling")
		for range 25 {
			if err := b.Client.SignalWorkflow(b.Context(), run.ID, "", onceward.UpdateComplete, onceward.Complete{By: "dana", Text: "by hand", Note: "from the desk"}); err != nil {
				t.Fatal(err)
			}
		}
		held.release()
		if err := worker.Stop(); err != nil {
			t.Errorf("the worker ended with %v", err)
		}
		b.StartWorker(false)
		if result := run.Result(); result.Outcome != onceward.OutcomeCompleted || len(result.Refused) != 20 || result.More != 5 || !strings.Contains(result.Refused[0], "dana said by hand (from the desk)") {
			t.Errorf("result %+v, want 20 refusals that say what was said, and 5 more", result)
		}
		if out, errs, err := b.Command("show", run.ID); err != nil || !strings.Contains(out, "refused: dana said by hand (from the desk)") || !strings.Contains(out, "refused: 5 more") {
			t.Errorf("show: %v %s\n%s", err, errs, out)
		}
	})
	t.Run("E33 an action that ends has them in its receipt and in show", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{})
		held := newGate(t)
		b.OnBeforeCommit(held.hold)
		worker := b.StartWorker(false)
		order := b.Order()
		run := b.StartRefund("run", order)
		held.await(t, b)
		worker.Terminate()
		b.Said(worker, "stops polling")
		id := harness.Action(order)
		for _, late := range []any{onceward.Resolve{Status: onceward.StatusCommitted, Ref: "rf-9", By: "kim", Note: "seen", Version: 1}, "no object"} {
			if err := b.Client.SignalWorkflow(b.Context(), id.WorkflowID(), "", onceward.UpdateResolve, late); err != nil {
				t.Fatal(err)
			}
		}
		held.release()
		if err := worker.Stop(); err != nil {
			t.Errorf("the worker ended with %v", err)
		}
		b.StartWorker(false)
		run.Result()
		if got := b.Receipt(id); got.Status != onceward.StateCommitted || got.Ref != "rf-000001" || len(got.Refused) != 2 || !strings.Contains(got.Refused[0], "kim said committed rf-9 (seen)") {
			t.Errorf("receipt %+v, want the product's, and both decisions as refused", got)
		}
		if out, errs, err := b.Command("show", run.ID); err != nil || !strings.Contains(out, "refused: kim said committed rf-9 (seen)") {
			t.Errorf("show: %v %s\n%s", err, errs, out)
		}
		if _, errs, err := b.Command("resolve", string(id), "--status", "committed", "--ref", "rf-9", "--by", "kim"); err == nil || !strings.Contains(errs, "a receipt is final") {
			t.Errorf("a late decision by command: %v %s, want an answer", err, errs)
		}
		effects(t, b, order, 1, 1)
	})
	t.Run("E33 who completes a run leaves a note", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{Degraded: "manual_completion_required", Faults: goneAfterTheCommit()})
		b.StartWorker(false)
		run := b.StartRefund("run", b.Order())
		waitsForPerson(b, run, onceward.OutcomeManualCompletion)
		if _, errs, err := b.Command("complete", run.ID, "--by", "dana", "--text", "Paid.", "--note", "told by phone"); err != nil {
			t.Errorf("complete: %v %s", err, errs)
		}
		if result := run.Result(); result.Text != "Paid." || result.Note != "told by phone" {
			t.Errorf("result %+v, want the text and the note", result)
		}
		if out, _, err := b.Command("show", run.ID); err != nil || !strings.Contains(out, "note: told by phone") || !strings.Contains(out, "completed by dana") {
			t.Errorf("show: %v\n%s", err, out)
		}
		if _, errs, err := b.Command("complete", run.ID, "--by", "kim", "--text", "Late."); err == nil || !strings.Contains(errs, "no open workflow") {
			t.Errorf("a late completion: %v %s, want an answer", err, errs)
		}
	})
}

// A start over a receipt is for reports alone: whoever starts the workflow by hand,
// as the Temporal UI does, is refused while it is open, and commits nothing.
func TestReversedActionStartedByHandCommitsNothing(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{})
	b.StartWorker(false)
	order := b.Order()
	b.StartRefund("one", order).Result()
	id := harness.Action(order)
	if _, errs, err := b.Command("resolve", string(id), "--by", "bank", "--status", "reversed", "--note", "sent back"); err != nil {
		t.Fatalf("report: %v %s", err, errs)
	}
	decideByCommand(t, b, id, []string{"--status", "rejected"})
	b.Receipt(id)
	var input onceward.ActionInput
	b.Input(id.WorkflowID(), &input)
	if _, err := b.Client.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{
		ID: id.WorkflowID(), TaskQueue: b.Queue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, onceward.WorkflowAction, input); err != nil {
		t.Fatal(err)
	}
	harness.Until(b, id.WorkflowID(), onceward.QueryReceipt, "reversed", func(r onceward.ActionReceipt) bool { return r.Status == onceward.StateReversed })
	effects(t, b, order, 1, 1)
}
