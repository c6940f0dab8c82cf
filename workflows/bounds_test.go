package workflows

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// reading is a run of one response of reads.
type reading struct {
	env     *testsuite.TestWorkflowEnvironment
	outputs []string // what the model was told, in order
	started int
	most    int // reads that were in flight at once
	now     int
}

// readAtOnce makes a run whose first response asks for n reads, each of which answers
// size bytes, and runs it to its end.
func readAtOnce(t *testing.T, n, size int, plan func(*onceward.Plan)) *reading {
	t.Helper()
	kinds := make([]string, n)
	for i := range kinds {
		kinds[i] = "r"
	}
	w := &world{turns: [][]string{kinds}, plan: plan}
	r := &reading{env: w.environment()}
	r.env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == onceward.ReadActivity("a", "r") {
			r.started++
			r.now++
			r.most = max(r.most, r.now)
		}
	})
	r.env.SetOnActivityCompletedListener(func(info *activity.Info, _ converter.EncodedValue, _ error) {
		if info.ActivityType.Name == onceward.ReadActivity("a", "r") {
			r.now--
		}
	})
	w.says = strings.Repeat("x", size)
	r.env.ExecuteWorkflow(runWorld, onceward.Ask("go on"))
	var result onceward.Result
	if err := r.env.GetWorkflowResult(&result); err != nil || result.Outcome != onceward.OutcomeCompleted {
		t.Fatalf("outcome %s (%s, %v), want completed", result.Outcome, result.Reason, err)
	}
	for from, length := 0, 1; from < length; {
		answer, err := r.env.QueryWorkflow(onceward.QueryTranscript, onceward.TranscriptQuery{From: from})
		if err != nil {
			t.Fatal(err)
		}
		var page onceward.TranscriptPage
		if err := answer.Get(&page); err != nil {
			t.Fatal(err)
		}
		if payload, err := converter.GetDefaultDataConverter().ToPayload(page); err != nil || len(payload.GetData()) > maxPage+onceward.MaxItem/2 {
			t.Errorf("a page of %d bytes (%v), want about %d: the server refuses one of 2 MB", len(payload.GetData()), err, maxPage)
		}
		for _, item := range page.Items {
			if item.Type == "function_call_output" {
				r.outputs = append(r.outputs, string(item.Raw))
			}
		}
		from, length = page.Next, page.Length
	}
	return r
}

// told counts the outputs that say something.
func (r *reading) told(text string) int {
	n := 0
	for _, output := range r.outputs {
		if strings.Contains(output, text) {
			n++
		}
	}
	return n
}

func TestReadsOfOneResponseAreBounded(t *testing.T) {
	limits := func(calls, flight, bytes, most int) func(*onceward.Plan) {
		return func(p *onceward.Plan) {
			p.Limits = onceward.TurnLimits{Calls: calls, ReadsInFlight: flight, OutputBytes: bytes}
			p.Tools[0].MaxOutput = most
		}
	}
	for name, c := range map[string]struct {
		n, size                  int
		plan                     func(*onceward.Plan)
		started, tooMany, usedUp int
		most                     int // in flight at most
	}{
		"E26 what fits is carried out":                               {n: 10, size: 10, plan: limits(128, 32, 4<<20, 128<<10), started: 10, most: 10},
		"E26 calls beyond the limit are answered":                    {n: 2100, size: 10, plan: limits(128, 32, 4<<20, 128<<10), started: 128, tooMany: 1972, most: 32},
		"E26 reads in flight are limited":                            {n: 100, size: 10, plan: limits(128, 3, 4<<20, 128<<10), started: 100, most: 3},
		"E26 small reads give back what they reserved":               {n: 320, size: 20, plan: limits(512, 64, 4<<20, 1<<20), started: 320, most: 4},
		"E26 large reads use up the turn":                            {n: 60, size: 900_000, plan: limits(128, 32, 4<<20, 1<<20), started: 4, usedUp: 56, most: 4},
		"E26 reads that are a little smaller leave room for another": {n: 60, size: 500_000, plan: limits(128, 32, 4<<20, 1<<20), started: 7, usedUp: 53, most: 4},
		"one call a response":                                        {n: 5, size: 10, plan: limits(1, 1, 4<<20, 128<<10), started: 1, tooMany: 4, most: 1},
		"a run of the manifest before is as it began":                {n: 200, size: 10, plan: func(p *onceward.Plan) { p.Version-- }, started: 200, most: 200},
	} {
		t.Run(name, func(t *testing.T) {
			r := readAtOnce(t, c.n, c.size, c.plan)
			if len(r.outputs) != c.n {
				t.Fatalf("%d outputs of %d calls", len(r.outputs), c.n)
			}
			tooMany, usedUp := r.told("too_many_calls"), r.told("turn_output_used")
			if r.started != c.started || tooMany != c.tooMany || usedUp != c.usedUp {
				t.Errorf("%d reads were started, %d calls were too many, %d had no room; want %d, %d, %d", r.started, tooMany, usedUp, c.started, c.tooMany, c.usedUp)
			}
			if r.most > c.most {
				t.Errorf("%d reads were in flight at once, want at most %d", r.most, c.most)
			}
		})
	}
}

// What is beyond the limit is answered, also when it would have been refused or is
// a write: the place in the response decides alone.
func TestPlaceInTheResponseDecidesWhatIsCarriedOut(t *testing.T) {
	w := &world{turns: [][]string{{"r", "nothing", "w", "w", "nothing", "r"}}, plan: func(p *onceward.Plan) {
		p.Limits = onceward.TurnLimits{Calls: 3, ReadsInFlight: 1, OutputBytes: 1 << 20}
		p.Tools[0].MaxOutput = 1000
	}}
	env := w.environment()
	env.ExecuteWorkflow(runWorld, onceward.Ask("go on"))
	var result onceward.Result
	if err := env.GetWorkflowResult(&result); err != nil || len(result.Actions) != 1 {
		t.Fatalf("actions %+v (%v), want the one within the limit", result.Actions, err)
	}
}

// A run whose ledger is full proposes nothing more, and what it knows goes on.
func TestLedgerIsBounded(t *testing.T) {
	run := func(known onceward.ActionID, actions int) onceward.Result {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestWorkflowEnvironment()
		patient(env)
		w := &world{}
		env.RegisterActivityWithOptions(w.act, activity.RegisterOptions{Name: onceward.ActivityAct})
		env.RegisterActivityWithOptions(w.writeItem, activity.RegisterOptions{Name: onceward.ActivityWriteItem})
		env.ExecuteWorkflow(func(ctx workflow.Context) (onceward.Result, error) {
			r := &Run{plan: onceward.Plan{Version: bounded, Budget: onceward.Budget{Deadline: time.Hour, PeopleDeadline: time.Hour}}, started: workflow.Now(ctx)}
			for i := range actions {
				r.note(onceward.ActionReceipt{ActionID: onceward.ActionID(fmt.Sprintf("a/%d", i)), Status: onceward.StateCommitted, Ref: strings.Repeat("r", 200), Reason: strings.Repeat("<", 1000)})
			}
			turn, err := r.Act(ctx, onceward.Turn{N: 1, Calls: []onceward.Call{{CallID: "c", Tool: "w", Kind: onceward.KindWrite, ActionID: known}}})
			if err != nil {
				return onceward.Result{}, err
			}
			return r.Close(ctx, turn)
		})
		var result onceward.Result
		if err := env.GetWorkflowResult(&result); err != nil {
			t.Fatal(err)
		}
		return result
	}
	if result := run("new", onceward.MaxActions); result.Outcome != onceward.OutcomeBudgetExhausted || !strings.Contains(result.Reason, "actions: 2000 of 2000") {
		t.Errorf("E27 outcome %q (%s), want budget_exhausted by actions", result.Outcome, result.Reason)
	}
	if result := run("a/7", onceward.MaxActions); result.Outcome != "" {
		t.Errorf("E27 outcome %q (%s), want the known action to be asked for again", result.Outcome, result.Reason)
	}
	full := run("new", onceward.MaxActions)
	payload, err := converter.GetDefaultDataConverter().ToPayload(full)
	if err != nil || len(payload.GetData()) > onceward.MaxCarry || len(full.Actions) == 0 || !strings.Contains(full.Reason, "left out") {
		t.Errorf("E27 a result of %d bytes with %d receipts (%s, %v), want one that a history can hold and that says what is missing", len(payload.GetData()), len(full.Actions), full.Reason, err)
	}
}

// The bound of a carry is about what the converter writes, whatever the run is
// made of. 320 small reads a turn are mostly index and digests.
func TestCarryIsBoundedAsItIsEncoded(t *testing.T) {
	manifest, err := onceward.NewItem([]byte(`{"type":"`+onceward.ItemManifest+`","plan":`+strings.Repeat(" ", 100)+`{"agent":"a","version":2,"models":["m"]},"instructions":"`+strings.Repeat("<", 500)+`"}`), "")
	if err != nil {
		t.Fatal(err)
	}
	r := &Run{plan: onceward.Plan{Version: 2, Agent: "a", Models: []string{"m"}}}
	r.append(manifest)
	for n := 0; r.carried() < onceward.MaxCarry; n++ {
		id := fmt.Sprintf("call_%d", n)
		item, err := onceward.CallOutput(id, "ok")
		if err != nil {
			t.Fatal(err)
		}
		r.append(item)
		if n%10 == 0 {
			r.note(onceward.ActionReceipt{ActionID: onceward.ActionID("note/" + id), Agent: "a", Run: "r", Tool: "w", Digest: item.Digest, Status: onceward.StateRejected, Reason: strings.Repeat("\x00", 20), At: time.Now().UTC(), Version: 1 << 50})
		}
	}
	payload, err := converter.GetDefaultDataConverter().ToPayload(onceward.Start{Carry: r.carry(time.Time{})})
	if err != nil {
		t.Fatal(err)
	}
	size := len(payload.GetData())
	t.Logf("E27 %d items of %d bytes are carried in %d, the bound says %d", len(r.items), r.bytes, size, r.carried())
	if size > r.carried() {
		t.Errorf("E27 %d bytes are carried, the bound says %d", size, r.carried())
	}
	if size < onceward.MaxCarry/2 {
		t.Errorf("E27 the bound of %d is far above the %d bytes that are carried", r.carried(), size)
	}
	if r.bytes > size/2 {
		t.Errorf("the items have %d bytes of %d: this test is about those that have little", r.bytes, size)
	}
}

// A call that is no function's brings its own kind of answer, also beyond the limit.
func TestAnswerThatACallBringsIsKeptBeyondTheLimit(t *testing.T) {
	w := &world{turns: [][]string{{"r", "r", "custom"}}, plan: func(p *onceward.Plan) {
		p.Limits = onceward.TurnLimits{Calls: 1, ReadsInFlight: 1, OutputBytes: 4 << 20}
	}}
	env := w.environment()
	env.ExecuteWorkflow(runWorld, onceward.Ask("go on"))
	got := outputs(t, env)
	if len(got) != 3 || !strings.Contains(got[1], "too_many_calls") || !strings.Contains(got[2], "unknown_tool") {
		t.Errorf("the model heard %q, want the last call answered as it says itself", got)
	}
}
