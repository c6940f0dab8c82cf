package router

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

const (
	textItem = `{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"half a sen"}]}`
	callItem = `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{\"a\":1}"}`
	used10   = `"usage":{"input_tokens":50,"output_tokens":10,"total_tokens":60}`
	used1000 = `"usage":{"input_tokens":50,"output_tokens":1000,"total_tokens":1050}`
	usedNone = `"usage":{"input_tokens":0,"output_tokens":0,"total_tokens":0}`
)

// whole is a response that claims to be whole; more are members of it.
func whole(output string, more ...string) string {
	return `{"id":"resp_1","status":"completed","model":"m","output":[` + output + `],` + strings.Join(more, ",") + `}`
}

func ends(response string) string { return `{"type":"response.completed","response":` + response + `}` }

func added(index int, item string) string {
	return fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":%s}`, index, item)
}

func done(index int, item string) string {
	return fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, index, item)
}

func said(index int, text string) string {
	return fmt.Sprintf(`{"type":"response.output_text.delta","output_index":%d,"item_id":"msg_1","delta":%q}`, index, text)
}

func marked(item, value string) string {
	return strings.Replace(item, `"id":`, `"status":`+value+`,"id":`, 1)
}

// chatEnd is an answer of chat completions in one object.
func chatEnd(message, finish, usage string) string {
	return `{"id":"c1","model":"m","choices":[{"index":0,"message":` + message + `,"finish_reason":"` + finish + `"}],"usage":` + usage + `}`
}

const (
	chatUsed     = `{"prompt_tokens":50,"completion_tokens":10,"total_tokens":60}`
	chatUsed1000 = `{"prompt_tokens":50,"completion_tokens":1000,"total_tokens":1050}`
	chatUsedNone = `{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`
)

// answerCase is one answer of one API, streamed or not.
type answerCase struct {
	chat   bool
	events []string // of a stream
	body   string   // of a JSON answer
	cut    bool     // the caller accepts cut texts
	class  onceward.Class
	repair onceward.Repair
	text   string // of a usable answer
	calls  int
	tells  string // in a failure's message or a usable answer's notices
}

func (c answerCase) handler() http.HandlerFunc {
	if c.events != nil {
		return stream(c.events...)
	}
	return reply(200, "application/json", c.body)
}

func (c answerCase) run(t *testing.T) {
	t.Parallel()
	s := serve(t, c.handler())
	res := resource("a", s.URL)
	if c.chat {
		res = chatResource("a", s.URL)
	}
	r := pool(t, Config{}, res)
	req := routed(t, r, "a") // the limit is 1000
	req.AcceptCut = c.cut
	req.Tools = []onceward.ToolDecl{{Name: "f", Schema: []byte(`{"type":"object"}`)}}
	got, err := r.Call(context.Background(), req)
	if c.class == "" {
		if err != nil || got.Text != c.text || len(got.Calls) != c.calls || !strings.Contains(strings.Join(got.Notices, "\n"), c.tells) {
			t.Errorf("text %q, %d calls, notices %q, %v", got.Text, len(got.Calls), got.Notices, err)
		}
		return
	}
	f := failed(t, err)
	if f.Class != c.class || f.Repair != c.repair || !strings.Contains(f.Message, c.tells) || len(got.Calls)+len(got.Items) > 0 || got.Text != "" {
		t.Errorf("failure %+v, response %+v", *f, got)
	}
	if f.Class != onceward.ClassIncompleteOutput && f.Class != onceward.ClassContentFiltered && f.Class != onceward.ClassRefusal && !f.FallbackEligible {
		t.Errorf("the walk does not go on after %+v", *f)
	}
}

func TestAnswersThatAreNotWholeAreFailedAttempts(t *testing.T) {
	const (
		cut   = onceward.ClassIncompleteOutput
		raise = onceward.RepairRaiseOutput
		bad   = onceward.ClassInvalidOutput
		lost  = onceward.ClassNetwork
	)
	blank := strings.Replace(callItem, `{\"a\":1}`, "", 1)
	reasoning := `{"type":"reasoning","id":"rs_1","summary":[]}`
	empty := `{"type":"message","id":"msg_1","role":"assistant","content":[]}`
	custom := `{"type":"custom_tool_call","id":"ctc_1","call_id":"call_9","name":"shell","input":"rm -rf"}`
	created := `{"type":"response.created","response":{"id":"resp_1","status":"in_progress"}}`
	chatText := `{"role":"assistant","content":"half a sen"}`
	chatCall := func(kind string) string {
		return `{"role":"assistant","content":"half a sen","tool_calls":[{"index":0,"id":"t1","type":"` + kind + `","function":{"name":"f","arguments":"{\"a\":1}"}}]}`
	}
	for name, c := range map[string]answerCase{
		"E06 a text that used up the limit is cut, whatever its status says": {events: []string{ends(whole(textItem, used1000))}, class: cut, repair: raise, tells: "1000"},
		"E06 in a JSON answer":                                         {body: whole(textItem, used1000), class: cut, repair: raise},
		"E06 by a host of chat completions that says stop":             {chat: true, body: chatEnd(chatText, "stop", chatUsed1000), class: cut, repair: raise},
		"E06 at a lower limit that the resource took instead":          {body: whole(textItem, used10, `"max_output_tokens":10`), class: cut, repair: raise},
		"E06 beside a call whose arguments parse":                      {body: whole(callItem, used1000), class: cut, repair: raise},
		"E06 with a reason that the status denies":                     {events: []string{ends(whole(textItem, used10, `"incomplete_details":{"reason":"max_output_tokens"}`))}, class: cut, repair: raise},
		"E06 with a reason that the status denies, in a JSON answer":   {body: whole(textItem, used10, `"incomplete_details":{"reason":"max_output_tokens"}`), class: cut, repair: raise},
		"E06 a text below the limit is whole":                          {body: whole(textItem, used10, `"incomplete_details":{"reason":null}`), text: "half a sen"},
		"E06 an overrun limit that is not in force cut nothing":        {body: whole(textItem, strings.Replace(used1000, `"output_tokens":1000`, `"output_tokens":1001`, 1), `"max_output_tokens":null`), text: "half a sen", tells: "1000 was sent"},
		"E06 a caller who says so gets a cut text":                     {body: whole(textItem, used1000), cut: true, text: "half a sen", tells: "was cut"},
		"E06 a caller who says so gets a text that is called cut":      {events: []string{`{"type":"response.incomplete","response":{"id":"r","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[` + marked(textItem, `"incomplete"`) + `],` + used1000 + `}}`}, cut: true, text: "half a sen", tells: "was cut"},
		"E06 a caller who says so gets a text of finish reason length": {chat: true, body: chatEnd(chatText, "length", chatUsed1000), cut: true, text: "half a sen", tells: "was cut"},
		"E06 a caller who says so gets no call that may be cut":        {body: whole(textItem+","+callItem, used1000), cut: true, class: cut, repair: raise},
		"E06 a caller who says so gets nothing that a filter cut":      {body: whole(textItem, used10, `"incomplete_details":{"reason":"content_filter"}`), cut: true, class: onceward.ClassContentFiltered},
		"an error beside status completed fails":                       {events: []string{ends(whole(textItem, used10, `"error":{"code":"server_error","message":"boom"}`))}, class: onceward.ClassServerError},

		"E08 an empty answer at the limit is cut, not empty": {body: whole(reasoning+","+empty, used1000), class: cut, repair: raise},
		"E08 streamed":            {events: []string{done(0, reasoning), done(1, empty), ends(whole(reasoning+","+empty, used1000))}, class: cut, repair: raise},
		"E08 of chat completions": {chat: true, body: chatEnd(`{"role":"assistant","content":""}`, "stop", chatUsed1000), class: cut, repair: raise},
		"E08 blank arguments at the limit are no arguments":          {body: whole(blank, used1000), class: cut, repair: raise},
		"E08 cut arguments at the limit are raised for":              {body: whole(strings.Replace(callItem, `1}`, `1`, 1), used1000), class: cut, repair: raise},
		"E08 a caller who accepts cut texts gets no empty one":       {body: whole(empty, used1000), cut: true, class: cut, repair: raise},
		"E08 an empty answer below the limit is empty":               {body: whole(empty, used10), class: onceward.ClassEmptyOutput},
		"E08 cut arguments below the limit are invalid":              {body: whole(strings.Replace(callItem, `1}`, `1`, 1), used10), class: bad},
		"E09 a call that its host marks incomplete is not bound":     {body: whole(marked(callItem, `"incomplete"`), used10), class: bad, tells: "not complete"},
		"an error of blanks beside a good answer is none":            {body: whole(textItem, used10, `"error":{"code":null,"message":"","type":"","status":0}`), text: "half a sen"},
		"an error that says a code alone is one":                     {body: whole(textItem, used10, `"error":{"code":"server_error","message":""}`), class: onceward.ClassServerError},
		"the same by a host of chat completions":                     {chat: true, body: strings.Replace(chatEnd(chatText, "stop", chatUsed), "{", `{"error":{"code":null,"message":""},`, 1), text: "half a sen"},
		"E09 a response of two statuses is what the worse one says":  {body: `{"status":"incomplete",` + whole(callItem, used10)[1:], class: bad},
		"E09 a status in other letters counts":                       {events: []string{`{"type":"response.completed","response":{"id":"r","Status":"incomplete","output":[` + callItem + `],` + used10 + `}}`}, class: cut, repair: raise},
		"E09 a call that says other arguments at the end is a guess": {events: []string{done(0, callItem), ends(whole(strings.Replace(callItem, `{\"a\":1}`, `{}`, 1), used10))}, class: bad},
		"E09 a call that is written otherwise at the end is one":     {events: []string{done(0, strings.Replace(callItem, `{\"a\":1}`, `{\"b\":\"\\u00e9\",\"a\":1}`, 1)), ends(whole(strings.Replace(callItem, `{\"a\":1}`, `{ \"a\": 1.0, \"b\":\"é\"}`, 1), used10))}, calls: 1},
		"E09 streamed": {events: []string{done(0, marked(callItem, `"incomplete"`)), ends(whole(marked(callItem, `"incomplete"`), used10))}, class: bad},
		"E09 streamed only, with an end that is empty":        {events: []string{done(0, marked(callItem, `"in_progress"`)), ends(whole("", used10))}, class: bad},
		"E09 streamed as incomplete and completed at the end": {events: []string{done(0, marked(callItem, `"incomplete"`)), ends(whole(marked(callItem, `"completed"`), used10))}, class: bad},
		"E09 in progress":                      {body: whole(marked(callItem, `"in_progress"`), used10), class: bad},
		"E09 a status nobody knows":            {body: whole(marked(callItem, `"paused"`), used10), class: bad},
		"E09 a status that is no text":         {body: whole(marked(callItem, `{}`), used10), class: bad},
		"E09 two statuses, one of them good":   {body: whole(marked(marked(callItem, `"incomplete"`), `"completed"`), used10), class: bad},
		"E09 a status in other letters":        {body: whole(strings.Replace(marked(callItem, `"incomplete"`), `"status"`, `"Status"`, 1), used10), class: bad},
		"E09 a message beside the call":        {body: whole(marked(textItem, `"incomplete"`)+","+callItem, used10), class: bad},
		"E09 reasoning beside the call":        {body: whole(marked(reasoning, `"incomplete"`)+","+callItem, used10), class: bad},
		"E09 a message alone":                  {body: whole(marked(textItem, `"incomplete"`), used10), class: bad},
		"E09 marked incomplete at the limit":   {body: whole(marked(callItem, `"incomplete"`), used1000), class: cut, repair: raise},
		"E09 completed and null are good":      {body: whole(marked(textItem, `null`)+","+marked(callItem, `"completed"`), used10), text: "half a sen", calls: 1},
		"E09 a call in progress that ends":     {events: []string{added(0, marked(callItem, `"in_progress"`)), done(0, marked(callItem, `"completed"`)), ends(whole(marked(callItem, `"completed"`), used10))}, calls: 1},
		"E09 a call after a finish of length":  {chat: true, body: chatEnd(chatCall("function"), "length", chatUsed), class: cut, repair: raise},
		"E09 a finish of calls without a call": {chat: true, body: chatEnd(chatText, "tool_calls", chatUsed), class: bad, tells: "finish reason"},
		"E09 a call without a finish reason":   {chat: true, body: strings.Replace(chatEnd(chatCall("function"), "x", chatUsed), `"x"`, "null", 1), class: bad},

		"E10 a custom call is answered, not dropped":             {body: whole(textItem+","+custom, used10), text: "half a sen", calls: 1},
		"E10 a custom call alone":                                {events: []string{done(0, custom), ends(whole(custom, used10))}, calls: 1},
		"E10 a custom call without a call id":                    {body: whole(strings.Replace(custom, `"call_9"`, `""`, 1), used10), class: bad},
		"E10 a shell call beside a text":                         {body: whole(textItem+`,{"type":"local_shell_call","id":"lsh_1","call_id":"c","action":{"command":["rm"]},"status":"completed"}`, used10), class: bad, tells: "local_shell_call"},
		"E10 a computer call beside a call":                      {body: whole(callItem+`,{"type":"computer_call","id":"cu_1","call_id":"c"}`, used10), class: bad, tells: "computer_call"},
		"E10 an approval request":                                {body: whole(textItem+`,{"type":"mcp_approval_request","id":"mcpr_1","name":"pay"}`, used10), class: bad, tells: "mcp_approval_request"},
		"E10 a kind that nobody knows yet, known by its name":    {body: whole(textItem+`,{"type":"quantum_call","id":"q_1"}`, used10), class: bad, tells: "quantum_call"},
		"E10 a kind that nobody knows yet, known by what it has": {body: whole(textItem+`,{"type":"deed","id":"q_1","call_id":"c"}`, used10), class: bad, tells: "deed"},
		"E10 a call that has lost its type":                      {body: whole(textItem+`,{"call_id":"c","name":"f","arguments":"{}"}`, used10), class: bad, tells: "without a type"},
		"E10 a call among the parts of a message":                {body: whole(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"},{"type":"tool_use","name":"f"}]}`, used10), class: bad, tells: "tool_use"},
		"E10 a search that the resource made unasked is noted":   {body: whole(`{"type":"web_search_call","id":"ws_1","status":"searching"},`+textItem, used10), text: "half a sen", tells: "drift: hosted_call: the resource ran what nobody declared: web_search_call"},
		"E10 a search that did not end, beside a call":           {body: whole(`{"type":"web_search_call","id":"ws_1","status":"searching"},`+callItem, used10), class: bad},
		"E10 a shell that the resource ran is noted":             {body: whole(`{"type":"shell_call","id":"sh_1","call_id":"c"},{"type":"shell_call_output","id":"sho_1","call_id":"c"},`+textItem, used10), text: "half a sen", tells: "shell_call"},
		"E10 an item of another kind is noted":                   {body: whole(textItem+`,{"type":"mood","id":"x_1"}`, used10), text: "half a sen", tells: `drift: unknown_item: "mood"`},
		"E10 a custom call of chat completions":                  {chat: true, body: chatEnd(`{"role":"assistant","content":"half a sen","tool_calls":[{"id":"t1","type":"custom","custom":{"name":"sh","input":"ls"}}]}`, "tool_calls", chatUsed), text: "half a sen", calls: 1},
		"E10 a call of the older form":                           {chat: true, body: chatEnd(`{"role":"assistant","content":"half a sen","function_call":{"name":"f","arguments":"{}"}}`, "stop", chatUsed), class: bad, tells: "function_call"},
		"E10 a tool call of an unknown type":                     {chat: true, body: chatEnd(chatCall("robot"), "tool_calls", chatUsed), class: bad, tells: "robot"},
		"E10 a call among the parts of a chat message":           {chat: true, body: chatEnd(`{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use","name":"f"}]}`, "stop", chatUsed), class: bad, tells: "tool_use"},

		"E07 an end without output and usage after half a text": {events: []string{created, added(0, textItem), said(0, "half a sen"), done(0, textItem), ends(whole("", usedNone))}, class: lost, tells: "made up"},
		"E07 without usage at all":                              {events: []string{created, added(0, textItem), said(0, "half a sen"), done(0, textItem), ends(whole("", `"usage":null`))}, class: lost},
		"E07 an end that holds nothing at all":                  {events: []string{created, said(0, "half a sen"), done(0, textItem), `{"type":"response.completed"}`}, class: lost},
		"E07 a call that was begun and closed by the gateway":   {events: []string{created, added(0, blank), done(0, blank), ends(whole("", usedNone))}, class: lost},
		"E07 an item that nobody ended":                         {events: []string{created, added(0, textItem), said(0, "half a sen"), ends(whole("", used10))}, class: lost},
		"E07 a second item that nobody ended":                   {events: []string{created, added(0, textItem), done(0, textItem), added(1, callItem), ends(whole("", used10))}, class: lost},
		"E07 a second item that is not in the end either":       {events: []string{created, added(0, textItem), done(0, textItem), added(1, callItem), ends(whole(textItem, used10))}, class: lost},
		"E07 an end with the text so far and no usage":          {events: []string{created, added(0, textItem), said(0, "half a sen"), ends(whole(textItem, usedNone))}, class: lost},
		"E07 a text closed without its own end, and no usage":   {events: []string{created, added(0, textItem), said(0, "half a sen"), done(0, textItem), ends(whole(textItem, usedNone))}, class: lost},
		"E07 an end that has lost the response's id":            {events: []string{created, added(0, textItem), said(0, "half a sen"), done(0, textItem), ends(`{"status":"completed","output":[],` + used10 + `}`)}, class: lost},
		"E07 streamed arguments that are gone":                  {events: []string{created, added(0, blank), `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"a\""}`, done(0, blank), ends(whole(blank, used10))}, class: lost},
		"E07 a finish of chat completions that used nothing":    {chat: true, events: []string{chRole, chHi, chStop, `{"id":"c1","choices":[],"usage":` + chatUsedNone + `}`, "[DONE]"}, class: lost},
		"E07 an empty end with real usage is a host's way":      {events: []string{created, added(0, textItem), said(0, "half a sen"), done(0, textItem), ends(whole("", used10))}, text: "half a sen"},
		"E07 an empty end with real usage and a call":           {events: []string{created, added(0, callItem), done(0, callItem), ends(whole("", used10))}, calls: 1},
		"E07 whole items and an empty end are a host's way":     {events: []string{created, done(0, textItem), ends(whole("", `"usage":null`))}, text: "half a sen"},
		"E07 a filled end without usage is a host's way":        {events: []string{created, added(0, textItem), said(0, "half a sen"), done(0, textItem), ends(whole(textItem, `"usage":null`))}, text: "half a sen"},
		"E07 other ids in every event are a host's way":         {events: []string{created, added(0, textItem), strings.Replace(said(0, "x"), "msg_1", "msg_2", 1), done(0, strings.Replace(textItem, "msg_1", "msg_3", 1)), ends(whole(strings.Replace(textItem, "msg_1", "msg_4", 1), used10))}, text: "half a sen"},
		"E07 a call without an id, named by its call id": {events: []string{created,
			`{"type":"response.output_item.added","item":{"type":"function_call","call_id":"fc_1","name":"f","arguments":"","status":"in_progress"}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"fc_1","delta":"{\"a\":1}"}`,
			`{"type":"response.output_item.done","item":{"type":"function_call","call_id":"fc_1","name":"f","arguments":"{\"a\":1}","status":"completed"}}`,
			ends(whole(`{"type":"function_call","call_id":"fc_1","name":"f","arguments":"{\"a\":1}","status":"completed"}`, used10))}, calls: 1},
		"thinking beside the text of a chat message":                 {chat: true, body: chatEnd(`{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"hi"}]}`, "stop", chatUsed), text: "hi"},
		"a refusal among the parts of a chat message":                {chat: true, body: chatEnd(`{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`, "stop", chatUsed), class: onceward.ClassRefusal, tells: "no"},
		"E07 no usage from a host of chat completions is its way":    {chat: true, events: []string{chRole, chHi, chStop, "[DONE]"}, text: "hi"},
		"E07 an all-zero count of a JSON answer is no broken stream": {chat: true, body: chatEnd(chatText, "stop", chatUsedNone), text: "half a sen", tells: "drift: usage"},
	} {
		t.Run(name, c.run)
	}
}
