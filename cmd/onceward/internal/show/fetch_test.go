package show

import (
	"context"
	"errors"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/onceward/onceward"
)

// stored is a namespace without a worker: workflow ids, and their executions, the
// newest last. Any other call of the client ends the test.
type stored struct {
	client.Client
	workflows map[string][]*history
	open      map[string]bool
	kinds     map[string]string
}

func (s stored) DescribeWorkflow(_ context.Context, id, _ string) (*client.WorkflowExecutionDescription, error) {
	chain := s.workflows[id]
	if chain == nil {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	status := enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
	if s.open[id] {
		status = enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	}
	newest := chain[len(chain)-1]
	kind := s.kinds[id]
	if kind == "" {
		kind = newest.list[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName()
	}
	return &client.WorkflowExecutionDescription{RawResponse: &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Type: &commonpb.WorkflowType{Name: kind}, Status: status,
		Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: newest.runID},
	}}}, nil
}

func (s stored) GetWorkflowHistory(_ context.Context, id, run string, _ bool, _ enumspb.HistoryEventFilterType) client.HistoryEventIterator {
	for _, h := range s.workflows[id] {
		if h.runID == run {
			return &iterator{events: h.list}
		}
	}
	return &iterator{err: serviceerror.NewNotFound("no such execution")}
}

func (s stored) ListWorkflow(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	answer := &workflowservice.ListWorkflowExecutionsResponse{}
	for id, chain := range s.workflows {
		for _, h := range chain {
			if in.Query == "WorkflowId = '"+id+"'" {
				answer.Executions = append(answer.Executions, &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: h.runID}})
			}
		}
	}
	return answer, nil
}

func (stored) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	return nil, errors.New("no worker answers")
}

type iterator struct {
	events []*historypb.HistoryEvent
	err    error
}

func (i *iterator) HasNext() bool { return i.err != nil || len(i.events) > 0 }

func (i *iterator) Next() (*historypb.HistoryEvent, error) {
	if i.err != nil {
		return nil, i.err
	}
	e := i.events[0]
	i.events = i.events[1:]
	return e, nil
}

func TestActionIsReadOverWhatHadItsIDBefore(t *testing.T) {
	t.Parallel()
	terminated := newAction(t)
	terminated.task()
	terminated.schedule("refunds.create_refund.commit", onceward.CommitInput{RunID: "X"})
	terminated.event(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED)
	decided := newActionWith(t, onceward.ActionInput{Act: onceward.ActInput{ActionID: refund, Run: "refund-1842"}, Resolve: &onceward.Resolve{}})
	decided.runID = "Y"
	ns := stored{workflows: map[string][]*history{refund.WorkflowID(): {terminated, decided}}, open: map[string]bool{refund.WorkflowID(): true}}
	receipt, closed, err := ReadAction(t.Context(), ns, refund)
	if err != nil || closed || receipt.Commits != 1 || receipt.Status != onceward.StateProposed {
		t.Errorf("got %+v, closed %t, %v, want 1 commit of an open one", receipt, closed, err)
	}
}

func TestRunIsShownBesideAnActionThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const other = onceward.ActionID("refund/order-7/v1")
	run := opened(t)
	run.schedule(onceward.ActivityAct, onceward.ActInput{ActionID: refund})
	run.schedule(onceward.ActivityAct, onceward.ActInput{ActionID: other})
	readable := newActionWith(t, onceward.ActionInput{Act: onceward.ActInput{ActionID: other, Run: "w"}})
	for name, broken := range map[string]*history{
		"its history is of another workflow": opened(t),
		"its history is of another action":   newActionWith(t, onceward.ActionInput{Act: onceward.ActInput{ActionID: other}}),
		"its commit cannot be decoded": func() *history {
			h := newAction(t)
			h.schedule("refunds.create_refund.commit", "no input of a commit")
			return h
		}(),
	} {
		ns := stored{
			workflows: map[string][]*history{"w": {run}, refund.WorkflowID(): {broken}, other.WorkflowID(): {readable}},
			open:      map[string]bool{"w": true, refund.WorkflowID(): true, other.WorkflowID(): true},
		}
		report, err := Read(t.Context(), ns, "w")
		if err != nil || len(report.Actions) != 2 {
			t.Errorf("%s: %d actions, %v", name, len(report.Actions), err)
			continue
		}
		if a := report.Actions[0]; a.Status != onceward.StateUnknown || a.Remark == nil {
			t.Errorf("%s: it is shown as %s without a remark", name, a.Status)
		}
		if a := report.Actions[1]; a.Status != onceward.StateProposed || a.Remark != nil {
			t.Errorf("%s: the one beside it is shown as %s", name, a.Status)
		}
	}
}

func TestShowOfWhatIsNoRunNamesTheCommandThatShowsIt(t *testing.T) {
	t.Parallel()
	ns := stored{
		workflows: map[string][]*history{"pool/eu": {opened(t)}, refund.WorkflowID(): {newAction(t)}},
		kinds:     map[string]string{"pool/eu": onceward.WorkflowPool},
	}
	for id, want := range map[string]string{
		"pool/eu": "onceward pool show --pool eu", refund.WorkflowID(): "it is an action", string(refund): "it is an action", "nobody": "not found",
	} {
		if _, err := Read(t.Context(), ns, id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
}
