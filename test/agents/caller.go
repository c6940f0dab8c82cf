package agents

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/workflows"
)

// who writes a caller down, so that a test can compare it.
func who(c onceward.Caller) string {
	return fmt.Sprintf("%s|%s|%s", c.Tenant, c.User, c.Slot.Format(time.RFC3339))
}

// WhoAmI says for whom the run works.
func (a *Activities) WhoAmI(ctx context.Context, _ struct{}) (string, error) {
	caller, known := onceward.CallerFrom(ctx)
	return fmt.Sprintf("%s known=%v", who(caller), known), nil
}

// Serve answers with the caller that it was told, as action and as context.
func (a *Activities) Serve(ctx context.Context, act onceward.Action, _ NoteArgs) (onceward.Receipt, error) {
	if caller, _ := onceward.CallerFrom(ctx); caller != act.Caller {
		return onceward.Receipt{}, fmt.Errorf("the context says %s, the action %s", who(caller), who(act.Caller))
	}
	return onceward.Committed(who(act.Caller)), nil
}

// FindServed never finds anything, and fails where it is not told for whom it looks.
func (a *Activities) FindServed(_ context.Context, act onceward.Action, _ NoteArgs) (onceward.Receipt, error) {
	if act.Caller.Tenant == "" {
		return onceward.Receipt{}, fmt.Errorf("nobody said for whom")
	}
	return onceward.Absent(), nil
}

// Serving has a write that is made once a tenant and day, and one whose id forgets the
// tenant.
var Serving = onceward.Agent{
	Name: "serving", Instructions: "Serve the caller.", Task: "long",
	Tools: []onceward.Tool{
		onceward.Read(onceward.Spec{Name: "whoami"}, (*Activities).WhoAmI),
		onceward.WriteFor(onceward.Spec{Name: "daily", Settle: Settle},
			func(c onceward.Caller, in NoteArgs) onceward.ActionID {
				if c.Slot.IsZero() {
					return ""
				}
				return onceward.ActionID("daily/" + c.Tenant + "/" + c.Slot.Format(time.DateOnly) + "/" + in.Title)
			}, (*Activities).Serve, (*Activities).FindServed),
		onceward.Write(onceward.Spec{Name: "shared", Settle: Settle},
			func(in NoteArgs) onceward.ActionID { return onceward.ActionID("shared/" + in.Title) },
			(*Activities).Serve, (*Activities).FindServed),
	},
}

// ServingWorkflow is one run of Serving.
func ServingWorkflow(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
	return workflows.RunAgent(ctx, Serving, in)
}
