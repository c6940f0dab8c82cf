package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// hardEvents and hardBytes end a run before the server would terminate it, at
// 51,200 events or 50 MB.
const (
	hardEvents = 45_000
	hardBytes  = 45 << 20
)

// Full reports whether the run should continue as new. Call it between turns.
// A transcript larger than onceward.MaxCarry cannot travel inline; such a run
// goes on in its history as long as the server allows, and Next then ends it.
func (r *Run) Full(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested() && r.bytes <= onceward.MaxCarry
}

// outgrown reports why a run can neither go on in its history nor leave it.
func (r *Run) outgrown(ctx workflow.Context) string {
	info := workflow.GetInfo(ctx)
	if r.bytes <= onceward.MaxCarry || info.GetCurrentHistoryLength() < hardEvents && info.GetCurrentHistorySize() < hardBytes {
		return ""
	}
	return fmt.Sprintf("the history is full and the transcript of %d bytes travels inline only up to %d: give the agent tools that return less, or split the work into several runs", r.bytes, onceward.MaxCarry)
}

// Continue returns the error that continues the run as new with all it has: plan,
// transcript, ledger and what was used of the budget. Call it when Full says so.
func (r *Run) Continue(ctx workflow.Context) error {
	r.leave(ctx)
	var excluded []onceward.ExcludedRoute
	now := workflow.Now(ctx)
	for _, e := range r.excluded {
		if !e.Soft || e.Until.After(now) {
			excluded = append(excluded, e)
		}
	}
	info := workflow.GetInfo(ctx)
	return workflow.NewContinueAsNewError(ctx, info.WorkflowType.Name, onceward.Start{Carry: &onceward.Carry{
		Version: onceward.CarryVersion, Plan: r.plan, Items: r.items, Actions: r.actions, Withdrawn: r.withdrawn, Excluded: excluded,
		Warm: r.warm, Use: r.use, Turn: r.turn, Started: r.started, Committed: r.committed, Repair: r.repair,
		RunID: r.runID, Refused: r.refused.list, More: r.refused.more,
	}})
}
