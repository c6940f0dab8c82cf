package workflows

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/onceward/onceward"
)

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// events estimates from above what a workflow writes: a timer and an activity, each
// with the workflow task that follows it, and a marker of a local activity.
type events struct{ timers, activities, markers int }

func (e *events) count() int { return 5*e.timers + 6*e.activities + e.markers }

func watch(env *testsuite.TestWorkflowEnvironment) *events {
	e := &events{}
	env.SetOnTimerScheduledListener(func(string, time.Duration) { e.timers++ })
	env.SetOnActivityStartedListener(func(*activity.Info, context.Context, converter.EncodedValues) { e.activities++ })
	env.SetOnLocalActivityStartedListener(func(*activity.Info, context.Context, []interface{}) { e.markers++ })
	return e
}

// long gives a run years of its own and of people's time.
func long(p *onceward.Plan) { p.Budget.Deadline, p.Budget.PeopleDeadline = 3*year, 3*year }

// A person who decides after a year finds the run, whose history has room: the ask
// backs off to a day, and the receipt's signal wakes it.
func TestWaitForAPersonCostsFewEvents(t *testing.T) {
	for name, c := range map[string]struct {
		after    time.Duration
		signal   bool
		within   time.Duration // of the decision the run knows of it
		atMost   int           // events
		deadline time.Duration
		other    bool // the action was started by another run, which alone is told
	}{
		"E28 a year, and the signal wakes it":                {after: year, signal: true, within: time.Second, atMost: 4300},
		"E28 60 days, and the signal is lost: within a day":  {after: 60 * day, within: day, atMost: 1000},
		"a minute, and the signal is lost: within a minute":  {after: time.Minute, within: time.Minute, atMost: 120},
		"E28 a year, and another run is told: within a day":  {after: year, within: day, atMost: 6000, other: true},
		"an hour, and another run is told: within minutes":   {after: time.Hour, within: 4 * time.Minute, atMost: 1500, other: true},
		"nobody decides: it ends when people's time is over": {after: year, within: time.Second, atMost: 600, deadline: 20 * day},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{turns: [][]string{{"w"}}, plan: func(p *onceward.Plan) {
				long(p)
				if c.deadline > 0 {
					p.Budget.PeopleDeadline = c.deadline
				}
			}}
			var env *testsuite.TestWorkflowEnvironment
			var begun, known time.Time
			w.instead = map[string]any{onceward.ActivityAct: func(_ context.Context, in onceward.ActInput) (onceward.ActResult, error) {
				receipt := onceward.ActionReceipt{ActionID: in.ActionID, Tool: in.Tool, Run: in.Run, Status: onceward.StateAwaitingOperator}
				if c.other {
					receipt.Run = "another"
				}
				if env.Now().Before(begun.Add(c.after)) {
					return onceward.ActResult{Pending: true, Receipt: receipt}, nil
				}
				known = env.Now()
				receipt.Status, receipt.Ref = onceward.StateCommitted, "r"
				output, err := onceward.CallOutput(in.CallID, "committed")
				return onceward.ActResult{Receipt: receipt, Output: &output}, err
			}}
			env = w.environment()
			seen := watch(env)
			begun = env.Now()
			if c.signal {
				env.RegisterDelayedCallback(func() { env.SignalWorkflow(onceward.SignalReceipt, onceward.ActionReceipt{}) }, c.after)
			}
			env.ExecuteWorkflow(runWorld, onceward.Ask("go on"))
			var result onceward.Result
			if err := env.GetWorkflowResult(&result); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d events in %s", seen.count(), env.Now().Sub(begun))
			if n := seen.count(); n > c.atMost {
				t.Errorf("%d events, want at most %d", n, c.atMost)
			}
			if c.deadline > 0 {
				if waited := env.Now().Sub(begun); result.Outcome != onceward.OutcomeUnknown || waited > c.deadline+time.Minute {
					t.Errorf("outcome %s after %s, want outcome_unknown after %s", result.Outcome, waited, c.deadline)
				}
				return
			}
			if late := known.Sub(begun.Add(c.after)); result.Outcome != onceward.OutcomeCompleted || late > c.within {
				t.Errorf("outcome %s, known %s after the decision; want completed within %s", result.Outcome, late, c.within)
			}
		})
	}
}

// without is an environment that lacks something for a year.
func (w *world) without(lacks func(*world, func() bool) map[string]any) (*testsuite.TestWorkflowEnvironment, time.Time, *events) {
	var env *testsuite.TestWorkflowEnvironment
	var begun time.Time
	w.instead = lacks(w, func() bool { return !env.Now().Before(begun.Add(year)) })
	env = w.environment()
	begun = env.Now()
	return env, begun, watch(env)
}

// unregistered is what an activity ends with on a worker that does not have it.
var unregistered = temporal.NewNonRetryableApplicationError("not here", "ActivityNotRegisteredError", nil)

// A run that needs what no worker has looks for it more and more seldom, and finds
// it within a twentieth of the time it was away. Otherwise a year of looking would
// end it by the size of its history.
func TestWaitForAWorkerCostsFewEvents(t *testing.T) {
	const atMost = 6000
	rows := map[string]struct {
		turns [][]string
		lacks func(w *world, isBack func() bool) map[string]any
	}{
		"E28 the agent": {lacks: func(w *world, isBack func() bool) map[string]any {
			return map[string]any{onceward.ActivityOpen: func(ctx context.Context, in onceward.OpenRequest) (onceward.Opened, error) {
				if isBack() {
					return w.open(ctx, in)
				}
				return onceward.Opened{}, temporal.NewNonRetryableApplicationError("not here", onceward.ErrorNoAgent, nil)
			}}
		}},
		"E28 the tool of a read": {turns: [][]string{{"r"}}, lacks: func(w *world, isBack func() bool) map[string]any {
			return map[string]any{onceward.ReadActivity("a", "r"): func(ctx context.Context, in onceward.ReadInput) (onceward.Item, error) {
				if isBack() {
					return w.read(ctx, in)
				}
				return onceward.Item{}, unregistered
			}}
		}},
		"E28 a resource": {lacks: func(w *world, isBack func() bool) map[string]any {
			return map[string]any{onceward.ActivitySelectRoute: func(ctx context.Context, in onceward.RouteRequest) (onceward.Decision, error) {
				if isBack() {
					return w.selectRoute(ctx, in)
				}
				return onceward.Decision{RetryAt: in.Now.Add(time.Second)}, nil
			}}
		}},
		"an action that is at work": {turns: [][]string{{"w"}}, lacks: func(w *world, isBack func() bool) map[string]any {
			return map[string]any{onceward.ActivityAct: func(ctx context.Context, in onceward.ActInput) (onceward.ActResult, error) {
				if isBack() {
					return w.act(ctx, in)
				}
				return onceward.ActResult{Pending: true, Receipt: onceward.ActionReceipt{ActionID: in.ActionID, Status: onceward.StateReconciling}}, nil
			}}
		}},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{turns: row.turns, plan: long}
			env, begun, seen := w.without(row.lacks)
			env.ExecuteWorkflow(runWorld, onceward.Ask("go on"))
			var result onceward.Result
			if err := env.GetWorkflowResult(&result); err != nil || result.Outcome != onceward.OutcomeCompleted {
				t.Fatalf("outcome %s (%s, %v), want completed", result.Outcome, result.Reason, err)
			}
			waited := env.Now().Sub(begun)
			t.Logf("%d events in %s", seen.count(), waited)
			if n := seen.count(); n > atMost || waited > year+day {
				t.Errorf("%d events in %s, want at most %d and within a day after a year", n, waited, atMost)
			}
		})
	}
	t.Run("E28 the owner of pinned state", func(t *testing.T) {
		t.Parallel()
		w := &world{plan: func(p *onceward.Plan) { long(p); p.State = &onceward.ProviderState{Resource: "a"} }}
		env, _, seen := w.without(rows["E28 a resource"].lacks)
		env.ExecuteWorkflow(runWorld, onceward.Ask("go on"))
		var result onceward.Result
		if err := env.GetWorkflowResult(&result); err != nil || result.Outcome != onceward.OutcomeCompleted {
			t.Fatalf("outcome %s (%s, %v), want completed", result.Outcome, result.Reason, err)
		}
		if n := seen.count(); n > atMost {
			t.Errorf("%d events, want at most %d", n, atMost)
		}
	})
}

// An action outlives the worker that has its tool, and the product that takes a year
// to finish.
func TestWaitsOfAnActionCostFewEvents(t *testing.T) {
	const atMost = 6500
	policy := onceward.WritePolicy{Lease: time.Minute, Settle: time.Second, ReadHorizon: 3 * year, KeyTTL: day}
	for name, c := range map[string]struct {
		commit, find func(isBack bool) (onceward.CommitResult, error)
	}{
		"E28 no worker for its commit": {
			commit: func(isBack bool) (onceward.CommitResult, error) {
				if isBack {
					return onceward.CommitResult{Receipt: onceward.Committed("r"), Sent: true, VerifiedBy: onceward.VerifiedByResponse}, nil
				}
				return onceward.CommitResult{}, unregistered
			},
		},
		"E28 no worker for its read": {
			commit: func(bool) (onceward.CommitResult, error) {
				return onceward.CommitResult{}, temporal.NewNonRetryableApplicationError("no answer", onceward.ErrorCommitUnclear, nil)
			},
			find: func(isBack bool) (onceward.CommitResult, error) {
				if isBack {
					return onceward.CommitResult{Receipt: onceward.Committed("r"), VerifiedBy: onceward.VerifiedByRead}, nil
				}
				return onceward.CommitResult{}, unregistered
			},
		},
		"E28 accepted for a year": {
			commit: func(bool) (onceward.CommitResult, error) {
				return onceward.CommitResult{Receipt: onceward.Accepted("r"), Sent: true, VerifiedBy: onceward.VerifiedByResponse}, nil
			},
			find: func(isBack bool) (onceward.CommitResult, error) {
				if isBack {
					return onceward.CommitResult{Receipt: onceward.Committed("r"), VerifiedBy: onceward.VerifiedByRead}, nil
				}
				return onceward.CommitResult{Receipt: onceward.Accepted("r"), VerifiedBy: onceward.VerifiedByRead}, nil
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestWorkflowEnvironment()
			patient(env)
			env.RegisterWorkflow(Action)
			seen, begun := watch(env), env.Now()
			for activityType, fn := range map[string]func(bool) (onceward.CommitResult, error){onceward.CommitActivity("a", "t"): c.commit, onceward.FindActivity("a", "t"): c.find} {
				env.RegisterActivityWithOptions(func(context.Context, onceward.CommitInput) (onceward.CommitResult, error) {
					return fn(!env.Now().Before(begun.Add(year)))
				}, activity.RegisterOptions{Name: activityType})
			}
			env.ExecuteWorkflow(Action, onceward.ActionInput{Act: onceward.ActInput{ActionID: "x/1", Agent: "a", Tool: "t", Digest: "d", Args: []byte(`{}`), Policy: policy}})
			var receipt onceward.ActionReceipt
			if err := env.GetWorkflowResult(&receipt); err != nil || receipt.Status != onceward.StateCommitted {
				t.Fatalf("receipt %+v (%v), want committed", receipt, err)
			}
			waited := env.Now().Sub(begun)
			t.Logf("%d events in %s", seen.count(), waited)
			if n := seen.count(); n > atMost || waited > year+2*day {
				t.Errorf("%d events in %s, want at most %d and soon after a year", n, waited, atMost)
			}
		})
	}
}

// The pause of a wait never passes its end, and never is none: a timer of no length
// is no command, and the loop would spin.
func TestPausesStayWithinTheirWait(t *testing.T) {
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	var p patience
	for _, c := range []struct {
		person, told bool
		left, want   time.Duration
	}{
		{false, true, time.Hour, time.Second}, {false, true, time.Hour, 2 * time.Second}, {false, true, 3 * time.Second, 3 * time.Second}, {false, true, -time.Hour, minWait},
		{true, true, year, time.Second}, {true, true, year, 2 * time.Second}, {true, false, year, time.Second}, {false, true, time.Hour, time.Second},
	} {
		if got := p.next(now, c.person, c.told, c.left); got != c.want {
			t.Errorf("person %v, %s left: a pause of %s, want %s", c.person, c.left, got, c.want)
		}
	}
}
