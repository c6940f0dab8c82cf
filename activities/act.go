package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/onceward/onceward"
)

// Act starts an action or attaches to it, and waits a little for its receipt. It
// is idempotent: Temporal may retry it for ever.
func (a *Activities) Act(ctx context.Context, in onceward.ActInput) (onceward.ActResult, error) {
	if in.Version > onceward.ManifestVersion {
		return onceward.ActResult{}, fmt.Errorf("act %s: the manifest has version %d, this worker reads up to %d", in.ActionID, in.Version, onceward.ManifestVersion)
	}
	id := in.ActionID.WorkflowID()
	stop := beat(ctx, activity.GetInfo(ctx).HeartbeatTimeout, func() any { return in.ActionID })
	defer stop()
	if in.AttachOnly {
		receipt, err := a.await(ctx, id)
		var missing *serviceerror.NotFound
		if errors.As(err, &missing) {
			return onceward.ActResult{}, nil
		}
		if err == nil && receipt.Digest != "" && !same(receipt, in) {
			return onceward.ActResult{}, nil // another effect of the same name is no news of this one
		}
		return onceward.ActResult{Pending: !receipt.Status.Final(), Receipt: receipt}, err
	}
	if in.Approval.Needed() {
		if result, done, err := a.approve(ctx, in); err != nil || done {
			return result, err
		}
	}
	_, err := a.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:        id,
		TaskQueue: activity.GetInfo(ctx).TaskQueue,
		// A running action is attached to; a closed one is never started again.
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		Memo:                     map[string]any{onceward.MemoTool: in.Tool, onceward.MemoDigest: in.Digest, onceward.MemoRun: in.Run},
		StaticSummary:            onceward.Summary(fmt.Sprintf("%s · %s", in.Tool, in.ActionID)),
	}, onceward.WorkflowAction, onceward.ActionInput{Act: in})
	if err != nil {
		return onceward.ActResult{}, fmt.Errorf("start action %s: %w", in.ActionID, err)
	}
	receipt, err := a.await(ctx, id)
	if err != nil {
		return onceward.ActResult{}, fmt.Errorf("read action %s: %w", in.ActionID, err)
	}
	if receipt.Digest == "" && !receipt.Status.Final() {
		// A memo that this process cannot read, as behind a payload codec, says
		// nothing; the receipt will, and is compared then.
		receipt.Tool, receipt.Digest = in.Tool, in.Digest
	}
	if !same(receipt, in) {
		return conflict(receipt, in), nil
	}
	if in.Submit && receipt.Status == onceward.StateAccepted {
		if receipt, err = a.submit(ctx, in, receipt); err != nil {
			return onceward.ActResult{}, err
		}
		if receipt.Status == onceward.StateAccepted {
			item := answer(in.CallID, tell(receipt, in))
			return onceward.ActResult{Receipt: receipt, Output: &item}, nil
		}
	}
	if !receipt.Status.Final() {
		return onceward.ActResult{Pending: true, Receipt: receipt}, nil
	}
	item := answer(in.CallID, tell(receipt, in))
	return onceward.ActResult{Receipt: receipt, Output: &item}, nil
}

// same reports that an action is the effect that a run proposes. One that was recorded
// without a tenant is compared in that form.
func same(receipt onceward.ActionReceipt, in onceward.ActInput) bool {
	return receipt.Tool == in.Tool && (receipt.Digest == in.Digest || in.Bare != "" && receipt.Digest == in.Bare)
}

// conflict answers a proposal whose id is taken by another effect. What is known to be
// of the caller's own tenant is told; of another's, nothing of it enters this history.
func conflict(receipt onceward.ActionReceipt, in onceward.ActInput) onceward.ActResult {
	if memo := receipt.Agent == ""; memo || in.Caller.Tenant != receipt.Tenant { // a memo does not say the tenant
		receipt = onceward.ActionReceipt{ActionID: in.ActionID, Status: receipt.Status}
	}
	item := answer(in.CallID, told{Status: "action_conflict", Ref: receipt.Ref, Reason: fmt.Sprintf(
		"action %s was proposed before with other arguments; it is %s and these arguments were not carried out", in.ActionID, receipt.Status)})
	return onceward.ActResult{Conflict: true, Receipt: receipt, Output: &item}
}

// submit tells the action that the model is about to hear of it as submitted, and
// reads it again after that: what the action decided before it knew goes first.
func (a *Activities) submit(ctx context.Context, in onceward.ActInput, before onceward.ActionReceipt) (onceward.ActionReceipt, error) {
	id := in.ActionID.WorkflowID()
	err := a.client.SignalWorkflow(ctx, id, "", onceward.SignalSubmitted, in.Run)
	var closed *serviceerror.NotFound
	if err != nil && !errors.As(err, &closed) {
		return before, fmt.Errorf("tell action %s that it is submitted: %w", in.ActionID, err)
	}
	receipt, err := a.await(ctx, id)
	if err != nil {
		return before, fmt.Errorf("read action %s: %w", in.ActionID, err)
	}
	return receipt, nil
}

// told is a receipt as the model reads it.
type told struct {
	Status onceward.ReceiptStatus `json:"status"`
	Ref    string                 `json:"ref,omitempty"`
	Reason string                 `json:"reason,omitempty"`
	At     string                 `json:"at,omitempty"` // of what was done before, RFC 3339
	// DeniedBy is the person who denied it.
	DeniedBy string `json:"denied_by,omitempty"`
}

// tell says what became of a call. An effect that this run has not just made is
// told with its time, by the run that made it: two runs of one workflow id are two.
func tell(receipt onceward.ActionReceipt, in onceward.ActInput) told {
	outcome := receipt.Outcome()
	out := told{Status: outcome.Status, Ref: outcome.Ref, Reason: outcome.Reason}
	other := receipt.Run != in.Run || receipt.RunID != "" && in.RunID != "" && receipt.RunID != in.RunID
	switch {
	case out.Status == onceward.StatusCommitted && (in.Repeated || other):
		out.Status, out.At = "already_committed", receipt.At.UTC().Format(time.RFC3339)
	case out.Status == onceward.StatusAccepted:
		out.Status, out.Reason = "submitted", "the product has taken it and has not finished; it goes on by itself"
	}
	return out
}

// await returns the action's receipt if it closes in time, else the state that
// its query or its memo tells.
func (a *Activities) await(ctx context.Context, id string) (onceward.ActionReceipt, error) {
	var receipt onceward.ActionReceipt
	waitCtx, cancel := context.WithTimeout(ctx, a.actWait)
	defer cancel()
	err := a.client.GetWorkflow(waitCtx, id, "").Get(waitCtx, &receipt)
	if err == nil {
		return receipt, nil
	}
	var execution *temporal.WorkflowExecutionError
	closed := errors.As(err, &execution)
	if !closed && !timedOut(waitCtx, err) {
		return receipt, err
	}
	if !closed {
		queryCtx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if answer, err := a.client.QueryWorkflow(queryCtx, id, "", onceward.QueryReceipt); err == nil {
			if err := answer.Get(&receipt); err == nil {
				return receipt, nil
			}
		}
	}
	return a.describe(ctx, id)
}

// describe reads an action that answers neither result nor query: one that was
// closed from outside, or one whose worker is gone.
func (a *Activities) describe(ctx context.Context, id string) (onceward.ActionReceipt, error) {
	described, err := a.client.DescribeWorkflow(ctx, id, "")
	if err != nil {
		return onceward.ActionReceipt{}, err
	}
	actionID, err := onceward.ParseActionWorkflowID(id)
	if err != nil {
		return onceward.ActionReceipt{}, err
	}
	receipt := onceward.ActionReceipt{ActionID: actionID, Status: onceward.StateProposed}
	a.readMemo(ctx, id, described.Memo, map[string]*string{onceward.MemoTool: &receipt.Tool, onceward.MemoDigest: &receipt.Digest, onceward.MemoRun: &receipt.Run})
	if described.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		receipt.Status = onceward.StateUnknown
		receipt.Reason = fmt.Sprintf("the action was closed as %s before it had a receipt", described.Status)
	}
	return receipt, nil
}

// readMemo reads fields of a workflow's memo. One that is not there, or was written by a
// client with another converter, says nothing and stays empty.
func (a *Activities) readMemo(ctx context.Context, id string, memo *commonpb.Memo, fields map[string]*string) {
	convert := converter.WithDataConverterSerializationContext(a.convert, converter.WorkflowSerializationContext{
		Namespace: activity.GetInfo(ctx).Namespace, WorkflowID: id,
	})
	for key, field := range fields {
		if payload := memo.GetFields()[key]; payload != nil {
			if err := convert.FromPayload(payload, field); err != nil {
				*field = ""
			}
		}
	}
}

func timedOut(ctx context.Context, err error) bool {
	var deadline *serviceerror.DeadlineExceeded
	return ctx.Err() != nil || errors.As(err, &deadline) || errors.Is(err, context.DeadlineExceeded)
}

// answer writes a receipt as the model reads it.
func answer(callID string, r told) onceward.Item {
	body, err := json.Marshal(r)
	if err != nil {
		return onceward.CallError(callID, "internal", err.Error())
	}
	item, err := onceward.CallOutput(callID, string(body))
	if err != nil {
		return onceward.CallError(callID, "internal", err.Error())
	}
	return item
}
