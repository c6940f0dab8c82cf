package show

import (
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/onceward/onceward"
)

func newAction(t *testing.T) *history { return newActionFor(t, "refund-1842") }

func newActionFor(t *testing.T, run string) *history {
	return newActionWith(t, onceward.ActionInput{Act: onceward.ActInput{ActionID: refund, Tool: "create_refund", Run: run}})
}

func newActionWith(t *testing.T, in onceward.ActionInput) *history {
	h := &history{t: t, runID: "X", at: noon}
	h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
		WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{
			WorkflowType: &commonpb.WorkflowType{Name: onceward.WorkflowAction},
			Input:        h.payloads(in),
		},
	}})
	return h
}

func (h *history) task() {
	h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED})
}

func (h *history) event(kind enumspb.EventType) { h.add(&historypb.HistoryEvent{EventType: kind}) }

func (h *history) tell(receipt onceward.ActionReceipt) {
	h.t.Helper()
	h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED, Attributes: &historypb.HistoryEvent_SignalExternalWorkflowExecutionInitiatedEventAttributes{
		SignalExternalWorkflowExecutionInitiatedEventAttributes: &historypb.SignalExternalWorkflowExecutionInitiatedEventAttributes{
			SignalName: onceward.SignalReceipt, Input: h.payloads(receipt),
		},
	}})
}

func (h *history) signal(name string) {
	h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, Attributes: &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
		WorkflowExecutionSignaledEventAttributes: &historypb.WorkflowExecutionSignaledEventAttributes{SignalName: name},
	}})
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
		run                 string
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
		"it has told its run that a person has to look": {write: func(h *history) {
			lose(h)
			h.fail(h.schedule(find, onceward.CommitInput{}), "read_failed")
			h.task()
			h.tell(onceward.ActionReceipt{ActionID: refund, Status: onceward.StateAwaitingOperator, Commits: 1, Reconciled: 1, Version: 7})
		}, status: onceward.StateAwaitingOperator, commits: 1, reconciled: 1},
		"a task that has not told anything": {write: func(h *history) {
			lose(h)
			h.fail(h.schedule(find, onceward.CommitInput{}), "read_failed")
			h.task()
		}, status: onceward.StateReconciling, commits: 1, reconciled: 1},
		"it has no run to tell and waits for nothing": {run: "none", write: func(h *history) {
			lose(h)
			h.fail(h.schedule(find, onceward.CommitInput{}), "read_failed")
			h.task()
		}, status: onceward.StateAwaitingOperator, commits: 1, reconciled: 1},
		"it has no run to tell and its timer has fired": {run: "none", write: func(h *history) {
			lose(h)
			h.complete(h.schedule(find, onceward.CommitInput{}), onceward.CommitResult{Receipt: onceward.Absent()})
			h.task()
			h.timer("1", "wait before the next read")
			h.add(timerFired("1"))
		}, status: onceward.StateReconciling, commits: 1, reconciled: 1},
		"it has no run to tell and a task to come": {run: "none", write: func(h *history) {
			lose(h)
			h.event(enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED)
		}, status: onceward.StateReconciling, commits: 1},
		"it has no run to tell and its worker was killed": {run: "none", write: func(h *history) {
			lose(h)
			h.event(enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED)
			h.event(enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED)
			h.event(enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT)
			h.event(enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED)
		}, status: onceward.StateReconciling, commits: 1},
		"it has no run to tell and a signal came": {run: "none", write: func(h *history) {
			lose(h)
			h.signal(onceward.UpdateResolve)
		}, status: onceward.StateReconciling, commits: 1},
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
			if c.run == "none" {
				h = newActionFor(t, "")
			}
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

func TestDecisionThatNoWorkerHasTakenIsSaid(t *testing.T) {
	t.Parallel()
	h := newAction(t)
	h.task()
	h.tell(onceward.ActionReceipt{ActionID: refund, Status: onceward.StateAwaitingOperator, Reason: "its read found nothing", Version: 7})
	h.signal(onceward.UpdateResolve)
	r, err := BuildAction(h.execution())
	if err != nil || r.Status != onceward.StateAwaitingOperator || r.Version != 7 || !strings.Contains(r.Reason, "no worker has taken it") {
		t.Errorf("got %+v, %v", r, err)
	}
	h.task() // which refused it
	if r, err = BuildAction(h.execution()); err != nil || r.Reason != "its read found nothing" {
		t.Errorf("after the task: %+v, %v", r, err)
	}
}

// What was sent stays counted, whatever is done to the action's workflow.
func TestCommitsAreCountedOverTheWholeChain(t *testing.T) {
	t.Parallel()
	const commit, find = "refunds.create_refund.commit", "refunds.create_refund.find"
	end := func(h *history) { h.event(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED) }
	lost := func(t *testing.T) *history {
		h := newAction(t)
		h.task()
		id := h.schedule(commit, onceward.CommitInput{RunID: "X"})
		h.timeOut(id, h.start(id), enumspb.TIMEOUT_TYPE_HEARTBEAT)
		h.task()
		return h
	}
	refused := func(h *history) {
		h.task()
		h.complete(h.schedule(commit, onceward.CommitInput{RunID: h.runID}), onceward.CommitResult{NotSent: onceward.NotSentReset})
		h.task()
		h.tell(onceward.ActionReceipt{ActionID: refund, Status: onceward.StateAwaitingOperator, Version: 7})
	}
	decided := func(t *testing.T, commits int) *history {
		h := newActionWith(t, onceward.ActionInput{Act: onceward.ActInput{ActionID: refund, Run: "r"}, Resolve: &onceward.Resolve{}, Commits: commits})
		h.task()
		h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, Attributes: &historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes{
			WorkflowExecutionCompletedEventAttributes: &historypb.WorkflowExecutionCompletedEventAttributes{
				Result: h.payloads(onceward.ActionReceipt{ActionID: refund, Status: onceward.StateRejected, VerifiedBy: onceward.VerifiedByOperator}),
			},
		}})
		return h
	}
	for name, c := range map[string]struct {
		chain               func(t *testing.T) []*history
		status              onceward.ActionState
		commits, reconciled int
	}{
		"reset to before its commit": {chain: func(t *testing.T) []*history {
			first := newAction(t)
			second := first.reset("Y")
			first.task()
			first.complete(first.schedule(commit, onceward.CommitInput{RunID: "X"}), onceward.CommitResult{Sent: true, Receipt: onceward.Committed("rf-1")})
			end(first)
			second.at = first.at
			refused(second)
			return []*history{first, second}
		}, status: onceward.StateAwaitingOperator, commits: 1},
		"reset after its commit, which is copied": {chain: func(t *testing.T) []*history {
			first := lost(t)
			first.complete(first.schedule(find, onceward.CommitInput{}), onceward.CommitResult{Receipt: onceward.Absent()})
			second := first.reset("Y")
			end(first)
			second.task()
			return []*history{first, second}
		}, status: onceward.StateReconciling, commits: 1, reconciled: 1},
		"reset with its commit in flight, which the server sends out again": {chain: func(t *testing.T) []*history {
			first := newAction(t)
			first.task()
			id := first.schedule(commit, onceward.CommitInput{RunID: "X"})
			second := first.reset("Y")
			end(first)
			second.complete(id, onceward.CommitResult{NotSent: onceward.NotSentReset})
			second.task()
			second.tell(onceward.ActionReceipt{ActionID: refund, Status: onceward.StateAwaitingOperator, Version: 7})
			return []*history{first, second}
		}, status: onceward.StateAwaitingOperator, commits: 1},
		"terminated and decided": {chain: func(t *testing.T) []*history {
			first := lost(t)
			end(first)
			return []*history{first, decided(t, 0)}
		}, status: onceward.StateRejected, commits: 1},
		"decided, with what was terminated past its retention": {chain: func(t *testing.T) []*history {
			return []*history{decided(t, 2)}
		}, status: onceward.StateRejected, commits: 2},
		"decided, with both: not counted twice": {chain: func(t *testing.T) []*history {
			first := lost(t)
			end(first)
			return []*history{first, decided(t, 1)}
		}, status: onceward.StateRejected, commits: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var chain []Execution
			for _, h := range c.chain(t) {
				chain = append(chain, h.execution())
			}
			r, err := BuildAction(chain...)
			if err != nil || r.Status != c.status || r.Commits != c.commits || r.Reconciled != c.reconciled {
				t.Errorf("got %s with %d commits and %d reads, %v, want %s, %d, %d", r.Status, r.Commits, r.Reconciled, err, c.status, c.commits, c.reconciled)
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
