package router

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// refuses reports whether a body has, in one of its lists, an item whose key is not
// of a form.
func refuses(body []byte, list, key string, form *regexp.Regexp) bool {
	var lists map[string]json.RawMessage
	var items []map[string]any
	if json.Unmarshal(body, &lists) != nil || json.Unmarshal(lists[list], &items) != nil {
		return true
	}
	return slices.ContainsFunc(items, func(item map[string]any) bool {
		id, is := item[key].(string)
		return is && !form.MatchString(id)
	})
}

// E14: ids that a host refuses cost one repair, whatever the API.
func TestRefusedIDsAreRepairedOnce(t *testing.T) {
	call := `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{}"}`
	for name, c := range map[string]struct {
		api, list, key string
		form           *regexp.Regexp
		refusal        string
	}{
		"E14 an item's id": {APIResponses, "input", "id", regexp.MustCompile(`^never$`),
			`{"error":{"message":"Invalid 'input[1].id': string too long. Expected a string with maximum length 64, but got a string with length 410 instead.","type":"invalid_request_error","param":"input[1].id","code":"string_above_max_length"}}`},
		"E14 a call's id": {APIResponses, "input", "call_id", regexp.MustCompile(`^[A-Za-z0-9]{9}$`),
			`{"error":{"message":"Invalid 'input[1].call_id': string does not match pattern.","type":"invalid_request_error","param":"input[1].call_id","code":"invalid_value"}}`},
		"E14 a call's id in a chat": {APIChatCompletions, "messages", "tool_call_id", regexp.MustCompile(`^[A-Za-z0-9]{9}$`),
			`{"object":"error","message":"Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.","type":"invalid_request_error","code":3280}`},
	} {
		t.Run(name, func(t *testing.T) {
			answer := stream(evCreated, evAdded, evDone, evEnd)
			if c.api == APIChatCompletions {
				answer = stream(chRole, chHi, chStop, chUsage, "[DONE]")
			}
			var s *server
			s = serve(t, func(w http.ResponseWriter, r *http.Request) {
				if refuses(s.body.Load().([]byte), c.list, c.key, c.form) {
					reply(400, "application/json", c.refusal)(w, r)
					return
				}
				answer(w, r)
			})
			to := resource("a", s.URL)
			if c.api == APIChatCompletions {
				to = chatResource("a", s.URL)
			}
			r := pool(t, Config{}, to)
			req := routed(t, r, "a")
			req.Items = append(req.Items, item(t, call), item(t, `{"type":"function_call_output","call_id":"call_1","output":"x"}`))
			req.Items[1].MintedBy, req.Items[1].MintedIn = "a", "a"
			_, err := r.Call(context.Background(), req)
			if f := failed(t, err); f.Class != onceward.ClassInvalidRequest || f.Repair != onceward.RepairStripIDs || f.StateEffect != onceward.EffectNone {
				t.Fatalf("failure %+v, want one that strip_ids repairs", *f)
			}
			req.Repair = onceward.RepairStripIDs
			if res := mustCall(t, r, req); res.Text != "hi" || s.requests.Load() != 2 {
				t.Errorf("%q after %d requests", res.Text, s.requests.Load())
			}
		})
	}
}

// E14, E15: what one host minted goes to the next without its ids, in the form of
// the API, and the trail says so; what comes is known by who minted it.
func TestAnswerOfOneHostGoesToAnother(t *testing.T) {
	const foreign = `{"type":"message","id":"chatcmpl-9","role":"assistant","phase":null,"status":null,"content":[{"type":"output_text","text":"hello"}]}`
	compatible := serve(t, stream(evCreated, completed(foreign)))
	strict := serve(t, stream(evCreated, evAdded, evDone, evEnd))
	r := pool(t, Config{}, resource("a", compatible.URL), resource("b", strict.URL))
	res := mustCall(t, r, routed(t, r, "a"))
	if len(res.Items) != 1 || res.Items[0].MintedBy != "a" || res.Items[0].MintedIn != "a" || !strings.Contains(string(res.Items[0].Raw), "chatcmpl-9") {
		t.Fatalf("items %+v, want the canonical one, minted by a", res.Items)
	}
	req := routed(t, r, "b")
	req.Items = append(req.Items, res.Items[0], text(t, "user", "and then?"))
	next := mustCall(t, r, req)
	sent, err := json.Marshal(strict.sent(t)["input"].([]any)[1])
	if want := `{"content":[{"annotations":[],"text":"hello","type":"output_text"}],"role":"assistant","type":"message"}`; err != nil || string(sent) != want {
		t.Errorf("sent %s, want %s", sent, want)
	}
	if notices := strings.Join(next.Notices, "\n"); !strings.Contains(notices, "another encryption boundary") || !strings.Contains(notices, "2 nulls") {
		t.Errorf("notices %q", notices)
	}
}

func item(t testing.TB, raw string) onceward.Item {
	t.Helper()
	it, err := onceward.NewItem([]byte(raw), "")
	if err != nil {
		t.Fatal(err)
	}
	return it
}
