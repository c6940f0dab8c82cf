package workflows

import (
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/border"
)

// maxAsks bounds the executions that wait at one gate, and maxWithdrawn those it
// remembers to have gone.
const (
	maxAsks      = 200
	maxWithdrawn = 200
)

// gate is one execution of the Approval workflow.
type gate struct {
	act       onceward.ActInput
	state     onceward.Gate
	wants     workflow.ReceiveChannel
	known     []string // executions that have asked
	withdrawn []border.Withdrawal
	vote      *ballot // the one that decides, while it is looked at
	refused   refusals
	inbox     inbox
	changed   bool
}

// ballot is a vote that was taken.
type ballot struct {
	onceward.Approver
	deny bool
	done bool
	err  error // why it decided nothing after all
}

// Approval is the workflow in which people agree to an effect before its Action
// exists. It starts the Action itself, as a child that outlives it: the server starts
// an id once, so that one decision is used once. A decision counts only while somebody
// waits for it, and a run that stops waiting says so and is heard first.
func Approval(ctx workflow.Context, in border.GateInput) (onceward.Gate, error) {
	if v := in.Act.Version; v > onceward.ManifestVersion {
		leaveToNewer("the approval", fmt.Sprintf("version %d", v))
	}
	g := &gate{act: in.Act, state: onceward.Gate{
		ActionID: in.Act.ActionID, Agent: in.Act.Agent, Tool: in.Act.Tool, Arguments: in.Act.Args, Caller: in.Act.Caller, Digest: in.Act.Digest,
		Status: onceward.GateChecking, Needed: 1,
	}}
	if a := in.Act.Approval; a != nil {
		g.state.Why, g.state.Needed = a.Why, max(1, a.People)
	}
	work, _ := workflow.NewDisconnectedContext(ctx)
	g.stamp(work)
	if err := g.register(work); err != nil {
		return g.state, err
	}
	g.check(work, in.Before)
	for {
		for !g.state.Status.Final() {
			g.step(work)
		}
		_ = workflow.Await(work, func() bool { return workflow.AllHandlersFinished(work) })
		hearOut(work)
		if g.hearWants(work); !g.state.Status.Final() {
			continue // somebody asked while it was closing
		}
		g.tell(work)
		result := g.state
		result.Arguments, result.Asks = nil, nil
		return result, nil
	}
}

// check looks whether there is anything to decide: the action may exist, and the gate
// before may have denied the very same while this one was asked for.
func (g *gate) check(ctx workflow.Context, before string) {
	seen := g.look(ctx, border.GateLook{ActionID: g.state.ActionID, Before: before})
	g.state.Denied = seen.Denied
	denied := slices.IndexFunc(seen.Denied, func(d onceward.Denial) bool { return d.Digest == g.state.Digest })
	switch {
	case seen.Exists:
		g.end(ctx, onceward.GateSuperseded)
	case denied >= 0:
		g.state.DeniedBy = &seen.Denied[denied].Approver
		g.end(ctx, onceward.GateDenied)
	default:
		g.to(ctx, onceward.GateAwaiting)
	}
}

// step waits for the next thing that changes what the gate has to do, and does it.
func (g *gate) step(ctx workflow.Context) {
	g.hearWants(ctx)
	now := workflow.Now(ctx)
	switch waiting := g.waiting(now); {
	case g.vote != nil:
		g.decide(ctx)
	case len(waiting) == 0:
		g.end(ctx, onceward.GateNotDecided)
	default:
		g.changed = false
		_, _ = workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
			Timeout: max(g.state.Until.Sub(now), minWait), TimerOptions: workflow.TimerOptions{Summary: "wait for people"},
		}, func() bool { return g.changed || g.vote != nil || g.wants.Len() > 0 })
	}
}

// waiting are the asks that still count.
func (g *gate) waiting(now time.Time) (waiting []onceward.Asking) {
	for _, a := range g.state.Asks {
		if a.Until.After(now) {
			waiting = append(waiting, a)
		}
	}
	return waiting
}

// hearWants takes all asks that have come. One that is heard after its run has taken
// it back, as of an activity that the server had given up, counts for nothing.
func (g *gate) hearWants(ctx workflow.Context) {
	for g.wants.Len() > 0 {
		var a onceward.Asking
		if err := g.inbox.receive(ctx, g.wants, &a); err != nil {
			g.refuse(ctx, onceward.SignalWant+": "+err.Error())
			continue
		}
		gone := slices.ContainsFunc(g.withdrawn, func(w border.Withdrawal) bool { return w.Of(a) })
		switch {
		case gone || a.Run == "" || a.RunID == "":
			continue
		case a.Digest != g.state.Digest:
			g.refuse(ctx, fmt.Sprintf("%s of %s: it asks for other arguments", onceward.SignalWant, onceward.Cut(a.Run, 100)))
			continue
		}
		g.state.Asks = slices.DeleteFunc(g.state.Asks, func(other onceward.Asking) bool { return other.Run == a.Run && other.RunID == a.RunID })
		if len(g.state.Asks) >= maxAsks {
			g.refuse(ctx, fmt.Sprintf("%s of %s: %d runs wait already", onceward.SignalWant, onceward.Cut(a.Run, 100), maxAsks))
			continue
		}
		g.state.Asks = append(g.state.Asks, a)
		if g.state.Status == onceward.GateNotDecided {
			g.to(ctx, onceward.GateAwaiting)
		}
		if execution := a.Run + "/" + a.RunID; !slices.Contains(g.known, execution) {
			g.known = latest(append(g.known, execution), maxAsks)
			g.stamp(ctx)
		}
	}
	g.until(ctx)
}

// until brings the time until which somebody waits in step with the asks.
func (g *gate) until(ctx workflow.Context) {
	g.state.Until = time.Time{}
	for _, a := range g.state.Asks {
		if a.Until.After(g.state.Until) {
			g.state.Until = a.Until
		}
	}
	g.changed = true
	workflow.SetCurrentDetails(ctx, g.details())
}

// stamp gives the request a version that no other execution of this id repeats, as
// that of an action: a reset applies old votes again.
func (g *gate) stamp(ctx workflow.Context) {
	now := workflow.Now(ctx)
	g.state.At = now.UTC()
	g.state.Version = max(g.state.Version+1, int(now.UnixMilli()))
	workflow.SetCurrentDetails(ctx, g.details())
}

func (g *gate) to(ctx workflow.Context, status onceward.GateStatus) {
	g.state.Status, g.state.At = status, workflow.Now(ctx).UTC()
	g.changed = true
	workflow.SetCurrentDetails(ctx, g.details())
}

// end closes the gate, and tells whoever has just voted.
func (g *gate) end(ctx workflow.Context, status onceward.GateStatus) {
	g.to(ctx, status)
	if g.vote == nil {
		return
	}
	if status == onceward.GateSuperseded {
		g.vote.err = fmt.Errorf("the action %s exists already, and needs no approval", g.state.ActionID)
	}
	g.vote.done, g.vote = true, nil
}

// decide uses the votes: somebody has to wait for them, and the action must not exist.
// A run that takes its ask back meanwhile hears what came of it.
func (g *gate) decide(ctx workflow.Context) {
	g.to(ctx, onceward.GateDeciding)
	asked := g.waiting(workflow.Now(ctx))
	seen := g.look(ctx, border.GateLook{ActionID: g.state.ActionID, Asks: asked})
	switch {
	case seen.Exists:
		g.end(ctx, onceward.GateSuperseded)
	case len(seen.Running) == 0:
		g.drop(ctx, asked, fmt.Errorf("nobody waits for a decision about %s any more: nothing was decided", g.state.ActionID))
	case g.vote.deny:
		g.state.DeniedBy = &g.vote.Approver
		g.state.Denied = latest(append(g.state.Denied, onceward.Denial{Digest: g.state.Digest, Approver: g.vote.Approver}), onceward.MaxDenials)
		g.end(ctx, onceward.GateDenied)
	default:
		exists, err := g.startAction(ctx, seen.Running[0])
		switch {
		case exists:
			g.end(ctx, onceward.GateSuperseded)
		case err != nil:
			g.drop(ctx, nil, fmt.Errorf("the action %s could not be started: %w", g.state.ActionID, err))
		default:
			g.end(ctx, onceward.GateApproved)
		}
	}
}

// drop takes votes back that decided nothing, with the asks that nobody waits behind.
func (g *gate) drop(ctx workflow.Context, gone []onceward.Asking, why error) {
	g.state.Asks = slices.DeleteFunc(g.state.Asks, func(a onceward.Asking) bool { return slices.Contains(gone, a) })
	g.state.ApprovedBy = nil
	g.vote.err, g.vote.done, g.vote = why, true, nil
	g.to(ctx, onceward.GateAwaiting)
	g.until(ctx)
}

// startAction starts the action for a run that waits. It reports whether there was
// one already.
func (g *gate) startAction(ctx workflow.Context, ask onceward.Asking) (exists bool, err error) {
	act := g.act
	act.Run, act.RunID, act.CallID, act.ApprovedBy = ask.Run, ask.Chain, ask.Call, g.state.ApprovedBy
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            act.ActionID.WorkflowID(),
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE, // the server makes "used once" true
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		Memo:                  map[string]any{onceward.MemoTool: act.Tool, onceward.MemoDigest: act.Digest, onceward.MemoRun: act.Run},
		StaticSummary:         onceward.Summary(fmt.Sprintf("%s · %s", act.Tool, act.ActionID)),
	}), onceward.WorkflowAction, onceward.ActionInput{Act: act})
	err = child.GetChildWorkflowExecution().Get(ctx, nil)
	return temporal.IsWorkflowExecutionAlreadyStartedError(err), err
}

// look asks until it hears something.
func (g *gate) look(ctx workflow.Context, in border.GateLook) (seen border.GateSeen) {
	options := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: actTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, MaximumInterval: 10 * time.Second},
		Summary:             "look for " + onceward.Summary(g.state.ActionID.WorkflowID()),
	})
	for {
		err := workflow.ExecuteActivity(options, onceward.ActivityLookAround, in).Get(ctx, &seen)
		if err == nil {
			return seen
		}
		// Only a worker without the activity, of an older release, ends its retries.
		_ = workflow.NewTimerWithOptions(ctx, firstAsk, workflow.TimerOptions{Summary: "wait before the next look"}).Get(ctx, nil)
	}
}

// tell wakes the runs that wait. Its errors are swallowed: a run may be closed, and
// each asks by itself all the same.
func (g *gate) tell(ctx workflow.Context) {
	var told []workflow.Future
	for _, a := range g.state.Asks {
		told = append(told, workflow.SignalExternalWorkflow(ctx, a.Run, a.RunID, onceward.SignalReceipt, onceward.ActionReceipt{ActionID: g.state.ActionID}))
	}
	for _, future := range told {
		_ = future.Get(ctx, nil)
	}
}
