package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"gopkg.in/yaml.v3"
)

// printings returns every usual way in which a value could reach a log.
func printings(t *testing.T, v any) []string {
	t.Helper()
	asJSON, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var text, lines bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("m", "v", v)
	slog.New(slog.NewJSONHandler(&lines, nil)).Info("m", "v", v)
	out := []string{string(asJSON), string(asYAML), text.String(), lines.String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		out = append(out, fmt.Sprintf(verb, v), fmt.Sprintf(verb, &v))
	}
	return out
}

func TestSecretIsRedactedOnEveryWayOut(t *testing.T) {
	s := NewSecret("hunter2")
	type wrapper struct{ inner Secret }
	for _, printed := range append(printings(t, s), printings(t, wrapper{s})...) {
		if bytes.Contains([]byte(printed), []byte("hunter2")) || bytes.Contains([]byte(printed), []byte("68756e74657232")) {
			t.Errorf("printed: %s", printed)
		}
	}
	if s.Reveal() != "hunter2" || s.Empty() || !(Secret{}).Empty() || (Secret{}).Reveal() != "" {
		t.Error("Reveal or Empty is wrong")
	}
}
