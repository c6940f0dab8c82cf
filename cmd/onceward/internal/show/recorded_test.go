package show

import (
	"encoding/json"
	"os"
	"testing"

	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
)

// recorded reads a history that a server wrote: it shows what the SDK really
// puts into markers and failures.
func recorded(t *testing.T, name string) Execution {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := client.HistoryFromJSON(f, client.HistoryJSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return Execution{RunID: h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetOriginalExecutionRunId(), Events: h.Events}
}

// The story is that of onceward demo refund: worker killed after the payment,
// the next answer cut in the middle.
func TestRecordedStoryGivesTheReportThatWasPrinted(t *testing.T) {
	t.Parallel()
	receipt, err := BuildAction(recorded(t, "refund-story.action.json"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/refund-story.report.json")
	if err != nil {
		t.Fatal(err)
	}
	var printed Report
	if err := json.Unmarshal(want, &printed); err != nil {
		t.Fatal(err)
	}
	got, err := Build(Input{
		WorkflowID: "refund-order-1842", Status: ended, History: printed.History,
		Executions: []Execution{recorded(t, "refund-story.run.json")},
		Actions:    map[onceward.ActionID]onceward.ActionReceipt{receipt.ActionID: receipt},
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if string(text)+"\n" != string(want) {
		t.Errorf("got %s\nwant %s", text, want)
	}
}

// The same action cut off after each event is what show sees while it goes on.
func TestRecordedActionCutAnywhereIsReadable(t *testing.T) {
	t.Parallel()
	whole := recorded(t, "refund-story.action.json")
	var last onceward.ActionState
	var states []onceward.ActionState
	for n := range whole.Events {
		r, err := BuildAction(Execution{RunID: whole.RunID, Events: whole.Events[:n+1]})
		if err != nil {
			t.Fatalf("after %d events: %v", n+1, err)
		}
		if r.Status != last && r.Status != onceward.StateAwaitingOperator {
			states = append(states, r.Status)
		}
		last = r.Status
	}
	want := []onceward.ActionState{onceward.StateProposed, onceward.StateCommitting, onceward.StateReconciling, onceward.StateCommitted}
	if len(states) < len(want) || states[0] != want[0] || states[len(states)-1] != want[len(want)-1] {
		t.Errorf("the states were %v, want %v", states, want)
	}
}
