package main

import (
	"bytes"
	"strings"
	"testing"
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
