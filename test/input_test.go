package test

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/test/harness"
)

// What a model writes badly, and what tools return badly, is an answer for the
// model: the run goes on.
func TestBadCallsAreAnsweredAndTheRunCompletes(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, tool, arguments string
		code                  string // in the output's field error; "": what says decides
		says                  string
	}{
		{"a tool that nobody declared", "sell_house", `{}`, "unknown_tool", "page"},
		{"a near name of a write", "Write_Note", `{"title":"x"}`, "unknown_tool", "write_note"},
		{"the prefix functions.", "functions.page", `{"bytes":3}`, "", "ppp"},
		{"arguments of another type", "page", `{"bytes":"many"}`, "invalid_arguments", "bytes"},
		{"a missing argument", "page", `{}`, "invalid_arguments", "bytes"},
		{"an argument too many", "page", `{"bytes":1,"colour":"red"}`, "invalid_arguments", "colour"},
		{"keys that differ in case only", "page", `{"bytes":1,"Bytes":9}`, "invalid_arguments", ""},
		{"the same key twice", "write_note", `{"title":"a","title":"b"}`, "invalid_arguments", ""},
		{"an action id with a space", "write_note", `{"title":"two words"}`, "invalid_arguments", "action id"},
		{"an action id that is too long", "write_note", `{"title":"` + strings.Repeat("n", 300) + `"}`, "invalid_arguments", "bytes"},
		{"blank arguments of a tool that has none", "empty", ``, "", ""},
		{"a tool that fails each time", "broken", `{}`, "tool_failed", "the shelf is empty"},
		{"an output of 3 MB", "page", `{"bytes":3000000}`, "output_too_large", "ask for less"},
		{"an output of hundreds of KB", "page", `{"bytes":400000}`, "", strings.Repeat("p", 400000)},
		{"a write that is well formed", "write_note", `{"title":"one"}`, "", "note-3"},
	}
	for _, row := range rows { // one at a time: two calls of one response must not answer for each other
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			model := calls(raw(row.tool, row.arguments))
			b := harness.New(t, harness.Options{Model: &model})
			b.StartWorker(false)
			run := b.Start("run", "ReaderWorkflow", "Go on.")
			result := run.Result()
			if result.Outcome != onceward.OutcomeCompleted || result.Text != "done" {
				t.Fatalf("outcome %s (%s, %v), want completed", result.Outcome, result.Reason, result.Failure)
			}
			items := run.Transcript()
			if err := harness.CheckTranscript(items); err != nil {
				t.Error(err)
			}
			outputs := harness.Outputs(items)
			if len(outputs) != 1 || outputs[0].Field("error") != row.code || !strings.Contains(outputs[0].Text, row.says) {
				t.Errorf("the model was told %.300v, want error %q and %.80q in it", outputs, row.code, row.says)
			}
			if n := b.Pool.Attempts(); n != 2 {
				t.Errorf("%d requests, want 2: a bad call is no failed attempt", n)
			}
		})
	}
}

// Reads of one response run side by side; their outputs keep the model's order.
func TestCallsOfOneResponseAreAnsweredInItsOrder(t *testing.T) {
	t.Parallel()
	model := calls(raw("page", `{"bytes":2}`), raw("broken", `{}`), raw("write_note", `{"title":"both"}`), raw("page", `{"bytes":5}`), raw("nothing", `{}`))
	b := harness.New(t, harness.Options{Model: &model})
	b.StartWorker(false)
	run := b.Start("run", "ReaderWorkflow", "Go on.")
	if result := run.Result(); result.Outcome != onceward.OutcomeCompleted {
		t.Fatalf("outcome %s (%s, %v)", result.Outcome, result.Reason, result.Failure)
	}
	items := run.Transcript()
	if err := harness.CheckTranscript(items); err != nil {
		t.Error(err)
	}
	var order []string
	for _, item := range items {
		if item.Type == "function_call" || item.Type == "function_call_output" {
			order = append(order, item.CallID)
		}
	}
	for i := range len(order) / 2 {
		if order[i] != order[i+len(order)/2] {
			t.Errorf("output %d answers %s, want %s", i, order[i+len(order)/2], order[i])
		}
	}
	for i, want := range []string{"pp", "the shelf is empty", "note-4", "ppppp", "unknown_tool"} {
		if got := harness.Outputs(items)[i].Text; !strings.Contains(got, want) {
			t.Errorf("output %d is %q, want %q in it", i, got, want)
		}
	}
}

// A tool that is declared Once is gone from the requests after its commit.
func TestToolThatIsUsedOnceIsWithdrawn(t *testing.T) {
	fault{workflow: "OnceWorkflow", want: paid(), check: func(t *testing.T, b *harness.Bench, _ onceward.Result, _ []harness.History) {
		requests := b.Pool.Requests()
		if !requests[1].HasTool("create_refund") || requests[len(requests)-1].HasTool("create_refund") {
			t.Errorf("create_refund was offered %v before and %v after its commit, want true and false",
				requests[1].HasTool("create_refund"), requests[len(requests)-1].HasTool("create_refund"))
		}
	}}.run(t)
}
