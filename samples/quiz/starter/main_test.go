package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// A configuration that is not there shows how far a command line came.
func TestTopicsThatSayNothingAreRefusedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	for topic, want := range map[string]string{
		"":                              "--topic is empty",
		" \t":                           "--topic is empty",
		"rivers\nand lakes":             "--topic",
		"rivers\xff":                    "--topic",
		strings.Repeat("r", maxTopic+1): "--topic has 201 bytes",
		strings.Repeat("r", maxTopic):   "nowhere.yaml",
		"Flüsse und Seen":               "nowhere.yaml",
	} {
		cmd := command(&bytes.Buffer{})
		cmd.SetArgs([]string{"--config", "nowhere.yaml", "--topic", topic})
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", topic, err, want)
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
