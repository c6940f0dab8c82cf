package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// hardEvents and hardBytes end a run before the server would terminate it, at
// 51,200 events or 50 MB. They leave room for what is not looked at again: the
// writes of a turn that wait for people, and the answer that ends the run. A run
// with limits also keeps free what its next turn may add, see turnEvents and
// turnBytes.
const (
	hardEvents = 45_000
	hardBytes  = 45 << 20
)

// rawCarry is what runs of the first manifest version carried at most, in bytes of
// items alone.
const rawCarry = 1 << 20

// carryRest is room for what is carried beside items and ledger: routes passed over,
// withdrawn tools, refused signals, numbers.
const carryRest = 64 << 10

// Full reports whether the run should continue as new. Call it between turns.
// What is larger than onceward.MaxCarry cannot travel inline; such a run goes on in
// its history as long as the server allows, and Next then ends it.
func (r *Run) Full(ctx workflow.Context) bool {
	if r.plan.Version < bounded && r.bytes > rawCarry {
		return false
	}
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested() && r.carried() <= onceward.MaxCarry
}

// carried is an upper bound of what continue-as-new would carry now, in bytes as the
// JSON converter writes it. The manifest holds the plan, so its size bounds it.
func (r *Run) carried() int {
	n := carryRest + r.encoded
	if len(r.items) > 0 {
		n += r.items[0].Encoded()
	}
	for _, receipt := range r.actions {
		n += receipt.Encoded()
	}
	return n
}

// outgrown reports why a run can neither go on in its history nor leave it.
func (r *Run) outgrown(ctx workflow.Context) string {
	info := workflow.GetInfo(ctx)
	if info.GetCurrentHistoryLength() < hardEvents-r.turnEvents() && info.GetCurrentHistorySize() < hardBytes-r.turnBytes() {
		return ""
	}
	carried := r.carried()
	switch {
	case r.plan.Version < bounded && r.bytes <= rawCarry:
		return ""
	case r.plan.Version >= bounded && carried <= onceward.MaxCarry:
		return "the history is full, and the run was not continued as new in time: a loop of your own has to ask Full after each turn"
	}
	return fmt.Sprintf("the history is full and what the run has to carry takes %d bytes, more than the %d that travel inline: give the agent tools that return less, or split the work into several runs", carried, onceward.MaxCarry)
}

// turnEvents is how many events a turn may add before the history is looked at
// again: each call is scheduled, started and ended, and its end may take a workflow
// task of its own.
func (r *Run) turnEvents() int { return 10 * r.plan.Limits.Calls }

// turnBytes is what a turn may add: the outputs of its reads with what a codec
// makes of them, the response, and its arguments once more.
func (r *Run) turnBytes() int { return 2 * r.plan.Limits.OutputBytes }

// Continue returns the error that continues the run as new with all it has: plan,
// transcript, ledger and what was used of the budget. Call it when Full says so.
func (r *Run) Continue(ctx workflow.Context) error {
	r.leave(ctx)
	return workflow.NewContinueAsNewError(ctx, workflow.GetInfo(ctx).WorkflowType.Name, onceward.Start{Carry: r.carry(workflow.Now(ctx))})
}

func (r *Run) carry(now time.Time) *onceward.Carry {
	var excluded []onceward.ExcludedRoute
	for _, e := range r.excluded {
		if !e.Soft || e.Until.After(now) {
			excluded = append(excluded, e)
		}
	}
	return &onceward.Carry{
		Version: onceward.CarryVersion, Plan: r.plan, Items: r.items, Actions: r.actions, Withdrawn: r.withdrawn, Excluded: excluded, Suspects: r.suspects,
		Warm: r.warm, Use: r.use, Turn: r.turn, Started: r.started, Committed: r.committed, Repair: r.repair,
		RunID: r.runID, Refused: r.refused.list, More: r.refused.more,
	}
}
