package show

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/border"
)

// Gate is an approval as it is listed. Version is zero where no worker says it.
type Gate struct {
	onceward.Gate
	Open bool `json:"open"`
}

// ReadGate returns the newest approval of an action: what a worker answers, else what
// its history tells of the request.
func ReadGate(ctx context.Context, c client.Client, id onceward.ActionID) (Gate, error) {
	live, cancel := context.WithTimeout(ctx, liveDeadline)
	defer cancel()
	return readGate(ctx, live, c, id)
}

// EachGate reads approvals one after another and hands each on until one is refused.
// What is spent on live queries that no worker answers is bounded for all of them
// together; those that are answered cost nothing of it.
func EachGate(ctx context.Context, c client.Client, ids []onceward.ActionID, do func(onceward.ActionID, Gate, error) error) error {
	left := liveDeadline
	for _, id := range ids {
		live, cancel := context.WithTimeout(ctx, left)
		begun := time.Now()
		gate, err := readGate(ctx, live, c, id)
		cancel()
		if gate.Open && gate.Version == 0 {
			left -= time.Since(begun)
		}
		if ctx.Err() != nil {
			return err
		}
		if err := do(id, gate, err); err != nil {
			return err
		}
	}
	return nil
}

func readGate(ctx, live context.Context, c client.Client, id onceward.ActionID) (gate Gate, err error) {
	info, err := describe(ctx, c, id.GateID())
	if err != nil {
		return gate, err
	}
	if kind := info.GetType().GetName(); kind != onceward.WorkflowApproval {
		return gate, fmt.Errorf("read the approval of %s: its workflow is of type %q, not %s", id, kind, onceward.WorkflowApproval)
	}
	gate.Open = info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	if gate.Open && query(live, c, id.GateID(), onceward.QueryReceipt, &gate.Gate) == nil && gate.ActionID == id {
		return gate, nil
	}
	events, err := Events(ctx, c, id.GateID(), info.GetExecution().GetRunId())
	if err != nil {
		return gate, err
	}
	if last := events[len(events)-1].GetWorkflowExecutionCompletedEventAttributes(); last != nil {
		if err := decode(last.GetResult(), &gate.Gate); err != nil {
			return gate, fmt.Errorf("read the approval of %s: %w", id, err)
		}
		return gate, nil
	}
	var in border.GateInput
	if err := decode(events[0].GetWorkflowExecutionStartedEventAttributes().GetInput(), &in); err != nil {
		return gate, fmt.Errorf("read the approval of %s: %w", id, err)
	}
	gate.Gate = onceward.Gate{
		ActionID: id, Agent: in.Act.Agent, Tool: in.Act.Tool, Arguments: in.Act.Args, Caller: in.Act.Caller, Digest: in.Act.Digest,
		Status: onceward.GateAwaiting, Until: in.Act.Until, At: info.GetStartTime().AsTime(), Needed: 1,
	}
	if a := in.Act.Approval; a != nil {
		gate.Why, gate.Needed = a.Why, a.People
	}
	if !gate.Open {
		gate.Status = onceward.GateNotDecided
	}
	return gate, nil
}

// proposal is what a gate says of a proposal that has no action; false where nobody
// waits for one any more.
func (g Gate) proposal() (onceward.ActionReceipt, bool) {
	receipt := onceward.ActionReceipt{ActionID: g.ActionID, Agent: g.Agent, Tool: g.Tool, Digest: g.Digest, Reason: g.Why, Version: g.Version, ApprovedBy: g.ApprovedBy, Refused: g.Refused, More: g.More, At: g.At}
	switch {
	case g.Open:
		receipt.Status = onceward.StateAwaitingApproval
	case g.DeniedBy != nil:
		receipt.Status, receipt.DeniedBy, receipt.Reason = onceward.StateRejected, g.DeniedBy.By, g.DeniedBy.Denial()
	default:
		return receipt, false
	}
	return receipt, true
}
