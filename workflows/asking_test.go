package workflows

import (
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// heardOf are the texts of the outputs in the transcript of a world that has ended.
func heardOf(r onceward.TranscriptPage) string {
	var texts []string
	for _, item := range r.Items {
		if item.Type == "function_call_output" {
			texts = append(texts, string(item.Raw))
		}
	}
	return strings.Join(texts, "\n")
}

// A run that waits for an approval takes its ask back before it says that it waits no
// longer, and goes on with what was decided before that.
func TestRunTakesItsAskBackBeforeItStopsWaiting(t *testing.T) {
	for name, c := range map[string]struct {
		acts      []string // then the action is committed
		decided   onceward.GateStatus
		cancel    time.Duration
		outcome   onceward.Outcome
		withdrawn int
		output    string
		ledger    []onceward.ActionState
	}{
		"approved":                       {acts: []string{"asks", "asks", "pending"}, outcome: onceward.OutcomeCompleted, output: "committed", ledger: []onceward.ActionState{onceward.StateCommitted}},
		"denied":                         {acts: []string{"asks", "denied"}, outcome: onceward.OutcomeCompleted, output: "denied", ledger: []onceward.ActionState{onceward.StateRejected}},
		"nobody decides":                 {acts: repeat("asks", 50), outcome: onceward.OutcomeCompleted, withdrawn: 1, output: "not_decided"},
		"somebody decides at the end":    {acts: repeat("asks", 10), decided: onceward.GateApproved, outcome: onceward.OutcomeCompleted, withdrawn: -1, output: "committed", ledger: []onceward.ActionState{onceward.StateCommitted}},
		"it is cancelled":                {acts: repeat("asks", 50), cancel: time.Minute, outcome: onceward.OutcomeCancelled, withdrawn: 1, output: "not_awaited"},
		"it is cancelled past approval":  {acts: append([]string{"asks"}, repeat("pending", 50)...), cancel: time.Minute, outcome: onceward.OutcomeCancelled, output: "not_awaited", ledger: []onceward.ActionState{onceward.StateCommitting}},
		"then the outcome is not known":  {acts: append([]string{"asks"}, repeat("operator", 60)...), outcome: onceward.OutcomeUnknown, output: "outcome_unknown", ledger: []onceward.ActionState{onceward.StateAwaitingOperator}},
		"it is cancelled as it is asked": {acts: repeat("asks", 50), cancel: time.Millisecond, outcome: onceward.OutcomeCancelled, withdrawn: -1, output: ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{turns: [][]string{{"a"}}, acts: c.acts, decided: c.decided}
			env := w.environment()
			if c.cancel > 0 {
				env.RegisterDelayedCallback(env.CancelWorkflow, c.cancel)
			}
			env.ExecuteWorkflow(runWorld, onceward.Ask("go on"))
			var result onceward.Result
			if err := env.GetWorkflowResult(&result); err != nil {
				t.Fatal(err)
			}
			var page onceward.TranscriptPage
			if answer, err := env.QueryWorkflow(onceward.QueryTranscript, onceward.TranscriptQuery{}); err != nil || answer.Get(&page) != nil {
				t.Fatal(err)
			}
			if result.Outcome != c.outcome || !strings.Contains(heardOf(page), c.output) {
				t.Errorf("outcome %s (%s), the model heard %s; want %s and %q", result.Outcome, result.Reason, heardOf(page), c.outcome, c.output)
			}
			if n := len(w.withdrawn); c.withdrawn >= 0 && n != c.withdrawn {
				t.Errorf("%d asks were taken back, want %d", n, c.withdrawn)
			}
			var ledger []onceward.ActionState
			for _, a := range result.Actions {
				ledger = append(ledger, a.Status)
			}
			if c.cancel != time.Millisecond && len(ledger) != len(c.ledger) || len(ledger) == 1 && len(c.ledger) == 1 && ledger[0] != c.ledger[0] {
				t.Errorf("the ledger holds %v, want %v", ledger, c.ledger)
			}
			for _, in := range w.asked {
				if !in.AttachOnly && (!in.Approval.Needed() || in.Until.IsZero()) {
					t.Errorf("asked with %+v", in)
				}
			}
		})
	}
}

func repeat(s string, n int) (out []string) {
	for range n {
		out = append(out, s)
	}
	return out
}

// Sixty days at a gate leave room in the run's history, and the gate's holds one ask for
// each time that the run looks.
func TestWaitForAnApprovalCostsFewEvents(t *testing.T) {
	w := &world{turns: [][]string{{"a"}}, acts: repeat("asks", 1000), plan: func(p *onceward.Plan) {
		long(p)
		p.Budget.PeopleDeadline = 60 * day
	}}
	env := w.environment()
	seen, begun := watch(env), env.Now()
	env.ExecuteWorkflow(runWorld, onceward.Ask("go on"))
	var result onceward.Result
	if err := env.GetWorkflowResult(&result); err != nil || result.Outcome != onceward.OutcomeCompleted {
		t.Fatalf("%v, %s", err, result.Outcome)
	}
	if waited := env.Now().Sub(begun); waited < 60*day || waited > 60*day+time.Minute || len(w.withdrawn) != 1 {
		t.Errorf("it waited %s and took %d asks back", waited, len(w.withdrawn))
	}
	const gate = 4 // of a signal at the gate: itself and a workflow task
	t.Logf("%d events of the run, %d of the gate", seen.count(), gate*len(w.asked))
	if run := seen.count(); run >= 1000 || gate*len(w.asked) >= 1000 {
		t.Errorf("%d events of the run and %d of the gate, want fewer than 1,000", run, gate*len(w.asked))
	}
}
