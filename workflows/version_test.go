package workflows

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/onceward/onceward"
)

// What only a newer release can have written fails the workflow task, and the run
// waits for a worker of that release. What is too old is refused and says so. Both
// versions that this release reads go on.
func TestOtherReleasesAreReadLeftOrRefused(t *testing.T) {
	start := func(carry, plan int) onceward.Start {
		w := &world{}
		opened, err := w.open(context.Background(), onceward.OpenRequest{})
		if err != nil {
			t.Fatal(err)
		}
		opened.Plan.Version = plan
		return onceward.Start{Carry: &onceward.Carry{Version: carry, Plan: opened.Plan, Items: opened.Items, Started: time.Now()}}
	}
	opening := func(version int) map[string]any {
		return map[string]any{onceward.ActivityOpen: func(ctx context.Context, in onceward.OpenRequest) (onceward.Opened, error) {
			opened, err := (&world{}).open(ctx, in)
			opened.Plan.Version = version
			return opened, err
		}}
	}
	failing := func(class onceward.Class, change func(*onceward.Failure)) map[string]any {
		return map[string]any{onceward.ActivityCallModel: func(context.Context, onceward.CallInput) (onceward.CallResult, error) {
			f := onceward.NewFailure(onceward.ClassServerError, onceward.PhaseSent, "from another release")
			f.Class = class
			change(f)
			return onceward.CallResult{}, temporal.NewApplicationErrorWithOptions("failed", string(class), temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{f, onceward.Settlement{}}})
		}}
	}
	answering := func(call onceward.Call) map[string]any {
		return map[string]any{onceward.ActivityCallModel: func(context.Context, onceward.CallInput) (onceward.CallResult, error) {
			item, err := onceward.NewItem([]byte(`{"type":"function_call","call_id":"c","name":"d","arguments":"{}"}`), "")
			return onceward.CallResult{Items: []onceward.Item{item}, Calls: []onceward.Call{call}}, err
		}}
	}
	const manifest, carry = onceward.ManifestVersion, onceward.CarryVersion
	newerState := start(carry, manifest)
	newerState.Carry.Actions = []onceward.ActionReceipt{{ActionID: "a", Status: "mediated"}}
	newerRepair := start(carry, manifest)
	newerRepair.Carry.Repair = "translate"
	for name, c := range map[string]struct {
		in            onceward.Start
		instead       map[string]any
		left, refused string // part of the reason; both empty: it completes
	}{
		"E35 a carry of this release":                          {in: start(carry, manifest)},
		"E35 a carry with the manifest before":                 {in: start(carry, manifest-1)},
		"E35 a carry of the version before":                    {in: start(carry-1, manifest)},
		"E35 a newer carry":                                    {in: start(carry+1, manifest), left: "version 2"},
		"E35 a carry with a newer manifest":                    {in: start(carry, manifest+1), left: "version 4"},
		"E35 a carry that is too old":                          {in: start(carry-2, manifest), refused: "has version -1, this release reads 0 to 1"},
		"E35 a carry with a manifest that is too old":          {in: start(carry, onceward.ManifestOldest-1), refused: "has version 0, this release reads 1 to 3"},
		"E35 a run that a newer worker opened":                 {in: onceward.Ask("go on"), instead: opening(manifest + 1), left: "version 4"},
		"E35 a run that a worker of the release before opened": {in: onceward.Ask("go on"), instead: opening(manifest - 1)},
		"E35 a run that was opened too long ago":               {in: onceward.Ask("go on"), instead: opening(onceward.ManifestOldest - 1), refused: "has version 0"},
		"a state of an action that this release does not have": {in: newerState, left: `state "mediated"`},
		"a repair that this release does not have, carried":    {in: newerRepair, left: `repair "translate"`},
		"a failure class that this release does not have":      {in: onceward.Ask("go on"), instead: failing("bored", func(*onceward.Failure) {}), left: `class "bored"`},
		"a repair that this release does not have":             {in: onceward.Ask("go on"), instead: failing(onceward.ClassServerError, func(f *onceward.Failure) { f.Repair = "translate" }), left: `repair "translate"`},
		"a route with a repair that this release does not have": {in: onceward.Ask("go on"), instead: map[string]any{onceward.ActivitySelectRoute: func(context.Context, onceward.RouteRequest) (onceward.Decision, error) {
			return onceward.Decision{Route: &onceward.Route{Resource: "a", Model: "m", Ceiling: 1, Repair: "translate"}}, nil
		}}, left: `repair "translate"`},
		"a kind of call that this release would take for a write": {in: onceward.Ask("go on"), instead: answering(onceward.Call{CallID: "c", Tool: "d", Kind: "delegate", ActionID: "a"}), left: `kind "delegate"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{instead: c.instead}
			env := w.environment()
			env.ExecuteWorkflow(runWorld, c.in)
			err := env.GetWorkflowError()
			var panicked *temporal.PanicError // what fails a workflow task, where there is a server
			var application *temporal.ApplicationError
			switch {
			case c.left != "":
				if !errors.As(err, &panicked) || !strings.Contains(err.Error(), c.left) || !strings.Contains(err.Error(), "waits for a worker of that release") {
					t.Errorf("%v, want the task to fail about %s", err, c.left)
				}
			case c.refused != "":
				if !errors.As(err, &application) || application.Type() != onceward.ErrorInvalidStart || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("%v, want %s that says %q", err, onceward.ErrorInvalidStart, c.refused)
				}
			default:
				var result onceward.Result
				if err := env.GetWorkflowResult(&result); err != nil || result.Outcome != onceward.OutcomeCompleted {
					t.Errorf("outcome %s (%v), want completed", result.Outcome, err)
				}
			}
		})
	}
}

// An action that a newer release proposed is left to it: this one would commit
// without what it cannot read.
func TestActionOfANewerReleaseIsLeftToIt(t *testing.T) {
	env := (&world{}).environment()
	env.RegisterWorkflow(Action)
	env.ExecuteWorkflow(Action, onceward.ActionInput{Act: onceward.ActInput{ActionID: "x/1", Agent: "a", Tool: "t", Version: onceward.ManifestVersion + 1}})
	var panicked *temporal.PanicError
	if err := env.GetWorkflowError(); !errors.As(err, &panicked) || !strings.Contains(err.Error(), "newer release") {
		t.Errorf("E35 %v, want the task to fail", err)
	}
}

// E35: a pool's record of a newer release is left to it: a worker of this one would
// carry on without what it cannot read, such as a decision of an operator.
func TestPoolOfANewerReleaseIsLeftToIt(t *testing.T) {
	for version, left := range map[int]bool{0: false, onceward.PoolVersion: false, onceward.PoolVersion + 1: true} {
		env := (&world{}).environment()
		env.RegisterWorkflow(Pool)
		env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
		env.ExecuteWorkflow(Pool, onceward.PoolInput{Version: version, Pool: "shared"})
		var panicked *temporal.PanicError
		var cancelled *temporal.CanceledError
		switch err := env.GetWorkflowError(); {
		case left && (!errors.As(err, &panicked) || !strings.Contains(err.Error(), "waits for a worker of that release")):
			t.Errorf("E35 version %d: %v, want the task to fail", version, err)
		case !left && !errors.As(err, &cancelled):
			t.Errorf("E35 version %d: %v, want it to run until it is cancelled", version, err)
		}
	}
}

// E35: a worker of a release before this one's actions takes their commits and reads
// from the actions' queue. It carries out none, the action waits for another, and
// nobody is asked.
func TestActionWaitsWhileItsCommitsMeetAnOlderWorker(t *testing.T) {
	env := (&world{}).environment()
	env.RegisterWorkflow(Action)
	var versions []int
	env.RegisterActivityWithOptions(func(_ context.Context, in onceward.CommitInput) (onceward.CommitResult, error) {
		if versions = append(versions, in.Version); len(versions) < 20 {
			return onceward.CommitResult{}, temporal.NewNonRetryableApplicationError("of a newer release", onceward.ErrorNotRegistered, nil)
		}
		return onceward.CommitResult{Receipt: onceward.Committed("r1"), VerifiedBy: onceward.VerifiedByResponse, Sent: true}, nil
	}, activity.RegisterOptions{Name: onceward.CommitActivity("a", "t")})
	env.ExecuteWorkflow(Action, onceward.ActionInput{Act: onceward.ActInput{
		ActionID: "x/1", Agent: "a", Tool: "t", Digest: "d", Args: []byte(`{}`), Policy: actionPolicy(func(*onceward.WritePolicy) {}), Version: onceward.ManifestVersion,
	}})
	var got onceward.ActionReceipt
	if err := env.GetWorkflowResult(&got); err != nil || got.Status != onceward.StateCommitted || got.Commits != 1 || len(versions) != 20 {
		t.Errorf("E35 %+v after %d tries (%v), want committed by the one commit that was sent", got, len(versions), err)
	}
	if slices.Min(versions) != onceward.ManifestVersion {
		t.Errorf("E35 the commits have the versions %v, want that of the manifest", versions)
	}
}
