package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/worker/config"
)

// Run is a run that was started, under one workflow id: resets and
// continue-as-new give it further executions.
type Run struct {
	ID    string
	First string // run id of the first execution
	b     *Bench
}

// Order returns an order id of this test alone.
func (b *Bench) Order() string {
	return "order-" + onceward.DigestBytes([]byte(b.Queue))[:12]
}

// Action returns the action id of the refund of an order.
func Action(order string) onceward.ActionID { return onceward.ActionID("refund/" + order + "/v1") }

// Start starts a run of a workflow with a request. id is unique in the test.
func (b *Bench) Start(id, workflow, request string) *Run {
	b.t.Helper()
	return b.StartWith(id, workflow, onceward.Ask(request))
}

// StartWith is Start with all that a run can be started with.
func (b *Bench) StartWith(id, workflow string, in onceward.Start) *Run {
	b.t.Helper()
	run, err := b.Client.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{
		ID: b.Queue + "/" + id, TaskQueue: b.Queue,
		WorkflowTaskTimeout: 5 * time.Second, // a worker that dies in a task is noticed soon
	}, workflow, in)
	if err != nil {
		b.t.Fatalf("start run %s: %v", id, err)
	}
	return &Run{ID: run.GetID(), First: run.GetRunID(), b: b}
}

// StartRefund starts the refund sample about an order.
func (b *Bench) StartRefund(id, order string) *Run {
	b.t.Helper()
	return b.Start(id, "RefundWorkflow", "Please refund "+order+".")
}

// Result waits for the run's end.
func (r *Run) Result() onceward.Result {
	r.b.t.Helper()
	var result onceward.Result
	if err := r.b.Client.GetWorkflow(r.b.Context(), r.ID, "").Get(r.b.Context(), &result); err != nil {
		r.b.t.Fatalf("result of %s: %v", r.ID, err)
	}
	return result
}

// Receipt waits for the end of an action and returns its receipt.
func (b *Bench) Receipt(id onceward.ActionID) onceward.ActionReceipt {
	b.t.Helper()
	var receipt onceward.ActionReceipt
	if err := b.Client.GetWorkflow(b.Context(), id.WorkflowID(), "").Get(b.Context(), &receipt); err != nil {
		b.t.Fatalf("receipt of %s: %v", id, err)
	}
	return receipt
}

// Event waits for the first event of the newest execution of a workflow that
// match accepts, and returns it. It waits for the workflow to be started too.
func (b *Bench) Event(workflowID string, what string, match func(*historypb.HistoryEvent) bool) *historypb.HistoryEvent {
	b.t.Helper()
	ctx := b.Context()
	for {
		iter := b.Client.GetWorkflowHistory(ctx, workflowID, "", true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for iter.HasNext() {
			event, err := iter.Next()
			if _, missing := errors.AsType[*serviceerror.NotFound](err); missing && ctx.Err() == nil {
				break // asked again: an action is started by its run
			}
			if err != nil {
				b.t.Fatalf("wait for %s of %s: %v", what, workflowID, err)
			}
			if match(event) {
				return event
			}
		}
		if ctx.Err() != nil {
			b.t.Fatalf("wait for %s of %s: %v", what, workflowID, ctx.Err())
		}
		pace(ctx) // it is not there yet, or this execution closed and another may follow
	}
}

// Scheduled waits until a workflow has scheduled the n-th activity of a type.
func (b *Bench) Scheduled(workflowID, activityType string, n int) *historypb.HistoryEvent {
	b.t.Helper()
	seen := map[int64]bool{}
	return b.Event(workflowID, fmt.Sprintf("activity %s number %d", activityType, n), func(e *historypb.HistoryEvent) bool {
		if e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == activityType {
			seen[e.GetEventId()] = true
		}
		return len(seen) == n
	})
}

// AwaitAttempt waits until an activity of a workflow waits for, or is in, an
// attempt of this number.
func (b *Bench) AwaitAttempt(workflowID, activityID string, attempt int32) {
	b.t.Helper()
	ctx := b.Context()
	for {
		described, err := b.Client.DescribeWorkflow(ctx, workflowID, "")
		if err != nil {
			b.t.Fatalf("wait for attempt %d of activity %s of %s: %v", attempt, activityID, workflowID, err)
		}
		for _, pending := range described.RawResponse.GetPendingActivities() {
			if pending.GetActivityId() == activityID && pending.GetAttempt() == attempt {
				return
			}
		}
		pace(ctx)
	}
}

// Until asks a query again and again until ok accepts its answer. Each ask is a
// round through the worker, which is what keeps this from spinning.
func Until[T any](b *Bench, workflowID, query string, what string, ok func(T) bool) T {
	b.t.Helper()
	ctx := b.Context()
	var last T
	var lastErr error
	for ctx.Err() == nil {
		askCtx, cancel := context.WithTimeout(ctx, 15*time.Second)
		answer, err := b.Client.QueryWorkflow(askCtx, workflowID, "", query)
		if err == nil {
			var now T
			if err = answer.Get(&now); err == nil {
				last = now
				if ok(now) {
					cancel()
					return now
				}
			}
		}
		lastErr = err
		cancel()
		pace(ctx)
	}
	b.t.Fatalf("wait until %s of %s says %s: it says %+v (%v)", query, workflowID, what, last, lastErr)
	return last
}

// pace keeps a poll from taking a processor for itself.
func pace(ctx context.Context) {
	timer := time.NewTimer(50 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Reset resets the newest execution of a workflow to the end of a workflow task
// and returns the id of the new execution.
func (b *Bench) Reset(workflowID string, workflowTaskFinished int64) string {
	b.t.Helper()
	return b.ResetExecution(workflowID, "", workflowTaskFinished)
}

// ResetExecution is Reset for any execution, closed or not.
func (b *Bench) ResetExecution(workflowID, runID string, workflowTaskFinished int64) string {
	b.t.Helper()
	made, err := b.TryReset(workflowID, runID, workflowTaskFinished)
	if err != nil {
		b.t.Fatalf("reset %s to %d: %v", workflowID, workflowTaskFinished, err)
	}
	return made
}

// TryReset is ResetExecution for a workflow that may go on meanwhile, so that the
// server may refuse.
func (b *Bench) TryReset(workflowID, runID string, workflowTaskFinished int64) (string, error) {
	answer, err := b.Client.ResetWorkflowExecution(b.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace:                 client.DefaultNamespace,
		WorkflowExecution:         &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: runID},
		Reason:                    "test",
		WorkflowTaskFinishEventId: workflowTaskFinished,
		RequestId:                 fmt.Sprintf("%s-%d-%d", workflowID, workflowTaskFinished, time.Now().UnixNano()),
	})
	if err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.resets == nil {
		b.resets = map[string][]string{}
	}
	b.resets[workflowID] = append(b.resets[workflowID], answer.GetRunId())
	return answer.GetRunId(), nil
}

// FirstTask returns the event at which a reset goes back to the beginning.
func (b *Bench) FirstTask(workflowID string) int64 {
	b.t.Helper()
	return b.Event(workflowID, "the first workflow task", func(e *historypb.HistoryEvent) bool {
		return e.GetWorkflowTaskCompletedEventAttributes() != nil
	}).GetEventId()
}

// TaskBefore returns the workflow task that scheduled the n-th activity of a
// type: a reset to it goes back to just before that.
func (b *Bench) TaskBefore(workflowID, activityType string, n int) int64 {
	b.t.Helper()
	return b.Scheduled(workflowID, activityType, n).GetActivityTaskScheduledEventAttributes().GetWorkflowTaskCompletedEventId()
}

// In ties a run that is known by its id to a bench.
func (r *Run) In(b *Bench) *Run { return &Run{ID: r.ID, First: r.First, b: b} }

// ClientWith returns a client of the bench's server with another converter, such
// as one under a key that no worker has.
func (b *Bench) ClientWith(dc converter.DataConverter) client.Client {
	b.t.Helper()
	options, err := config.Temporal{Address: b.Temporal.Address}.Options()
	if err != nil {
		b.t.Fatal(err)
	}
	options.DataConverter = dc
	c, err := client.DialContext(b.Context(), options)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(c.Close)
	return c
}

// Update sends an update and waits for its end; result may be nil.
func (b *Bench) Update(workflowID, name string, argument, result any) error {
	b.t.Helper()
	handle, err := b.Client.UpdateWorkflow(b.Context(), client.UpdateWorkflowOptions{
		WorkflowID: workflowID, UpdateName: name, Args: []any{argument}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(b.Context(), result)
}

// Input decodes the argument a workflow was started with.
func (b *Bench) Input(workflowID string, to any) {
	b.t.Helper()
	b.decode(b.History(workflowID, "").Events[0].GetWorkflowExecutionStartedEventAttributes().GetInput(), to)
}

// Forget deletes a closed workflow, as the end of its retention does, and waits
// until its id is free.
func (b *Bench) Forget(workflowID string) {
	b.t.Helper()
	ctx := b.Context()
	_, err := b.Client.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: client.DefaultNamespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflowID},
	})
	if err != nil {
		b.t.Fatalf("delete %s: %v", workflowID, err)
	}
	for {
		_, err := b.Client.DescribeWorkflow(ctx, workflowID, "")
		if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
			return
		}
		if ctx.Err() != nil {
			b.t.Fatalf("%s is still there: %v", workflowID, err)
		}
		pace(ctx)
	}
}

// Attributes returns the search attributes of the newest execution of a workflow
// in their JSON form.
func (b *Bench) Attributes(workflowID string) map[string]string {
	b.t.Helper()
	described, err := b.Client.DescribeWorkflow(b.Context(), workflowID, "")
	if err != nil {
		b.t.Fatalf("describe %s: %v", workflowID, err)
	}
	out := map[string]string{}
	for name, payload := range described.RawResponse.GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields() {
		out[name] = string(payload.GetData())
	}
	return out
}
