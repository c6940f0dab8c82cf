package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func TestPoolIsPrintedWithReasonsAndTests(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 7, 9, 12, 0, 0, 0, time.Local)
	full := onceward.PoolHealth{
		Version:  7,
		Disabled: []onceward.Disabled{{Resource: "A", Class: onceward.ClassBilling, Reason: "no\x1b[31m credit\nleft", Since: at, NextTest: at.Add(time.Hour), Failed: 2}, {Resource: "B", Model: "m", Reason: "rotating", By: "dana", Since: at, Until: at.Add(time.Minute)}},
		Tests:    []onceward.PoolTest{{Resource: "A", At: at, Class: onceward.ClassBilling, Error: "402"}},
		Enabled:  []onceward.Enabled{{Resource: "C", At: at, By: "a passed test"}},
	}
	for name, c := range map[string]struct {
		health  onceward.PoolHealth
		running bool
		want    []string
	}{
		"nothing":  {onceward.PoolHealth{}, true, []string{"pool main · version 0 nothing is disabled"}},
		"a closed": {onceward.PoolHealth{}, false, []string{"its workflow is closed"}},
		"a full one": {full, true, []string{
			"A (all models) billing - 2026-07-09 12:00:00 - 2026-07-09 13:00:00 2 no[31m credit left",
			"B/m - dana 2026-07-09 12:00:00 2026-07-09 12:01:00 - 0 rotating",
			"A (all models) 2026-07-09 12:00:00 false billing 402", "C (all models) 2026-07-09 12:00:00 a passed test",
		}},
	} {
		var out bytes.Buffer
		if err := printPool(&out, "main", c.running, c.health, false); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
				t.Errorf("%s: no %q in\n%s", name, want, out.String())
			}
		}
		out.Reset()
		var got map[string]any
		if err := printPool(&out, "main", c.running, c.health, true); err != nil || json.Unmarshal(out.Bytes(), &got) != nil || got["disabled"] == nil || got["pool"] != "main" || got["running"] != c.running {
			t.Errorf("%s: JSON %s, %v", name, out.String(), err)
		}
	}
}
