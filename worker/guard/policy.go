package guard

import (
	"context"
	"errors"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// policy refuses workers that close a workflow whose code panics.
type policy struct{ worker.PluginBase }

// PanicPolicy is the last plugin of a worker: it refuses the panic policy that
// would make a closed run of a fault that passes, whoever has set it.
func PanicPolicy() worker.Plugin { return policy{} }

func (policy) Name() string { return "onceward.panic-policy" }

func (policy) ConfigureWorker(_ context.Context, o worker.PluginConfigureWorkerOptions) error {
	if o.WorkerOptions.WorkflowPanicPolicy == worker.FailWorkflow {
		return errors.New("a plugin of the client sets WorkflowPanicPolicy to FailWorkflow: a codec that fails for a moment would close runs and actions; leave the policy at BlockWorkflow")
	}
	return nil
}

// fault is what the guard has panicked with in one workflow task.
type fault struct{ why any }

type faultKey struct{}

// raise fails the workflow task.
func (g *Converter) raise(why error) {
	if g.fault != nil {
		g.fault.why = why
	}
	panic(why)
}

// Interceptor is the first interceptor of a worker: one of the user's that recovers
// from panics must not make a result or an error of a workflow that the guard has
// stopped.
func Interceptor() interceptor.WorkerInterceptor { return &tasks{} }

type tasks struct {
	interceptor.WorkerInterceptorBase
}

func (*tasks) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	i := &inbound{}
	i.Next = next
	return i
}

type inbound struct {
	interceptor.WorkflowInboundInterceptorBase
}

func (i *inbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	f := &fault{}
	result, err := i.Next.ExecuteWorkflow(workflow.WithValue(ctx, faultKey{}, f), in)
	if f.why != nil {
		panic(f.why)
	}
	return result, err
}
