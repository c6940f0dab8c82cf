package workflows

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// findTimeout bounds one reconciliation read.
const findTimeout = 30 * time.Second

// signalAfter is how long an action may take before it tells the run that
// started it: until then the run's Act is still waiting for the result itself.
const signalAfter = 1500 * time.Millisecond

// action is one execution of the Action workflow.
type action struct {
	in          onceward.ActInput
	receipt     onceward.ActionReceipt
	started     time.Time
	notAfter    time.Time // end of the last commit's lease
	firstCommit time.Time
	reset       bool // somebody reset it: it reads, and never commits again
	stored      bool // the last two commits were answered by one and the same failure
	failure     string
	refused     refusals
	told        bool
	unapproved  int // how many people have to approve what nobody was asked about; zero: none
	inbox       inbox
}

// Action is the workflow that owns one side effect: the ledger of its commit,
// its reconciliation and the operator's decision. It always ends with a receipt,
// never with an error, and a cancellation does not reach its activities: a
// commit that was sent cannot be taken back by not waiting for it.
func Action(ctx workflow.Context, in onceward.ActionInput) (onceward.ActionReceipt, error) {
	if v := in.Act.Version; v > onceward.ManifestVersion {
		leaveToNewer("the action", fmt.Sprintf("version %d", v))
	}
	a := &action{in: in.Act, started: workflow.Now(ctx), receipt: in.Begin(), refused: refusals{in.Refused, in.More}}
	a.stamp(ctx)
	work, _ := workflow.NewDisconnectedContext(ctx)
	if err := errors.Join(a.register(work), a.registerRelease(work)); err != nil {
		return a.receipt, err
	}
	switch {
	case in.Resolve != nil && in.Resolve.Status == onceward.StatusReversed:
		a.receipt.Ref = in.Resolve.Ref
		a.reverse(work, in.Resolve.By, in.Resolve.Note)
	case in.Resolve != nil:
		a.record(work, *in.Resolve)
		a.tell(work)
	}
	for !a.receipt.Status.Final() {
		switch a.receipt.Status {
		case onceward.StateProposed, onceward.StateCommitting:
			a.commit(work)
		case onceward.StateReconciling, onceward.StateAccepted:
			a.reconcile(work)
		case onceward.StateAwaitingOperator, onceward.StateReversed:
			a.tell(work)
			if err := workflow.Await(work, func() bool { return a.receipt.Status.Final() || a.released() }); err != nil {
				return a.receipt, err
			}
			if a.released() {
				a.commit(work)
			}
		case onceward.StateCommitted, onceward.StateRejected, onceward.StateUnknown:
		}
	}
	// Found before anything was sent: an earlier execution made the effect, was
	// terminated and reset, and its run waits for a person, which is long. This is
	// told by what was recorded, because a replayer does not know of a reset.
	found := a.receipt.Commits == 0 && a.receipt.VerifiedBy == onceward.VerifiedByRead
	if a.told || found || workflow.Now(work).Sub(a.started) > signalAfter {
		a.tell(work)
	}
	if err := workflow.Await(work, func() bool { return workflow.AllHandlersFinished(work) }); err != nil {
		return a.receipt, err
	}
	hearOut(work)
	return a.receipt, nil
}

// to moves the action to another state. A move the machine does not have is a
// broken program: it fails the workflow task and waits for a release, because an
// Action never ends with an error.
func (a *action) to(ctx workflow.Context, state onceward.ActionState, reason string) {
	if !Allowed(a.receipt.Status, state) {
		panic(fmt.Sprintf("action %s: no way from %s to %s", a.in.ActionID, a.receipt.Status, state))
	}
	a.receipt.Status, a.receipt.Reason = state, reason
	a.stamp(ctx)
}

// stamp gives the state a version that no other execution of this id repeats: a
// reset applies old decisions again, and a counter would let them match.
func (a *action) stamp(ctx workflow.Context) {
	now := workflow.Now(ctx)
	a.receipt.At = now.UTC()
	a.receipt.Version = max(a.receipt.Version+1, int(now.UnixMilli()))
	workflow.SetCurrentDetails(ctx, a.details())
}

// commit runs one commit activity and moves on by what it says.
func (a *action) commit(ctx workflow.Context) {
	a.to(ctx, onceward.StateCommitting, "")
	begun := workflow.Now(ctx)
	for failedReads, tries := 0, 0; ; tries++ {
		if tries > 0 {
			a.pause(ctx, stretched(min(firstAsk<<min(tries-1, 10), slowestCommit), workflow.Now(ctx).Sub(begun)), "wait before the next commit")
			a.to(ctx, onceward.StateCommitting, a.receipt.Reason)
		}
		if a.receipt.Commits > 0 && a.in.Policy.Keyed && forgotten(a.in.Policy, workflow.Now(ctx).Sub(a.firstCommit)) {
			a.to(ctx, onceward.StateAwaitingOperator, fmt.Sprintf("the product remembers a key for %s, and the first commit is older", a.in.Policy.KeyTTL))
			return
		}
		result, sent, why := a.tryCommit(ctx)
		switch {
		case sent && why != "": // may have been sent, and nobody knows
			a.to(ctx, onceward.StateReconciling, why)
			return
		case result.Receipt.Status != "":
			a.adopt(ctx, result)
			return
		case result.NotSent == onceward.NotSentReset:
			a.wasReset(ctx)
			return
		case result.NotSent == onceward.NotSentUnapproved:
			a.unapproved = max(1, result.People)
			a.to(ctx, onceward.StateAwaitingOperator, "nothing was sent: "+result.Detail)
			return
		case result.NotSent == onceward.NotSentReadFailed:
			if failedReads++; failedReads >= maxPreReads {
				a.to(ctx, onceward.StateAwaitingOperator, "nothing was sent: the read before the commit keeps failing: "+result.Detail)
				return
			}
			a.receipt.Reason = "the read before the commit failed: " + result.Detail
		default:
			failedReads = 0
			a.receipt.Reason = "nothing was sent yet: " + why
		}
		workflow.SetCurrentDetails(ctx, a.details())
	}
}

// wasReset moves an action that somebody reset to its reads. The execution before
// may have a commit in flight, whose lease began before the reset: it ends within
// one from now. Histories without the version asked a person at once.
func (a *action) wasReset(ctx workflow.Context) {
	if workflow.GetVersion(ctx, "reset-reads-first", workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		a.to(ctx, onceward.StateAwaitingOperator, "the action was reset: it never commits again, and its read found nothing")
		return
	}
	a.noticeReset(ctx)
	a.to(ctx, onceward.StateReconciling, "the action was reset: it never commits again, and reads until no earlier commit can be on its way")
}

// noticeReset takes it into account, once, that the execution before may have a
// commit in flight.
func (a *action) noticeReset(ctx workflow.Context) {
	if ends := workflow.Now(ctx).Add(a.in.Policy.Lease); !a.reset && ends.After(a.notAfter) {
		a.notAfter = ends
	}
	a.reset = true
}

// tryCommit schedules a commit whose lease begins now. sent reports that it
// passed the guard or may have; why then says why its outcome is unclear, or
// else why nothing was sent.
func (a *action) tryCommit(ctx workflow.Context) (result onceward.CommitResult, sent bool, why string) {
	now := workflow.Now(ctx)
	notAfter := now.Add(a.in.Policy.Lease)
	if a.receipt.Commits == 0 { // a commit that was never sent begins neither a key's life nor a read's horizon
		a.firstCommit = now
	}
	info := workflow.GetInfo(ctx)
	options := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: a.in.Policy.Queue,
		// ScheduleToClose is the lease: StartToClose alone counts from when a
		// worker starts, which may be after the server has given the commit up.
		ScheduleToCloseTimeout: a.in.Policy.Lease,
		HeartbeatTimeout:       a.in.Policy.Heartbeat,
		RetryPolicy:            onceOnly(a.in.Policy.Lease),
		Summary:                onceward.Summary(fmt.Sprintf("commit %d · %s", a.receipt.Commits+1, a.in.ActionID)),
	})
	err := workflow.ExecuteActivity(options, onceward.CommitActivity(a.in.Agent, a.in.Tool), onceward.CommitInput{
		Action: a.describe(notAfter), Args: a.in.Args,
		RunID: info.WorkflowExecution.RunID, OriginalRunID: info.OriginalRunID, VerifyByRead: a.in.Policy.VerifyByRead, Version: a.in.Version,
		Approval: a.in.Approval, ApprovedBy: a.receipt.ApprovedBy,
	}).Get(ctx, &result)
	if err == nil && result.NotSent == "" && result.Receipt.Status == "" {
		err = errors.New("somebody completed the activity from outside, with a result that says nothing")
	}
	if err == nil {
		if result.Sent {
			a.receipt.Commits++
			a.notAfter = notAfter
		}
		return result, result.Sent, result.Detail
	}
	if why, ok := neverStarted(err); ok {
		return onceward.CommitResult{}, false, why
	}
	a.receipt.Commits++
	a.notAfter = notAfter
	a.answered(err)
	return onceward.CommitResult{}, true, "the commit's outcome is unclear: " + cutSummary(err.Error())
}

// answered remembers by which failure the product answered a commit. The same one
// twice under one key is what a product says that has stored it: asking again
// would bring it up for as long as the key is remembered.
func (a *action) answered(err error) {
	failure := ""
	var application *temporal.ApplicationError
	if errors.As(err, &application) && application.Type() == onceward.ErrorCommitUnclear && application.HasDetails() {
		_ = application.Details(&failure) // details of another kind are those of no failure
	}
	a.stored = failure != "" && failure == a.failure
	a.failure = failure
}

// onceOnly is the retry policy of what may be carried out once: one attempt, and a
// second one only after the activity's own time, so that the server makes none
// even when somebody allows it more attempts.
func onceOnly(scheduleToClose time.Duration) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{MaximumAttempts: 1, InitialInterval: scheduleToClose + time.Hour, BackoffCoefficient: 1}
}

// attemptedBefore reports that an activity that timed out had an attempt before
// the one that did: only then is there a failure or a heartbeat of it.
func attemptedBefore(timeout *temporal.TimeoutError) bool {
	return timeout.HasLastHeartbeatDetails() || timeout.Unwrap() != nil
}

// neverStarted reports whether an activity's error proves that no worker ever
// carried it out.
func neverStarted(err error) (string, bool) {
	if notRegistered(err) {
		return "the worker does not have the tool: " + cutSummary(err.Error()), true
	}
	var timeout *temporal.TimeoutError
	var activity *temporal.ActivityError
	if errors.As(err, &timeout) && errors.As(err, &activity) && activity.StartedEventID() == 0 && !attemptedBefore(timeout) {
		return "no worker took the commit within its lease: is a worker polling the actions queue?", true
	}
	return "", false
}

func (a *action) describe(notAfter time.Time) onceward.Action {
	return onceward.Action{ID: a.in.ActionID, Key: a.in.ActionID.Key(), NotAfter: notAfter, Caller: a.in.Caller}
}

// adopt moves to the state that a commit's receipt names.
func (a *action) adopt(ctx workflow.Context, result onceward.CommitResult) {
	if !result.Sent && a.receipt.Commits > 0 {
		a.receipt.Reconciled++ // the read before a later commit found an earlier one
	}
	a.receipt.Ref, a.receipt.VerifiedBy = result.Receipt.Ref, result.VerifiedBy
	if a.notAfter.IsZero() {
		a.notAfter = workflow.Now(ctx)
	}
	switch result.Receipt.Status {
	case onceward.StatusCommitted:
		a.to(ctx, onceward.StateCommitted, result.Receipt.Reason)
	case onceward.StatusRejected:
		a.to(ctx, onceward.StateRejected, result.Receipt.Reason)
	case onceward.StatusAccepted:
		a.to(ctx, onceward.StateAccepted, result.Receipt.Reason)
	case onceward.StatusConflict:
		a.to(ctx, onceward.StateAwaitingOperator, conflicts(result.Receipt.Reason))
	case onceward.StatusAbsent, onceward.StatusUnknown:
		a.to(ctx, onceward.StateReconciling, result.Receipt.Reason)
	default:
		a.to(ctx, onceward.StateReconciling, result.Receipt.Reason)
	}
}

// reconcile reads until the effect is found, is known to be absent, or a person
// has to look.
func (a *action) reconcile(ctx workflow.Context) {
	facts := Facts{Policy: a.in.Policy, NotAfter: a.notAfter, FirstCommit: a.firstCommit, Commits: a.receipt.Commits, Reset: a.reset, Stored: a.stored}
	unasked := workflow.Now(ctx) // since when no worker has carried out a read
	for {
		facts.State, facts.ReadAt = a.receipt.Status, workflow.Now(ctx)
		result, err := a.find(ctx)
		facts.Reads++
		if result.NotSent == onceward.NotSentReset {
			a.noticeReset(ctx)
			facts.Reset, facts.NotAfter = a.reset, a.notAfter
			if result.Receipt.Status == "" {
				err = errors.New(result.Detail)
			}
		}
		if err != nil {
			if _, never := neverStarted(err); !never { // nobody was asked: that says nothing about the read
				facts.FailedReads++
				unasked = workflow.Now(ctx)
			}
			a.receipt.Reason = "the reconciliation read failed: " + cutSummary(err.Error())
		} else {
			facts.FailedReads = 0
			unasked = workflow.Now(ctx)
		}
		if err == nil && result.Receipt.Status == onceward.StatusConflict && facts.Conflict == "" {
			facts.Conflict = conflicts(result.Receipt.Reason)
		}
		facts.Submitted = a.submitted(ctx) || facts.Submitted
		state, reason, pause := AfterRead(facts, result.Receipt.Status, err != nil)
		if state == a.receipt.Status {
			a.pause(ctx, stretched(pause, workflow.Now(ctx).Sub(unasked)), "wait before the next read")
			continue
		}
		if state.Final() || state == onceward.StateAccepted {
			a.receipt.Ref, a.receipt.VerifiedBy = result.Receipt.Ref, result.VerifiedBy
			reason = result.Receipt.Reason
		}
		if state == onceward.StateCommitting { // commit makes the move itself
			a.commit(ctx)
			return
		}
		if state == onceward.StateReversed {
			a.receipt.VerifiedBy = result.VerifiedBy // what it rested on before is what proved wrong
			a.reverse(ctx, "the reconciliation read", result.Receipt.Reason)
			return
		}
		a.to(ctx, state, reason)
		if state != onceward.StateAccepted {
			return
		}
		a.pause(ctx, max(pause, firstAsk), "wait for the product")
	}
}

func (a *action) find(ctx workflow.Context) (onceward.CommitResult, error) {
	options := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              a.in.Policy.Queue,
		StartToCloseTimeout:    findTimeout,
		ScheduleToCloseTimeout: 10 * findTimeout,
		HeartbeatTimeout:       a.in.Policy.Heartbeat,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:                onceward.Summary(fmt.Sprintf("read %d · %s", a.receipt.Reconciled+1, a.in.ActionID)),
	})
	var result onceward.CommitResult
	info := workflow.GetInfo(ctx)
	err := workflow.ExecuteActivity(options, onceward.FindActivity(a.in.Agent, a.in.Tool), onceward.CommitInput{
		Action: a.describe(a.notAfter), Args: a.in.Args, RunID: info.WorkflowExecution.RunID, OriginalRunID: info.OriginalRunID, Version: a.in.Version,
	}).Get(ctx, &result)
	if _, never := neverStarted(err); err == nil || !never {
		a.receipt.Reconciled++
	}
	return result, err
}

// submitted reports that a model has heard since the last look that the action is
// submitted: what becomes of it is then news for a person.
func (a *action) submitted(ctx workflow.Context) bool {
	heard := false
	for channel := workflow.GetSignalChannel(ctx, onceward.SignalSubmitted); channel.ReceiveAsync(nil); {
		heard = true
	}
	return heard
}

// reverse records that an effect somebody was told of failed after all. Nothing is
// made again under this id: a person looks and decides what it is now.
func (a *action) reverse(ctx workflow.Context, by, reason string) {
	a.receipt.Reversal = &onceward.Reversal{By: by, Reason: reason, At: workflow.Now(ctx).UTC()}
	a.to(ctx, onceward.StateReversed, fmt.Sprintf("reversed, as %s says: %s", by, reason))
}

func (a *action) pause(ctx workflow.Context, d time.Duration, what string) {
	workflow.SetCurrentDetails(ctx, a.details())
	// The context is disconnected, so the timer cannot fail.
	_ = workflow.NewTimerWithOptions(ctx, max(d, minWait), workflow.TimerOptions{Summary: onceward.Summary(what)}).Get(ctx, nil)
}

// tell wakes the run that started the action. Its errors are swallowed: the run
// may be closed, and it asks by itself all the same.
func (a *action) tell(ctx workflow.Context) {
	a.told = true
	if a.in.Run == "" {
		return
	}
	_ = workflow.SignalExternalWorkflow(ctx, a.in.Run, "", onceward.SignalReceipt, a.receipt).Get(ctx, nil)
}
