package agents

import (
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/samples/refund"
	"github.com/onceward/onceward/workflows"
)

// asks is a policy about every refund that names its order.
func asks(people int) onceward.ApprovalPolicy {
	return onceward.ApproveIf(func(_ onceward.Caller, in refund.RefundArgs) onceward.Approval {
		return onceward.Approval{People: people, Why: "a refund of " + in.OrderID}
	})
}

// The agents whose refunds have to be approved, by one person and by two.
var (
	Asking   = onceward.Agent{Name: "asking", Instructions: instructions, Task: "refund", Tools: write(onceward.Spec{Settle: Settle, Approve: asks(1)})}
	FourEyes = onceward.Agent{Name: "foureyes", Instructions: instructions, Task: "refund", Tools: write(onceward.Spec{Settle: Settle, Approve: asks(2)})}
)

// AskingWorkflow is one run of Asking.
func AskingWorkflow(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
	return workflows.RunAgent(ctx, Asking, in)
}

// FourEyesWorkflow is one run of FourEyes.
func FourEyesWorkflow(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
	return workflows.RunAgent(ctx, FourEyes, in)
}
