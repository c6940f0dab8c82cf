package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// Close ends the run with its last turn and returns its typed Result. A turn
// that ended as manual_completion_required first waits for onceward.complete,
// until people_deadline.
func (r *Run) Close(ctx workflow.Context, turn onceward.Turn) (onceward.Result, error) {
	result := onceward.Result{
		Outcome: turn.Outcome, Text: turn.Text, Failure: turn.Failure, Reason: turn.Reason,
		Turns: r.turn,
	}
	switch result.Outcome {
	case onceward.OutcomeCompleted:
		result.Failure = nil
		if why, unheard := r.unsettled(ctx); why != "" {
			result.Outcome, result.Reason = onceward.OutcomeResultDelayed, also(why, unheard)
		}
	case onceward.OutcomeResultDelayed: // for the ledger; the turn has its reason
		_, unheard := r.unsettled(ctx)
		result.Reason = also(result.Reason, unheard)
	default:
	}
	if result.Outcome == onceward.OutcomeManualCompletion {
		r.awaitPerson(ctx, turn.Reason)
		if r.completed != nil {
			result.Outcome, result.Text, result.Failure = onceward.OutcomeCompleted, r.completed.Text, nil
			result.CompletedBy, result.Note = r.completed.By, r.completed.Note
		} else if ctx.Err() != nil {
			result.Outcome, result.Reason = onceward.OutcomeCancelled, "the run was cancelled while it waited for a person"
		}
	}
	r.status, r.outcome, r.waiting = onceward.StatusClosed, result.Outcome, ""
	r.publish(ctx)
	r.leave(ctx)
	result.Use, result.Refused, result.More = r.use, r.refused.list, r.refused.more
	return r.fitted(result), nil
}

// leftOut is room for the sentence about receipts that are left out.
const leftOut = 120

// fitted puts as many receipts into a result as there is room for beside all else it
// says: one that no history can hold would fail the run's last task for ever.
func (r *Run) fitted(result onceward.Result) onceward.Result {
	var left int
	if result.Actions, left = r.ledger(onceward.MaxCarry - leftOut - result.Encoded()); left > 0 {
		result.Reason = also(result.Reason, fmt.Sprintf("the oldest %d receipts are left out here and are the results of their actions", left))
	}
	return result
}

// awaitPerson waits until somebody completes the run or people_deadline passes.
func (r *Run) awaitPerson(ctx workflow.Context, why string) {
	r.wait(ctx, onceward.StatusWaitingPerson, onceward.OutcomeManualCompletion, "a person to complete it: "+why)
	begin := workflow.Now(ctx)
	_, _ = workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout: r.plan.Budget.PeopleDeadline, TimerOptions: workflow.TimerOptions{Summary: "wait for onceward.complete"},
	}, func() bool { return r.completed != nil })
	r.use.Waited += workflow.Now(ctx).Sub(begin)
}

// leave lets the operators' handlers finish and their signals be heard: what is
// unread when a workflow ends is lost without a trace. Of an action's receipt it
// is only drained: what it says is read from the action itself.
func (r *Run) leave(ctx workflow.Context) {
	free, cancel := workflow.NewDisconnectedContext(ctx)
	_ = workflow.Await(free, func() bool { return workflow.AllHandlersFinished(free) })
	hearOut(free)
	for channel := workflow.GetSignalChannel(free, onceward.SignalReceipt); channel.ReceiveAsync(nil); {
	}
	cancel()
}

// wait shows what the run waits for.
func (r *Run) wait(ctx workflow.Context, status onceward.RunStatus, outcome onceward.Outcome, what string) {
	changed := r.status != status || r.outcome != outcome
	r.status, r.outcome, r.waiting = status, outcome, what
	if changed {
		r.publish(ctx)
	} else {
		r.update(ctx)
	}
}

func (r *Run) resumed(ctx workflow.Context) {
	r.wait(ctx, onceward.StatusRunning, "", "")
}

func (r *Run) statusNow() onceward.Status {
	actions, _ := r.ledger(maxAnswer)
	return onceward.Status{
		Agent: r.plan.Agent, Status: r.status, Outcome: r.outcome, Waiting: r.waiting, Turn: r.turn, Use: r.use, Budget: r.plan.Budget,
		Deadline: r.deadline().UTC().Format(time.RFC3339), Actions: actions, Refused: r.refused.list, More: r.refused.more,
	}
}
