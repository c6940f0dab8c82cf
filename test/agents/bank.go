package agents

import (
	"context"
	"errors"

	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/samples/refund"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/workflows"
)

// Transfer pays through a bank that takes every order at once and says later what
// came of it.
func (a *Activities) Transfer(ctx context.Context, act onceward.Action, in refund.RefundArgs) (onceward.Receipt, error) {
	receipt, err := a.Refund.CreateRefund(ctx, act, in)
	if err == nil && receipt.Status == onceward.StatusCommitted {
		receipt = onceward.Accepted(receipt.Ref)
	}
	return receipt, err
}

// FindTransfer reads what came of it: a read that lags shows it as not finished,
// and one that is refused as sent back.
func (a *Activities) FindTransfer(ctx context.Context, act onceward.Action, _ refund.RefundArgs) (onceward.Receipt, error) {
	refunds, err := a.Refund.Payments.Refunds(ctx, string(act.ID))
	if _, ok := errors.AsType[*payments.Refused](err); ok {
		return onceward.Rejected("the bank sent it back"), nil
	}
	if err != nil {
		return onceward.Receipt{}, err
	}
	if len(refunds) > 0 {
		return onceward.Committed(refunds[0].RefundID), nil
	}
	stats, err := a.Refund.Payments.Stats(ctx)
	if err != nil {
		return onceward.Receipt{}, err
	}
	if stats.ByAction[string(act.ID)] > 0 {
		return onceward.Accepted("rf-000001"), nil
	}
	return onceward.Absent(), nil
}

// Bank refunds through the bank.
var Bank = onceward.Agent{
	Name: "bank", Instructions: instructions, Task: "refund",
	Tools: []onceward.Tool{
		onceward.Read(onceward.Spec{Name: "get_order"}, (*Activities).GetOrder),
		onceward.Write(onceward.Spec{Name: "create_refund", Settle: Settle}, refundAction, (*Activities).Transfer, (*Activities).FindTransfer),
	},
}

// BankWorkflow is one run of Bank.
func BankWorkflow(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
	return workflows.RunAgent(ctx, Bank, in)
}
