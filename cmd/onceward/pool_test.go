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
	alone := func(model, endpoint, by string) onceward.PoolFinding {
		return onceward.PoolFinding{PoolReport: onceward.PoolReport{Resource: "A", Model: model, Endpoint: endpoint, Class: onceward.ClassPermission, Reason: "403", At: at, By: by}, NextTest: at.Add(time.Minute)}
	}
	mixed := onceward.PoolHealth{
		Reported: []onceward.PoolFinding{alone("m", "0123456789", "w2")}, Alone: []onceward.PoolFinding{alone("m", "0123456789", "w1")},
		Tests: []onceward.PoolTest{{Resource: "A", Model: "m", Endpoint: "0123456789", At: at, Verdict: onceward.VerdictThrottled, Class: onceward.ClassRateLimited, Error: "429", InputTokens: 21, OutputTokens: 3, By: "w3"}},
		Neutrals: []onceward.NeutralCount{
			{Resource: "A", Model: "m", Endpoint: "0123456789", Passed: 2, Failed: 1, Throttled: 4, Unclear: 3, InputTokens: 210, OutputTokens: 48, Last: at},
			{Resource: "A", Model: "m", Endpoint: "abcdefghij", Unusable: "too dear:\nit costs"}, {Resource: "B", Model: "n"},
		},
	}
	operated := onceward.PoolHealth{
		Disabled: []onceward.Disabled{{Resource: "B", Reason: "rotating", By: "dana", Since: at}, {Resource: "C", Model: "m", Reason: "odd", By: "lee", Since: at}},
		Neutrals: []onceward.NeutralCount{{Resource: "B", Model: "m", Endpoint: "0123456789"}, {Resource: "C", Model: "m", Endpoint: "0123456789"}, {Resource: "D", Model: "m"}},
	}
	for name, c := range map[string]struct {
		health  onceward.PoolHealth
		running bool
		want    []string
	}{
		"nothing":  {onceward.PoolHealth{}, true, []string{"pool main · version 0 nothing is disabled"}},
		"a closed": {onceward.PoolHealth{}, false, []string{"its workflow is closed"}},
		"a full one": {full, true, []string{
			"A (all models) disabled by a test billing 2026-07-09 12:00:00 - 2026-07-09 12:00:00 failed 2026-07-09 13:00:00 2 no[31m credit left",
			"B/m disabled by dana - 2026-07-09 12:00:00 2026-07-09 12:01:00 - - 0 rotating",
			"A (all models) 2026-07-09 12:00:00 failed billing 0/0 - 402", "C (all models) 2026-07-09 12:00:00 a passed test",
		}},
		"what is not confirmed, at one of two addresses": {mixed, true, []string{
			"nothing is disabled", "A/m @012345 reported by w2 permission 2026-07-09 12:00:00 - 2026-07-09 12:00:00 throttled 2026-07-09 12:01:00 0 403",
			"A/m @012345 alone at w1 permission", "A/m @abcdef ok - - - - - 0 -", "B/n ok",
			"A/m @012345 2026-07-09 12:00:00 throttled rate_limited 21/3 w3 429",
			"A/m @012345 10 2 1 4 3 210/48 2026-07-09 12:00:00", "B/n 0 0 0 0 0 0/0 -",
			"A/m @abcdef is only ever avoided, because neutral requests tell nothing of it: too dear: it costs",
		}},
		"what operators decided": {operated, true, []string{"B (all models) disabled by dana", "B/m disabled by dana", "C/m disabled by lee - 2026-07-09 12:00:00 - - - 0 odd B/m disabled by dana - 2026-07-09 12:00:00 - - - 0 rotating D/m ok"}},
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

func TestEnablingSaysWhatItEnabled(t *testing.T) {
	t.Parallel()
	enabled := []onceward.Enabled{{Resource: "a", Model: "m", Endpoint: "0123456789", By: "dana"}, {Resource: "a", Model: "m", Endpoint: "abcdefghij", By: "dana"}, {Resource: "b", By: "dana"}}
	answer := onceward.PoolEnabled{PoolHealth: onceward.PoolHealth{Version: 3, Enabled: enabled}, Changed: enabled}
	var out bytes.Buffer
	if err := printChanged(&out, "main", true, answer, false); err != nil || !strings.HasPrefix(out.String(), "enabled a/m @012345, a/m @abcdef, b (all models)\npool main · version 3\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
	out.Reset()
	var got struct {
		Version  int
		Disabled []any
		Changed  []onceward.Enabled
	}
	if err := printChanged(&out, "main", true, answer, true); err != nil || json.Unmarshal(out.Bytes(), &got) != nil || got.Version != 3 || got.Disabled == nil || len(got.Changed) != 3 {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestPoolTestThatDidNotPassIsAnError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		test onceward.PoolTest
		want string
	}{
		"passed":    {onceward.PoolTest{Resource: "A", Model: "m", Passed: true, Verdict: onceward.VerdictPassed}, ""},
		"failed":    {onceward.PoolTest{Resource: "A", Model: "m", Verdict: onceward.VerdictFailed, Class: onceward.ClassBilling, Error: "no\ncredit"}, "the test of A/m did not pass: failed billing: no credit"},
		"throttled": {onceward.PoolTest{Resource: "A", Model: "m", Verdict: onceward.VerdictThrottled, Class: onceward.ClassRateLimited}, "throttled rate_limited"},
		"unclear":   {onceward.PoolTest{Resource: "A", Model: "m", Verdict: onceward.VerdictUnclear, Error: "no permit"}, "unclear: no permit"},
	} {
		for _, asJSON := range []bool{false, true} {
			var out bytes.Buffer
			err := printTest(&out, c.test, asJSON)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || out.Len() == 0 || asJSON != json.Valid(out.Bytes()) {
				t.Errorf("%s: %v, want %q\n%s", name, err, c.want, out.String())
			}
		}
	}
}
