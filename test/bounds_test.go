package test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/test/harness"
)

// many is a response that asks for the same thing so often.
func many(n int, tool string, arguments any) []routertest.Out {
	out := make([]routertest.Out, n)
	for i := range out {
		out[i] = routertest.CallTool(tool, arguments)
	}
	return out
}

// turns is a model that gives the same response so often, each of n calls.
func turns(times int, response []routertest.Out) routertest.Model {
	return routertest.Model{Rules: []routertest.Rule{
		{When: routertest.Match{Turn: routertest.At(times * len(response))}, Reply: []routertest.Out{routertest.Say("done")}},
		{Reply: response},
	}}
}

// What one response asks for, and what its reads return, is bounded: the run goes
// on and the model is told what was left undone. None of these can be held by a
// history as it stands.
func TestResponsesThatAskForTooMuchAreBounded(t *testing.T) {
	t.Parallel()
	page := func(bytes int) map[string]int { return map[string]int{"bytes": bytes} }
	rows := map[string]struct {
		workflow string
		times    int
		response []routertest.Out
		carried  int            // calls of each response that were carried out
		told     map[string]int // outputs of the run by a text in them
	}{
		"E26 60 reads of 1 MB":                      {times: 1, response: many(60, "page", page(1_000_000)), carried: 4, told: map[string]int{"turn_output_used": 56, "pppp": 4}},
		"E26 60 reads of 1 MB of an agent that may": {workflow: "GreedyWorkflow", times: 1, response: many(60, "page", page(1_000_000)), carried: 8, told: map[string]int{"turn_output_used": 52, "pppp": 8}},
		"E26 2,100 calls":                           {times: 1, response: many(2100, "line", page(2)), carried: 128, told: map[string]int{"too_many_calls": 1972, `"pp"`: 128}},
		"E26 320 small reads":                       {times: 1, response: many(320, "line", page(2)), carried: 128, told: map[string]int{"too_many_calls": 192, `"pp"`: 128}},
		"E26 320 small reads of an agent that may":  {workflow: "GreedyWorkflow", times: 1, response: many(320, "line", page(2)), carried: 320, told: map[string]int{`"pp"`: 320}},
		"E26 a read beyond its own bound":           {times: 1, response: many(3, "line", page(200_000)), carried: 3, told: map[string]int{"the tool returned 200002 bytes, at most 131072 are allowed": 3}},
		"E26 long arguments, scheduled in one task": {times: 1, response: many(60, "count", map[string]string{"text": strings.Repeat("t", 2_500)}), carried: 60, told: map[string]int{"2500": 60}},
		"E27 12 turns of 320 small reads":           {times: 12, response: many(320, "line", page(2)), carried: 128, told: map[string]int{"too_many_calls": 12 * 192, `"pp"`: 12 * 128}},
		"E26 more than a thousand unknown tools":    {times: 1, response: many(1200, "sell_house", page(2)), told: map[string]int{"too_many_calls": 1072, "unknown_tool": 128}},
		"E26 reads that fill each turn":             {times: 2, response: many(6, "page", page(900_000)), carried: 4, told: map[string]int{"turn_output_used": 4, "pppp": 8}},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			model := turns(row.times, row.response)
			b := harness.New(t, harness.Options{Model: &model})
			b.StartWorker(false)
			if row.workflow == "" {
				row.workflow = "ReaderWorkflow"
			}
			run := b.Start("run", row.workflow, "Read it all.")
			result := run.Result()
			if result.Outcome != onceward.OutcomeCompleted || result.Text != "done" || result.Turns != row.times+1 {
				t.Fatalf("outcome %s, %d turns (%s, %v), want completed", result.Outcome, result.Turns, result.Reason, result.Failure)
			}
			items := run.Transcript()
			if err := harness.CheckTranscript(items); err != nil {
				t.Error(err)
			}
			outputs := harness.Outputs(items)
			for text, want := range row.told {
				got := 0
				for _, output := range outputs {
					if strings.Contains(fmt.Sprintf("%q", output.Text), text) {
						got++
					}
				}
				if got != want {
					t.Errorf("%d of %d outputs say %s, want %d", got, len(outputs), text, want)
				}
			}
			reads, events, size := 0, 0, 0
			chain := run.Chain()
			for _, h := range chain {
				for _, tool := range []string{"page", "line", "count"} {
					reads += h.Activities(onceward.ReadActivity("reader", tool)) + h.Activities(onceward.ReadActivity("greedy", tool))
				}
				events, size = events+len(h.Events), size+h.Size()
				if err := h.Replay(); err != nil {
					t.Error(err)
				}
			}
			t.Logf("%d executions, %d events, %d bytes", len(chain), events, size)
			if reads != row.times*row.carried {
				t.Errorf("%d reads were carried out, want %d", reads, row.times*row.carried)
			}
		})
	}
}

// A response that no history can hold is a failed attempt, and the next resource is
// asked.
func TestResponseThatIsTooLargeIsAFailedAttempt(t *testing.T) {
	t.Parallel()
	part := func(n int) string {
		return fmt.Sprintf(`{"type":"message","id":"msg_%d","role":"assistant","status":"completed","content":[{"type":"output_text","annotations":[],"text":"%s"}]}`, n, strings.Repeat("w", 900_000))
	}
	small := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"type":"function_call","id":"fc_%d","call_id":"call_%d","name":"empty","status":"completed","arguments":"{}"}`, i, i))
		}
		return strings.Join(list, ",")
	}
	for name, output := range map[string]string{"E26 two large items": part(1) + "," + part(2), "E26 small items that are mostly index": small(6000)} {
		t.Run(name, func(t *testing.T) {
			model := routertest.Model{Rules: []routertest.Rule{{Reply: []routertest.Out{routertest.Say("done")}}}}
			b := harness.New(t, harness.Options{Model: &model, Faults: []routertest.Fault{wire(output)}})
			b.StartWorker(false)
			run := b.Start("run", "ReaderWorkflow", "Go on.")
			result := run.Result()
			attempts := b.Attempts(run.Chain())
			if result.Outcome != onceward.OutcomeCompleted || len(attempts) != 2 {
				t.Fatalf("outcome %s after %d attempts (%s, %v), want completed after 2", result.Outcome, len(attempts), result.Reason, result.Failure)
			}
			report := show(t, b, run)
			if class := report.Attempts[0].Class; class == nil || *class != string(onceward.ClassInvalidOutput) {
				t.Errorf("the first attempt is %+v, want invalid_output", report.Attempts[0])
			}
		})
	}
}

// gone is how soon a cancelled request has to be gone. It is 3 s with room for a
// machine that stands still; the next heartbeat would come after a minute.
const gone = 45 * time.Second

// The request of a cancelled run does not wait for a heartbeat, and the trail says
// how its attempt ended and what is reserved for it.
func TestCancelledRequestIsGoneAtAnyHeartbeat(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]routertest.Fault{
		"E32 in the middle of a stream": {Kind: routertest.FaultHangEvents, AfterEvents: 4},
		"E32 before its first byte":     {Kind: routertest.FaultHang},
		"E32 after its headers":         {Kind: routertest.FaultHangHeaders},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := harness.New(t, harness.Options{Heartbeat: 80 * time.Second, Lease: 90 * time.Second, Faults: []routertest.Fault{fault}})
			b.StartWorker(false)
			run := b.StartRefund("run", b.Order())
			if _, err := b.Pool.Await(b.Context(), func(r harness.Request) bool {
				return r.Method == "POST" && (fault.AfterEvents == 0 || r.Outcome.Events >= fault.AfterEvents)
			}); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			if err := b.Client.CancelWorkflow(b.Context(), run.ID, ""); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Pool.Await(b.Context(), func(r harness.Request) bool { return r.Outcome.Done && r.Outcome.ClientGone }); err != nil {
				t.Fatal(err)
			}
			took := time.Since(begun)
			t.Logf("the request was gone %s after the cancellation", took.Round(time.Millisecond))
			if took > gone {
				t.Errorf("the request was gone %s after the cancellation, want at most %s", took, gone)
			}
			result := run.Result()
			if result.Outcome != onceward.OutcomeCancelled || result.Use.Attempts != 1 || result.Use.Reserved != 0 || result.Use.Spent == 0 {
				t.Errorf("outcome %s, use %+v; want cancelled, and one attempt that is settled to what was reserved", result.Outcome, result.Use)
			}
			report := show(t, b, run)
			if len(report.Attempts) != 1 || report.Attempts[0].Class == nil || *report.Attempts[0].Class != string(onceward.ClassCancelled) {
				t.Errorf("show says %+v, want one attempt that is cancelled", report.Attempts)
			}
			for _, h := range run.Chain() {
				if err := h.Replay(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	t.Run("a run that is terminated in the middle of a stream", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{Heartbeat: 80 * time.Second, Lease: 90 * time.Second, Faults: []routertest.Fault{{Kind: routertest.FaultHangEvents, AfterEvents: 4}}})
		b.StartWorker(false)
		run := b.StartRefund("run", b.Order())
		if _, err := b.Pool.Await(b.Context(), func(r harness.Request) bool { return r.Outcome.Events >= 4 }); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if err := b.Client.TerminateWorkflow(b.Context(), run.ID, "", "test"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Pool.Await(b.Context(), func(r harness.Request) bool { return r.Outcome.Done && r.Outcome.ClientGone }); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > gone {
			t.Errorf("the request was gone %s after the end, want at most %s", took, gone)
		}
		report := show(t, b, run)
		if len(report.Attempts) != 1 || report.Attempts[0].Class == nil || *report.Attempts[0].Class != string(onceward.ClassCancelled) || report.Attempts[0].CostUSD == 0 {
			t.Errorf("show says %+v, want one attempt that is cancelled, at what was reserved", report.Attempts)
		}
	})
	t.Run("E32 a read", func(t *testing.T) {
		t.Parallel()
		model := calls(raw("wait", `{}`))
		b := harness.New(t, harness.Options{Heartbeat: 80 * time.Second, Lease: 90 * time.Second, Model: &model})
		w := b.StartWorker(false)
		run := b.Start("run", "ReaderWorkflow", "Wait.")
		b.Said(w, "the tool waits")
		begun := time.Now()
		if err := b.Client.CancelWorkflow(b.Context(), run.ID, ""); err != nil {
			t.Fatal(err)
		}
		b.Said(w, "the tool was told to end")
		if took := time.Since(begun); took > gone {
			t.Errorf("the tool was told to end %s after the cancellation, want at most %s", took, gone)
		}
		if result := run.Result(); result.Outcome != onceward.OutcomeCancelled {
			t.Errorf("outcome %s, want cancelled", result.Outcome)
		}
	})
}

// What a newer release has carried or opened fails the workflow task, and the run
// is there for a worker of that release. What is too old ends and says so.
func TestRunOfANewerReleaseWaitsForIt(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{})
	b.StartWorker(false)
	for name, carry := range map[string]onceward.Carry{
		"E35 a newer carry":    {Version: onceward.CarryVersion + 1},
		"E35 a newer manifest": {Version: onceward.CarryVersion, Plan: onceward.Plan{Version: onceward.ManifestVersion + 1}},
	} {
		run := b.StartWith(strings.ReplaceAll(name, " ", "-"), "RefundWorkflow", onceward.Start{Carry: &carry})
		failed := b.Event(run.ID, "a failed workflow task", func(e *historypb.HistoryEvent) bool { return e.GetWorkflowTaskFailedEventAttributes() != nil })
		if said := failed.GetWorkflowTaskFailedEventAttributes().GetFailure().GetMessage(); !strings.Contains(said, "waits for a worker of that release") {
			t.Errorf("%s: the task failed with %q", name, said)
		}
		described, err := b.Client.DescribeWorkflow(b.Context(), run.ID, "")
		if err != nil || described.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			t.Errorf("%s: the run is closed (%v)", name, err)
		}
	}
}
