// Package refund is the sample agent of Onceward: it reads an order and refunds
// it, at most once, whatever breaks in between.
package refund

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/workflows"
)

// refundAction names the effect by the order alone: two runs that mean the same
// refund, in whatever words, must arrive at the same action.
func refundAction(in RefundArgs) onceward.ActionID {
	return onceward.ActionID("refund/" + in.OrderID + "/v1")
}

// Refunds is the agent. It is a package variable: building an agent inside a
// workflow function is not deterministic.
var Refunds = onceward.Agent{
	Name: "refunds",
	Instructions: "Decide whether the order may be refunded. Read it first, and refund its whole amount. " +
		"Refund at most once, and tell the customer what happened and the reference of the refund.",
	Task: "refund",
	Tools: []onceward.Tool{
		onceward.Read(onceward.Spec{Name: "get_order", Description: "Read an order: its amount in cents and its status."},
			(*Activities).GetOrder),
		createRefund(onceward.ApprovalPolicy{}),
	},
}

// createRefund is the write, with the people that it has to be approved by.
func createRefund(approve onceward.ApprovalPolicy) onceward.Tool {
	return onceward.Write(onceward.Spec{
		Name: "create_refund", Description: "Refund the whole amount of an order.",
		// Payments finishes a request within a second, so five seconds after the
		// lease "not found" means that nothing was paid.
		Settle:  5 * time.Second,
		Approve: approve,
	}, refundAction, (*Activities).CreateRefund, (*Activities).FindRefund)
}

// ApproveAbove returns Refunds, with a person who has to approve each refund of more
// than so many cents. Register it in place of Refunds; the workflow is the same.
func ApproveAbove(cents int64) onceward.Agent {
	agent := Refunds
	agent.Tools = []onceward.Tool{agent.Tools[0], createRefund(onceward.ApproveIf(func(_ onceward.Caller, in RefundArgs) onceward.Approval {
		if in.AmountCents <= cents {
			return onceward.Approval{}
		}
		return onceward.Approval{People: 1, Why: fmt.Sprintf("a refund of %d cents is more than %d", in.AmountCents, cents)}
	}))}
	return agent
}

// RefundWorkflow is one run of the agent.
func RefundWorkflow(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
	return workflows.RunAgent(ctx, Refunds, in)
}
