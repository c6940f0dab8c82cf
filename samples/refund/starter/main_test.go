package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// A configuration that is not there shows how far a command line came.
func TestOrdersThatCannotBeRefundedAreRefusedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("o", onceward.MaxActionID-len("refund//v1"))
	for order, want := range map[string]string{
		"":             "--order is empty",
		" ":            "--order",
		"order 1842":   "--order",
		"order-1842\n": "--order",
		"ørder-1842":   "--order",
		longest + "o":  "--order",
		longest:        "nowhere.yaml",
		"order-1842":   "nowhere.yaml",
	} {
		cmd := command(&bytes.Buffer{})
		cmd.SetArgs([]string{"--config", "nowhere.yaml", "--order", order})
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", order, err, want)
		}
	}
}

func TestAnswerOfAModelIsPrintedClean(t *testing.T) {
	t.Parallel()
	text, outcome := "paid \x1b]0;owned\x07\u202Efdp\u200B\nsecond line", onceward.OutcomeCompleted
	for name, asJSON := range map[string]bool{"E41 for people": false, "E41 as JSON": true} {
		var out bytes.Buffer
		if err := (started{WorkflowID: "run\x1b[2J", RunID: "r", Outcome: &outcome, Text: &text}).print(&out, asJSON); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); onceward.Printable(got) != got || !strings.Contains(got, "second line") {
			t.Errorf("%s: %+q", name, got)
		}
		var back started
		if asJSON && (json.Unmarshal(out.Bytes(), &back) != nil || *back.Text != text) {
			t.Errorf("%s: %s does not say the same", name, out.String())
		}
	}
}
