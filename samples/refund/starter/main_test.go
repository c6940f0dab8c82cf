package main

import (
	"bytes"
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
