package workflows

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

const (
	// lastLooks is how long a run may look at its submitted actions before it ends
	// when its deadline leaves less.
	lastLooks = 30 * time.Second
	// lookEvents is what one look may add to the history: it is scheduled, started
	// and ended, and its end may take a workflow task of its own.
	lookEvents = 6
)

// unsettled looks once more at the actions of which the model heard that they are
// submitted, and says why the run's answer is not the last word about them.
// unheard is what the looks themselves could not find out.
func (r *Run) unsettled(ctx workflow.Context) (why, unheard string) {
	var open []onceward.ActionReceipt
	for _, receipt := range r.actions {
		if !receipt.Status.Final() {
			open = append(open, receipt)
		}
	}
	unasked, silent := r.lookAgain(ctx, open)
	for _, receipt := range open {
		if now := r.known(onceward.ActInput{ActionID: receipt.ActionID}, ""); now.Status != onceward.StateCommitted {
			why = fmt.Sprintf("%s is %s, and the model heard that it was submitted", now.ActionID, now.Status)
		}
	}
	if unasked > 0 {
		unheard = fmt.Sprintf("%d submitted actions were not asked again", unasked)
	}
	if silent > 0 {
		unheard = also(unheard, fmt.Sprintf("%d did not answer when they were asked again", silent))
	}
	return why, unheard
}

// lookAgain asks each of the actions once, as many at a time as reads of the plan,
// while there is time and room in the history: two thousand open actions, one by
// one, would hold the run's answer back for an hour. It returns how many were not
// asked and how many did not answer. A run of the manifest before asks each, one by
// one, as its history may hold it.
func (r *Run) lookAgain(ctx workflow.Context, actions []onceward.ActionReceipt) (unasked, silent int) {
	free, cancel := workflow.NewDisconnectedContext(ctx)
	now, bound := workflow.Now(ctx), r.plan.Version >= bounded
	until := now.Add(max(r.deadline().Sub(now), lastLooks))
	var flight []workflow.Future
	for {
		for len(actions) > 0 && len(flight) < max(1, r.plan.Limits.ReadsInFlight) && (!bound || r.mayLook(ctx, until, len(flight))) {
			asker, left := free, time.Duration(0)
			if bound { // a cancellation ends what is in flight
				asker, left = ctx, until.Sub(workflow.Now(ctx))
			}
			flight = append(flight, r.startLook(asker, r.lookInput(actions[0]), left))
			actions = actions[1:]
		}
		if len(flight) == 0 {
			break
		}
		_ = workflow.Await(free, func() bool { return slices.ContainsFunc(flight, workflow.Future.IsReady) })
		flight = slices.DeleteFunc(flight, func(look workflow.Future) bool {
			if !look.IsReady() {
				return false
			}
			if !r.heard(free, look) {
				silent++
			}
			return true
		})
	}
	cancel()
	return len(actions), silent
}

// mayLook reports whether there is time for one more look, and room in the history
// beside those in flight.
func (r *Run) mayLook(ctx workflow.Context, until time.Time, flight int) bool {
	info := workflow.GetInfo(ctx)
	return ctx.Err() == nil && until.Sub(workflow.Now(ctx)) >= firstAsk &&
		info.GetCurrentHistoryLength()+lookEvents*(flight+1) < hardEvents && info.GetCurrentHistorySize() < hardBytes
}

func (r *Run) lookInput(receipt onceward.ActionReceipt) onceward.ActInput {
	return onceward.ActInput{ActionID: receipt.ActionID, Agent: receipt.Agent, Tool: receipt.Tool, Digest: receipt.Digest, Run: receipt.Run}
}

// learn reads the action's state once more for the result of a run that ends
// before the receipt. It never starts the action.
func (r *Run) learn(ctx workflow.Context, input onceward.ActInput) {
	free, cancel := workflow.NewDisconnectedContext(ctx)
	r.heard(free, r.startLook(free, input, 0))
	cancel()
}

// startLook asks for an action's state; within bounds it with all its retries, zero
// leaves the bound to them.
func (r *Run) startLook(ctx workflow.Context, input onceward.ActInput, within time.Duration) workflow.Future {
	input.AttachOnly = true
	options := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    actTimeout,
		ScheduleToCloseTimeout: within,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 3},
		Summary:                onceward.Summary(fmt.Sprintf("last look at %s", input.ActionID)),
	})
	return workflow.ExecuteActivity(options, onceward.ActivityAct, input)
}

// heard waits for a look, notes what it says, and reports whether it said anything.
func (r *Run) heard(ctx workflow.Context, look workflow.Future) bool {
	var result onceward.ActResult
	err := look.Get(ctx, &result)
	if err == nil && result.Receipt.Status != "" {
		r.note(result.Receipt)
	}
	return err == nil
}

// also adds a sentence to a reason.
func also(reason, more string) string {
	return strings.TrimPrefix(strings.TrimSuffix(reason+"; "+more, "; "), "; ")
}
