package show

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
)

const (
	// liveDeadline bounds all live queries of one report together: with no
	// worker running they only cost this.
	liveDeadline = time.Second
	// maxExecutions bounds the chain that is followed.
	maxExecutions = 1000
)

// ErrNotFound says that the namespace has no workflow of that id.
var ErrNotFound = errors.New("not found")

// Read fetches the histories of a run's whole chain and of its actions, and
// builds the report. It needs no worker; one that runs only adds what the run
// says of itself right now.
func Read(ctx context.Context, c client.Client, workflowID string) (Report, error) {
	info, err := describe(ctx, c, workflowID)
	if errors.Is(err, ErrNotFound) { // perhaps it is the id of an action, as it stands in tables
		if action, other := describe(ctx, c, onceward.ActionID(workflowID).WorkflowID()); other == nil {
			info, err = action, nil
		}
	}
	if err != nil {
		return Report{}, err
	}
	switch info.GetType().GetName() {
	case onceward.WorkflowAction:
		return Report{}, fmt.Errorf("show %s: it is an action, not a run; `onceward show` its run: %s", workflowID, startedBy(info))
	case onceward.WorkflowApproval:
		return Report{}, fmt.Errorf("show %s: it is an approval, not a run; `onceward approvals` lists those that are open, and `onceward show` its run: %s", workflowID, startedBy(info))
	case onceward.WorkflowPool:
		return Report{}, fmt.Errorf("show %s: it is a pool, not a run: look at it with `onceward pool show --pool %s`", workflowID, strings.TrimPrefix(workflowID, onceward.PoolWorkflowID("")))
	}
	in := Input{
		WorkflowID: workflowID, Status: info.GetStatus(),
		History: History{Events: info.GetHistoryLength(), Bytes: info.GetHistorySizeBytes()},
		Actions: map[onceward.ActionID]onceward.ActionReceipt{}, Unread: map[onceward.ActionID]error{},
	}
	if in.Executions, err = readRun(ctx, c, workflowID, info.GetExecution().GetRunId()); err != nil {
		return Report{}, err
	}
	ids, err := ActionIDs(in.Executions)
	if err != nil {
		return Report{}, fmt.Errorf("show %s: %w", workflowID, err)
	}
	live, cancel := context.WithTimeout(ctx, liveDeadline)
	defer cancel()
	if in.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		var status onceward.Status
		if query(live, c, workflowID, onceward.QueryStatus, &status) == nil {
			in.Live = &status
		}
	}
	for _, id := range ids {
		receipt, _, err := readAction(ctx, live, c, id)
		switch {
		case err == nil:
			in.Actions[id] = receipt
		case ctx.Err() != nil:
			return Report{}, err
		case errors.Is(err, ErrNotFound):
			gate, unread := readGate(ctx, live, c, id)
			in.Unread[id] = err
			if receipt, ok := gate.proposal(); unread == nil && ok {
				in.Actions[id] = receipt
			} else if unread == nil {
				in.Undecided = append(in.Undecided, id)
			}
		default: // one that cannot be read hides neither the run nor the others
			in.Unread[id] = err
		}
	}
	return Build(in)
}

// Attempts returns the attempts of a run's whole chain, in order of time. A
// workflow that is no run has none.
func Attempts(ctx context.Context, c client.Client, workflowID string) ([]Attempt, error) {
	info, err := describe(ctx, c, workflowID)
	if err != nil {
		return nil, err
	}
	executions, err := readRun(ctx, c, workflowID, info.GetExecution().GetRunId())
	if err != nil {
		return nil, err
	}
	folded, err := fold(executions)
	if err != nil {
		return nil, fmt.Errorf("read attempts of %s: %w", workflowID, err)
	}
	var attempts []Attempt
	for _, entry := range folded.ordered() {
		attempts = append(attempts, entry.Attempt)
	}
	return attempts, nil
}

// ReadAction returns the state of an action: its receipt, what its query says,
// or what its history tells. Closed says whether the Action's workflow has ended.
func ReadAction(ctx context.Context, c client.Client, id onceward.ActionID) (receipt onceward.ActionReceipt, closed bool, err error) {
	live, cancel := context.WithTimeout(ctx, liveDeadline)
	defer cancel()
	return readAction(ctx, live, c, id)
}

// EachAction reads actions one after another, as ReadAction does, and hands each on
// until one is refused. Live queries are bounded for all of them together: with no
// worker running they would add up.
func EachAction(ctx context.Context, c client.Client, ids []onceward.ActionID, do func(onceward.ActionID, onceward.ActionReceipt, error) error) error {
	live, cancel := context.WithTimeout(ctx, liveDeadline)
	defer cancel()
	for _, id := range ids {
		receipt, _, err := readAction(ctx, live, c, id)
		if ctx.Err() != nil {
			return err
		}
		if err := do(id, receipt, err); err != nil {
			return err
		}
	}
	return nil
}

func readAction(ctx, live context.Context, c client.Client, id onceward.ActionID) (receipt onceward.ActionReceipt, closed bool, err error) {
	info, err := describe(ctx, c, id.WorkflowID())
	if err != nil {
		return receipt, false, err
	}
	closed = info.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	if kind := info.GetType().GetName(); kind != onceward.WorkflowAction {
		return receipt, closed, fmt.Errorf("read action %s: its workflow is of type %q, not %s", id, kind, onceward.WorkflowAction)
	}
	chain, err := readExecutions(ctx, c, id, info.GetExecution().GetRunId())
	if err != nil {
		return receipt, closed, err
	}
	derived, err := BuildAction(chain...)
	if err == nil && derived.ActionID != id {
		err = fmt.Errorf("read action %s: its workflow was started for action %s", id, derived.ActionID)
	}
	if err != nil || closed || derived.Status.Final() {
		return derived, closed, err
	}
	var told onceward.ActionReceipt
	if query(live, c, id.WorkflowID(), onceward.QueryReceipt, &told) == nil && told.ActionID == id {
		told.Commits, told.Reconciled = max(told.Commits, derived.Commits), max(told.Reconciled, derived.Reconciled)
		told.Refused = joined(told.Refused, derived.Refused)
		return told, closed, nil
	}
	return derived, closed, nil
}

// readExecutions reads all executions of an action, the newest last. Also what had
// this id before counts: a decision starts the id anew.
func readExecutions(ctx context.Context, c client.Client, id onceward.ActionID, newest string) ([]Execution, error) {
	return readChain(ctx, c, id.WorkflowID(), newest, func(events []*historypb.HistoryEvent) bool {
		in, _, err := StartedAction(events)
		return err == nil && in.Act.ActionID == id
	})
}

// ActionEvents returns the events of all executions of an action.
func ActionEvents(ctx context.Context, c client.Client, id onceward.ActionID) ([]*historypb.HistoryEvent, error) {
	info, err := describe(ctx, c, id.WorkflowID())
	if err != nil {
		return nil, err
	}
	chain, err := readExecutions(ctx, c, id, info.GetExecution().GetRunId())
	if err != nil {
		return nil, err
	}
	var events []*historypb.HistoryEvent
	for _, x := range chain {
		events = append(events, x.Events...)
	}
	return events, nil
}

func query(ctx context.Context, c client.Client, workflowID, name string, v any) error {
	answer, err := c.QueryWorkflow(ctx, workflowID, "", name)
	if err != nil {
		return err
	}
	return answer.Get(v)
}

func describe(ctx context.Context, c client.Client, workflowID string) (*workflowpb.WorkflowExecutionInfo, error) {
	described, err := c.DescribeWorkflow(ctx, workflowID, "")
	if err != nil {
		return nil, notFound(workflowID, err)
	}
	info := described.RawResponse.GetWorkflowExecutionInfo()
	if err := unseal(ctx, c, info); err != nil {
		return nil, fmt.Errorf("read workflow %s: %w", workflowID, err)
	}
	return info, nil
}

func notFound(workflowID string, err error) error {
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return fmt.Errorf("read workflow %s: %w: check the id, --address and --namespace", workflowID, ErrNotFound)
	}
	return fmt.Errorf("read workflow %s: %w", workflowID, err)
}

// Events reads a whole history. An empty run id means the newest execution.
func Events(ctx context.Context, c client.Client, workflowID, runID string) ([]*historypb.HistoryEvent, error) {
	var events []*historypb.HistoryEvent
	for it := c.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		if err != nil {
			return nil, notFound(workflowID, err)
		}
		events = append(events, e)
	}
	if err := unseal(ctx, c, &historypb.History{Events: events}); err != nil {
		return nil, fmt.Errorf("read workflow %s: %w", workflowID, err)
	}
	return events, nil
}

// readRun reads the chain of a run: the executions that began with the same one.
func readRun(ctx context.Context, c client.Client, workflowID, newest string) ([]Execution, error) {
	var first string
	return readChain(ctx, c, workflowID, newest, func(events []*historypb.HistoryEvent) bool {
		if first == "" {
			first = firstRun(events)
		}
		return firstRun(events) == first // else another run had this id before
	})
}

// readChain follows resets and continue-as-new in both directions from the
// newest execution, and finds executions that a second reset left aside, or that
// had the id before, through visibility. It keeps those that belong, which is
// asked of the newest first. The newest comes last.
func readChain(ctx context.Context, c client.Client, workflowID, newest string, belongs func([]*historypb.HistoryEvent) bool) ([]Execution, error) {
	events, err := Events(ctx, c, workflowID, newest)
	if err != nil {
		return nil, err
	}
	belongs(events)
	read := map[string]bool{newest: true}
	last := Execution{RunID: newest, Events: events}
	todo := append(links(events), siblings(ctx, c, workflowID)...)
	var chain []Execution
	for len(todo) > 0 {
		runID := todo[0]
		todo = todo[1:]
		if runID == "" || read[runID] {
			continue
		}
		if read[runID] = true; len(read) > maxExecutions {
			return nil, fmt.Errorf("read workflow %s: its chain has more than %d executions", workflowID, maxExecutions)
		}
		events, err := Events(ctx, c, workflowID, runID)
		if errors.Is(err, ErrNotFound) {
			continue // past its retention
		}
		if err != nil {
			return nil, err
		}
		if !belongs(events) {
			continue
		}
		todo = append(todo, links(events)...)
		chain = append(chain, Execution{RunID: runID, Events: events})
	}
	slices.SortStableFunc(chain, func(a, b Execution) int { return begun(a.Events).Compare(begun(b.Events)) })
	return append(chain, last), nil
}

// links names the executions that a history points to.
func links(events []*historypb.HistoryEvent) []string {
	var out []string
	for _, e := range events {
		out = append(out,
			e.GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId(),
			e.GetWorkflowExecutionStartedEventAttributes().GetOriginalExecutionRunId(),
			e.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId())
		if a := e.GetWorkflowTaskFailedEventAttributes(); a.GetCause() == enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW {
			out = append(out, a.GetBaseRunId(), a.GetNewRunId())
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// siblings asks visibility for every execution of the id. It is eventually
// consistent and only adds what links cannot reach, so its errors are none of
// the report's.
func siblings(ctx context.Context, c client.Client, workflowID string) []string {
	quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(workflowID)
	answer, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: 100, Query: "WorkflowId = '" + quoted + "'",
	})
	if err != nil {
		return nil
	}
	var out []string
	for _, x := range answer.GetExecutions() {
		out = append(out, x.GetExecution().GetRunId())
	}
	return out
}

func firstRun(events []*historypb.HistoryEvent) string {
	if len(events) == 0 {
		return ""
	}
	return events[0].GetWorkflowExecutionStartedEventAttributes().GetFirstExecutionRunId()
}

// begun is when an execution began to be itself: a reset copies the start of the
// execution it was made from.
func begun(events []*historypb.HistoryEvent) time.Time {
	if boundary := resetBoundary(events); boundary > 0 {
		return events[boundary-1].GetEventTime().AsTime()
	}
	if len(events) == 0 {
		return time.Time{}
	}
	return events[0].GetEventTime().AsTime()
}

func startedBy(info *workflowpb.WorkflowExecutionInfo) string {
	var run string
	if p := info.GetMemo().GetFields()[onceward.MemoRun]; p != nil {
		_ = decode(&commonpb.Payloads{Payloads: []*commonpb.Payload{p}}, &run) // a memo that is not ours names no run
	}
	if run == "" {
		return "not on record"
	}
	return run
}
