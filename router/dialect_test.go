package router

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// completed is the terminal event of an answer with these items.
func completed(items ...string) string {
	return `{"type":"response.completed","response":{"id":"resp_1","status":"completed","model":"gpt-x","output":[` + strings.Join(items, ",") +
		`],"usage":{"input_tokens":100,"output_tokens":10}}}`
}

func outputText(id, text string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"role":"assistant","content":[{"type":"output_text","text":%q}]}`, id, text)
}

// wantsJSON is the check of a caller that asked for a JSON object.
func wantsJSON(text string) error {
	var object map[string]any
	return json.Unmarshal([]byte(text), &object)
}

// What hosts put around an answer, or say twice, changes nothing of it: it takes
// one request and is never an invalid output.
func TestAnswerIsTheSameWhateverSurroundsIt(t *testing.T) {
	const ok = `{"ok":true}`
	message := outputText("msg_1", ok)
	done := `{"type":"response.output_item.done","output_index":0,"item":` + message + `}`
	for name, c := range map[string]struct {
		body  string
		items int
	}{
		"nothing": {frames(evCreated, done, completed(message)), 1},
		"comments, a retry time and pings": {": PROCESSING\n\nretry: 3000\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n" +
			frames(evCreated) + ": PROCESSING\n\n" + frames(done) + "event: ping\ndata: {\"type\":\"ping\"}\n\n" + frames(completed(message)), 1},
		"events that nobody knows":        {frames(evCreated, `{"type":"response.sparkle","glitter":[1,2]}`, done, completed(message)), 1},
		"the message twice under one id":  {frames(evCreated, done, done, completed(message, message)), 1},
		"the message twice under two ids": {frames(evCreated, completed(message, outputText("msg_2", ok))), 2},
		"a remark after the message":      {frames(evCreated, completed(message, outputText("msg_2", "I hope this helps."))), 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, reply(200, "text/event-stream", c.body))
			r := pool(t, Config{}, resource("a", s.URL))
			req := routed(t, r, "a")
			req.Check = wantsJSON
			res := mustCall(t, r, req)
			if res.Text != ok || len(res.Items) != c.items || s.requests.Load() != 1 {
				t.Errorf("text %q in %d items after %d requests, want %q in %d after 1", res.Text, len(res.Items), s.requests.Load(), ok, c.items)
			}
		})
	}
}

// A refusal is the model's answer even where JSON was asked for: neither empty
// nor invalid, not repaired, not asked of others, and no mark on the resource.
func TestRefusalWhereJSONWasAskedForIsAnAnswer(t *testing.T) {
	const refusal = `{"type":"message","id":"m","role":"assistant","content":[{"type":"refusal","refusal":"I cannot help with that."}]}`
	for name, items := range map[string][]string{
		"alone":           {refusal},
		"after reasoning": {`{"type":"reasoning","id":"rs_1","summary":[]}`, refusal},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, stream(evCreated, completed(items...)))
			r := pool(t, Config{Breaker: Breaker{Consecutive: 1}}, resource("a", s.URL))
			req := routed(t, r, "a")
			req.Check = wantsJSON
			_, err := r.Call(context.Background(), req)
			f := failed(t, err)
			if f.Class != onceward.ClassRefusal || f.Message != "I cannot help with that." || f.Repair != onceward.RepairNone || f.FallbackEligible || f.Retryable || f.StateEffect != onceward.EffectNone {
				t.Errorf("failure %+v, want a refusal that ends the walk", *f)
			}
			if st := status(t, r, "a"); st.Breaker != "closed" || s.requests.Load() != 1 {
				t.Errorf("breaker %s after %d requests, want closed after 1", st.Breaker, s.requests.Load())
			}
		})
	}
}
