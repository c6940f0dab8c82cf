package chaos

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/test/sealed"
)

// nobody is the order of whom nobody asked. An answer that refunds it is not whole,
// so that a refund of it is one that no model has ordered.
const nobody = "order-nobody"

// falsehoods are answers with a call in them that something about them forbids to
// carry out.
func falsehoods() map[string]string {
	call := fmt.Sprintf(`{"type":"function_call","id":"fc_1","call_id":"call_1","name":"create_refund","arguments":%q,"status":"completed"}`,
		fmt.Sprintf(`{"order_id":%q,"amount_cents":100,"reason":"none"}`, nobody))
	text := `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"I refund it.","annotations":[]}]}`
	response := func(status, output string) string {
		return `{"id":"resp_1","object":"response","status":"` + status + `","model":"gpt-5.6","output":[` + output + `],"usage":{"input_tokens":50,"output_tokens":10,"total_tokens":60}}`
	}
	event := func(kind, rest string) string { return `data: {"type":"` + kind + `",` + rest + "}\n\n" }
	incomplete := strings.Replace(call, `"status":"completed"`, `"status":"incomplete"`, 1)
	created, done := event("response.created", `"response":`+response("in_progress", "")), event("response.output_item.done", `"output_index":0,"item":`+call)
	return map[string]string{
		"a call that the host marks incomplete":       response("completed", incomplete),
		"a call in a response that failed":            response("failed", call),
		"a call in a response that is in progress":    response("in_progress", call),
		"a call beside a text that is cut":            response("completed", strings.Replace(text, `"status":"completed"`, `"status":"incomplete"`, 1)+","+call),
		"a call that another host's tool makes":       response("completed", strings.Replace(call, `"function_call"`, `"custom_tool_call"`, 1)),
		"a call and no end":                           created + done,
		"a call before the stream breaks in an event": created + done + `data: {"type":"response.comp`,
		"a call and an error":                         created + done + event("error", `"code":"server_error","message":"The server had an error."`),
		"a call that the end says otherwise":          created + done + event("response.completed", `"response":`+response("completed", strings.Replace(call, ":100,", ":999,", 1))),
		"a call and an end that says done alone":      created + done + "data: [DONE]\n\n",
	}
}

func tellFalsehood(w *world, dice *rand.Rand) (string, func()) {
	answers := falsehoods()
	names := slices.Sorted(maps.Keys(answers))
	name := names[dice.IntN(len(names))]
	kind := "application/json"
	if strings.HasPrefix(answers[name], "data:") {
		kind = "text/event-stream"
	}
	must(w.t, w.bench.Pool.AddFaults(routertest.Fault{
		Kind: routertest.FaultStatus, Status: 200, Body: answers[name], Header: map[string]string{"Content-Type": kind}, Times: 1 + dice.IntN(3),
	}))
	return name, nil
}

// words are signals that must not be believed.
var words = map[string]any{
	onceward.UpdateResolve:  onceward.Resolve{Status: onceward.StatusCommitted, Ref: "made up", By: "eve", Version: 1000},
	onceward.UpdateComplete: onceward.Complete{By: "eve"},
	onceward.SignalReceipt:  map[string]any{"action_id": "refund/" + nobody + "/v1", "status": "committed"},
}

// speak sends what is malformed, too early, out of date, or under a key that no
// worker has, to a run or an action.
func speak(w *world, dice *rand.Rand) (string, func()) {
	names := slices.Sorted(maps.Keys(words))
	name, id := names[dice.IntN(len(names))], anyRun(w, dice).ID
	if dice.IntN(2) == 0 {
		id = anyRun(w, dice).action().WorkflowID()
	}
	value, how, from := words[name], "as it is", w.bench.Client
	switch dice.IntN(3) {
	case 0:
		value, how = "no object", "malformed"
	case 1:
		if !w.schedule.sealed {
			break
		}
		how, from = "under an unknown key", w.bench.ClientWith(sealed.Stranger().Converter())
	}
	err := from.SignalWorkflow(w.bench.Context(), id, "", name, value)
	return fmt.Sprintf("%s to %s, %s: %v", name, id, how, err), nil // an error: it is closed, or not there yet
}
