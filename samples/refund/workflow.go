// Package refund is the sample agent of Onceward: it reads an order and refunds
// it, at most once, whatever breaks in between.
package refund

import (
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
		// Payments finishes a request within a second, so five seconds after the
		// lease "not found" means that nothing was paid.
		onceward.Write(onceward.Spec{Name: "create_refund", Description: "Refund the whole amount of an order.", Settle: 5 * time.Second},
			refundAction, (*Activities).CreateRefund, (*Activities).FindRefund),
	},
}

// RefundWorkflow is one run of the agent.
func RefundWorkflow(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
	return workflows.RunAgent(ctx, Refunds, in)
}
