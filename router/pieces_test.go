package router

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// Rows are siblings of the record that they name: pieces of an item, with states of
// their own.
func TestPiecesThatAreNotWholeAreFailedAttempts(t *testing.T) {
	const (
		bad   = onceward.ClassInvalidOutput
		cut   = onceward.ClassIncompleteOutput
		raise = onceward.RepairRaiseOutput
	)
	part := func(member string) string {
		return strings.Replace(textItem, `"type":"output_text",`, `"type":"output_text",`+member+`,`, 1)
	}
	item := func(status string) string { return marked(callItem, status) }
	reasoning := func(summary string) string {
		return `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"` + summary + `}]}`
	}
	hosted := `{"type":"file_search_call","id":"fs_1","status":"completed","results":[{"attributes":{"status":"incomplete"},"text":"x"}]}`
	partDone := func(kind, member string) string {
		return `{"type":"response.` + kind + `.done","output_index":0,"item_id":"msg_1",` + member + `}`
	}
	created := `{"type":"response.created","response":{"id":"resp_1","status":"in_progress"}}`
	chatCall := func(member string) string {
		return `{"role":"assistant","content":"hi","tool_calls":[{"index":0,"id":"t1","type":"function",` + member + `"function":{"name":"f","arguments":"{\"a\":1}"}}]}`
	}
	chatPiece := func(delta string) string {
		return `{"id":"c1","model":"m","choices":[{"index":0,"delta":` + delta + `}]}`
	}
	chatEnds := func(reason string) string {
		return `{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}],"usage":` + chatUsed + `}`
	}
	cases := map[string]answerCase{
		"E09 a part of a text that is incomplete":                    {body: whole(part(`"status":"incomplete"`), used10), class: bad, tells: "content with status"},
		"E09 a part of a text beside a call":                         {body: whole(part(`"status":"incomplete"`)+","+callItem, used10), class: bad},
		"E09 a part, streamed":                                       {events: []string{created, added(0, textItem), said(0, "half a sen"), done(0, part(`"status":"incomplete"`)), ends(whole(part(`"status":"incomplete"`), used10))}, class: bad},
		"E09 a part that only its own event calls incomplete":        {events: []string{created, added(0, textItem), said(0, "half a sen"), partDone("content_part", `"part":{"type":"output_text","text":"half a sen","status":"incomplete"}`), done(0, textItem), ends(whole(textItem, used10))}, class: bad, tells: "streamed"},
		"E09 a text whose end says that it is incomplete":            {events: []string{created, added(0, textItem), said(0, "half a sen"), partDone("output_text", `"text":"half a sen","status":"incomplete"`), done(0, textItem), ends(whole(textItem, used10))}, class: bad},
		"E09 arguments whose end says that they are cut":             {events: []string{created, partDone("function_call_arguments", `"arguments":"{\"a\":1}","status":"incomplete"`), done(0, callItem), ends(whole(callItem, used10))}, class: bad},
		"E09 a summary part whose end says that it is cut":           {events: []string{created, `{"type":"response.reasoning_summary_part.done","output_index":0,"item_id":"rs_1","status":"incomplete","part":{"type":"summary_text","text":"hm"}}`, done(0, reasoning("")), done(1, callItem), ends(whole(reasoning("")+","+callItem, used10))}, class: bad},
		"E09 an end of a part without place and id":                  {events: []string{created, `{"type":"response.content_part.done","part":{"type":"output_text","status":"failed"}}`, ends(whole(textItem+","+callItem, used10))}, class: bad},
		"E09 a part of a summary":                                    {body: whole(reasoning(`,"status":"in_progress"`)+","+callItem, used10), class: bad, tells: "summary with status"},
		"E09 reasoning that was streamed as incomplete":              {events: []string{done(0, marked(reasoning(""), `"incomplete"`)), done(1, callItem), ends(whole(marked(reasoning(""), `"completed"`)+","+callItem, used10))}, class: bad},
		"E09 a call inside of a call item":                           {body: whole(strings.Replace(callItem, `"name"`, `"function":{"status":"incomplete"},"name"`, 1), used10), class: bad},
		"E09 a part that has lost its end for a reason":              {body: whole(part(`"incomplete_details":{"reason":"max_output_tokens"}`), used10), class: bad, tells: "incomplete_details"},
		"E09 an item that has lost its end for a reason":             {body: whole(strings.Replace(callItem, `"id"`, `"incomplete_details":{"reason":"x"},"id"`, 1), used10), class: bad},
		"E09 a part whose key is in other letters":                   {body: whole(part(`"St\u0061tus":"incomplete"`), used10), class: bad},
		"E09 a part with two states":                                 {body: whole(part(`"status":"incomplete","status":"completed"`), used10), class: bad},
		"E09 INCOMPLETE in capitals":                                 {body: whole(item(`"INCOMPLETE"`), used10), class: bad},
		"E09 In_Progress in capitals":                                {body: whole(item(`"In_Progress"`), used10), class: bad},
		"E09 failed":                                                 {body: whole(item(`"failed"`), used10), class: bad},
		"E09 cancelled":                                              {body: whole(item(`"cancelled"`), used10), class: bad},
		"E09 a number":                                               {body: whole(item(`0`), used10), class: bad},
		"E09 a word nobody knows while it was streamed":              {events: []string{done(0, item(`"PAUSED"`)), ends(whole(item(`"completed"`), used10))}, class: bad},
		"E09 in progress while it was streamed, and completed after": {events: []string{created, added(0, item(`"in_progress"`)), done(0, item(`"in_progress"`)), ends(whole(item(`"completed"`), used10))}, calls: 1},
		"E09 COMPLETED in capitals is complete":                      {body: whole(item(`" Completed "`)+","+part(`"status":"COMPLETED"`), used10), text: "half a sen", calls: 1},
		"E09 a status that is an argument is none":                   {body: whole(strings.Replace(callItem, `"{\"a\":1}"`, `{"a":1,"status":"incomplete","content":[{"status":"failed"}]}`, 1), used10), calls: 1},
		"E09 a status among what a tool found is none":               {body: whole(hosted+","+callItem, used10), calls: 1, tells: "file_search_call"},
		"E06 a part that was cut at the limit, for who accepts that": {body: whole(part(`"status":"incomplete"`), used1000), cut: true, text: "half a sen", tells: "was cut"},

		"E09 a call of chat completions":                                  {chat: true, body: chatEnd(chatCall(`"status":"incomplete",`), "tool_calls", chatUsed), class: bad, tells: "not complete"},
		"E09 the function of a chat call":                                 {chat: true, body: chatEnd(strings.Replace(chatCall(""), `"name"`, `"status":"in_progress","name"`, 1), "tool_calls", chatUsed), class: bad},
		"E09 a chat message":                                              {chat: true, body: chatEnd(`{"role":"assistant","content":"half","status":"incomplete"}`, "stop", chatUsed), class: bad},
		"E09 a part of a chat message":                                    {chat: true, body: chatEnd(`{"role":"assistant","content":[{"type":"text","text":"half","status":"Incomplete"}]}`, "stop", chatUsed), class: bad},
		"E09 a whole chat answer":                                         {chat: true, body: `{"status":"incomplete",` + chatEnd(chatCall(""), "tool_calls", chatUsed)[1:], class: bad},
		"E09 a chat call, streamed":                                       {chat: true, events: []string{chatPiece(chatCall(`"status":"failed",`)), chatEnds("tool_calls"), "[DONE]"}, class: bad},
		"E09 a chat call that was in progress to the end":                 {chat: true, events: []string{chatPiece(chatCall(`"status":"in_progress",`)), chatEnds("tool_calls"), "[DONE]"}, class: bad},
		"E09 a chat call that was in progress and is completed":           {chat: true, events: []string{chatPiece(chatCall(`"status":"in_progress",`)), chatPiece(`{"tool_calls":[{"index":0,"status":"completed"}]}`), chatEnds("tool_calls"), "[DONE]"}, text: "hi", calls: 1},
		"E09 a chat body with another status beside it":                   {chat: true, body: `{"status":"success",` + chatEnd(chatCall(""), "tool_calls", chatUsed)[1:], text: "hi", calls: 1},
		"E06 a chat that the upstream has cut":                            {chat: true, body: strings.Replace(chatEnd(chatCall(""), "tool_calls", chatUsed), `"finish_reason"`, `"native_finish_reason":"MAX_TOKENS","finish_reason"`, 1), class: bad, tells: "MAX_TOKENS"},
		"E06 a chat whose upstream says it in other words":                {chat: true, body: strings.Replace(chatEnd(chatCall(""), "tool_calls", chatUsed), `"finish_reason"`, `"native_finish_reason":"tool_use_end","finish_reason"`, 1), text: "hi", calls: 1},
		"E06 a chat text that is called incomplete, for who accepts that": {chat: true, body: chatEnd(`{"role":"assistant","content":"half","status":"incomplete"}`, "length", chatUsed), cut: true, text: "half", tells: "was cut"},
		"E06 the same for who does not":                                   {chat: true, body: chatEnd(`{"role":"assistant","content":"half","status":"incomplete"}`, "length", chatUsed), class: cut, repair: raise},
	}
	for name, c := range cases {
		t.Run(name, c.run)
	}
}

func TestRefusalsBesideCallsCarryNothingOut(t *testing.T) {
	const no = onceward.ClassRefusal
	refusal := `{"type":"message","id":"msg_2","role":"assistant","content":[{"type":"refusal","refusal":"I will not."}]}`
	blank := strings.Replace(refusal, "I will not.", "", 1)
	custom := `{"type":"custom_tool_call","id":"ctc_1","call_id":"call_9","name":"shell","input":"rm"}`
	call := `"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"f","arguments":"{}"}}]`
	for name, c := range map[string]answerCase{
		"E09 a refusal before the call":              {body: whole(refusal+","+callItem, used10), class: no, tells: "I will not."},
		"E09 a refusal after the call":               {events: []string{done(0, callItem), done(1, refusal), ends(whole(callItem+","+refusal, used10))}, class: no, tells: "I will not."},
		"E09 a refusal, then a text, then the call":  {body: whole(refusal+","+textItem+","+callItem, used10), class: no},
		"E09 a refusal in a part beside a text":      {body: whole(strings.Replace(textItem, `"content":[`, `"content":[{"type":"refusal","refusal":"No."},`, 1)+","+callItem, used10), class: no, tells: "No."},
		"E09 a refusal without a word":               {body: whole(blank+","+callItem, used10), class: no, tells: "refused"},
		"E09 a refusal in other letters":             {body: whole(strings.Replace(refusal, `"type":"refusal","refusal"`, `"type":"Refusal","Refusal"`, 1)+","+callItem, used10), class: no},
		"E09 a refusal beside a custom call":         {body: whole(refusal+","+custom, used10), class: no},
		"E09 a refusal that only the stream had":     {events: []string{added(0, textItem), `{"type":"response.refusal.delta","output_index":0,"item_id":"msg_1","delta":"No."}`, done(0, textItem), done(1, callItem), ends(whole(textItem+","+callItem, used10))}, class: no},
		"E09 a refusal that the end has taken back":  {events: []string{done(0, strings.Replace(refusal, "msg_2", "msg_1", 1)), done(1, callItem), ends(whole(textItem+","+callItem, used10))}, class: no},
		"E09 a refusal beside a chat call":           {chat: true, body: chatEnd(`{"role":"assistant","content":null,"refusal":"I will not.",`+call+`}`, "tool_calls", chatUsed), class: no, tells: "I will not."},
		"E09 a refusal beside a chat call, streamed": {chat: true, events: []string{`{"choices":[{"delta":{"refusal":"I will not."}}]}`, `{"choices":[{"delta":{` + call + `}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, "[DONE]"}, class: no},
		"E09 a refusal among the parts of a message": {chat: true, body: chatEnd(`{"content":[{"type":"refusal","refusal":"No."}],`+call+`}`, "tool_calls", chatUsed), class: no},
		"E09 blanks where a refusal would be":        {chat: true, body: chatEnd(`{"role":"assistant","content":"hi","refusal":"",`+call+`}`, "tool_calls", chatUsed), text: "hi", calls: 1},
		"a message of a chat's form that refuses":    {body: whole(`{"type":"message","role":"assistant","content":[],"refusal":"No."}`, used10), class: no, tells: "No."},
	} {
		t.Run(name, c.run)
	}
}
