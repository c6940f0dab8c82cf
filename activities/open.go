package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"go.temporal.io/sdk/temporal"

	"github.com/onceward/onceward"
)

// MaxRequest bounds a run's request in bytes.
const MaxRequest = 512 << 10

// Open resolves agent and configuration into the run's manifest and writes the
// first items of its transcript. It runs as a local activity.
func (a *Activities) Open(_ context.Context, in onceward.OpenRequest) (onceward.Opened, error) {
	agent, ok := a.agents[in.Agent]
	if !ok {
		return onceward.Opened{}, temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("agent %q is not registered with this worker", in.Agent), onceward.ErrorNoAgent, nil)
	}
	if len(in.Request) > MaxRequest {
		return onceward.Opened{}, invalidStart("request has %d bytes, at most %d", len(in.Request), MaxRequest)
	}
	manifest := agent.Manifest
	caller := onceward.Caller{Tenant: in.Tenant, User: in.User, Slot: in.Slot.UTC()}
	if err := caller.Validate(); err != nil {
		return onceward.Opened{}, invalidStart("%v", err)
	}
	manifest.Plan.Tenant, manifest.Plan.User, manifest.Plan.Slot, manifest.Plan.State = caller.Tenant, caller.User, caller.Slot, in.State
	manifest.Plan.Version = manifest.Plan.Needs()
	if a.indexed != nil {
		manifest.Plan.Attributes = a.indexed()
	}
	if err := checkState(manifest.Plan); err != nil {
		return onceward.Opened{}, err
	}
	raw, err := json.Marshal(manifest)
	if err != nil {
		return onceward.Opened{}, invalidStart("encode manifest: %v", err)
	}
	first, err := onceward.NewItem(raw, "")
	if err != nil {
		return onceward.Opened{}, invalidStart("manifest: %v", err)
	}
	text := string(in.Request)
	if len(in.Request) > 0 && in.Request[0] == '"' {
		if err := json.Unmarshal(in.Request, &text); err != nil {
			return onceward.Opened{}, invalidStart("read request: %v", err)
		}
	}
	if text == "" || text == "null" {
		return onceward.Opened{}, invalidStart("request is empty: a run needs something to work on")
	}
	message, err := firstMessage(text, manifest.Plan.State)
	if err != nil {
		return onceward.Opened{}, invalidStart("request: %v", err)
	}
	opened := onceward.Opened{Plan: manifest.Plan, Items: []onceward.Item{first, message}}
	if size, err := encodedSize(opened); err != nil || size > MaxResult { // else the workflow task would fail for ever
		return onceward.Opened{}, invalidStart("manifest and request take %d bytes in a history, at most %d (%v)", size, MaxResult, err)
	}
	return opened, nil
}

// firstMessage is what the run is asked, and the files that its owner keeps for it.
func firstMessage(text string, state *onceward.ProviderState) (onceward.Item, error) {
	if state == nil || len(state.Files) == 0 {
		return onceward.Text("user", text)
	}
	content := []map[string]string{{"type": "input_text", "text": text}}
	for _, id := range state.Files {
		content = append(content, map[string]string{"type": "input_file", "file_id": id})
	}
	raw, err := json.Marshal(map[string]any{"type": "message", "role": "user", "content": content})
	if err != nil {
		return onceward.Item{}, fmt.Errorf("write message: %w", err)
	}
	return onceward.NewItem(raw, "")
}

// checkState refuses provider-side state that no request could be pinned by.
func checkState(plan onceward.Plan) error {
	state := plan.State
	switch {
	case state == nil:
		return nil
	case state.Resource == "":
		return invalidStart("state.resource is empty: name the resource that holds the state")
	case len(plan.Resources) > 0 && !slices.Contains(plan.Resources, state.Resource):
		return invalidStart("state.resource %q is not one of the task's resources %v", state.Resource, plan.Resources)
	case state.Conversation != "" && state.PreviousResponseID != "":
		return invalidStart("state.conversation and state.previous_response_id exclude each other: a conversation knows its own last response")
	case len(state.Files) > onceward.MaxFiles:
		return invalidStart("state.files has %d ids, at most %d", len(state.Files), onceward.MaxFiles)
	}
	if why := badID(state.PreviousResponseID); state.PreviousResponseID != "" && why != "" {
		return invalidStart("state.previous_response_id %s", why)
	}
	if why := badID(state.Conversation); state.Conversation != "" && why != "" {
		return invalidStart("state.conversation %s", why)
	}
	for i, id := range state.Files {
		if why := badID(id); why != "" {
			return invalidStart("state.files[%d] %s", i, why)
		}
		if slices.Contains(state.Files[:i], id) {
			return invalidStart("state.files[%d] repeats %s", i, id)
		}
	}
	return nil
}

// badID says why no resource can have given out an id.
func badID(id string) string {
	if id == "" || len(id) > 256 {
		return fmt.Sprintf("has %d bytes, want 1 to 256", len(id))
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return fmt.Sprintf("holds the byte %#02x, want printable ASCII without spaces", id[i])
		}
	}
	return ""
}

func invalidStart(format string, args ...any) error {
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf(format, args...), onceward.ErrorInvalidStart, nil)
}

// SelectRoute chooses a route. It runs as a local activity in the workflow task
// that reserves the attempt, and only reads health: the permit is CallModel's. What it
// learns of the run's suspects is recorded with the decision, so that a replay knows
// it. A run that is left without a route waits a few seconds for their tests.
func (a *Activities) SelectRoute(ctx context.Context, in onceward.RouteRequest) (onceward.Decision, error) {
	decision := a.router.Select(in)
	stranded := decision.Route == nil && decision.RetryAt.IsZero()
	verdicts := a.router.Verdicts(ctx, in.Suspects, stranded)
	if stranded && len(verdicts) > 0 {
		decision = a.router.Select(in)
	}
	decision.Verdicts = verdicts
	decision.Dropped = slices.Clone(decision.Dropped)
	decision.Attributes = in.Unindexed && a.indexed != nil && a.indexed()
	return decision, nil
}

// WriteItem writes the output item of a call that has no result of its own. It
// runs as a local activity, because workflow code must not encode JSON.
func (a *Activities) WriteItem(_ context.Context, in onceward.WriteItemInput) (onceward.Item, error) {
	if in.Status != "" {
		return answer(in.CallID, told{Status: onceward.ReceiptStatus(in.Status), Reason: in.Message}), nil
	}
	return onceward.CallError(in.CallID, in.Code, in.Message), nil
}

// WriteItems writes the same answer to several calls.
func (a *Activities) WriteItems(_ context.Context, in onceward.WriteItemsInput) ([]onceward.Item, error) {
	items := make([]onceward.Item, 0, len(in.CallIDs))
	for _, id := range in.CallIDs {
		items = append(items, onceward.CallError(id, in.Code, in.Message))
	}
	return items, nil
}
