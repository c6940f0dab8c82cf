package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

const (
	// attemptSlack is what an attempt may take beyond its own timeout: loading
	// the transcript, binding the calls, reporting the result.
	attemptSlack = 30 * time.Second
	// scheduleToStart bounds the wait for a worker to take an attempt. Nothing
	// was sent then, and a new selection may know better.
	scheduleToStart = time.Minute
	// minWait keeps a wait for a resource from spinning.
	minWait = 200 * time.Millisecond
)

// turnState is what the attempts of one turn share.
type turnState struct {
	n       int
	attempt int
	notSent int
	repairs []onceward.Repair
	repair  onceward.Repair // of the next attempt
	last    onceward.Class
	failure *onceward.Failure
	failed  []string  // resource of each failed attempt
	begun   time.Time // of the wait for a route; zero after an attempt
}

// because keeps the cause of a selection that found nothing, unless an attempt of
// the turn has said more: what a resource answered is nearer to the truth than that
// it is passed over since.
func (t *turnState) because(cause *onceward.Failure) {
	switch {
	case t.failure == nil:
		t.failure = cause
	case t.failure.Class == cause.Class && t.failure.Needed == 0:
		t.failure.Needed, t.failure.Available = cause.Needed, cause.Available
	}
}

// Next makes one turn: it selects a route, reserves, calls the model and settles,
// and after a failure decides what to do, until a response is usable or the run
// ends. The returned turn is the run's last if it has an Outcome.
func (r *Run) Next(ctx workflow.Context) (onceward.Turn, error) {
	r.turn++
	t := &turnState{n: r.turn}
	for {
		if ctx.Err() != nil {
			return r.end(t, onceward.OutcomeCancelled, "the run was cancelled"), nil
		}
		if now := workflow.Now(ctx); !now.Before(r.deadline()) {
			return r.late(t), nil
		}
		if why := r.outgrown(ctx); why != "" {
			t.failure = onceward.NewFailure(onceward.ClassPayloadTooLarge, onceward.PhasePrepare, why)
			return r.end(t, onceward.OutcomeFailed, why), nil
		}
		t.attempt++
		if t.repair == onceward.RepairNone { // else each turn would be refused once for what is still in the transcript
			t.repair = r.repair
		}
		decision := r.selectRoute(ctx, t)
		if decision.Route == nil {
			turn, ended := r.noRoute(ctx, t, decision)
			if ended {
				return turn, nil
			}
			continue
		}
		if why := r.use.Exhausted(r.plan.Budget, decision.Route.Ceiling); why != "" {
			return r.end(t, onceward.OutcomeBudgetExhausted, why), nil
		}
		result, failure := r.call(ctx, t, decision)
		if failure == nil {
			return r.accept(t, *decision.Route, result), nil
		}
		if ctx.Err() != nil {
			continue
		}
		if turn, ended := r.decide(ctx, t, *decision.Route, *failure); ended {
			return turn, nil
		}
	}
}

func (r *Run) selectRoute(ctx workflow.Context, t *turnState) onceward.Decision {
	var decision onceward.Decision
	request := onceward.RouteRequest{
		RunKey: r.key(ctx), Turn: t.n, Attempt: t.attempt,
		Models: r.plan.Models, Resources: r.plan.Resources, Requirements: r.plan.Requirements,
		Boundaries: r.boundaries(""), Sealed: r.boundaries("compaction"), CrossBoundary: r.plan.CrossBoundary, Excluded: r.excluded, Warm: r.warm,
		Remaining: r.use.Remaining(r.plan.Budget), AttemptCost: r.plan.Budget.AttemptCost,
		Bytes: r.bytes, Now: workflow.Now(ctx), Last: string(t.last), Repair: t.repair, Unindexed: !r.plan.Attributes,
		Suspects: r.unjudged(),
	}
	if r.plan.State != nil {
		request.Owner = r.plan.State.Resource
	}
	what := fmt.Sprintf("select route · turn %d · attempt %d", t.n, t.attempt)
	err := workflow.ExecuteLocalActivity(local(ctx, what), onceward.ActivitySelectRoute, request).Get(ctx, &decision)
	switch {
	case err != nil && ctx.Err() != nil:
		return onceward.Decision{} // cancelled: the loop sees it
	case err != nil:
		panic(fmt.Sprintf("select a route: %v", err)) // fails the workflow task, not the run: a codec or a worker that stands still is no reason to end it
	}
	if decision.Route != nil {
		understandRepair(decision.Route.Repair)
		t.begun = time.Time{}
	} else if t.begun.IsZero() {
		t.begun = workflow.Now(ctx)
	}
	r.judged(decision.Verdicts)
	if decision.Attributes { // the next publish sets them
		r.plan.Attributes = true
	}
	return decision
}

// call reserves an attempt and makes it. Reservation and dispatch are commands
// of one workflow task, so there is never one without the other.
func (r *Run) call(ctx workflow.Context, t *turnState, decision onceward.Decision) (onceward.CallResult, *onceward.Failure) {
	route := *decision.Route
	r.use.Reserve(route.Ceiling)
	info := workflow.GetInfo(ctx)
	r.attempts = append(r.attempts, onceward.AttemptRecord{
		RunID: info.WorkflowExecution.RunID, Turn: t.n, Attempt: t.attempt, Route: &route, Dropped: decision.Dropped, Verdicts: decision.Verdicts, Repair: t.repair,
	})
	record, reserved := &r.attempts[len(r.attempts)-1], workflow.Now(ctx)
	r.publish(ctx)
	input := onceward.CallInput{
		Agent: r.plan.Agent, RunKey: r.key(ctx), RunID: info.WorkflowExecution.RunID, Turn: t.n, Attempt: t.attempt, Route: route,
		Length: len(r.items), Digest: r.chain, Manifest: r.items[0].Digest, Repair: t.repair, NotAfter: r.deadline(), Withdrawn: r.withdrawn,
	}
	t.repair = onceward.RepairNone
	var result onceward.CallResult
	err := workflow.ExecuteActivity(r.callOptions(ctx, t, route), onceward.ActivityCallModel, input).Get(ctx, &result)
	if err == nil {
		r.use.Settle(route.Ceiling, result.Settled.Cost)
		record.Settled = &result.Settled
		return result, nil
	}
	failure, settled := attemptFailure(err, route, r.plan.State)
	record.Failure, record.Settled = &failure, &settled
	r.suspect(route, failure, reserved)
	if failure.NotSent {
		r.use.GiveBack(route.Ceiling)
	} else {
		r.use.Settle(route.Ceiling, settled.Cost)
	}
	return onceward.CallResult{}, &failure
}

func (r *Run) callOptions(ctx workflow.Context, t *turnState, route onceward.Route) workflow.Context {
	what := fmt.Sprintf("turn %d · attempt %d · %s/%s", t.n, t.attempt, route.Resource, route.Model)
	if t.last != "" {
		what += " · after " + string(t.last)
	}
	whole := scheduleToStart + r.plan.Timeouts.Attempt + attemptSlack
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ScheduleToStartTimeout: scheduleToStart,
		StartToCloseTimeout:    r.plan.Timeouts.Attempt + attemptSlack,
		ScheduleToCloseTimeout: whole,
		HeartbeatTimeout:       r.plan.Heartbeat,
		// The attempt tells how it ended, which its next heartbeat brings about: a run
		// that left it behind would not know what it cost, nor anybody how it ended.
		WaitForCancellation: r.plan.Version >= bounded,
		RetryPolicy:         onceOnly(whole),
		Summary:             onceward.Summary(what),
		// Eager dispatch would hand the attempt again and again to the worker of the
		// workflow task, which may be the one that could not send it.
		DisableEagerExecution: t.notSent > 0,
	})
}

// attemptFailure reads what an attempt's activity error says. A timeout of the
// server means that our worker was lost: the request may have been sent, unless
// no worker ever took the activity. Then a conversation may hold it as well.
func attemptFailure(err error, route onceward.Route, state *onceward.ProviderState) (onceward.Failure, onceward.Settlement) {
	failure, settled, ok := decodeFailure(err)
	if ok {
		return failure, settled
	}
	lost := onceward.NewFailure(onceward.ClassWorkerLost, onceward.PhaseSent, "")
	lost.Resource, lost.Deployment, lost.ModelResult = route.Resource, route.Deployment, onceward.ModelResultUnknown
	lost.ProviderStateCreated = state != nil && state.Conversation != ""
	settled = onceward.Settlement{Cost: route.Ceiling, CostBasis: onceward.CostReserved}
	var timeout *temporal.TimeoutError
	switch {
	case temporal.IsCanceledError(err):
		lost.Class, lost.FallbackEligible, lost.Retryable = onceward.ClassCancelled, false, false
		lost.Message = "the run was cancelled while the attempt was in flight"
	case errors.As(err, &timeout):
		lost.Message = "the worker was lost: " + timeout.TimeoutType().String() + " timeout"
		if timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START && !attemptedBefore(timeout) {
			lost = onceward.NotSentFailure(onceward.ClassWorkerLost, "no worker took the attempt")
		}
	case notRegistered(err):
		lost = onceward.NotSentFailure(onceward.ClassWorkerLost, "the worker does not have "+onceward.ActivityCallModel)
	default:
		lost.Message = "the attempt's activity failed: " + cutSummary(err.Error())
	}
	if lost.NotSent {
		settled = onceward.Settlement{CostBasis: onceward.CostMeasured}
	}
	return *lost, settled
}

func decodeFailure(err error) (onceward.Failure, onceward.Settlement, bool) {
	var failure onceward.Failure
	var settled onceward.Settlement
	var application *temporal.ApplicationError
	if !errors.As(err, &application) || !application.HasDetails() {
		return failure, settled, false
	}
	err = application.Details(&failure, &settled)
	switch {
	case err != nil && onceward.Class(application.Type()).Known():
		// Fails the workflow task: a codec that cannot decode them for the moment
		// would make a lost worker of every failure.
		panic(fmt.Sprintf("decode failure: %v", err))
	case err != nil || string(failure.Class) != application.Type():
		return failure, settled, false
	}
	if !failure.Class.Known() {
		leaveToNewer("a failure", fmt.Sprintf("class %q", failure.Class))
	}
	understandRepair(failure.Repair)
	return failure, settled, true
}

// accept takes a usable response into the transcript.
func (r *Run) accept(t *turnState, route onceward.Route, result onceward.CallResult) onceward.Turn {
	r.append(result.Items...)
	r.warm = route.Resource
	//workflowcheck:ignore the text is read from recorded bytes, and the same on every replay
	turn := onceward.Turn{N: t.n, Text: result.Said(), Calls: result.Calls}
	if len(turn.Calls) == 0 {
		turn.Outcome = onceward.OutcomeCompleted
	}
	return turn
}

// decide applies the pure decision after a failure.
func (r *Run) decide(ctx workflow.Context, t *turnState, route onceward.Route, f onceward.Failure) (onceward.Turn, bool) {
	t.failure, t.last = &f, f.Class
	if f.NotSent {
		t.notSent++
	} else {
		t.failed = append(t.failed, route.Resource)
	}
	step, why := Decide(Situation{Failure: f, Committed: r.committed, Pinned: r.plan.State != nil, Repairs: r.repairs(t), NotSent: t.notSent})
	switch step {
	case StepStop:
		if f.NotSent {
			return r.degrade(t, why), true
		}
		return r.end(t, onceward.OutcomeFailed, why), true
	case StepRepair:
		t.repair = f.Repair
		t.repairs = append(t.repairs, f.Repair)
		if lasting(f.Repair) && !tried([]onceward.Repair{r.repair}, f.Repair) { // the wider one stays
			r.repair = f.Repair
		}
	case StepNext:
		if f.Class == onceward.ClassIncompleteOutput { // the next resource may finish, at the larger limit
			t.repair = f.Repair
		}
		if f.NotSent && t.notSent > 2 { // a permit refused twice in a row will not be granted at once
			_ = workflow.Sleep(ctx, min(firstBackoff<<min(t.notSent-3, 6), lastBackoff))
		}
		if excluded, ok := Exclude(route, f, t.n, count(t.failed, route.Resource), r.plan.State != nil, workflow.Now(ctx)); ok {
			r.exclude(excluded)
		}
	}
	return onceward.Turn{}, false
}

// repairs are those of the turn, and the one that the last attempt was made with
// since an earlier turn: it did not help again.
func (r *Run) repairs(t *turnState) []onceward.Repair {
	if n := len(r.attempts); n > 0 && r.attempts[n-1].Repair != onceward.RepairNone {
		return append(slices.Clone(t.repairs), r.attempts[n-1].Repair)
	}
	return t.repairs
}

// exclude keeps one entry for each (resource, model): the newest soft one, and
// never a soft one over a final one.
func (r *Run) exclude(e onceward.ExcludedRoute) {
	for i, old := range r.excluded {
		if old.Resource == e.Resource && old.Model == e.Model {
			if old.Soft || !e.Soft {
				r.excluded[i] = e
			}
			return
		}
	}
	r.excluded = append(r.excluded, e)
}

func count(list []string, s string) int {
	n := 0
	for _, v := range list {
		if v == s {
			n++
		}
	}
	return n
}

// late ends a run whose machine time is over.
func (r *Run) late(t *turnState) onceward.Turn {
	turn := r.end(t, onceward.OutcomeBudgetExhausted, fmt.Sprintf("deadline: %s of machine time used", r.plan.Budget.Deadline))
	for _, receipt := range r.actions {
		if receipt.Status == onceward.StateAccepted { // submitted, and the answer about it comes after this run
			turn.Outcome = onceward.OutcomeResultDelayed
		}
	}
	if turn.Failure == nil {
		turn.Failure = onceward.NewFailure(onceward.ClassDeadlineExceeded, onceward.PhasePrepare, turn.Reason)
	}
	return turn
}

// degrade ends a run for which no route is left, as its task says.
func (r *Run) degrade(t *turnState, why string) onceward.Turn {
	outcome := r.plan.Degraded
	if outcome == "" {
		outcome = onceward.OutcomeUnavailable
	}
	return r.end(t, outcome, why)
}

func (r *Run) end(t *turnState, outcome onceward.Outcome, why string) onceward.Turn {
	turn := onceward.Turn{N: t.n, Outcome: outcome, Reason: why, Failure: t.failure}
	if t.failure != nil && t.failure.Class == onceward.ClassRefusal {
		turn.Text = t.failure.Message
	}
	return turn
}
