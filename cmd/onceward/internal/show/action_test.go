package show

import (
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/onceward/onceward"
)

func newAction(t *testing.T) *history {
	h := &history{t: t, runID: "X", at: noon}
	h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
		WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{
			WorkflowType: &commonpb.WorkflowType{Name: onceward.WorkflowAction},
			Input:        h.payloads(onceward.ActionInput{Act: onceward.ActInput{ActionID: refund, Tool: "create_refund", Run: "refund-1842"}}),
		},
	}})
	return h
}

func (h *history) task() {
	h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED})
}

func TestActionFromItsHistoryAlone(t *testing.T) {
	t.Parallel()
	const commit, find = "refunds.create_refund.commit", "refunds.create_refund.find"
	lose := func(h *history) {
		h.task()
		id := h.schedule(commit, onceward.CommitInput{})
		h.timeOut(id, h.start(id), enumspb.TIMEOUT_TYPE_HEARTBEAT)
		h.task()
	}
	for name, c := range map[string]struct {
		write               func(h *history)
		status              onceward.ActionState
		commits, reconciled int
	}{
		"just started":       {write: func(h *history) {}, status: onceward.StateProposed},
		"a commit in flight": {write: func(h *history) { h.task(); h.schedule(commit, onceward.CommitInput{}) }, status: onceward.StateCommitting},
		"a lost commit is read": {write: func(h *history) {
			lose(h)
			h.schedule(find, onceward.CommitInput{})
		}, status: onceward.StateReconciling, commits: 1},
		"a read that found nothing yet is asked again": {write: func(h *history) {
			lose(h)
			h.complete(h.schedule(find, onceward.CommitInput{}), onceward.CommitResult{Receipt: onceward.Absent()})
			h.task()
			h.timer("1", "wait before the next read")
		}, status: onceward.StateReconciling, commits: 1, reconciled: 1},
		"nothing in flight and nothing to wait for: a person has to look": {write: func(h *history) {
			lose(h)
			h.fail(h.schedule(find, onceward.CommitInput{}), "read_failed")
			h.task()
		}, status: onceward.StateAwaitingOperator, commits: 1, reconciled: 1},
		"a commit that nobody took was never made": {write: func(h *history) {
			h.task()
			h.timeOut(h.schedule(commit, onceward.CommitInput{}), 0, enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE)
			h.task()
			h.timer("1", "wait before the next commit")
		}, status: onceward.StateCommitting},
		"terminated without a receipt": {write: func(h *history) {
			lose(h)
			h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED})
		}, status: onceward.StateUnknown, commits: 1},
		"terminated with a commit in flight, which may have been made": {write: func(h *history) {
			h.task()
			h.schedule(commit, onceward.CommitInput{})
			h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED})
		}, status: onceward.StateUnknown, commits: 1},
		"its result goes before all": {write: func(h *history) {
			lose(h)
			h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, Attributes: &historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes{
				WorkflowExecutionCompletedEventAttributes: &historypb.WorkflowExecutionCompletedEventAttributes{
					Result: h.payloads(onceward.ActionReceipt{ActionID: refund, Status: onceward.StateRejected, Commits: 3, Reconciled: 4}),
				},
			}})
		}, status: onceward.StateRejected, commits: 3, reconciled: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newAction(t)
			c.write(h)
			r, err := BuildAction(h.execution())
			if err != nil {
				t.Fatal(err)
			}
			if r.ActionID != refund || r.Status != c.status || r.Commits != c.commits || r.Reconciled != c.reconciled {
				t.Errorf("got %s %s with %d commits and %d reads, want %s, %d, %d", r.ActionID, r.Status, r.Commits, r.Reconciled, c.status, c.commits, c.reconciled)
			}
		})
	}
}

func TestOtherWorkflowsAreNoActions(t *testing.T) {
	t.Parallel()
	if _, err := BuildAction(opened(t).execution()); err == nil {
		t.Error("a run was taken for an action")
	}
}
