package test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/test/harness"
)

// shown is what a reader of `onceward show --json` relies on.
type shown struct {
	WorkflowID string  `json:"workflow_id"`
	Status     string  `json:"status"`
	Outcome    *string `json:"outcome"`
	Text       *string `json:"text"`
	Budget     struct {
		Attempts struct{ Used, Limit int }
		CostUSD  struct{ Used, Limit float64 } `json:"cost_usd"`
	}
	Attempts []struct {
		Turn, Attempt int
		Resource      *string
		Class         *string
		CostUSD       float64 `json:"cost_usd"`
	}
	Actions []struct {
		ActionID   string  `json:"action_id"`
		Status     string  `json:"status"`
		Ref        *string `json:"ref"`
		Commits    int     `json:"commits"`
		Reconciled int     `json:"reconciled"`
		VerifiedBy *string `json:"verified_by"`
	}
}

func show(t *testing.T, b *harness.Bench, run *harness.Run) shown {
	t.Helper()
	out, errs, err := b.Command("show", run.ID, "--json")
	if err != nil {
		t.Fatalf("show: %v: %s", err, errs)
	}
	var report shown
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("show printed no JSON: %v: %s", err, out)
	}
	return report
}

// agree waits until `onceward list` says of a run what `onceward show` does. The
// server's list follows a run's own figures a moment later.
func agree(t *testing.T, b *harness.Bench, run *harness.Run) {
	t.Helper()
	type row struct {
		WorkflowID string   `json:"workflow_id"`
		Status     string   `json:"status"`
		Outcome    *string  `json:"outcome"`
		Attempts   *int     `json:"attempts"`
		CostUSD    *float64 `json:"cost_usd"`
	}
	var last any
	for b.Context().Err() == nil {
		out, errs, err := b.Command("list", "--json", "--limit", "1000")
		var rows []row
		if err != nil || json.Unmarshal([]byte(out), &rows) != nil {
			t.Fatalf("list: %v: %s%s", err, out, errs)
		}
		report := show(t, b, run)
		for _, r := range rows {
			if r.WorkflowID != run.ID {
				continue
			}
			last = [2]any{r, report}
			same := r.Attempts != nil && *r.Attempts == report.Budget.Attempts.Used && r.CostUSD != nil && math.Abs(*r.CostUSD-report.Budget.CostUSD.Used) < 1e-9 &&
				r.Status == report.Status && (r.Outcome == nil) == (report.Outcome == nil) && (r.Outcome == nil || *r.Outcome == *report.Outcome)
			if same {
				return
			}
		}
	}
	t.Fatalf("list and show do not agree about %s: %+v", run.ID, last)
}

// E42: while a run waits for a receipt, for a person, and when it has ended.
func TestListAndShowAgreeOnEveryFigure(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{Lease: shortLease})
	held := newGate(t) // its commit is held until the end: nobody can tell what became of it
	b.OnBeforeCommit(held.hold)
	b.StartWorker(false)
	order := b.Order()
	run := b.Start("run", "UnsettledWorkflow", "Please refund "+order+".")
	held.await(t, b)
	agree(t, b, run)
	waitsForPerson(b, run, onceward.OutcomeUnknown)
	agree(t, b, run)
	if _, errs, err := b.Command("resolve", string(harness.Action(order)), "--status", "rejected", "--by", "ops"); err != nil {
		t.Fatalf("resolve: %v: %s", err, errs)
	}
	run.Result()
	agree(t, b, run)
}

// One id is enough: `onceward show` finds every attempt, with what it cost, and
// the receipt, with what it rests on, and needs no worker for it.
func TestShowLinksEveryAttemptAndReceipt(t *testing.T) {
	t.Parallel()
	fallback := routertest.FailWith(503, "").For(1)
	fallback.Match.Turn = routertest.At(2)
	b := harness.New(t, harness.Options{
		Faults: []routertest.Fault{fallback}, Payments: payments.Config{Fault: payments.Fault{Kind: payments.CommitThenDrop, Times: 1}}})
	w := b.StartWorker(false)
	order := b.Order()
	run := b.StartRefund("run", order)
	result, chain := b.Check(run, order, paid())
	if err := w.Stop(); err != nil {
		t.Errorf("the worker ended with %v", err)
	}
	report := show(t, b, run)
	attempts := b.Attempts(chain)
	if report.Outcome == nil || *report.Outcome != string(onceward.OutcomeCompleted) || report.Text == nil || *report.Text != result.Text {
		t.Errorf("report %+v, want the result %+v", report, result)
	}
	if len(report.Attempts) != len(attempts) || report.Budget.Attempts.Used != len(attempts) || len(attempts) != 4 {
		t.Fatalf("%d attempts shown, %d used, %d in history; want 4", len(report.Attempts), report.Budget.Attempts.Used, len(attempts))
	}
	var cost float64
	for i, a := range report.Attempts {
		cost += a.CostUSD
		if a.Resource == nil || *a.Resource != attempts[i].Input.Route.Resource || a.Turn != attempts[i].Input.Turn {
			t.Errorf("attempt %d is shown as %+v, history has %+v", i, a, attempts[i].Input.Route)
		}
	}
	if want := result.Use.Spent.USD(); math.Abs(cost-want) > 1e-9 || math.Abs(report.Budget.CostUSD.Used-want) > 1e-9 {
		t.Errorf("attempts cost %.6f, the budget says %.6f, the result %.6f", cost, report.Budget.CostUSD.Used, want)
	}
	failed, explanation := report.Attempts[2], report.Attempts[3]
	if failed.Class == nil || *failed.Class != string(onceward.ClassOverloaded) || *failed.Resource == *explanation.Resource {
		t.Errorf("the explanation's attempts are %+v and %+v, want a fallback after an overload", failed, explanation)
	}
	if len(report.Actions) != 1 || report.Actions[0].Commits != 1 || report.Actions[0].Reconciled < 1 || report.Actions[0].Ref == nil ||
		report.Actions[0].ActionID != string(harness.Action(order)) || *report.Actions[0].VerifiedBy != string(onceward.VerifiedByRead) {
		t.Errorf("actions %+v, want the refund, found by a read after one commit", report.Actions)
	}
}

// The operator's whole way: the run shows that nobody knows, the command line
// decides, the run completes.
func TestResolveByCommandLine(t *testing.T) {
	fault{
		workflow: "UnsettledWorkflow", options: harness.Options{Lease: shortLease, Payments: payments.Config{Fault: payments.Fault{Kind: payments.DropBeforeCommit, Times: 1}}},
		during: func(t *testing.T, b *harness.Bench, run *harness.Run, order string) {
			waitsForPerson(b, run, onceward.OutcomeUnknown)
			report := show(t, b, run)
			if report.Status != string(onceward.StatusWaitingPerson) || report.Outcome == nil || *report.Outcome != string(onceward.OutcomeUnknown) ||
				len(report.Actions) != 1 || report.Actions[0].Status != string(onceward.StateAwaitingOperator) {
				t.Errorf("report %+v, want a run that waits for a person about an action that awaits an operator", report)
			}
			id := string(harness.Action(order))
			if _, _, err := b.Command("resolve", id, "--status", "committed", "--by", "ops"); err == nil {
				t.Error("a commit was resolved without a ref")
			}
			if _, errs, err := b.Command("resolve", id, "--status", "rejected", "--by", "ops", "--note", "never arrived"); err != nil {
				t.Errorf("resolve: %v: %s", err, errs)
			}
		},
		want:  harness.Want{Outcome: onceward.OutcomeCompleted, Posts: 1, Text: "rejected"},
		check: expect(onceward.StateRejected, onceward.VerifiedByOperator, 1),
	}.run(t)
}
