package workflows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// closing is a run that ends with submitted actions in its ledger.
type closing struct {
	env    *testsuite.TestWorkflowEnvironment
	mu     sync.Mutex
	asked  []onceward.ActionID
	most   int // that were asked at once
	now    int
	says   func(n int) (onceward.ActionState, error) // of the n-th that is asked; nil: accepted
	result onceward.Result
}

func (c *closing) act(_ context.Context, in onceward.ActInput) (onceward.ActResult, error) {
	c.mu.Lock()
	c.asked = append(c.asked, in.ActionID)
	n := len(c.asked)
	c.mu.Unlock()
	state := onceward.StateAccepted
	if c.says != nil {
		var err error
		if state, err = c.says(n); err != nil {
			return onceward.ActResult{}, err
		}
	}
	receipt := onceward.ActionReceipt{ActionID: in.ActionID, Tool: in.Tool, Status: state}
	return onceward.ActResult{Pending: !state.Final(), Receipt: receipt}, nil
}

// close plays the end of a run with so many submitted actions.
func (c *closing) close(t *testing.T, submitted int, outcome onceward.Outcome, change func(*Run)) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	if c.env == nil {
		c.env = suite.NewTestWorkflowEnvironment()
	}
	patient(c.env)
	c.env.RegisterActivityWithOptions(c.act, activity.RegisterOptions{Name: onceward.ActivityAct})
	c.env.SetOnActivityStartedListener(func(*activity.Info, context.Context, converter.EncodedValues) {
		c.now++
		c.most = max(c.most, c.now)
	})
	c.env.SetOnActivityCompletedListener(func(*activity.Info, converter.EncodedValue, error) { c.now-- })
	c.env.ExecuteWorkflow(func(ctx workflow.Context) (onceward.Result, error) {
		r := &Run{started: workflow.Now(ctx), plan: onceward.Plan{
			Version: bounded, Limits: onceward.TurnLimits{Calls: 128, ReadsInFlight: 32, OutputBytes: 4 << 20}, Budget: onceward.Budget{Deadline: time.Hour, PeopleDeadline: time.Hour},
		}}
		for i := range submitted {
			r.note(onceward.ActionReceipt{ActionID: onceward.ActionID(fmt.Sprintf("a/%d", i)), Status: onceward.StateAccepted})
		}
		if change != nil {
			change(r)
		}
		return r.Close(ctx, onceward.Turn{N: 1, Outcome: outcome, Text: "done", Reason: map[bool]string{true: "the deadline passed"}[outcome != onceward.OutcomeCompleted]})
	})
	if err := c.env.GetWorkflowResult(&c.result); err != nil {
		t.Fatal(err)
	}
}

func TestSubmittedActionsAreAskedOnceMoreWithinBounds(t *testing.T) {
	late := func(r *Run) { r.started = r.started.Add(-r.plan.Budget.Deadline) }
	before := func(r *Run) { r.plan.Version, r.plan.Limits = bounded-1, onceward.TurnLimits{} }
	unanswered := func(int) (onceward.ActionState, error) {
		return "", temporal.NewNonRetryableApplicationError("drawn", "drawn", nil)
	}
	made := func(int) (onceward.ActionState, error) { return onceward.StateCommitted, nil }
	for name, c := range map[string]struct {
		submitted   int
		outcome     onceward.Outcome // of the turn; "": completed
		change      func(*Run)
		says        func(int) (onceward.ActionState, error)
		events      int // in the history, when the run ends
		asked, most int
		want        onceward.Outcome
		reason      string // the end of it
	}{
		"E37 one that is made meanwhile is the last word":    {submitted: 1, says: made, asked: 1, most: 1, want: onceward.OutcomeCompleted},
		"E37 2,000 that are made are asked 32 at a time":     {submitted: 2000, says: made, asked: 2000, most: 32, want: onceward.OutcomeCompleted},
		"E37 2,000 that are open are asked 32 at a time":     {submitted: 2000, asked: 2000, most: 32, want: onceward.OutcomeResultDelayed, reason: "a/1999 is accepted, and the model heard that it was submitted"},
		"E37 the deadline has passed, and there is a grace":  {submitted: 3, change: late, outcome: onceward.OutcomeResultDelayed, asked: 3, most: 3, want: onceward.OutcomeResultDelayed, reason: "the deadline passed"},
		"E37 the history has room for none":                  {submitted: 2000, events: hardEvents, want: onceward.OutcomeResultDelayed, reason: "submitted; 2000 submitted actions were not asked again"},
		"E37 the history has room for some":                  {submitted: 2000, events: hardEvents - 10*lookEvents, asked: 9, most: 9, want: onceward.OutcomeResultDelayed},
		"E37 the history is full, and the deadline's reason": {submitted: 2, events: hardEvents, outcome: onceward.OutcomeResultDelayed, want: onceward.OutcomeResultDelayed, reason: "the deadline passed; 2 submitted actions were not asked again"},
		"E37 no answer is told as such":                      {submitted: 40, says: unanswered, asked: 40, most: 32, want: onceward.OutcomeResultDelayed, reason: "submitted; 40 did not answer when they were asked again"},
		"a run of the manifest before asks one by one":       {submitted: 40, change: before, asked: 40, most: 1, events: hardEvents, want: onceward.OutcomeResultDelayed, reason: "a/39 is accepted, and the model heard that it was submitted"},
	} {
		t.Run(name, func(t *testing.T) {
			var suite testsuite.WorkflowTestSuite
			p := &closing{env: suite.NewTestWorkflowEnvironment(), says: c.says}
			if c.events > 0 {
				p.env.SetCurrentHistoryLength(c.events)
			}
			outcome := c.outcome
			if outcome == "" {
				outcome = onceward.OutcomeCompleted
			}
			p.close(t, c.submitted, outcome, c.change)
			if p.result.Outcome != c.want || !strings.HasSuffix(p.result.Reason, c.reason) || (p.result.Reason == "") != (c.want == onceward.OutcomeCompleted) || p.result.Text != "done" {
				t.Errorf("outcome %s (%s) with the text %q, want %s (%s)", p.result.Outcome, p.result.Reason, p.result.Text, c.want, c.reason)
			}
			if len(p.asked) < c.asked || c.events == 0 && len(p.asked) != c.asked || p.most > c.most {
				t.Errorf("%d actions were asked, %d at once; want %d, at most %d at once", len(p.asked), p.most, c.asked, c.most)
			}
			slices.Sort(p.asked)
			if once := len(slices.Compact(p.asked)); once != len(p.asked) || len(p.result.Actions) != c.submitted {
				t.Errorf("%d actions were asked %d times, and %d are in the result", once, len(p.asked), len(p.result.Actions))
			}
		})
	}
}

// E37: time runs out in the middle, or somebody cancels the run: what is in flight is
// not waited for, and what was not asked is counted.
func TestLastLooksEndWithTheirTimeAndWithACancellation(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*Run)
		cancelled bool
		reason    string
	}{
		"E37 the time is up":           {change: func(r *Run) { r.started = r.started.Add(-r.plan.Budget.Deadline) }, reason: " submitted actions were not asked again; "},
		"E37 the run is cancelled now": {cancelled: true, reason: "; 968 submitted actions were not asked again; 32 did not answer when they were asked again"},
	} {
		t.Run(name, func(t *testing.T) {
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestWorkflowEnvironment()
			p := &closing{env: env}
			p.says = func(n int) (onceward.ActionState, error) {
				if n == 1 && c.cancelled {
					env.CancelWorkflow()
				}
				return "", errors.New("the service is away") // is tried again, and each time takes a while
			}
			began := env.Now()
			p.close(t, 1000, onceward.OutcomeCompleted, c.change)
			t.Logf("%s: %s", env.Now().Sub(began), p.result.Reason)
			if took := env.Now().Sub(began); took > lastLooks+time.Second {
				t.Errorf("the run took %s to end, want at most %s", took, lastLooks)
			}
			if p.result.Outcome != onceward.OutcomeResultDelayed || !strings.Contains(p.result.Reason, c.reason) || len(p.result.Actions) != 1000 {
				t.Errorf("outcome %s (%s), want result_delayed that says %q", p.result.Outcome, p.result.Reason, c.reason)
			}
		})
	}
}

// E37: an action whose worker is away answers nothing, and the service says no more
// than that it is open. No transition leads to proposed, so that is never news.
func TestReceiptNeverStepsBackToProposed(t *testing.T) {
	states := []onceward.ActionState{onceward.StateUnknown}
	for _, transition := range Transitions {
		if transition.To == onceward.StateProposed {
			t.Errorf("%s leads to proposed, which newest takes for no news", transition.From)
		}
		states = append(states, transition.From, transition.To)
	}
	for _, from := range states {
		for _, to := range states {
			want := to
			if to == onceward.StateProposed {
				want = from
			}
			for version, plan := range map[int]onceward.ActionState{bounded: want, bounded - 1: to} {
				r := &Run{plan: onceward.Plan{Version: version}}
				r.note(onceward.ActionReceipt{ActionID: "other", Status: onceward.StateRejected})
				r.note(onceward.ActionReceipt{ActionID: "a", Status: from, Ref: "r1"})
				got := r.note(onceward.ActionReceipt{ActionID: "a", Status: to})
				if got.Status != plan || len(r.actions) != 2 || r.actions[1].Status != plan || to == onceward.StateProposed && version == bounded && got.Ref != "r1" {
					t.Errorf("%s, then %s is %+v in manifest %d, want %s", from, to, got, version, plan)
				}
			}
		}
	}
}

// E27: whatever a run has to say at its end, a history can hold it: texts are counted
// as they are encoded, the note of who completed it too.
func TestResultFitsWhateverItSays(t *testing.T) {
	dear := func(n int) string { return strings.Repeat("<", n) }
	for name, c := range map[string]onceward.Result{
		"E27 nothing but receipts":             {Outcome: onceward.OutcomeCompleted},
		"E27 a person's text and note":         {Outcome: onceward.OutcomeCompleted, Text: dear(onceward.MaxOperatorText), Note: dear(onceward.MaxOperatorText), CompletedBy: dear(onceward.MaxRef)},
		"E27 the longest text of a model":      {Outcome: onceward.OutcomeCompleted, Text: dear(onceward.MaxItem / 6)},
		"E27 a plain text as long as an item":  {Outcome: onceward.OutcomeCompleted, Text: strings.Repeat("x", onceward.MaxItem)},
		"E27 a failure, a reason and refusals": {Outcome: onceward.OutcomeFailed, Reason: dear(4000), Failure: onceward.NewFailure(onceward.ClassServerError, onceward.PhaseSent, dear(onceward.MaxFailureMessage))},
		"E27 control characters and marks":     {Outcome: onceward.OutcomeCompleted, Text: strings.Repeat("\x00", onceward.MaxOperatorText), Note: strings.Repeat("\u2028", onceward.MaxOperatorText/3)},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Run{}
			for range maxRefused + 1 {
				r.refused.add(dear(maxSummary))
			}
			for i := range onceward.MaxActions {
				r.note(onceward.ActionReceipt{ActionID: onceward.ActionID(fmt.Sprintf("a/%d", i)), Status: onceward.StateCommitted, Ref: strings.Repeat("r", onceward.MaxRef), Reason: dear(onceward.MaxReason)})
			}
			c.Refused, c.More = r.refused.list, r.refused.more
			result := r.fitted(c)
			payload, err := converter.GetDefaultDataConverter().ToPayload(result)
			if err != nil {
				t.Fatal(err)
			}
			size := len(payload.GetData())
			t.Logf("E27 %d receipts in a result of %d bytes", len(result.Actions), size)
			if size > onceward.MaxCarry || size < onceward.MaxCarry*9/10 {
				t.Errorf("the result takes %d bytes, want at most %d, and no receipt left out for nothing", size, onceward.MaxCarry)
			}
			if !strings.Contains(result.Reason, fmt.Sprintf("the oldest %d receipts are left out", onceward.MaxActions-len(result.Actions))) || result.Note != c.Note || result.Text != c.Text {
				t.Errorf("%d receipts, and the reason ends in %q", len(result.Actions), result.Reason[max(0, len(result.Reason)-120):])
			}
		})
	}
}
