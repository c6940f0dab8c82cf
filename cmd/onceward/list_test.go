package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

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
		"without search attributes":     {open, nil, onceward.StatusRunning, "refund-1  -      running  -        -         -"},
		"one that waits":                {open, waiting, onceward.StatusWaitingPerson, "refunds  waiting_person  outcome_unknown  3         0.250000  refund/1/v1"},
		"one that was closed as it ran": {closed, map[string]any{onceward.AttributeStatus: "running"}, onceward.StatusClosed, "closed"},
		"E42 one that was terminated while it waited has no outcome": {closed, waiting, onceward.StatusClosed, "refunds  closed  -        3"},
		"E42 one that was cancelled while it waited was cancelled":   {enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED, waiting, onceward.StatusClosed, "closed  cancelled"},
		"an attribute of somebody else's":                            {open, map[string]any{onceward.AttributeAttempts: "many"}, onceward.StatusRunning, "running"},
	} {
		run := listedOf(execution(t, c.status, c.attributes))
		if run.Status != c.want || !strings.Contains(listTable([]listed{run}), c.row) {
			t.Errorf("%s: status %s, want %s, and a row with %q:\n%s", name, run.Status, c.want, c.row, listTable([]listed{run}))
		}
	}
}

func TestRunColumnIsBoundedAndKeepsBothEnds(t *testing.T) {
	t.Parallel()
	long := "refund-" + strings.Repeat("ü", 900) + "-the-end"
	for id, want := range map[string]string{
		"refund-order-1842":                         "refund-order-1842",
		"quiz-0e3b6c1e-9d8f-4a61-a1f5-1f4b7f0e9f11": "quiz-0e3b6c1e-9d8f-4a61-a1f5-1f4b7f0e9f11",
		"a\x1b[2Jb": "a[2Jb",
		long:        "refund-" + strings.Repeat("ü", 16) + "…" + strings.Repeat("ü", 16) + "-the-end",
	} {
		if got := shortID(id); got != want || len([]rune(got)) > maxRunColumn {
			t.Errorf("%q is %q in %d characters, want %q", id, got, len([]rune(got)), want)
		}
	}
	if table := listTable([]listed{{WorkflowID: long}}); strings.Contains(table, long) {
		t.Error("the table has the whole id")
	}
}

// visibility answers a query for the attributes of runs with an error, and any
// other with one run.
type visibility struct {
	client.Client
	refuses error
}

func (v visibility) ListWorkflow(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	if strings.Contains(in.Query, onceward.AttributeAgent) && v.refuses != nil {
		return nil, v.refuses
	}
	return &workflowservice.ListWorkflowExecutionsResponse{Executions: []*workflowpb.WorkflowExecutionInfo{{Execution: &commonpb.WorkflowExecution{WorkflowId: "refund-1"}}}}, nil
}

func TestListTellsMissingAttributesFromATemporalThatFails(t *testing.T) {
	t.Parallel()
	unregistered := serviceerror.NewInvalidArgument("invalid query: column name 'OncewardAgent' is not defined")
	for name, c := range map[string]struct {
		refuses error
		status  onceward.RunStatus
		known   bool
		err     string
	}{
		"registered":                     {nil, "", true, ""},
		"unregistered":                   {unregistered, "", false, ""},
		"unregistered, of closed runs":   {unregistered, onceward.StatusClosed, false, ""},
		"unregistered, and it needs one": {unregistered, onceward.StatusWaitingPerson, false, "onceward setup"},
		"a Temporal that fails":          {serviceerror.NewUnavailable("down"), "", true, "down"},
	} {
		runs, known, err := list(t.Context(), visibility{refuses: c.refuses}, "default", c.status, 10)
		if known != c.known || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) || err == nil && len(runs) != 1 {
			t.Errorf("%s: %d runs, known %t, %v, want known %t and %q", name, len(runs), known, err, c.known, c.err)
		}
	}
}

// What a run published of itself leaves out what was sent before a reset, which show
// counts. One that was carried on by continue-as-new has everything.
func TestRunsWithAnotherBehindThemAreCountedAnew(t *testing.T) {
	t.Parallel()
	row := func(id string, started int64, status enumspb.WorkflowExecutionStatus) *workflowpb.WorkflowExecutionInfo {
		return &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{WorkflowId: id}, Status: status, StartTime: &timestamppb.Timestamp{Seconds: started}}
	}
	running, terminated := enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
	completed, carried := enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW
	for name, c := range map[string]struct {
		found []*workflowpb.WorkflowExecutionInfo
		want  []int
	}{
		"E42 a run alone":                              {[]*workflowpb.WorkflowExecutionInfo{row("a", 2, running), row("b", 1, completed)}, nil},
		"E42 a run that was reset":                     {[]*workflowpb.WorkflowExecutionInfo{row("a", 2, running), row("b", 2, running), row("a", 1, terminated)}, []int{0}},
		"E42 a reset that keeps the time of its start": {[]*workflowpb.WorkflowExecutionInfo{row("a", 1, terminated), row("a", 1, running)}, []int{1}},
		"E42 a reset of what was complete":             {[]*workflowpb.WorkflowExecutionInfo{row("a", 1, completed), row("a", 2, completed)}, []int{1}},
		"E42 a run that was carried on":                {[]*workflowpb.WorkflowExecutionInfo{row("a", 2, running), row("a", 1, carried)}, nil},
	} {
		if got := restarted(c.found); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
