package agents

import (
	"context"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/samples/refund"
	"github.com/onceward/onceward/workflows"
)

// AcceptRefund pays, and the product says only that it took the request.
func (a *Activities) AcceptRefund(ctx context.Context, act onceward.Action, in refund.RefundArgs) (onceward.Receipt, error) {
	return unfinished(a.Refund.CreateRefund(ctx, act, in))
}

// FindAccepted looks for the refund, which is not finished at the first read.
func (a *Activities) FindAccepted(ctx context.Context, act onceward.Action, in refund.RefundArgs) (onceward.Receipt, error) {
	receipt, err := a.Refund.FindRefund(ctx, act, in)
	if err != nil || receipt.Status != onceward.StatusCommitted {
		return receipt, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.read == nil {
		a.read = map[onceward.ActionID]bool{}
	}
	if !a.read[act.ID] {
		a.read[act.ID] = true
		return unfinished(receipt, nil)
	}
	return receipt, nil
}

func unfinished(receipt onceward.Receipt, err error) (onceward.Receipt, error) {
	if err == nil && receipt.Status == onceward.StatusCommitted {
		return onceward.Accepted(receipt.Ref), nil
	}
	return receipt, err
}

// Accepting is an agent whose product takes a request and finishes it later.
var Accepting = onceward.Agent{
	Name: "accepting", Instructions: instructions, Task: "refund",
	Tools: []onceward.Tool{
		onceward.Read(onceward.Spec{Name: "get_order", Timeout: 4 * time.Second}, (*Activities).GetOrder),
		onceward.Write(onceward.Spec{Name: "create_refund", Settle: Settle}, refundAction, (*Activities).AcceptRefund, (*Activities).FindAccepted),
	},
}

// AcceptingWorkflow is one run of Accepting.
func AcceptingWorkflow(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
	return workflows.RunAgent(ctx, Accepting, in)
}
