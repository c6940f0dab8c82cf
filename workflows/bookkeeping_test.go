package workflows

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
	"pgregory.net/rapid"

	"github.com/onceward/onceward"
)

// world plays the activities of a run by a script that was drawn before.
type world struct {
	mu        sync.Mutex
	turns     [][]string // of each response: kinds of calls, or one class of a failure
	acts      []string   // of each Act: what it says
	always    string     // what it says after those; "": committed
	asked     []onceward.ActInput
	reads     []bool // of each read: whether it fails
	calls     int
	steps     int
	instead   map[string]any       // activities that others play
	says      string               // what a read answers; "": read
	plan      func(*onceward.Plan) // changes it; nil: a plan of this release without limits
	decided   onceward.GateStatus  // what an ask that is taken back hears; "": nothing was decided
	withdrawn []onceward.ActInput
	cancelAt  int // the activity during which the run is cancelled; 0: never
	cancel    func()
}

// step counts the activities and cancels the run in the chosen one.
func (w *world) step() {
	w.steps++
	if w.steps == w.cancelAt {
		w.cancel()
	}
}

func next[T any](list *[]T) (T, bool) {
	var none T
	if len(*list) == 0 {
		return none, false
	}
	first := (*list)[0]
	*list = (*list)[1:]
	return first, true
}

func (w *world) open(context.Context, onceward.OpenRequest) (onceward.Opened, error) {
	manifest, err := onceward.NewItem([]byte(`{"type":"`+onceward.ItemManifest+`"}`), "")
	if err != nil {
		return onceward.Opened{}, err
	}
	request, err := onceward.Text("user", "go on")
	plan := onceward.Plan{
		Version: onceward.ManifestVersion, Agent: "a", Models: []string{"m"}, Heartbeat: time.Minute,
		Budget: onceward.Budget{Attempts: 10, Cost: 100, AttemptCost: 10, Deadline: 2 * time.Minute, PeopleDeadline: 10 * time.Minute},
		Tools:  []onceward.ToolPlan{{Name: "r", Kind: onceward.KindRead, MaxAttempts: 1}, {Name: "w", Kind: onceward.KindWrite, Once: true, Write: onceward.WritePolicy{Submit: 10 * time.Second}}},
	}
	if w.plan != nil {
		w.plan(&plan)
	}
	return onceward.Opened{Items: []onceward.Item{manifest, request}, Plan: plan}, err
}

func (w *world) selectRoute(context.Context, onceward.RouteRequest) (onceward.Decision, error) {
	return onceward.Decision{Route: &onceward.Route{Resource: "a", Model: "m", Ceiling: 10, Reason: "only"}}, nil
}

func (w *world) callModel(context.Context, onceward.CallInput) (onceward.CallResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step()
	kinds, _ := next(&w.turns)
	settled := onceward.Settlement{Cost: 1, CostBasis: onceward.CostMeasured}
	if len(kinds) == 1 && onceward.Class(kinds[0]).Known() {
		f := onceward.NewFailure(onceward.Class(kinds[0]), onceward.PhaseSent, "drawn")
		f.Resource = "a"
		return onceward.CallResult{}, temporal.NewApplicationErrorWithOptions("drawn", kinds[0], temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{f, settled}})
	}
	result := onceward.CallResult{Settled: settled}
	for i, kind := range kinds {
		w.calls++
		id := fmt.Sprintf("call_%d", w.calls)
		item, err := onceward.NewItem(fmt.Appendf(nil, `{"type":"function_call","call_id":%q,"name":%q,"arguments":"{}"}`, id, kind), "")
		if err != nil {
			return result, err
		}
		call := onceward.Call{Index: i, CallID: id, Tool: kind}
		switch kind {
		case "r":
			call.Kind, call.Args = onceward.KindRead, []byte(`{}`)
		case "w":
			call.Kind, call.Args, call.ActionID = onceward.KindWrite, []byte(`{}`), onceward.ActionID("w/"+id)
		case "a": // a write that a person has to approve
			call.Tool, call.Kind, call.Args, call.ActionID = "w", onceward.KindWrite, []byte(`{}`), onceward.ActionID("w/"+id)
			call.Approval = &onceward.Approval{People: 1, Why: "it is much"}
		default:
			output := onceward.CallError(id, "unknown_tool", "drawn")
			call.Output = &output
		}
		result.Items, result.Calls = append(result.Items, item), append(result.Calls, call)
	}
	if len(kinds) == 0 {
		item, err := onceward.Text("assistant", "done")
		result.Items, result.Text = []onceward.Item{item}, "done"
		return result, err
	}
	return result, nil
}

func (w *world) read(_ context.Context, in onceward.ReadInput) (onceward.Item, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step()
	if fails, _ := next(&w.reads); fails {
		return onceward.Item{}, errors.New("drawn")
	}
	if w.says != "" {
		return onceward.CallOutput(in.CallID, w.says)
	}
	return onceward.CallOutput(in.CallID, "read")
}

func (w *world) act(_ context.Context, in onceward.ActInput) (onceward.ActResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step()
	says, scripted := next(&w.acts)
	if !scripted {
		says = w.always
	}
	w.asked = append(w.asked, in)
	receipt := onceward.ActionReceipt{ActionID: in.ActionID, Tool: in.Tool, Status: onceward.StateCommitted, Ref: "r"}
	switch says {
	case "pending":
		receipt.Status = onceward.StateCommitting
	case "accepted":
		receipt.Status = onceward.StateAccepted
		if in.Submit {
			output, err := onceward.CallOutput(in.CallID, "submitted")
			return onceward.ActResult{Receipt: receipt, Output: &output}, err
		}
	case "asks":
		receipt.Status, receipt.Run = onceward.StateAwaitingApproval, in.Run
	case "denied":
		receipt.Status, receipt.DeniedBy = onceward.StateRejected, "dana"
		output, err := onceward.CallOutput(in.CallID, "denied")
		return onceward.ActResult{Receipt: receipt, Output: &output}, err
	case "operator":
		receipt.Status = onceward.StateAwaitingOperator
	case "rejected":
		receipt.Status = onceward.StateRejected
	case "error":
		return onceward.ActResult{}, temporal.NewNonRetryableApplicationError("drawn", "drawn", nil)
	}
	if in.AttachOnly || !receipt.Status.Final() {
		return onceward.ActResult{Pending: !receipt.Status.Final(), Receipt: receipt}, nil
	}
	output, err := onceward.CallOutput(in.CallID, string(receipt.Status))
	return onceward.ActResult{Receipt: receipt, Output: &output, Conflict: says == "conflict"}, err
}

func (w *world) writeItem(_ context.Context, in onceward.WriteItemInput) (onceward.Item, error) {
	if in.Status != "" {
		return onceward.CallOutput(in.CallID, in.Status)
	}
	return onceward.CallError(in.CallID, in.Code, in.Message), nil
}

// withdraw answers what the gate had decided.
func (w *world) withdraw(_ context.Context, in onceward.ActInput) (onceward.GateStatus, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step()
	w.withdrawn = append(w.withdrawn, in)
	if w.decided != "" {
		return w.decided, nil
	}
	return onceward.GateAwaiting, nil
}

func (w *world) writeItems(_ context.Context, in onceward.WriteItemsInput) ([]onceward.Item, error) {
	var items []onceward.Item
	for _, id := range in.CallIDs {
		items = append(items, onceward.CallError(id, in.Code, in.Message))
	}
	return items, nil
}

// environment is a test environment with the activities of the world.
func (w *world) environment() *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	env := suite.NewTestWorkflowEnvironment()
	w.cancel = env.CancelWorkflow
	for name, fn := range map[string]any{
		onceward.ActivityOpen: w.open, onceward.ActivitySelectRoute: w.selectRoute, onceward.ActivityCallModel: w.callModel, onceward.ActivityAct: w.act,
		onceward.ActivityWriteItem: w.writeItem, onceward.ActivityWriteItems: w.writeItems, onceward.ReadActivity("a", "r"): w.read,
		onceward.ActivityWithdraw: w.withdraw,
	} {
		if other, ok := w.instead[name]; ok {
			fn = other
		}
		env.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
	}
	patient(env)
	return env
}

// runWorld runs the agent of the world.
func runWorld(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
	return RunAgent(ctx, onceward.Agent{Name: "a"}, in)
}

// Whatever answers, fails, waits or is cancelled, and in which order: each call of
// the transcript has its one output behind it, the budget holds no reservation
// that nobody settled, and the ledger has each action once.
func TestNoSequenceLeavesACallWithoutItsOutput(t *testing.T) {
	classes := []string{string(onceward.ClassServerError), string(onceward.ClassRateLimited), string(onceward.ClassUnknown), string(onceward.ClassInvalidRequest), string(onceward.ClassMissingToolOutput), string(onceward.ClassRefusal)}
	response := rapid.Custom(func(t *rapid.T) []string {
		if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
			return []string{rapid.SampledFrom(classes).Draw(t, "class")}
		}
		return rapid.SliceOfN(rapid.SampledFrom([]string{"r", "w", "nothing"}), 1, 4).Draw(t, "calls")
	})
	rapid.Check(t, func(t *rapid.T) {
		w := &world{
			turns:    rapid.SliceOfN(response, 0, 6).Draw(t, "responses"),
			acts:     rapid.SliceOfN(rapid.SampledFrom([]string{"committed", "rejected", "conflict", "pending", "accepted", "operator", "error"}), 0, 12).Draw(t, "acts"),
			reads:    rapid.SliceOfN(rapid.Bool(), 0, 8).Draw(t, "reads"),
			cancelAt: rapid.IntRange(0, 15).Draw(t, "cancel during activity"),
		}
		if rapid.Bool().Draw(t, "limits") {
			limits := onceward.TurnLimits{
				Calls: rapid.IntRange(1, 4).Draw(t, "calls"), ReadsInFlight: rapid.IntRange(1, 3).Draw(t, "in flight"), OutputBytes: rapid.IntRange(200, 1500).Draw(t, "bytes"),
			}
			w.plan = func(p *onceward.Plan) { p.Limits, p.Tools[0].MaxOutput = limits, 200 }
		} else if rapid.Bool().Draw(t, "the version before") {
			w.plan = func(p *onceward.Plan) { p.Version-- }
		}
		env := w.environment()
		env.ExecuteWorkflow(runWorld, onceward.Ask("go on"))
		var result onceward.Result
		if err := env.GetWorkflowResult(&result); err != nil {
			t.Fatalf("the run ended with an error: %v", err)
		}
		if result.Use.Reserved != 0 || result.Use.Attempts > 10 || result.Outcome == "" {
			t.Errorf("outcome %q, use %+v; want an outcome and nothing reserved", result.Outcome, result.Use)
		}
		answer, err := env.QueryWorkflow(onceward.QueryTranscript, onceward.TranscriptQuery{})
		if err != nil {
			t.Fatal(err)
		}
		var page onceward.TranscriptPage
		if err := answer.Get(&page); err != nil {
			t.Fatal(err)
		}
		checkTranscript(t, page.Items)
		seen := map[onceward.ActionID]bool{}
		for _, action := range result.Actions {
			if seen[action.ActionID] {
				t.Errorf("%s is in the ledger twice", action.ActionID)
			}
			seen[action.ActionID] = true
		}
	})
}

func checkTranscript(t *rapid.T, items []onceward.Item) {
	if len(items) < 2 || items[0].Type != onceward.ItemManifest {
		t.Fatalf("%d items, want the manifest first", len(items))
	}
	open := map[string]int{} // calls without output yet
	for i, item := range items {
		switch item.Type {
		case "function_call":
			open[item.CallID]++
		case "function_call_output":
			if open[item.CallID] != 1 {
				t.Errorf("item %d is an output of %q, which has no open call", i, item.CallID)
			}
			delete(open, item.CallID)
		case "":
			t.Errorf("item %d is no item", i)
		}
	}
	for id := range open {
		t.Errorf("call %s has no output", id)
	}
}
