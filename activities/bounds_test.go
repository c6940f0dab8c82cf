package activities

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/onceward/onceward"
)

func TestCallsAreBoundUpToTheLimit(t *testing.T) {
	wire := make([]onceward.WireCall, 5)
	for i := range wire {
		wire[i] = onceward.WireCall{Index: i + 1, CallID: fmt.Sprintf("call_%d", i), Name: []string{"look", "nothing"}[i%2], Arguments: `{"order":"o"}`}
	}
	for limit, bound := range map[int]int{0: 5, 2: 2, 5: 5, 9: 5} {
		calls := bindCalls(shopAgent(t), onceward.Caller{}, wire, nil, limit)
		if len(calls) != len(wire) {
			t.Fatalf("E26 limit %d: %d calls of %d", limit, len(calls), len(wire))
		}
		for i, call := range calls {
			if call.CallID != wire[i].CallID || call.Index != wire[i].Index {
				t.Errorf("E26 limit %d: call %d is %+v", limit, i, call)
			}
			if got := call.Output != nil || call.Kind != ""; got != (i < bound) {
				t.Errorf("E26 limit %d: call %d is bound or answered: %v", limit, i, got)
			}
		}
	}
}

// The answer to a custom call is of a type of its own, and hosts pair it by that.
func TestCustomCallBeyondTheLimitHasItsKindOfAnswer(t *testing.T) {
	wire := []onceward.WireCall{{Index: 1, CallID: "call_1", Name: "look", Arguments: `{"order":"o"}`}, {Index: 2, CallID: "call_2", Name: "patch", Custom: true}}
	call := bindCalls(shopAgent(t), onceward.Caller{}, wire, nil, 1)[1]
	if call.Output == nil || call.Output.Type != "custom_tool_call_output" || call.Output.CallID != "call_2" || !strings.Contains(string(call.Output.Raw), codeTooManyCalls) {
		t.Errorf("the call is %+v, want it answered as a custom call", call)
	}
}

// What a read returns is bounded as the transcript holds it, and the answer names
// both sizes.
func TestOutputOfAReadIsBounded(t *testing.T) {
	object := func(quotes int) string { return `{"a":"` + strings.Repeat(`\"`, quotes) + `"}` }
	for name, c := range map[string]struct {
		out   string
		limit int
		says  string
	}{
		"E26 a text that fits":                              {`"` + strings.Repeat("x", 900) + `"`, 1000, ""},
		"E26 a text beyond the bound":                       {`"` + strings.Repeat("x", 1100) + `"`, 1000, "the tool returned 1102 bytes, at most 1000 are allowed"},
		"E26 JSON that grows when it is put into a string":  {object(300), 1000, "at most 1000 are allowed"},
		"E26 the same within a larger bound":                {object(300), 2000, ""},
		"E26 a manifest that names no bound: 1 MB":          {`"` + strings.Repeat("x", 900_000) + `"`, 0, ""},
		"E26 beyond the bound that no manifest names: 1 MB": {`"` + strings.Repeat("x", 1100_000) + `"`, 0, "at most 1048576 are allowed"},
	} {
		item := outputItem("call_1", json.RawMessage(c.out), c.limit)
		refused := strings.Contains(string(item.Raw), "output_too_large")
		if refused != (c.says != "") || !strings.Contains(string(item.Raw), c.says) {
			t.Errorf("%s: %.200s, want %q", name, item.Raw, c.says)
		}
		if limit := c.limit; limit > 0 && item.Encoded() > limit+500 {
			t.Errorf("%s: an item that takes %d bytes of %d", name, item.Encoded(), limit)
		}
	}
}

// A worker of the release before leaves what a newer one opened to that: an attempt
// gives its reservation back, and an action is asked for again.
func TestNewerManifestIsLeftToANewerWorker(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	raw, err := json.Marshal(onceward.Manifest{Type: onceward.ItemManifest, Plan: onceward.Plan{Version: onceward.ManifestVersion + 1, Agent: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := onceward.NewItem(raw, "")
	if err != nil {
		t.Fatal(err)
	}
	a := &Activities{client: &asked{items: []onceward.Item{manifest}}, agents: map[string]*Agent{"a": shopAgent(t)}, cache: newTranscripts(1 << 20)}
	env.RegisterActivity(a.CallModel)
	env.RegisterActivity(a.Act)
	_, err = env.ExecuteActivity(a.CallModel, onceward.CallInput{
		Agent: "a", RunKey: "k", RunID: "default-test-run-id", Length: 1, Digest: onceward.ChainDigest("", manifest), Manifest: manifest.Digest,
	})
	var application *temporal.ApplicationError
	var f onceward.Failure
	if !errors.As(err, &application) || application.Details(&f) != nil || !f.NotSent || !strings.Contains(f.Message, "version 4") {
		t.Errorf("E35 %v (%+v), want not_sent about version 3", err, f)
	}
	if _, err := env.ExecuteActivity(a.Act, onceward.ActInput{ActionID: "x/1", Version: onceward.ManifestVersion + 1}); err == nil || !strings.Contains(err.Error(), "version 4") {
		t.Errorf("E35 %v, want an error about version 3 that Temporal retries", err)
	}
}

// What opens a run has to fit a history twice over its first task.
func TestOpeningIsBoundedAsItIsEncoded(t *testing.T) {
	agent := &Agent{Manifest: onceward.Manifest{Type: onceward.ItemManifest, Instructions: strings.Repeat("i", 900_000), Plan: onceward.Plan{Agent: "shop"}}}
	a := &Activities{agents: map[string]*Agent{"shop": agent}}
	if _, err := a.Open(t.Context(), onceward.OpenRequest{Agent: "shop", Request: onceward.Ask("short").Request}); err != nil {
		t.Errorf("a short request: %v", err)
	}
	long := strings.Repeat("<", 150_000) // six bytes each
	if _, err := a.Open(t.Context(), onceward.OpenRequest{Agent: "shop", Request: json.RawMessage(`"` + long + `"`)}); err == nil || !strings.Contains(err.Error(), "manifest and request take") {
		t.Errorf("E27 %v, want the request refused by its size as encoded", err)
	}
}
