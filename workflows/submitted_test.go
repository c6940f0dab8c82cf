package workflows

import (
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

func TestE37WhatIsRefusedAfterItWasSubmittedIsReversed(t *testing.T) {
	refused := onceward.Rejected("the bank sent it back")
	for name, c := range map[string]struct {
		submitted time.Duration
		last      onceward.Receipt
		want      onceward.ActionState
	}{
		"E37 nobody has heard of it: an ordinary refusal":             {0, refused, onceward.StateRejected},
		"E37 a model has heard submitted: a person decides":           {2 * time.Second, refused, onceward.StateReversed},
		"E37 a model has heard submitted and it is made: all is well": {2 * time.Second, onceward.Committed("r1"), onceward.StateCommitted},
		"E37 a model has heard submitted and it vanishes":             {2 * time.Second, nothing, onceward.StateAwaitingOperator},
	} {
		t.Run(name, func(t *testing.T) {
			p := &product{commits: []onceward.Receipt{onceward.Accepted("p1")}, submitted: c.submitted,
				finds: []onceward.Receipt{onceward.Accepted("p1"), onceward.Accepted("p1"), onceward.Accepted("p1"), onceward.Accepted("p1"), c.last}}
			got := play(t, p, actionPolicy(func(*onceward.WritePolicy) {}))
			if got.Status != c.want || len(p.committed) != 1 {
				t.Errorf("receipt %+v after %d commits, want %s after 1", got, len(p.committed), c.want)
			}
			if reversed := got.Reversal != nil; reversed != (c.want == onceward.StateReversed) || reversed && (got.Ref != "p1" || got.Reversal.Reason != refused.Reason) {
				t.Errorf("receipt %+v with the reversal %+v", got, got.Reversal)
			}
		})
	}
}

// outputs are what the model read of its calls, in order.
func outputs(t *testing.T, env *testsuite.TestWorkflowEnvironment) []string {
	t.Helper()
	answer, err := env.QueryWorkflow(onceward.QueryTranscript, onceward.TranscriptQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var page onceward.TranscriptPage
	if err := answer.Get(&page); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, item := range page.Items {
		if item.Type == "function_call_output" {
			out = append(out, string(item.Raw))
		}
	}
	return out
}

func TestE37ModelHearsSubmittedAndTheRunEndsWithoutTheAction(t *testing.T) {
	for name, c := range map[string]struct {
		acts    []string
		always  string
		turns   [][]string
		outcome onceward.Outcome
		output  string
		waited  time.Duration // at most
	}{
		"E37 accepted for ever: the model hears submitted, the result is delayed": {
			always: "accepted", outcome: onceward.OutcomeResultDelayed, output: "submitted", waited: 20 * time.Second},
		"E37 it settles soon: the model hears committed": {
			acts: []string{"accepted", "accepted"}, outcome: onceward.OutcomeCompleted, output: "committed", waited: 10 * time.Second},
		"E37 it settles after the model heard submitted, and before the run ends": {
			acts: []string{"accepted", "accepted", "accepted", "accepted", "accepted", "accepted"}, outcome: onceward.OutcomeCompleted, output: "submitted", waited: 20 * time.Second},
		"E37 it is refused after the model heard submitted: the answer is not the last word": {
			acts: []string{"accepted", "accepted", "accepted", "accepted", "accepted", "accepted"}, always: "rejected", outcome: onceward.OutcomeResultDelayed, output: "submitted", waited: 20 * time.Second},
		"E37 it is asked of a person meanwhile: the run waits for them": {
			acts: []string{"accepted", "operator", "operator"}, outcome: onceward.OutcomeCompleted, output: "committed", waited: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{turns: [][]string{{"w"}}, acts: c.acts, always: c.always}
			env := w.environment()
			began := env.Now()
			env.ExecuteWorkflow(func(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
				return RunAgent(ctx, onceward.Agent{Name: "a"}, in)
			}, onceward.Ask("go on"))
			var result onceward.Result
			if err := env.GetWorkflowResult(&result); err != nil {
				t.Fatal(err)
			}
			if result.Outcome != c.outcome || result.Text != "done" || (result.Reason == "") != (c.outcome == onceward.OutcomeCompleted) {
				t.Errorf("outcome %s (%s) with the text %q, want %s with the model's answer", result.Outcome, result.Reason, result.Text, c.outcome)
			}
			if got := outputs(t, env); len(got) != 1 || !strings.Contains(got[0], c.output) {
				t.Errorf("the model heard %q, want %s", got, c.output)
			}
			if waited := env.Now().Sub(began); waited > c.waited {
				t.Errorf("the run took %s, want at most %s", waited, c.waited)
			}
		})
	}
}

// E37: the deadline comes before the wait is over.
func TestE37DeadlinePassesWhileTheProductHasAccepted(t *testing.T) {
	w := &world{turns: [][]string{{"w"}, {"w"}, {"w"}, {"w"}, {"w"}, {"w"}, {"w"}, {"w"}, {"w"}}, always: "accepted"}
	env := w.environment()
	env.ExecuteWorkflow(func(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
		run, err := Open(ctx, onceward.Agent{Name: "a"}, in)
		if err != nil {
			return onceward.Result{}, err
		}
		turn, err := run.Next(ctx)
		if err != nil {
			return onceward.Result{}, err
		}
		run.started = run.started.Add(-run.plan.Budget.Deadline) // nothing is left
		if turn, err = run.Act(ctx, turn); err != nil {
			return onceward.Result{}, err
		}
		return run.Close(ctx, turn)
	}, onceward.Ask("go on"))
	var result onceward.Result
	if err := env.GetWorkflowResult(&result); err != nil {
		t.Fatal(err)
	}
	if result.Outcome != onceward.OutcomeResultDelayed || len(result.Actions) != 1 || result.Actions[0].Status != onceward.StateAccepted {
		t.Errorf("result %+v, want result_delayed with the action as accepted", result)
	}
	if got := outputs(t, env); len(got) != 1 || !strings.Contains(got[0], "submitted") {
		t.Errorf("the model heard %q, want submitted", got)
	}
}

// E38: what a run says of itself when it proposes, and proposes again.
func TestE38RunNamesItselfByItsFirstExecution(t *testing.T) {
	for name, c := range map[string]struct {
		info workflow.Info
		want string
	}{
		"E38 a first execution":                  {workflow.Info{FirstRunID: "A", OriginalRunID: "A"}, "A"},
		"E38 a reset or continued one":           {workflow.Info{FirstRunID: "A", OriginalRunID: "C"}, "A"},
		"E38 the runs of a schedule are not one": {workflow.Info{FirstRunID: "A", OriginalRunID: "C", CronSchedule: "@daily"}, "C"},
	} {
		if got := chainID(&c.info); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	w := &world{turns: [][]string{{"w"}, {"w"}}}
	env := w.environment()
	env.ExecuteWorkflow(func(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
		run, err := Open(ctx, onceward.Agent{Name: "a"}, in)
		if err != nil {
			return onceward.Result{}, err
		}
		var turn onceward.Turn
		for range 2 {
			if turn, err = run.Next(ctx); err != nil {
				return onceward.Result{}, err
			}
			turn.Calls[0].ActionID = "one" // the same both times
			if turn, err = run.Act(ctx, turn); err != nil {
				return onceward.Result{}, err
			}
		}
		turn.Outcome = onceward.OutcomeCompleted
		return run.Close(ctx, turn)
	}, onceward.Ask("go on"))
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if len(w.asked) != 2 || w.asked[0].RunID != w.asked[1].RunID || w.asked[0].Repeated || !w.asked[1].Repeated {
		t.Errorf("asked %+v, want twice by the same run, the second time as a repetition", w.asked)
	}
}
