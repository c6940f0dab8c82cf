package router

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func TestEndsOfStreamsAreKnownByWhatTheySay(t *testing.T) {
	const (
		bad   = onceward.ClassInvalidOutput
		lost  = onceward.ClassNetwork
		cut   = onceward.ClassIncompleteOutput
		raise = onceward.RepairRaiseOutput
	)
	named := func(event string) string {
		return strings.Replace(ends(whole(callItem, used10)), "response.completed", event, 1)
	}
	states := func(status, more string) string {
		return `{"type":"response.done","response":{"id":"resp_1","status":` + status + more + `,"output":[` + textItem + `],` + used10 + `}}`
	}
	hollow := `{"type":"message","id":"msg_1","role":"assistant","status":"in_progress","content":[]}`
	created := `{"type":"response.created","response":{"id":"resp_1","status":"in_progress"}}`
	call := []string{created, added(0, hollow), added(1, callItem), done(1, callItem)}
	after := func(events ...string) []string { return append(append([]string{}, call...), events...) }
	for name, c := range map[string]answerCase{
		"E07 response.done that says completed":                 {events: []string{done(0, callItem), named("response.done")}, calls: 1},
		"E07 response.done that says incomplete":                {events: []string{states(`"incomplete"`, `,"incomplete_details":{"reason":"max_output_tokens"}`)}, class: cut, repair: raise},
		"E07 response.done that says failed":                    {events: []string{states(`"failed"`, `,"error":{"code":"server_error","message":"boom"}`)}, class: onceward.ClassServerError, tells: "boom"},
		"E07 response.done that says a word nobody knows":       {events: []string{states(`"over"`, "")}, class: bad},
		"E07 response.done without a status":                    {events: []string{done(0, callItem), states("null", "")}, class: lost, tells: "without a status"},
		"E07 response.done without a response":                  {events: []string{done(0, callItem), `{"type":"response.done"}`}, class: lost, tells: "without a status"},
		"E07 response.done with an error beside":                {events: []string{strings.Replace(named("response.done"), "{", `{"error":{"code":"server_error","message":"boom"},`, 1)}, class: onceward.ClassServerError},
		"E07 response.completed in capitals":                    {events: []string{done(0, callItem), named("Response.Completed")}, calls: 1},
		"E07 response.failed in capitals":                       {events: []string{`{"type":"RESPONSE.FAILED","response":{"status":"failed","error":{"code":"server_error","message":"boom"}}}`}, class: onceward.ClassServerError},
		"E07 response.canceled as others spell it":              {events: []string{`{"type":"response.canceled","response":{"status":"canceled","output":[` + callItem + `]}}`, ends(whole(callItem, used10))}, class: onceward.ClassServerError},
		"E07 response.error":                                    {events: []string{done(0, callItem), `{"type":"response.error","error":{"code":"server_error","message":"boom"}}`, ends(whole(callItem, used10))}, class: onceward.ClassServerError},
		"E07 an end nobody knows":                               {events: []string{done(0, callItem), named("response.over")}, class: lost, tells: "without a terminal one"},
		"E16 an empty message that the end does not have":       {events: after(ends(whole(callItem, used10))), calls: 1},
		"E16 an empty message that the end has":                 {events: after(ends(whole(strings.Replace(hollow, `"in_progress"`, `"completed"`, 1)+","+callItem, used10))), calls: 1},
		"E16 an empty message that the end has unfinished":      {events: after(ends(whole(hollow+","+callItem, used10))), class: bad},
		"E16 an empty message with an empty part":               {events: after(`{"type":"response.output_text.delta","output_index":0,"item_id":"msg_1","delta":""}`, ends(whole(callItem, used10))), calls: 1},
		"E16 an empty message, and nobody counted":              {events: after(ends(whole(callItem, `"usage":null`))), calls: 1},
		"E16 an empty message whose place the call has":         {events: []string{created, added(0, hollow), added(0, callItem), done(0, callItem), ends(whole(callItem, used10))}, calls: 1},
		"E16 an empty message and an end without output":        {events: after(ends(whole("", used10))), class: lost},
		"E16 a message that was begun and is not in the end":    {events: after(said(0, "half"), ends(whole(callItem, used10))), class: lost},
		"E16 a call that was announced and is not in the end":   {events: after(added(2, strings.Replace(callItem, "call_1", "call_2", 1)), ends(whole(callItem, used10))), class: lost},
		"E16 a message that was announced with its text, alone": {events: []string{created, added(0, textItem), added(1, callItem), done(1, callItem), ends(whole(callItem, used10))}, class: lost},
	} {
		t.Run(name, c.run)
	}
}

func TestFinishReasonsMeanWhatTheyUnmistakablySay(t *testing.T) {
	text, call := `{"role":"assistant","content":"hi"}`, `{"role":"assistant","content":"hi","tool_calls":[{"id":"t1","function":{"name":"f","arguments":"{}"}}]}`
	stream := func(message, reason string) []string {
		return []string{`{"id":"c1","choices":[{"index":0,"delta":` + message + `}]}`, `{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}],"usage":` + chatUsed + `}`, "[DONE]"}
	}
	for _, row := range []struct {
		reason string
		class  onceward.Class // "": whole
		names  bool           // it names calls
	}{
		{"stop", "", false}, {"STOP", "", false}, {"Stop", "", false}, {" stop ", "", false}, {"eos", "", false}, {"eos_token", "", false},
		{"EOS_TOKEN", "", false}, {"end_turn", "", false}, {"endTurn", "", false}, {"COMPLETE", "", false}, {"stop-sequence", "", false},
		{"FinishReason.STOP", "", false}, {"tool_calls", "", true}, {"TOOL_CALLS", "", true}, {"tool-calls", "", true}, {"tool_use", "", true},
		{"toolUse", "", true}, {"TOOL_CALL", "", true},
		{"length ", onceward.ClassIncompleteOutput, false}, {"LENGTH", onceward.ClassIncompleteOutput, false}, {"max_tokens", onceward.ClassIncompleteOutput, false},
		{"MAX_TOKENS", onceward.ClassIncompleteOutput, false}, {"maxTokens", onceward.ClassIncompleteOutput, false}, {"FinishReason.MAX_TOKENS", onceward.ClassIncompleteOutput, false},
		{"max-length", onceward.ClassIncompleteOutput, false}, {"Content-Filter", onceward.ClassContentFiltered, false}, {"CONTENT_FILTER", onceward.ClassContentFiltered, false},
		{"SAFETY", onceward.ClassContentFiltered, false}, {"MALFORMED_FUNCTION_CALL", onceward.ClassInvalidOutput, false}, {"ERROR", onceward.ClassServerError, false},
		{"abort", onceward.ClassInvalidOutput, false}, {"bored", onceward.ClassInvalidOutput, false}, {"stop_or_cut", onceward.ClassInvalidOutput, false}, {"unknown", onceward.ClassInvalidOutput, false},
	} {
		for name, message := range map[string]string{"text": text, "call": call} {
			c := answerCase{chat: true, class: row.class}
			if row.class == onceward.ClassIncompleteOutput {
				c.repair = onceward.RepairRaiseOutput
			}
			switch {
			case row.class == "" && name == "text" && row.names:
				c.class, c.tells = onceward.ClassInvalidOutput, "finish reason"
			case row.class == "":
				c.text, c.calls = "hi", strings.Count(message, "t1")
			}
			c.body = chatEnd(message, row.reason, chatUsed)
			t.Run("E06 "+row.reason+" after a "+name, c.run)
			c.body, c.events = "", stream(message, row.reason)
			t.Run("E06 "+row.reason+" after a "+name+", streamed", c.run)
		}
	}
}

func TestZerosThatAHostSendsAllAlongAreItsWay(t *testing.T) {
	piece := func(delta, finish, usage string) string {
		return `{"id":"c1","model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}],"usage":` + usage + `}`
	}
	for name, c := range map[string]answerCase{
		"E07 zeros before the end and at it":           {events: []string{piece(`{"content":"hi"}`, "null", chatUsedNone), piece(`{}`, `"stop"`, chatUsedNone), "[DONE]"}, text: "hi", tells: "drift: usage: all counts are 0"},
		"E07 zeros before the end and none at it":      {events: []string{piece(`{"content":"hi"}`, "null", chatUsedNone), piece(`{}`, `"stop"`, "null"), "[DONE]"}, text: "hi", tells: "drift: usage"},
		"E07 zeros before a count":                     {events: []string{piece(`{"content":"hi"}`, "null", chatUsedNone), piece(`{}`, `"stop"`, chatUsed), "[DONE]"}, text: "hi"},
		"E07 zeros after a count":                      {events: []string{piece(`{"content":"hi"}`, `"stop"`, chatUsed), piece(`{}`, "null", chatUsedNone), "[DONE]"}, text: "hi"},
		"E07 zeros that only the end says":             {events: []string{piece(`{"content":"hi"}`, "null", "null"), piece(`{}`, `"stop"`, chatUsedNone), "[DONE]"}, class: onceward.ClassNetwork, tells: "made up"},
		"E07 counts of -1, which nobody makes up":      {events: []string{piece(`{"content":"hi"}`, "null", "null"), piece(`{}`, `"stop"`, `{"prompt_tokens":-1,"completion_tokens":-1,"total_tokens":-1}`), "[DONE]"}, text: "hi", tells: "drift: usage"},
		"E07 zeros and nothing said is no answer":      {events: []string{piece(`{"content":""}`, "null", chatUsedNone), piece(`{}`, `"stop"`, chatUsedNone), "[DONE]"}, class: onceward.ClassEmptyOutput},
		"E07 no usage from a host of no usage":         {events: []string{piece(`{"content":"hi"}`, "null", "null"), piece(`{}`, `"stop"`, "null"), "[DONE]"}, text: "hi"},
		"E07 an empty object where usage would be":     {events: []string{piece(`{"content":"hi"}`, "null", "{}"), piece(`{}`, `"stop"`, "{}"), "[DONE]"}, text: "hi"},
		"E07 a call, and zeros that only the end says": {events: []string{piece(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`, "null", "null"), piece(`{}`, `"tool_calls"`, chatUsedNone), "[DONE]"}, class: onceward.ClassNetwork},
	} {
		c.chat = true
		t.Run(name, c.run)
	}
}
