package show

import (
	"errors"
	"fmt"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/onceward/onceward"
)

// BuildAction reads the state of an action from the histories of its executions
// alone, the newest last: its result if it has one, else what it has told its run,
// else what its commits and reads have said so far. State and receipt are those of
// the newest execution; commits and reads are counted over all of them, because
// neither a reset nor a decision takes back what was sent.
func BuildAction(chain ...Execution) (onceward.ActionReceipt, error) {
	made := newEffects()
	var last *actionReader
	var repeats again
	for i, x := range chain {
		in, _, err := StartedAction(x.Events)
		if err != nil {
			return onceward.ActionReceipt{}, err
		}
		last = newActionReader(in, made)
		for _, e := range x.Events {
			repeats.event(e)
			if err := last.event(e); err != nil {
				return last.receipt, fmt.Errorf("read history of %s, event %d: %w", in.Act.ActionID.WorkflowID(), e.GetEventId(), err)
			}
		}
		last.closed = last.closed || i < len(chain)-1
		last.settle()
	}
	if last == nil {
		return onceward.ActionReceipt{}, errors.New("read action: it has no execution")
	}
	last.receipt.Refused = repeats.refused(last.receipt.Refused)
	return made.count(last.receipt), nil
}

// actionReader walks the history of one execution of an action.
type actionReader struct {
	receipt onceward.ActionReceipt
	made    *effects
	pending map[int64]inFlight // by scheduled event
	timers  int
	closed  bool
	ended   bool // it has a result
	asked   bool // an activity has ended
	told    bool // it has told its run what it is
	idle    bool // nothing has happened since its last workflow task
	decided bool // a decision came that no worker has taken
}

// inFlight is a commit or a find that has not ended.
type inFlight struct {
	kind string
	key  effect
}

func newActionReader(in onceward.ActionInput, made *effects) *actionReader {
	made.carried(in)
	a := &actionReader{made: made, pending: map[int64]inFlight{}, receipt: in.Begin()}
	if r := in.Resolve; r != nil && r.Status == onceward.StatusReversed { // true also before a worker has taken it
		a.receipt.Status, a.receipt.Ref, a.receipt.Reason = onceward.StateReversed, r.Ref, r.Note
		a.receipt.Reversal = &onceward.Reversal{By: r.By, Reason: r.Note}
	}
	return a
}

func (a *actionReader) event(e *historypb.HistoryEvent) error {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
		a.idle, a.decided = true, false
		return nil
	case enumspb.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
		return a.tells(e.GetSignalExternalWorkflowExecutionInitiatedEventAttributes())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		return a.scheduled(e)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		return a.completed(e.GetActivityTaskCompletedEventAttributes())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		attributes := e.GetActivityTaskFailedEventAttributes()
		a.lost(a.take(attributes.GetScheduledEventId()), attributes.GetFailure().GetApplicationFailureInfo().GetType() != onceward.ErrorNotRegistered)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		attributes := e.GetActivityTaskTimedOutEventAttributes()
		a.lost(a.take(attributes.GetScheduledEventId()), attributes.GetStartedEventId() != 0 || attemptedBefore(attributes.GetFailure()))
	case enumspb.EVENT_TYPE_TIMER_STARTED:
		a.timers++
	case enumspb.EVENT_TYPE_TIMER_FIRED, enumspb.EVENT_TYPE_TIMER_CANCELED:
		a.timers--
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
		a.decided = a.decided || e.GetWorkflowExecutionSignaledEventAttributes().GetSignalName() == onceward.UpdateResolve
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		var result onceward.ActionReceipt
		if err := decode(e.GetWorkflowExecutionCompletedEventAttributes().GetResult(), &result); err != nil {
			return fmt.Errorf("decode receipt: %w", err)
		}
		a.receipt, a.ended, a.closed = result, true, true
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
		a.closed = true
	}
	a.idle = false // the workflow has not yet seen it: with no worker it never does
	return nil
}

// tells takes the receipt that the action sends to its run when it stops for a
// person and when it has ended. No activity says as surely that it stopped.
func (a *actionReader) tells(e *historypb.SignalExternalWorkflowExecutionInitiatedEventAttributes) error {
	if e.GetSignalName() != onceward.SignalReceipt {
		return nil
	}
	var told onceward.ActionReceipt
	if err := decode(e.GetInput(), &told); err != nil {
		return fmt.Errorf("decode receipt: %w", err)
	}
	if told.ActionID == a.receipt.ActionID {
		a.receipt, a.told = told, true
	}
	return nil
}

func (a *actionReader) scheduled(e *historypb.HistoryEvent) error {
	attributes := e.GetActivityTaskScheduledEventAttributes()
	name := attributes.GetActivityType().GetName()
	kind := name[strings.LastIndexByte(name, '.')+1:]
	if kind != "commit" && kind != "find" {
		return nil
	}
	var in onceward.CommitInput
	if err := decode(attributes.GetInput(), &in); err != nil {
		return fmt.Errorf("decode %s: %w", kind, err)
	}
	a.pending[e.GetEventId()] = inFlight{kind, effectOf(in, e)}
	if kind == "commit" {
		a.receipt.Status = onceward.StateCommitting
	}
	return nil
}

func (a *actionReader) completed(e *historypb.ActivityTaskCompletedEventAttributes) error {
	took := a.take(e.GetScheduledEventId())
	if took.kind == "" {
		return nil
	}
	var result onceward.CommitResult
	if err := decode(e.GetResult(), &result); err != nil {
		return fmt.Errorf("decode receipt: %w", err)
	}
	a.answered(took, result)
	return nil
}

func (a *actionReader) take(scheduled int64) inFlight {
	took := a.pending[scheduled]
	delete(a.pending, scheduled)
	a.idle, a.asked = false, a.asked || took.kind != ""
	return took
}

// lost counts an activity that ended without an answer, if a worker had it.
func (a *actionReader) lost(ended inFlight, begun bool) {
	switch {
	case !begun:
	case ended.kind == "commit":
		a.made.commits[ended.key] = true
		a.receipt.Commits++
		a.receipt.Status = onceward.StateReconciling
	case ended.kind == "find":
		a.made.reads[ended.key] = true
		a.receipt.Reconciled++
	}
}

func (a *actionReader) answered(took inFlight, result onceward.CommitResult) {
	if took.kind == "find" || !result.Sent && a.receipt.Commits > 0 && result.Receipt.Status != "" {
		a.made.reads[took.key] = true
		a.receipt.Reconciled++
	}
	if result.Sent || took.kind == "commit" && result.NotSent == "" && result.Receipt.Status == "" { // the latter: completed from outside, and says nothing
		a.made.commits[took.key] = true
		a.receipt.Commits++
	}
	switch result.Receipt.Status {
	case onceward.StatusCommitted, onceward.StatusRejected, onceward.StatusAccepted:
		a.receipt.Status = onceward.ActionState(result.Receipt.Status)
		a.receipt.Ref, a.receipt.Reason, a.receipt.VerifiedBy = result.Receipt.Ref, result.Receipt.Reason, result.VerifiedBy
	case onceward.StatusAbsent, onceward.StatusUnknown:
		if a.receipt.Commits > 0 {
			a.receipt.Status = onceward.StateReconciling
		}
	}
}

// settle names the state of an action without a result.
func (a *actionReader) settle() {
	switch {
	case a.ended:
	case a.closed:
		for _, ended := range a.pending {
			a.lost(ended, ended.kind == "commit") // in flight when the action was closed: it may have been made
		}
		if !a.receipt.Status.Final() {
			a.receipt.Version = 0 // a decision made for the state before it was closed is not one for this
			a.receipt.Status, a.receipt.Reason = onceward.StateUnknown, "the action was closed from outside before it had a receipt"
		}
	case a.receipt.Status.Final():
	case a.told && a.decided:
		a.receipt.Reason = "a decision was sent and no worker has taken it yet"
	case a.receipt.Run == "" && a.asked && a.idle && len(a.pending) == 0 && a.timers <= 0:
		// It has no run to tell, has asked, and waits for nothing: only an
		// operator is left.
		a.receipt.Status = onceward.StateAwaitingOperator
	}
}
