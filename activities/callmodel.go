package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/onceward/onceward"
)

// MaxResult bounds a result of ours as it is encoded, in bytes. The server refuses
// one of 2 MB, after the tokens were paid for, and a payload codec may add to it.
const MaxResult = 1536 << 10

// CallModel makes one attempt: exactly one HTTP request, or none and a failure
// that says not_sent. Temporal never retries it.
func (a *Activities) CallModel(ctx context.Context, in onceward.CallInput) (onceward.CallResult, error) {
	info := activity.GetInfo(ctx)
	if own := info.WorkflowExecution.RunID; in.RunID != own {
		// A reset re-dispatches a pending activity without any workflow code: the
		// reservation belongs to the run before, and so would the request.
		return onceward.CallResult{}, notSent(fmt.Sprintf("scheduled by run %s, which was reset", in.RunID))
	}
	if begunBefore(ctx) { // there is one reservation, and it may be spent
		return onceward.CallResult{}, temporal.NewNonRetryableApplicationError("the worker was lost, and the request may have been sent: it is not sent again", "SentBefore", nil)
	}
	agent, ok := a.agents[in.Agent]
	if !ok {
		return onceward.CallResult{}, notSent(fmt.Sprintf("agent %q is not registered with this worker", in.Agent))
	}
	items, err := a.load(ctx, info.WorkflowExecution.ID, in)
	if err != nil {
		return onceward.CallResult{}, notSent(err.Error())
	}
	if len(items) == 0 || items[0].Digest != in.Manifest {
		return onceward.CallResult{}, notSent("the transcript does not begin with the run's manifest")
	}
	var manifest onceward.Manifest
	if err := json.Unmarshal(items[0].Raw, &manifest); err != nil {
		return onceward.CallResult{}, notSent(fmt.Sprintf("read manifest: %v", err))
	}
	if v := manifest.Plan.Version; v > onceward.ManifestVersion { // another worker has to send it
		return onceward.CallResult{}, notSent(fmt.Sprintf("the manifest has version %d, this worker reads up to %d", v, onceward.ManifestVersion))
	}
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return onceward.CallResult{}, notSent("the worker is stopping")
	default:
	}
	return a.attempt(ctx, agent, manifest, items[1:], in)
}

// attempt sends the request, keeps the heartbeat going and binds the calls.
func (a *Activities) attempt(ctx context.Context, agent *Agent, manifest onceward.Manifest, items []onceward.Item, in onceward.CallInput) (onceward.CallResult, error) {
	if !in.NotAfter.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, in.NotAfter)
		defer cancel()
	}
	var seen progress
	stop := beat(ctx, manifest.Plan.Heartbeat, func() any { return seen.details() })
	defer stop()

	started := time.Now()
	var state onceward.ProviderState
	if manifest.Plan.State != nil {
		state = *manifest.Plan.State
	}
	response, err := a.router.Call(ctx, onceward.ModelRequest{
		PreviousResponseID: state.PreviousResponseID, Conversation: state.Conversation,
		Route: in.Route, RunKey: in.RunKey, Instructions: manifest.Instructions, Items: items,
		Tools: offered(manifest.Tools, in.Withdrawn), Output: manifest.Output,
		Timeouts: manifest.Plan.Timeouts, Repair: in.Repair, AcceptCut: manifest.AcceptCut, Progress: seen.set,
		Check: func(text string) error {
			if agent.Check == nil {
				return nil
			}
			return agent.Check(onceward.WithCaller(ctx, manifest.Plan.Caller()), text)
		},
	})
	settled := onceward.Settlement{
		Usage: response.Usage, Cost: response.Cost, CostBasis: response.CostBasis,
		ProviderRequestID: response.ProviderRequestID, ResponseModel: response.ResponseModel,
		HTTPStatus: response.HTTPStatus, Duration: time.Since(started).Round(time.Millisecond),
		ReasoningStripped: response.ReasoningStripped, Notices: response.Notices,
	}
	countDrift(ctx, in.Route, response.Notices)
	if err != nil {
		return onceward.CallResult{}, failed(a.failureOf(ctx, err), settled)
	}
	result := onceward.CallResult{Items: response.Items, Settled: settled, Calls: bindCalls(agent, manifest.Plan.Caller(), response.Calls, in.Withdrawn, manifest.Plan.Limits.Calls)}
	result.TextItem, result.Text = placeOf(response.Text, response.Items)
	if size, err := encodedSize(result); err != nil || size > MaxResult {
		f := onceward.NewFailure(onceward.ClassInvalidOutput, onceward.PhaseSettled,
			fmt.Sprintf("the response takes %d bytes in a history, at most %d fit (%v)", size, MaxResult, err))
		f.Resource, f.Deployment = in.Route.Resource, in.Route.Deployment
		f.ProviderStateCreated = state.Conversation != ""
		return onceward.CallResult{}, failed(f, settled)
	}
	return result, nil
}

// encodedSize is what a value takes in a payload, before any codec.
func encodedSize(v any) (int, error) {
	raw, err := json.Marshal(v)
	return len(raw), err
}

// placeOf names the item that says a text, counted from 1, or returns the text
// itself where none does.
func placeOf(text string, items []onceward.Item) (int, string) {
	for i := len(items) - 1; i >= 0 && text != ""; i-- {
		if items[i].MessageText() == text {
			return i + 1, ""
		}
	}
	return 0, text
}

// countDrift counts notices of drift. The tags are names of the configuration and
// a closed set of kinds, so the number of series is bounded.
func countDrift(ctx context.Context, route onceward.Route, notices []string) {
	for _, notice := range notices {
		if kind := onceward.BreachOf(notice); kind != "" {
			activity.GetMetricsHandler(ctx).WithTags(map[string]string{"resource": route.Resource, "deployment": route.Deployment, "kind": string(kind)}).
				Counter("onceward_drift").Inc(1)
		}
	}
}

// failureOf returns the router's failure; an attempt that our own stopping
// worker cut is the worker's loss, not the caller's wish.
func (a *Activities) failureOf(ctx context.Context, err error) *onceward.Failure {
	var f *onceward.Failure
	if !errors.As(err, &f) {
		f = onceward.NewFailure(onceward.ClassUnknown, onceward.PhaseSent, err.Error())
		f.ModelResult = onceward.ModelResultUnknown
	}
	if f.Class != onceward.ClassCancelled {
		return f
	}
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		lost := *f
		rule := onceward.ClassWorkerLost.Rule()
		lost.Class, lost.Retryable, lost.FallbackEligible, lost.Scope = rule.Class, rule.Retryable, rule.FallbackEligible, rule.Scope
		return &lost
	default:
		return f
	}
}

func offered(tools []onceward.ToolDecl, withdrawn []string) []onceward.ToolDecl {
	if len(withdrawn) == 0 {
		return tools
	}
	var left []onceward.ToolDecl
	for _, tool := range tools {
		if !slices.Contains(withdrawn, tool.Name) {
			left = append(left, tool)
		}
	}
	return left
}

// progress is what the heartbeat shows of an attempt in flight.
type progress struct {
	phase  atomic.Value // onceward.Phase
	events atomic.Int64
}

func (p *progress) set(phase onceward.Phase, events int) {
	p.phase.Store(phase)
	p.events.Store(int64(events))
}

func (p *progress) details() any {
	phase, _ := p.phase.Load().(onceward.Phase)
	if phase == "" {
		phase = onceward.PhasePrepare
	}
	return struct {
		Phase  onceward.Phase `json:"phase"`
		Events int64          `json:"events"`
	}{phase, p.events.Load()}
}

// soonest is how often a heartbeat is recorded at least. A cancellation reaches an
// activity only by the answer to one, whatever the heartbeat timeout.
const soonest = time.Second

// beat records a heartbeat now and then until stop is called. every is the
// heartbeat timeout; zero is 10 s.
func beat(ctx context.Context, every time.Duration, details func() any) (stop func()) {
	if every <= 0 {
		every = 10 * time.Second
	}
	activity.RecordHeartbeat(ctx, details())
	done := make(chan struct{})
	ticker := time.NewTicker(min(every/3, soonest))
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-ticker.C:
				beatOnce(ctx, details())
			}
		}
	}()
	return func() { close(done) }
}

// beatOnce leaves a heartbeat out whose details cannot be encoded for the moment:
// the SDK panics then, which here would end the process and all that it holds.
func beatOnce(ctx context.Context, details any) {
	defer func() { _ = recover() }()
	activity.RecordHeartbeat(ctx, details)
}
