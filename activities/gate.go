package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/border"
)

// approve asks people about a proposal that needs them. done is false where the action
// exists, which needs no approval any more. It is idempotent: who asks again asks once.
func (a *Activities) approve(ctx context.Context, in onceward.ActInput) (result onceward.ActResult, done bool, err error) {
	exists, err := a.exists(ctx, in.ActionID.WorkflowID())
	if err != nil || exists {
		return result, false, err
	}
	gate, before, open, err := a.lastGate(ctx, in.ActionID)
	if err != nil {
		return result, false, err
	}
	if denied, is := denialOf(gate, in); is {
		return denial(in, denied), true, nil
	}
	if open && (gate.Tool != in.Tool || gate.Digest != in.Digest) {
		return conflict(onceward.ActionReceipt{ActionID: in.ActionID, Agent: gate.Agent, Tenant: gate.Caller.Tenant, Status: onceward.StateAwaitingApproval}, in), true, nil
	}
	info := activity.GetInfo(ctx)
	if err := ctx.Err(); err != nil { // what the server has given up must not ask any more
		return result, false, err
	}
	ask := onceward.Asking{Run: info.WorkflowExecution.ID, RunID: info.WorkflowExecution.RunID, Chain: in.RunID, Call: in.CallID, Digest: in.Digest, Until: in.Until}
	_, err = a.client.SignalWithStartWorkflow(ctx, in.ActionID.GateID(), onceward.SignalWant, ask, client.StartWorkflowOptions{
		ID: in.ActionID.GateID(), TaskQueue: info.TaskQueue,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		Memo:                  map[string]any{onceward.MemoTool: in.Tool, onceward.MemoDigest: in.Digest, onceward.MemoRun: in.Run},
		StaticSummary:         onceward.Summary(fmt.Sprintf("approve · %s · %s", in.Tool, in.ActionID)),
	}, onceward.WorkflowApproval, border.GateInput{Act: in, Before: before})
	if err != nil {
		return result, false, fmt.Errorf("ask for the approval of %s: %w", in.ActionID, err)
	}
	receipt := onceward.ActionInput{Act: in}.Begin()
	receipt.Status, receipt.Reason = onceward.StateAwaitingApproval, in.Approval.Why
	return onceward.ActResult{Pending: true, Receipt: receipt}, true, nil
}

// exists reports whether Temporal knows a workflow, open or closed.
func (a *Activities) exists(ctx context.Context, id string) (bool, error) {
	_, err := a.client.DescribeWorkflow(ctx, id, "")
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return false, nil
	}
	return err == nil, err
}

// lastGate reads the newest gate of an action, and its run id: its result, or of an open
// one tool and digest, which its memo has. The zero value is none, or one that was
// terminated.
func (a *Activities) lastGate(ctx context.Context, id onceward.ActionID) (gate onceward.Gate, runID string, open bool, err error) {
	described, err := a.client.DescribeWorkflow(ctx, id.GateID(), "")
	var missing *serviceerror.NotFound
	switch {
	case errors.As(err, &missing):
		return gate, "", false, nil
	case err != nil:
		return gate, "", false, fmt.Errorf("look at the approval of %s: %w", id, err)
	}
	runID = described.WorkflowExecution.RunID
	switch described.Status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		if err := a.client.GetWorkflow(ctx, id.GateID(), runID).Get(ctx, &gate); err != nil {
			return gate, runID, false, fmt.Errorf("read the approval of %s: %w", id, err)
		}
		return gate, runID, false, nil
	default:
		return gate, runID, false, nil
	}
	a.readMemo(ctx, id.GateID(), described.Memo, map[string]*string{onceward.MemoTool: &gate.Tool, onceward.MemoDigest: &gate.Digest})
	if gate.Tool == "" || gate.Digest == "" { // the memo says nothing: the gate is asked
		answer, err := a.client.QueryWorkflow(ctx, id.GateID(), runID, onceward.QueryReceipt)
		if err == nil {
			err = answer.Get(&gate)
		}
		if err != nil {
			return gate, runID, true, fmt.Errorf("ask the approval of %s: %w", id, err)
		}
	}
	return gate, runID, true, nil
}

// denialOf returns the decision by which a person has refused a proposal.
func denialOf(gate onceward.Gate, in onceward.ActInput) (onceward.Denial, bool) {
	i := slices.IndexFunc(gate.Denied, func(d onceward.Denial) bool { return d.Digest == in.Digest })
	if i < 0 {
		return onceward.Denial{}, false
	}
	return gate.Denied[i], true
}

// denial answers a proposal that a person has refused.
func denial(in onceward.ActInput, d onceward.Denial) onceward.ActResult {
	receipt := onceward.ActionInput{Act: in}.Begin()
	receipt.Status, receipt.Reason, receipt.DeniedBy, receipt.At = onceward.StateRejected, d.Denial(), d.By, d.At
	item := answer(in.CallID, told{Status: onceward.StatusRejected, Reason: receipt.Reason, DeniedBy: d.By})
	return onceward.ActResult{Output: &item, Receipt: receipt}
}

// LookAround says whether an action exists, and which of the executions that wait for
// it still run.
func (a *Activities) LookAround(ctx context.Context, in border.GateLook) (seen border.GateSeen, err error) {
	if seen.Exists, err = a.exists(ctx, in.ActionID.WorkflowID()); err != nil || seen.Exists {
		return seen, err
	}
	if in.Before != "" {
		var gate onceward.Gate
		err := a.client.GetWorkflow(ctx, in.ActionID.GateID(), in.Before).Get(ctx, &gate)
		var missing *serviceerror.NotFound
		var closed *temporal.WorkflowExecutionError // terminated, and with it what it had heard
		if err != nil && !errors.As(err, &missing) && !errors.As(err, &closed) {
			return seen, fmt.Errorf("read the approval of %s before this one: %w", in.ActionID, err)
		}
		seen.Denied = gate.Denied
	}
	for _, ask := range in.Asks {
		described, err := a.client.DescribeWorkflow(ctx, ask.Run, ask.RunID)
		var missing *serviceerror.NotFound
		switch {
		case errors.As(err, &missing):
		case err != nil:
			return seen, fmt.Errorf("look at the run %s: %w", ask.Run, err)
		case described.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
			seen.Running = append(seen.Running, ask)
		}
	}
	return seen, nil
}

// Withdraw takes the ask of a call back and waits for the gate to say so: what it
// answers before has been decided. A gate that is not there, or was closed, asks
// nobody; its result says what was decided.
func (a *Activities) Withdraw(ctx context.Context, in onceward.ActInput) (onceward.GateStatus, error) {
	info := activity.GetInfo(ctx)
	var gate onceward.Gate
	handle, err := a.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: in.ActionID.GateID(), UpdateName: onceward.UpdateWithdraw, WaitForStage: client.WorkflowUpdateStageCompleted,
		// One for all retries of this activity: an answer that was lost is heard again.
		UpdateID: "withdraw/" + info.WorkflowExecution.RunID + "/" + in.CallID,
		Args:     []any{border.Withdrawal{Run: info.WorkflowExecution.ID, RunID: info.WorkflowExecution.RunID, Call: in.CallID}},
	})
	if err == nil {
		err = handle.Get(ctx, &gate)
	}
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		var open bool
		if gate, _, open, err = a.lastGate(ctx, in.ActionID); err == nil && open {
			return "", fmt.Errorf("take back the ask for %s: its approval was closed and opened again meanwhile", in.ActionID)
		}
	}
	if err != nil {
		return "", fmt.Errorf("take back the ask for %s: %w", in.ActionID, err)
	}
	return gate.Status, nil
}
