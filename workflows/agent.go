// Package workflows is the deterministic half of Onceward: the loop of a run
// (Open, Next, Act, Close), the Action workflow that owns one side effect, and
// the pure functions that decide what happens after a failure.
package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// RunAgent is the loop most agents need. Write your own from Open, Next, Act and
// Close when a run has timers, child workflows or an order of its own.
func RunAgent(ctx workflow.Context, agent onceward.Agent, in onceward.Start) (onceward.Result, error) {
	run, err := Open(ctx, agent, in)
	if err != nil {
		return onceward.Result{}, err
	}
	for {
		turn, err := run.Next(ctx)
		if err != nil {
			return onceward.Result{}, err
		}
		if turn.Ended() {
			return run.Close(ctx, turn)
		}
		if turn, err = run.Act(ctx, turn); err != nil {
			return onceward.Result{}, err
		}
		if turn.Ended() {
			return run.Close(ctx, turn)
		}
		if run.Full(ctx) {
			return onceward.Result{}, run.Continue(ctx)
		}
	}
}
