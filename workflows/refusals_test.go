package workflows

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

func TestE33RefusalsBeyondTheListAreCounted(t *testing.T) {
	var r refusals
	for i := range maxRefused + 7 {
		r.add(fmt.Sprint(i, strings.Repeat("x", 1000)))
	}
	if len(r.list) != maxRefused || r.more != 7 || len(r.list[0]) > maxSummary || !strings.HasPrefix(r.list[0], "0") {
		t.Errorf("%d listed and %d more, the first of %d bytes; want %d, 7 and at most %d", len(r.list), r.more, len(r.list[0]), maxRefused, maxSummary)
	}
}

// hearOut is for what its readers hold in their hands when a workflow ends.
func TestE33SignalThatComesWithTheLastTaskIsHeard(t *testing.T) {
	for name, end := range map[string]func(workflow.Context){"E33 heard out": hearOut, "returned at once": func(workflow.Context) {}} {
		w := &world{}
		env := w.environment()
		env.RegisterDelayedCallback(func() { env.SignalWorkflow("go", nil) }, time.Second)
		env.ExecuteWorkflow(func(ctx workflow.Context) (int, error) {
			heard, last := 0, workflow.NewNamedChannel(ctx, "signals")
			workflow.Go(ctx, func(ctx workflow.Context) {
				for last.Receive(ctx, nil) {
					heard++
				}
			})
			workflow.GetSignalChannel(ctx, "go").Receive(ctx, nil)
			for range 3 { // as the SDK hands out the signals of a task before any code runs
				last.SendAsync(1)
			}
			end(ctx)
			return heard, nil
		})
		var heard int
		if err := env.GetWorkflowResult(&heard); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{true: 1, false: 0}[strings.HasPrefix(name, "E33")]; heard != want {
			t.Errorf("%s: %d signals were heard, want %d of the one that its reader waits for", name, heard, want)
		}
	}
}

// What operators said goes with the run, over continue-as-new, into its result.
func TestE33RefusalsSurviveContinueAsNew(t *testing.T) {
	w := &world{}
	env := w.environment()
	env.RegisterDelayedCallback(func() {
		env.SignalWorkflow(onceward.UpdateComplete, onceward.Complete{By: "dana", Text: "done", Note: "by hand"})
		env.SignalWorkflow("go", nil)
	}, time.Second)
	env.ExecuteWorkflow(func(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
		run, err := Open(ctx, onceward.Agent{Name: "a"}, in)
		if err != nil {
			return onceward.Result{}, err
		}
		run.refused.more = 3
		workflow.GetSignalChannel(ctx, "go").Receive(ctx, nil)
		return onceward.Result{}, run.Continue(ctx)
	}, onceward.Ask("go on"))
	var again *workflow.ContinueAsNewError
	if err := env.GetWorkflowError(); !errors.As(err, &again) {
		t.Fatalf("ended with %v, want that it continues", err)
	}
	var next onceward.Start
	if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &next); err != nil {
		t.Fatal(err)
	}
	if c := next.Carry; len(c.Refused) != 1 || c.More != 3 || !strings.Contains(c.Refused[0], "dana said done (by hand)") {
		t.Fatalf("carried %+v and %d more, want what dana said and 3", c.Refused, c.More)
	}

	second := (&world{}).environment()
	second.ExecuteWorkflow(func(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
		return RunAgent(ctx, onceward.Agent{Name: "a"}, in)
	}, next)
	var result onceward.Result
	if err := second.GetWorkflowResult(&result); err != nil {
		t.Fatal(err)
	}
	if len(result.Refused) != 1 || result.More != 3 {
		t.Errorf("the result has %q and %d more, want what was carried", result.Refused, result.More)
	}
}

// A decision about another state, and one that nobody can read, are in the receipt
// with who sent them.
func TestE33RefusedDecisionsAreInTheReceipt(t *testing.T) {
	p := &product{commits: []onceward.Receipt{onceward.Conflict("c")}, finds: []onceward.Receipt{nothing}, early: []any{
		onceward.Resolve{Status: onceward.StatusCommitted, Ref: "r9", By: "kim", Note: "I see it", Version: 7}, "not an object",
	}}
	play(t, p, actionPolicy(func(*onceward.WritePolicy) {}))
	if got := p.receipt; got.Status != onceward.StateRejected || len(got.Refused) != 2 || !strings.Contains(got.Refused[0], "kim said committed r9 (I see it)") {
		t.Errorf("receipt %+v, want the last decision, and both others as refused", got)
	}
}
