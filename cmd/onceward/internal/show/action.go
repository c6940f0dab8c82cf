package show

import (
	"fmt"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/onceward/onceward"
)

// BuildAction reads the state of an action from its history alone: its result if
// it has one, else what its commits and reads have said so far.
func BuildAction(x Execution) (onceward.ActionReceipt, error) {
	in, _, err := StartedAction(x.Events)
	if err != nil {
		return onceward.ActionReceipt{}, err
	}
	a := actionReader{pending: map[int64]string{}, receipt: onceward.ActionReceipt{
		ActionID: in.Act.ActionID, Agent: in.Act.Agent, Run: in.Act.Run, Tool: in.Act.Tool, Digest: in.Act.Digest,
		Status: onceward.StateProposed,
	}}
	for _, e := range x.Events {
		if err := a.event(e); err != nil {
			return a.receipt, fmt.Errorf("read history of %s, event %d: %w", in.Act.ActionID.WorkflowID(), e.GetEventId(), err)
		}
	}
	if a.result != nil {
		return *a.result, nil
	}
	a.settle()
	return a.receipt, nil
}

type actionReader struct {
	receipt onceward.ActionReceipt
	result  *onceward.ActionReceipt
	pending map[int64]string // scheduled event -> commit or find
	timers  int
	closed  bool
	idle    bool // a workflow task has run since the last activity ended
}

func (a *actionReader) event(e *historypb.HistoryEvent) error {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		name := e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName()
		switch kind := name[strings.LastIndexByte(name, '.')+1:]; kind {
		case "commit":
			a.pending[e.GetEventId()], a.receipt.Status = kind, onceward.StateCommitting
		case "find":
			a.pending[e.GetEventId()] = kind
		}
		a.idle = false
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		attributes := e.GetActivityTaskCompletedEventAttributes()
		var result onceward.CommitResult
		kind := a.take(attributes.GetScheduledEventId())
		if kind == "" {
			return nil
		}
		if err := decode(attributes.GetResult(), &result); err != nil {
			return fmt.Errorf("decode receipt: %w", err)
		}
		a.answered(kind, result)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		attributes := e.GetActivityTaskFailedEventAttributes()
		a.lost(a.take(attributes.GetScheduledEventId()), attributes.GetFailure().GetApplicationFailureInfo().GetType() != "ActivityNotRegisteredError")
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		attributes := e.GetActivityTaskTimedOutEventAttributes()
		a.lost(a.take(attributes.GetScheduledEventId()), attributes.GetStartedEventId() != 0)
	case enumspb.EVENT_TYPE_TIMER_STARTED:
		a.timers++
	case enumspb.EVENT_TYPE_TIMER_FIRED, enumspb.EVENT_TYPE_TIMER_CANCELED:
		a.timers--
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
		a.idle = true
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		var receipt onceward.ActionReceipt
		if err := decode(e.GetWorkflowExecutionCompletedEventAttributes().GetResult(), &receipt); err != nil {
			return fmt.Errorf("decode receipt: %w", err)
		}
		a.result, a.closed = &receipt, true
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
		a.closed = true
	}
	return nil
}

func (a *actionReader) take(scheduled int64) string {
	kind := a.pending[scheduled]
	delete(a.pending, scheduled)
	a.idle = false
	return kind
}

// lost counts an activity that ended without an answer, if a worker had it.
func (a *actionReader) lost(kind string, begun bool) {
	switch {
	case !begun:
	case kind == "commit":
		a.receipt.Commits++
		a.receipt.Status = onceward.StateReconciling
	case kind == "find":
		a.receipt.Reconciled++
	}
}

func (a *actionReader) answered(kind string, result onceward.CommitResult) {
	if kind == "find" || !result.Sent && a.receipt.Commits > 0 && result.Receipt.Status != "" {
		a.receipt.Reconciled++
	}
	if result.Sent {
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

// settle names the state of an action without a result. One that has nothing in
// flight and no timer to wait for can only be waiting for an operator.
func (a *actionReader) settle() {
	if a.receipt.Status.Final() {
		return
	}
	switch {
	case a.closed:
		for _, kind := range a.pending {
			a.lost(kind, kind == "commit") // in flight when the action was closed: it may have been made
		}
		a.receipt.Status, a.receipt.Reason = onceward.StateUnknown, "the action was closed from outside before it had a receipt"
	case a.idle && len(a.pending) == 0 && a.timers <= 0:
		a.receipt.Status = onceward.StateAwaitingOperator
	}
}
