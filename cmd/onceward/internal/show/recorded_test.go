package show

import (
	"encoding/json"
	"os"
	"slices"
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

// cut reads an action cut off after each event, which is what show sees while it
// goes on, or while no worker takes it on. It returns the states in order.
func cut(t *testing.T, x Execution) (changes []onceward.ActionState, at []onceward.ActionReceipt) {
	t.Helper()
	for n := range x.Events {
		r, err := BuildAction(Execution{RunID: x.RunID, Events: x.Events[:n+1]})
		if err != nil {
			t.Fatalf("after %d events: %v", n+1, err)
		}
		if len(changes) == 0 || changes[len(changes)-1] != r.Status {
			changes = append(changes, r.Status)
		}
		at = append(at, r)
	}
	return changes, at
}

// Only an action that has told its run so awaits an operator: not one whose timer
// has fired, whose worker was killed or that has a workflow task to come.
func TestRecordedActionCutAnywhereIsInTheStateItWasIn(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]onceward.ActionState{
		"refund-story.action.json": {onceward.StateProposed, onceward.StateCommitting, onceward.StateReconciling, onceward.StateCommitted},
		"resolved.action.json":     {onceward.StateProposed, onceward.StateCommitting, onceward.StateReconciling, onceward.StateAwaitingOperator, onceward.StateCommitted},
		"reset.action.json":        {onceward.StateProposed, onceward.StateCommitting, onceward.StateAwaitingOperator, onceward.StateCommitted},
	} {
		got, at := cut(t, recorded(t, name))
		if !slices.Equal(got, want) {
			t.Errorf("%s: the states were %v, want %v", name, got, want)
		}
		for n, r := range at {
			if r.Status == onceward.StateAwaitingOperator && r.Version == 0 {
				t.Errorf("%s: after %d events it awaits an operator and has no version to decide", name, n+1)
			}
		}
	}
}
