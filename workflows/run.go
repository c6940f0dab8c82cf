package workflows

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// Run is one execution of an agent: its budget, its transcript and its ledger.
// It belongs to the workflow function that opened it and must not be used from
// another goroutine than the workflow's own.
type Run struct {
	plan      onceward.Plan
	items     []onceward.Item
	chain     string // digest of items
	bytes     int    // of items, as they are sent
	encoded   int    // of items, as they are carried
	use       onceward.Use
	turn      int
	started   time.Time
	attempts  []onceward.AttemptRecord
	actions   []onceward.ActionReceipt
	withdrawn []string
	excluded  []onceward.ExcludedRoute
	suspects  []onceward.RunSuspect
	warm      string
	committed bool
	owned     time.Duration   // waited for the owner of pinned state
	repair    onceward.Repair // that every attempt from now on needs

	status    onceward.RunStatus
	outcome   onceward.Outcome // provisional while it waits
	waiting   string
	completed *onceward.Complete
	published string // figures, when they were last published
	refused   refusals
	inbox     inbox
	runID     string // of the chain: see onceward.ActInput.RunID
}

// localTimeout bounds a local activity. They take well under a millisecond; the
// bound is for a worker that is starved.
const localTimeout = 10 * time.Second

// agentWait is how long a run waits at first before it asks again for a worker that
// has its agent.
const agentWait = 10 * time.Second

// Open begins a run: it resolves agent and configuration into the run's manifest
// (or takes both from the execution before), and registers the operator's
// handlers. It fails only for an argument that no run can work on; a worker
// without the agent is waited for.
func Open(ctx workflow.Context, agent onceward.Agent, in onceward.Start) (*Run, error) {
	r := &Run{status: onceward.StatusRunning, started: workflow.Now(ctx), runID: chainID(workflow.GetInfo(ctx))}
	if err := r.register(ctx); err != nil {
		return nil, err
	}
	if in.Carry != nil {
		return r, r.resume(*in.Carry)
	}
	opened, err := r.open(ctx, agent, in)
	if err != nil {
		return nil, err
	}
	if err := readable("the run's manifest", opened.Plan.Version, onceward.ManifestOldest, onceward.ManifestVersion); err != nil {
		return nil, err
	}
	r.plan = opened.Plan
	r.append(opened.Items...)
	r.publish(ctx)
	return r, nil
}

func (r *Run) open(ctx workflow.Context, agent onceward.Agent, in onceward.Start) (onceward.Opened, error) {
	id := workflow.GetInfo(ctx).WorkflowExecution.ID
	if strings.HasPrefix(id, onceward.ActionID("").WorkflowID()) || strings.HasPrefix(id, onceward.ActionID("").GateID()) {
		return onceward.Opened{}, temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("the workflow id %s is that of an action or an approval, which the run could then not propose: give the run another", id), onceward.ErrorInvalidStart, nil)
	}
	request := onceward.OpenRequest{Agent: agent.Name, Request: in.Request, Tenant: in.Tenant, User: in.User, Slot: slot(ctx, in), State: in.State}
	// Disconnected: a run that is cancelled before it begins ends with a Result too.
	free, _ := workflow.NewDisconnectedContext(ctx)
	for begun := workflow.Now(ctx); ; {
		var opened onceward.Opened
		err := workflow.ExecuteLocalActivity(local(free, "open "+agent.Name), onceward.ActivityOpen, request).Get(free, &opened)
		var application *temporal.ApplicationError
		if err == nil {
			r.waiting = ""
			return opened, nil
		}
		known := errors.As(err, &application)
		switch {
		case known && application.Type() == onceward.ErrorInvalidStart:
			return opened, err
		case !known || application.Type() != onceward.ErrorNoAgent:
			panic(fmt.Sprintf("open %s: %v", agent.Name, err)) // as in selectRoute
		}
		r.waiting = fmt.Sprintf("a worker that has the agent %q: %s", agent.Name, application.Message())
		workflow.SetCurrentDetails(ctx, "Waiting for "+words(r.waiting))
		if err := workflow.Sleep(ctx, stretched(agentWait, workflow.Now(ctx).Sub(begun))); err != nil {
			return opened, err
		}
	}
}

// scheduledFor is the attribute by which a Temporal schedule tells a workflow which of
// its times it is about; a backfill names a time long past.
var scheduledFor = temporal.NewSearchAttributeKeyTime("TemporalScheduledStartTime")

// slot is the time that a run is about: what its starter says, else its schedule.
func slot(ctx workflow.Context, in onceward.Start) time.Time {
	if !in.Slot.IsZero() {
		return in.Slot
	}
	at, _ := workflow.GetTypedSearchAttributes(ctx).GetTime(scheduledFor)
	return at
}

// resume takes over what the execution before has carried.
func (r *Run) resume(c onceward.Carry) error {
	if err := readable("what the execution before has carried", c.Version, onceward.CarryVersion-1, onceward.CarryVersion); err != nil {
		return err
	}
	if err := readable("the run's manifest", c.Plan.Version, onceward.ManifestOldest, onceward.ManifestVersion); err != nil {
		return err
	}
	understandRepair(c.Repair)
	for _, receipt := range c.Actions {
		understandReceipt(receipt)
	}
	r.plan, r.use, r.turn, r.started = c.Plan, c.Use, c.Turn, c.Started
	r.actions, r.withdrawn, r.excluded, r.suspects, r.warm, r.committed = c.Actions, c.Withdrawn, c.Excluded, c.Suspects, c.Warm, c.Committed
	r.repair = c.Repair
	r.refused = refusals{c.Refused, c.More}
	if c.RunID != "" { // else a carry of an earlier build
		r.runID = c.RunID
	}
	r.append(c.Items...)
	return nil
}

// append extends the transcript and the digest that proves it.
func (r *Run) append(items ...onceward.Item) {
	for _, item := range items {
		r.items = append(r.items, item)
		r.chain = onceward.ChainDigest(r.chain, item)
		r.bytes += len(item.Raw)
		r.encoded += item.Encoded()
	}
}

// deadline is the end of machine time as it stands: waits for people and owners
// move it.
func (r *Run) deadline() time.Time {
	return r.started.Add(r.plan.Budget.Deadline + r.use.Waited)
}

// key is the same over resets, workflow retries and continue-as-new.
func (r *Run) key(ctx workflow.Context) string {
	info := workflow.GetInfo(ctx)
	return info.WorkflowExecution.ID + "/" + info.FirstRunID
}

// chainID tells the runs of one workflow id apart: the first run's id, which resets,
// continue-as-new and workflow retries keep. The runs of a cron schedule share it
// and are runs of their own all the same.
func chainID(info *workflow.Info) string {
	if info.CronSchedule != "" {
		return info.OriginalRunID
	}
	return info.FirstRunID
}

// boundaries of the sealed items in the transcript, or of those of one type, in
// order of first use.
func (r *Run) boundaries(kind string) []string {
	var out []string
	for _, item := range r.items {
		if item.Boundary != "" && (kind == "" || kind == item.Type) && !slices.Contains(out, item.Boundary) {
			out = append(out, item.Boundary)
		}
	}
	return out
}

func local(ctx workflow.Context, what string) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: localTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second},
		Summary:             onceward.Summary(what),
	})
}

// maxSummary is the server's limit for a summary, in bytes.
const maxSummary = 390

func cutSummary(s string) string { return onceward.Cut(s, maxSummary) }
