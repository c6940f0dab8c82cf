package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestLinesAnswersEachLineInOrder(t *testing.T) {
	in := strings.Join([]string{
		`{"id":"a","transport":"http","status":429,"headers":{"retry-after":"2"},"body":"{\"error\":{\"message\":\"slow\"}}"}`,
		``,
		`{"id":"b","transport":`,
		`{"id":7,"transport":"connection","status":null,"headers":{},"body":"EOF"}`,
		`{"id":"c","status":402,"body":{"error":{"message":"You requested up to 100 tokens, but can only afford 20.","code":402}}}`,
		`{"id":"d","transport":"pigeon"}`,
		`{"id":"e","status":200,"headers":{"x":["1","2"],"y":3},"body":null}`,
		`null`, ` [] `, `"text"`, `7`,
	}, "\n")
	var out bytes.Buffer
	if err := classifyLines(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	for dec := json.NewDecoder(&out); dec.More(); {
		var m map[string]any
		if err := dec.Decode(&m); err != nil {
			t.Fatal(err)
		}
		got = append(got, m)
	}
	if len(got) != 10 {
		t.Fatalf("%d lines: %v", len(got), got)
	}
	for i, want := range []map[string]any{
		{"id": "a", "class": "rate_limited", "state_effect": "throttle_until", "fallback_eligible": true, "retryable": true, "retry_after_ms": 2000.0, "scope": "resource", "repair": nil},
		{"id": nil},
		{"id": 7.0, "class": "network", "retry_after_ms": nil},
		{"id": "c", "class": "billing", "state_effect": "none", "repair": "lower_max_output_tokens"},
		{"id": "d"},
		{"id": "e", "class": "empty_output", "state_effect": "breaker_failure"},
		{"id": nil, "class": nil, "line": 8.0}, {"id": nil, "class": nil, "line": 9.0}, {"id": nil, "class": nil}, {"id": nil, "class": nil},
	} {
		for k, v := range want {
			if got[i][k] != v {
				t.Errorf("line %d: %s is %v, want %v", i, k, got[i][k], v)
			}
		}
		if _, broken := got[i]["error"]; broken != (i == 1 || i == 4 || i >= 6) {
			t.Errorf("line %d: %v", i, got[i])
		}
	}
}

func TestLinesGoesOnAfterALineThatIsTooLong(t *testing.T) {
	in := `{"id":"long","body":"` + strings.Repeat("x", maxLine) + "\"}\n" + `{"id":"next","status":401}`
	var out bytes.Buffer
	if err := classifyLines(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"error"`) || !strings.Contains(lines[1], `"authentication"`) {
		t.Errorf("got %v", lines)
	}
}
