package main

import (
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"

	"github.com/onceward/onceward"
)

func execution(t *testing.T, status enumspb.WorkflowExecutionStatus, attributes map[string]any) *workflowpb.WorkflowExecutionInfo {
	t.Helper()
	fields := map[string]*commonpb.Payload{}
	for name, v := range attributes {
		p, err := converter.GetDefaultDataConverter().ToPayload(v)
		if err != nil {
			t.Fatal(err)
		}
		fields[name] = p
	}
	return &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: "refund-1"}, Status: status,
		SearchAttributes: &commonpb.SearchAttributes{IndexedFields: fields},
	}
}

func TestListedRuns(t *testing.T) {
	t.Parallel()
	open, closed := enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
	waiting := map[string]any{
		onceward.AttributeAgent: "refunds", onceward.AttributeStatus: "waiting_person", onceward.AttributeOutcome: "outcome_unknown",
		onceward.AttributeAttempts: 3, onceward.AttributeCostUSD: 0.25, onceward.AttributePendingActions: []string{"refund/1/v1"},
	}
	for name, c := range map[string]struct {
		status     enumspb.WorkflowExecutionStatus
		attributes map[string]any
		want       onceward.RunStatus
		row        string
	}{
		"without search attributes":       {open, nil, onceward.StatusRunning, "refund-1  -      running  -        -         -"},
		"one that waits":                  {open, waiting, onceward.StatusWaitingPerson, "refunds  waiting_person  outcome_unknown  3         0.250000  refund/1/v1"},
		"one that was closed as it ran":   {closed, map[string]any{onceward.AttributeStatus: "running"}, onceward.StatusClosed, "closed"},
		"an attribute of somebody else's": {open, map[string]any{onceward.AttributeAttempts: "many"}, onceward.StatusRunning, "running"},
	} {
		run := listedOf(execution(t, c.status, c.attributes))
		if run.Status != c.want || !strings.Contains(listTable([]listed{run}), c.row) {
			t.Errorf("%s: status %s, want %s, and a row with %q:\n%s", name, run.Status, c.want, c.row, listTable([]listed{run}))
		}
	}
}
