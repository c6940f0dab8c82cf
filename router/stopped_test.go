package router

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// TestUpstreamsOwnWordsAreRead has gateways that say stop or completed and pass on,
// under another name, that their upstream said otherwise.
func TestUpstreamsOwnWordsAreRead(t *testing.T) {
	const bad, lost, filtered = onceward.ClassInvalidOutput, onceward.ClassNetwork, onceward.ClassContentFiltered
	text := `{"role":"assistant","content":"half a sen"}`
	call := `{"role":"assistant","tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	beside := func(message, member string) string {
		return strings.Replace(chatEnd(message, "stop", chatUsed), `"finish_reason"`, member+`,"finish_reason"`, 1)
	}
	above := func(message, member string) string {
		return strings.Replace(chatEnd(message, "stop", chatUsed), `"model"`, member+`,"model"`, 1)
	}
	piece := func(delta, finish, usage string) string {
		return `{"id":"c1","model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}],"usage":` + usage + `}`
	}
	parts := func(part string) string {
		return chatEnd(`{"role":"assistant","content":[{"type":"text","text":"half a sen"},`+part+`]}`, "stop", chatUsed)
	}
	inside := func(member string) string { return strings.Replace(textItem, `"role"`, member+`,"role"`, 1) }
	half := `{"prompt_tokens":50,"completion_tokens":0,"total_tokens":50}`
	blocked := `"content_filters":[{"blocked":true,"source_type":"completion","content_filter_results":{"hate":{"filtered":true}}}]`
	cases := map[string]answerCase{
		"E09 an error of the choice":                      {chat: true, body: beside(text, `"error":{"code":502,"message":"upstream died"}`), class: onceward.ClassServerError},
		"E09 an error of the choice beside a call":        {chat: true, body: beside(call, `"error":{"code":502,"message":"upstream died"}`), class: onceward.ClassServerError},
		"E09 details of the finish":                       {chat: true, body: beside(text, `"finish_details":{"type":"max_tokens"}`), class: bad, tells: "max_tokens"},
		"E09 good details of the finish":                  {chat: true, body: beside(text, `"finish_details":{"type":"stop"}`), text: "half a sen"},
		"E09 a stop token of vLLM":                        {chat: true, body: beside(text, `"stop_reason":128009`), text: "half a sen"},
		"E09 truncated":                                   {chat: true, body: above(text, `"truncated":true`), class: bad},
		"E09 not truncated":                               {chat: true, body: above(text, `"truncated":false`), text: "half a sen"},
		"E09 a reason in a gateway's own members":         {chat: true, body: beside(call, `"provider_specific_fields":{"native_finish_reason":"MAX_TOKENS"}`), class: bad},
		"E09 incomplete_details of chat completions":      {chat: true, body: above(call, `"incomplete_details":{"reason":"max_output_tokens"}`), class: bad},
		"E09 the response's stop reason":                  {body: whole(textItem, used10, `"stop_reason":"max_tokens"`), class: bad},
		"E09 the response's finish reason":                {events: []string{ends(whole(callItem, used10, `"finish_reason":"length"`))}, class: bad},
		"E09 a call's finish reason":                      {body: whole(strings.Replace(callItem, `"name"`, `"finish_reason":"length","name"`, 1), used10), class: bad},
		"E09 a message's finish reason":                   {body: whole(inside(`"finish_reason":"length"`), used10), class: bad},
		"E09 a message's good finish reason":              {body: whole(inside(`"finish_reason":"stop","stop_reason":null`), used10), text: "half a sen"},
		"E09 a filter that blocked a text":                {body: whole(textItem, used10, blocked), class: filtered},
		"E09 a filter that blocked a call":                {events: []string{ends(whole(callItem, used10, blocked))}, class: filtered},
		"E09 a filter that blocked a cut text":            {body: whole(textItem, used1000, blocked), cut: true, class: filtered},
		"E09 a filter that found something in the prompt": {body: whole(textItem, used10, strings.Replace(strings.Replace(blocked, "true", "false", 1), `"completion"`, `"prompt"`, 1)), text: "half a sen"},
		"E09 a filter of a choice":                        {chat: true, body: beside(call, `"content_filter_results":{"hate":{"filtered":true,"severity":"high"}}`), class: filtered},
		"E09 a filter of a choice that took nothing":      {chat: true, body: beside(text, `"content_filter_results":{"hate":{"filtered":false},"jailbreak":{"filtered":false,"detected":true}}`), text: "half a sen"},
		"E09 a filter that comes after the text":          {chat: true, events: []string{piece(`{"content":"hi"}`, "null", "null"), `{"choices":[{"index":0,"content_filter_results":{"hate":{"filtered":true}},"finish_reason":null}]}`, piece(`{}`, `"stop"`, chatUsed), "[DONE]"}, class: filtered},
		"E09 an item that reports an error":               {body: whole(textItem+`,{"type":"error","error":{"message":"boom"}}`, used10), class: bad},
		"E09 a part that reports an error":                {body: whole(strings.Replace(textItem, `}]}`, `},{"type":"error","message":"boom"}]}`, 1), used10), class: bad},

		"E09 a message in another's name":         {body: whole(strings.Replace(textItem, "assistant", "system", 1), used10), class: bad, tells: "role"},
		"E09 the same, streamed":                  {events: []string{done(0, strings.Replace(textItem, "assistant", "User", 1)), ends(whole("", used10))}, class: bad, tells: "role"},
		"E15 another word for the model":          {body: whole(strings.Replace(textItem, "assistant", "model", 1), used10), text: "half a sen"},
		"E10 a part in capitals":                  {chat: true, body: parts(`{"type":"TOOL_USE","id":"x","name":"f","input":{}}`), class: bad, tells: "tool_use"},
		"E10 a part without a type":               {chat: true, body: parts(`{"functionCall":{"name":"f","args":{"a":1}}}`), class: bad, tells: "functionCall"},
		"E10 a part of thinking":                  {chat: true, body: parts(`{"type":"thinking","thinking":"hm"}`), text: "half a sen"},
		"E10 a part without a type of a response": {body: whole(strings.Replace(textItem, `}]}`, `},{"functionCall":{"name":"f","args":{"a":1}}}]}`, 1), used10), class: bad},
		"E10 a call of a message, in singular":    {chat: true, body: chatEnd(`{"role":"assistant","content":"half a sen","tool_call":{"name":"f","arguments":"{}"}}`, "stop", chatUsed), class: bad},
		"E10 calls beside the message":            {chat: true, body: beside(text, `"tool_calls":[{"id":"t1","function":{"name":"f","arguments":"{}"}}]`), class: bad},
		"E10 calls of a message of a response":    {body: whole(inside(`"tool_calls":[{"id":"t1","function":{"name":"f","arguments":"{}"}}]`), used10), class: bad},
		"E10 no calls of a message of a response": {body: whole(inside(`"tool_calls":[],"function_call":null`), used10), text: "half a sen"},
		"E10 a call left in a chat's text":        {chat: true, body: chatEnd(`{"role":"assistant","content":"\n\n<tool_call>\n{\"name\":\"f\",\"arguments\":{}}\n</tool_call>"}`, "stop", chatUsed), class: bad},
		"E10 a call left in a response's text":    {body: whole(strings.Replace(textItem, "half a sen", `Let me see.\n[TOOL_CALLS] [{\"name\": \"f\"}]`, 1), used10), class: bad},
		"E10 a text that speaks of such a mark":   {body: whole(strings.Replace(textItem, "half a sen", `It begins with <tool_call>.`, 1), used10), text: "It begins with <tool_call>."},
		"E10 tools that a host ran":               {chat: true, body: chatEnd(`{"role":"assistant","content":"half a sen","executed_tools":[{"type":"search"}]}`, "stop", chatUsed), text: "half a sen"},

		"E06 a count that only the total knows":      {body: whole(textItem, `"usage":{"input_tokens":50,"total_tokens":1050}`), class: onceward.ClassIncompleteOutput, repair: onceward.RepairRaiseOutput},
		"E06 the same of chat completions":           {chat: true, body: chatEnd(text, "stop", `{"prompt_tokens":50,"completion_tokens":0,"total_tokens":1050}`), class: onceward.ClassIncompleteOutput, repair: onceward.RepairRaiseOutput},
		"E07 an end that counts the input alone":     {chat: true, events: []string{piece(`{"content":"hi"}`, "null", "null"), piece(`{}`, `"stop"`, half), "[DONE]"}, class: lost, tells: "made up"},
		"E07 the same with a call":                   {chat: true, events: []string{piece(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`, "null", "null"), piece(`{}`, `"tool_calls"`, half), "[DONE]"}, class: lost},
		"E07 the same of a response":                 {events: []string{added(0, `{"type":"message","id":"msg_1","content":[]}`), said(0, "half a sen"), done(0, textItem), ends(whole(textItem, `"usage":{"input_tokens":50,"output_tokens":0,"total_tokens":50}`))}, class: lost},
		"E07 a host that counts the input alone":     {chat: true, events: []string{piece(`{"content":"hi"}`, "null", half), piece(`{}`, `"stop"`, half), "[DONE]"}, text: "hi", tells: "half a count"},
		"E07 a count of reasoning alone is a count":  {chat: true, events: []string{piece(`{"content":"hi"}`, "null", "null"), piece(`{}`, `"stop"`, `{"prompt_tokens":50,"completion_tokens":0,"completion_tokens_details":{"reasoning_tokens":7}}`), "[DONE]"}, text: "hi"},
		"E07 a count of the input before a true one": {chat: true, events: []string{piece(`{"content":"hi"}`, "null", half), piece(`{}`, `"stop"`, chatUsed), "[DONE]"}, text: "hi"},
	}
	for _, reason := range []string{
		"MAX_TOKENS", "MAX_LENGTH", "model_length", "model_context_window_exceeded", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS",
		"RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "IMAGE_SAFETY", "LANGUAGE", "OTHER", "guardrail_intervened", "refusal", "network_error", "cancelled", "abort",
		"FinishReason.MALFORMED_FUNCTION_CALL", "insufficient_system_resource",
	} {
		cases["E09 native text "+reason] = answerCase{chat: true, body: beside(text, `"native_finish_reason":"`+reason+`"`), class: bad}
		cases["E09 native call "+reason] = answerCase{chat: true, body: beside(call, `"native_finish_reason":"`+reason+`"`), class: bad}
		cases["E09 stop reason "+reason] = answerCase{chat: true, body: above(call, `"stop_reason":"`+reason+`"`), class: bad}
	}
	for _, reason := range []string{"STOP", "end_turn", "stop_sequence", "eos_token", "tool_use", "COMPLETE", "FINISH_REASON_STOP", "done"} {
		cases["E09 native good "+reason] = answerCase{chat: true, body: beside(text, `"native_finish_reason":"`+reason+`"`), text: "half a sen"}
	}
	for _, status := range []string{"error", "FAILURE", "timeout", "partial", "truncated", "aborted", "Incomplete ", "queued", "in_progress"} {
		cases["E09 status of a chat "+status] = answerCase{chat: true, body: above(text, `"status":"`+status+`"`), class: bad}
	}
	for _, status := range []string{`"ok"`, `"success"`, `200`} {
		cases["E09 other status of a chat "+status] = answerCase{chat: true, body: above(text, `"status":`+status), text: "half a sen"}
	}
	for name, c := range cases {
		t.Run(name, c.run)
	}
}

// TestCallsUnderOtherIDsAndInOtherWords has a server that streams a call as its
// model wrote it, and ends with what its parser made of it under ids of its own.
func TestCallsUnderOtherIDsAndInOtherWords(t *testing.T) {
	first := `{"type":"function_call","id":"fc_a","call_id":"call_a","name":"f","arguments":"{\"b\":\"\\u00fc\",\"a\":1}"}`
	same := `{"type":"function_call","id":"fc_b","call_id":"call_b","name":"f","arguments":"{\"a\": 1, \"b\": \"ü\"}"}`
	large := func(id, digit string) string {
		return `{"type":"function_call","id":"fc_` + id + `","call_id":"call_` + id + `","name":"f","arguments":"{\"n\":1234567890123456789` + digit + `}"}`
	}
	thought := func(id string) string { return `{"type":"reasoning","id":"rs_` + id + `","summary":[]}` }
	for name, c := range map[string]answerCase{
		"E16 a call written anew":                          {events: []string{done(0, first), ends(whole(same, used10))}, calls: 1},
		"E16 behind reasoning under another id":            {events: []string{done(0, thought("a")), done(1, first), ends(whole(thought("b")+","+same, used10))}, calls: 1},
		"E16 arguments that ended otherwise in the stream": {events: []string{added(0, strings.Replace(callItem, `{\"a\":1}`, "", 1)), `{"type":"response.function_call_arguments.done","output_index":0,"item_id":"fc_1","arguments":"{\"a\":2}"}`, ends(whole(callItem, used10))}, class: onceward.ClassInvalidOutput},
		"E16 arguments that ended in other words":          {events: []string{added(0, strings.Replace(callItem, `{\"a\":1}`, "", 1)), `{"type":"response.function_call_arguments.done","output_index":0,"item_id":"fc_1","arguments":" {\"a\": 1}"}`, ends(whole(callItem, used10))}, calls: 1},
		"E16 two calls written anew":                       {events: []string{done(0, first), done(1, large("c", "1")), ends(whole(same+","+large("d", "1"), used10))}, calls: 2},
		"E16 numbers that differ in their last digit":      {events: []string{done(0, large("c", "1")), ends(whole(large("d", "2"), used10))}, calls: 2},
	} {
		t.Run(name, c.run)
	}
}

// TestRolesOfTheModelAreFitted has a host that calls the model by another word. The
// next request says it as every host takes it.
func TestRolesOfTheModelAreFitted(t *testing.T) {
	for _, role := range []string{`"model"`, `"Assistant"`, "null"} {
		s := serve(t, reply(200, "application/json", whole(strings.Replace(textItem, `"assistant"`, role, 1), used10)))
		next := serve(t, stream(evEnd))
		r := pool(t, Config{}, resource("a", s.URL), resource("b", next.URL), chatResource("c", next.URL))
		first := mustCall(t, r, routed(t, r, "a"))
		for resource, list := range map[string]string{"b": "input", "c": "messages"} {
			req := routed(t, r, resource)
			req.Items = append([]onceward.Item{text(t, "user", "q")}, first.Items...)
			_, _ = r.Call(t.Context(), req) // the answer is of one of the two APIs
			sent := next.sent(t)[list].([]any)
			if got := sent[len(sent)-1].(map[string]any)["role"]; got != "assistant" {
				t.Errorf("E15 role %s went to %s as %v", role, resource, got)
			}
		}
	}
}

func TestTextThatIsTrimmedAtTheEndIsThereOnce(t *testing.T) {
	streamed := strings.Replace(textItem, "half a sen", `\n\nhalf a sen `, 1)
	s := serve(t, stream(done(0, streamed), ends(whole(strings.Replace(textItem, "msg_1", "msg_2", 1), used10))))
	r := pool(t, Config{}, resource("a", s.URL))
	if got := mustCall(t, r, routed(t, r, "a")); len(got.Items) != 1 || got.Text != "half a sen" {
		t.Errorf("E16 %d items, text %q", len(got.Items), got.Text)
	}
}
