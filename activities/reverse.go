package activities

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
)

// Reverse records that a committed effect failed after all, as a product reports it
// days later: call it from what hears of that, such as the product's webhook. The
// action then reads as reversed and waits for onceward.resolve. Nothing is made
// again under its id, whatever is decided. It returns the receipt that is reversed.
//
// It refuses an action that is not committed: one that is under way finds out by its
// own read, and one that awaits a person is resolved. A report about what is reversed
// already does nothing, so a report may be delivered twice; one that meets another at
// work is refused, and is to be delivered again.
func Reverse(ctx context.Context, c client.Client, id onceward.ActionID, report onceward.Reversal) (onceward.ActionReceipt, error) {
	var receipt onceward.ActionReceipt
	if err := errors.Join(id.Validate(), report.Validate()); err != nil {
		return receipt, err
	}
	described, err := c.DescribeWorkflow(ctx, id.WorkflowID(), "")
	if err != nil {
		return receipt, fmt.Errorf("reverse %s: look at it: %w", id, err)
	}
	if described.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		answer, err := c.QueryWorkflow(ctx, id.WorkflowID(), "", onceward.QueryReceipt)
		if err == nil {
			err = answer.Get(&receipt)
		}
		switch {
		case err != nil:
			return receipt, fmt.Errorf("reverse %s: read its state: %w", id, err)
		case receipt.Status == onceward.StateReversed:
			return receipt, nil
		}
		return receipt, fmt.Errorf("reverse %s: it is %s and still open, and only what is closed as committed can be reversed", id, receipt.Status)
	}
	// Its own receipt: one that was closed without has none to reverse.
	if err := c.GetWorkflow(ctx, id.WorkflowID(), described.WorkflowExecution.RunID).Get(ctx, &receipt); err != nil {
		return receipt, fmt.Errorf("reverse %s: read its receipt: %w", id, err)
	}
	if receipt.Status != onceward.StateCommitted {
		return receipt, fmt.Errorf("reverse %s: it is %s, and only what is closed as committed can be reversed", id, receipt.Status)
	}
	_, err = c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id.WorkflowID(), TaskQueue: described.TaskQueueName,
		// The only start over a receipt there is. A worker of any release takes an
		// input with Resolve for one that records and never commits.
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		Memo:                                     map[string]any{onceward.MemoTool: receipt.Tool, onceward.MemoDigest: receipt.Digest, onceward.MemoRun: receipt.Run},
		StaticSummary:                            onceward.Summary(fmt.Sprintf("%s · %s · reversed, as %s says", receipt.Tool, id, report.By)),
	}, onceward.WorkflowAction, reversing(receipt, report))
	if err != nil {
		// Also where one is there already: another report came first, or somebody has
		// reset the action meanwhile, and then nobody would record this one.
		return receipt, fmt.Errorf("reverse %s: start the run that records it: %w", id, err)
	}
	return receipt, nil
}

// reversing is the input of the run that records a reversal: all that is on record of
// the action, and the report.
func reversing(receipt onceward.ActionReceipt, report onceward.Reversal) onceward.ActionInput {
	return onceward.ActionInput{
		Act: onceward.ActInput{
			ActionID: receipt.ActionID, Agent: receipt.Agent, Tool: receipt.Tool, Digest: receipt.Digest, Run: receipt.Run, RunID: receipt.RunID,
			Caller: onceward.Caller{Tenant: receipt.Tenant},
		},
		Resolve: &onceward.Resolve{Status: onceward.StatusReversed, Ref: receipt.Ref, By: report.By, Note: report.Reason},
		Commits: receipt.Commits, Reconciled: receipt.Reconciled, Refused: receipt.Refused, More: receipt.More,
		VerifiedBy: receipt.VerifiedBy, ResolvedBy: receipt.ResolvedBy, Note: receipt.Note,
	}
}
