package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// noRoute records a selection that found nothing, and waits for the first
// candidate that may come back while the run's deadline allows it.
func (r *Run) noRoute(ctx workflow.Context, t *turnState, decision onceward.Decision) (onceward.Turn, bool) {
	if ctx.Err() != nil {
		return onceward.Turn{}, false
	}
	cause := onceward.NoRoute(decision.Dropped)
	f := onceward.NewFailure(onceward.ClassNoRoute, onceward.PhasePrepare, cause.Message) // the ledger's word for a selection
	f.NotSent = true
	r.attempts = append(r.attempts, onceward.AttemptRecord{
		RunID: workflow.GetInfo(ctx).WorkflowExecution.RunID, Turn: t.n, Attempt: t.attempt, Dropped: decision.Dropped, Verdicts: decision.Verdicts, Failure: f,
	})
	now := workflow.Now(ctx)
	if why := unaffordable(decision, r.deadline()); why != "" {
		return r.end(t, onceward.OutcomeBudgetExhausted, why), true
	}
	if r.plan.State != nil {
		return r.awaitOwner(ctx, t, decision, cause)
	}
	if decision.RetryAt.IsZero() || !decision.RetryAt.Before(r.deadline()) {
		return r.stranded(t, decision.Dropped, cause), true
	}
	r.wait(ctx, onceward.StatusWaitingResource, "", fmt.Sprintf("a resource, until %s", decision.RetryAt.UTC().Format(time.RFC3339)))
	pause := min(stretched(max(decision.RetryAt.Sub(now), minWait), now.Sub(t.begun)), max(r.deadline().Sub(now), minWait))
	_ = workflow.NewTimerWithOptions(ctx, pause, workflow.TimerOptions{Summary: "wait for a resource"}).Get(ctx, nil)
	r.resumed(ctx)
	return onceward.Turn{}, false
}

// stranded ends a run that is left without a route. Where that is the run's own doing,
// because the resources that refused it serve others, it has failed: no pool is
// unavailable for it.
func (r *Run) stranded(t *turnState, dropped []onceward.Dropped, cause *onceward.Failure) onceward.Turn {
	if t.failure != nil && t.failure.Class == onceward.ClassIncompleteOutput {
		return r.end(t, onceward.OutcomeFailed, "the answer was cut again at a larger limit, by every resource that is left")
	}
	own := r.ownFault(dropped)
	if own != nil && (r.plan.Degraded == "" || r.plan.Degraded == onceward.OutcomeUnavailable) {
		t.failure = own
		return r.end(t, onceward.OutcomeFailed, refusedAlone(own))
	}
	t.because(cause)
	return r.degrade(t, "no route is left: "+cause.Message)
}

// refusedAlone says why a run failed by itself.
func refusedAlone(first *onceward.Failure) string {
	return fmt.Sprintf("every resource that refused it passed a test of its own, first %s after %s", first.Resource, first.Class)
}

// awaitOwner waits for the one resource that holds the run's state. The wait is
// not machine time. An owner that will not come back by itself ends the run: its
// state cannot be carried to another resource.
func (r *Run) awaitOwner(ctx workflow.Context, t *turnState, decision onceward.Decision, cause *onceward.Failure) (onceward.Turn, bool) {
	owner, again := r.plan.State.Resource, decision.RetryAt
	if again.IsZero() {
		if own := r.ownFault(decision.Dropped); own != nil {
			t.failure = own
			return r.end(t, onceward.OutcomeFailed, refusedAlone(own)), true
		}
		t.because(cause)
		return r.end(t, onceward.OutcomeUnavailable, "not portable: the run's state lives on "+owner+", which cannot serve it"), true
	}
	now := workflow.Now(ctx)
	left := r.plan.Budget.PeopleDeadline - r.owned
	if pause := again.Sub(now); pause > left {
		t.because(cause)
		return r.end(t, onceward.OutcomeResultDelayed, fmt.Sprintf("%s, which holds the run's state, is not back before %s", owner, again.UTC().Format(time.RFC3339))), true
	}
	r.wait(ctx, onceward.StatusWaitingResource, onceward.OutcomeResultDelayed, fmt.Sprintf("%s, which holds the run's state, until %s", owner, again.UTC().Format(time.RFC3339)))
	pause := min(stretched(max(again.Sub(now), minWait), now.Sub(t.begun)), max(left, minWait))
	_ = workflow.NewTimerWithOptions(ctx, pause, workflow.TimerOptions{Summary: onceward.Summary("wait for " + owner)}).Get(ctx, nil)
	waited := workflow.Now(ctx).Sub(now)
	r.owned += waited
	r.use.Waited += waited
	r.resumed(ctx)
	return onceward.Turn{}, false
}
