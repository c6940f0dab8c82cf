package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// portability is one transcript and what a target with boundary a is sent of it.
type portability struct {
	in     []string
	want   []string
	repair onceward.Repair
	lists  bool
	note   string // in the notice; empty: there is none
}

func (p portability) check(t *testing.T) {
	t.Helper()
	to := Target{Resource: "r", Deployment: "d", Boundary: "a", Capability: onceward.Capability{EncryptedReasoning: true, ListOutput: p.lists}}
	in := items(t, p.in...)
	before := make([]string, len(in))
	for i := range in {
		before[i] = string(in[i].Raw)
	}
	r, err := Render(onceward.ModelRequest{Items: in, Repair: p.repair}, to)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(input(t, r), "\n"); got != strings.Join(p.want, "\n") {
		t.Errorf("sent\n%s\nwant\n%s", got, strings.Join(p.want, "\n"))
	}
	if p.note == "" && r.Notice != "" || !strings.Contains(r.Notice, p.note) {
		t.Errorf("notice %q, want %q", r.Notice, p.note)
	}
	for i := range in {
		if string(in[i].Raw) != before[i] {
			t.Errorf("the transcript's own item became %s", in[i].Raw)
		}
	}
}

func TestIDsOfOthersStayAtHome(t *testing.T) {
	const (
		user = `{"type":"message","role":"user","content":"hi"}`
		rs   = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA"}`
		bare = `{"type":"reasoning","summary":[],"encrypted_content":"gA"}`
		out  = `{"type":"function_call_output","call_id":"call_1","output":"x"}`
	)
	call := func(id string) string {
		if id != "" {
			id = fmt.Sprintf(`"id":%q,`, id)
		}
		return `{"type":"function_call",` + id + `"call_id":"call_1","name":"f","arguments":"{}"}`
	}
	message := func(id string) string {
		if id != "" {
			id = fmt.Sprintf(`"id":%q,`, id)
		}
		return `{"type":"message",` + id + `"role":"assistant","content":[{"type":"output_text","text":"t","annotations":[]}]}`
	}
	long := "rs_" + strings.Repeat("x", 407)
	for name, c := range map[string]portability{
		"E14 ids of 410 characters are left out, their reasoning is not": {
			in:   []string{user, strings.Replace(rs, "rs_1", long, 1), call("fc_" + strings.Repeat("y", 407)), out},
			want: []string{user, bare, call(""), out}, note: "ids left out of 2 items: longer than 64 characters"},
		"E14 an id of 64 characters stays": {
			in: []string{user, message("msg_" + strings.Repeat("x", 60))}, want: []string{user, message("msg_" + strings.Repeat("x", 60))}},
		"E14 one over-long id takes the others of its answer along": {
			in:   []string{user, rs, call("fc_" + strings.Repeat("y", 62)), out},
			want: []string{user, bare, call(""), out}, note: "ids left out of 2 items: longer"},
		"E14 ids that a compatible host made up are left out": {
			in:   []string{user, "b@" + message("chatcmpl-9"), user, "b@" + call("call_77"), out},
			want: []string{user, message(""), user, call(""), out}, note: "ids left out of 2 items: minted in another encryption boundary"},
		"E14 at home as well, where the API has no such form": {
			in: []string{user, message("chatcmpl-9")}, want: []string{user, message("")}, note: "ids left out of 1 items: of a form"},
		"E14 another boundary's ids are left out, whatever their form": {
			in:   []string{user, "b@" + call("fc_1"), out},
			want: []string{user, call(""), out}, note: "another encryption boundary"},
		"E14 ids of this boundary stay": {in: []string{user, rs, call("fc_1"), out, message("msg_2")}, want: []string{user, rs, call("fc_1"), out, message("msg_2")}},
		"E14 an answer that an older release wrote down counts as foreign": {
			in: []string{user, "?@" + call("fc_1"), out}, want: []string{user, call(""), out}, note: "nobody wrote down"},
		"an id that comes again is left out": {
			in:   []string{user, call("fc_0"), out, message("msg_0"), user, message("msg_0")},
			want: []string{user, call("fc_0"), out, message("msg_0"), user, message("")}, note: "another item has the same"},
		"an id with other characters is left out":  {in: []string{user, message("msg_a.b")}, want: []string{user, message("")}, note: "of a form"},
		"an id that is no text is left out":        {in: []string{user, strings.Replace(message("x"), `"x"`, "7", 1)}, want: []string{user, message("")}},
		"a hosted call's id goes the same way":     {in: []string{user, `b@{"type":"web_search_call","id":"ws_1","status":"completed"}`}, want: []string{user, `{"type":"web_search_call","status":"completed"}`}, note: "another encryption boundary"},
		"an id under an escaped key is an id":      {in: []string{user, "b@" + strings.Replace(message("msg_1"), `"id"`, `"\u0069d"`, 1)}, want: []string{user, message("")}, note: "another encryption boundary"},
		"of two ids under one key the last counts": {in: []string{user, `{"id":"x","type":"message","id":"msg_1","role":"assistant","content":[]}`}, want: []string{user, `{"type":"message","id":"msg_1","role":"assistant","content":[]}`}},
		"E14 strip_ids leaves every id out and gives calls ids that the strictest host takes": {
			in: []string{user, rs, call("fc_1"), out}, repair: onceward.RepairStripIDs,
			want: []string{user, bare, strings.Replace(call(""), "call_1", strictID("call_1"), 1), strings.Replace(out, "call_1", strictID("call_1"), 1)}, note: "1 calls renamed"},
		"an over-long id that another item names is the same in both": {
			in:   []string{`{"type":"mcp_approval_request","id":"` + long + `","name":"f","arguments":"{}","server_label":"s"}`, `{"type":"mcp_approval_response","approval_request_id":"` + long + `","approve":true}`},
			want: []string{`{"type":"mcp_approval_request","id":"` + joinID(long) + `","name":"f","arguments":"{}","server_label":"s"}`, `{"type":"mcp_approval_response","approval_request_id":"` + joinID(long) + `","approve":true}`}},
	} {
		t.Run(name, c.check)
	}
}

func TestCallIDsOfOthersAreRenamedInCallAndOutput(t *testing.T) {
	pair := func(id string) []string {
		return []string{fmt.Sprintf(`{"type":"function_call","call_id":%q,"name":"f","arguments":"{}"}`, id), fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":"x"}`, id)}
	}
	from := func(boundary string, pair []string) []string { return []string{boundary + "@" + pair[0], pair[1]} }
	long, kimi := "call_"+strings.Repeat("x", 60), "functions.get:0"
	for name, c := range map[string]portability{
		"E14 a call id of 65 characters":                 {in: pair(long), want: pair(digestID(long)), note: "1 calls renamed"},
		"a call id of 64 characters stays":               {in: pair(long[:64]), want: pair(long[:64])},
		"other characters stay at home":                  {in: pair(kimi), want: pair(kimi)},
		"other characters do not leave it":               {in: from("b", pair(kimi)), want: pair(digestID(kimi)), note: "1 calls renamed"},
		"a call id that fits everywhere goes everywhere": {in: from("b", pair("call_1")), want: pair("call_1")},
		"two answers with one id, of two hosts": {
			in: append(pair(kimi), from("b", pair(kimi))...), want: append(pair(kimi), pair(digestID(kimi+"\x002"))...), note: "1 calls renamed"},
	} {
		t.Run(name, c.check)
	}
}

func TestItemsAreWellFormedWhenTheyGoOut(t *testing.T) {
	message := func(rest string) string { return `{"type":"message","role":"assistant",` + rest + `}` }
	call := func(arguments string) string {
		return `{"type":"function_call","call_id":"c","name":"f","arguments":` + arguments + `}`
	}
	const text = `"content":[{"type":"output_text","text":"t","annotations":[]}]`
	for name, c := range map[string]portability{
		"E15 nulls are left out, annotations are added": {
			in:   []string{`{"type":"message","id":null,"role":"assistant","phase":null,"status":null,"content":[{"type":"output_text","text":"t"}]}`},
			want: []string{message(text)}, note: "3 nulls left out; 1 empty members added"},
		"E15 annotations that are null are none": {in: []string{message(`"content":[{"type":"output_text","text":"t","annotations":null,"logprobs":null}]`)}, want: []string{message(text)}, note: "2 nulls left out"},
		"E15 blank arguments are an object":      {in: []string{call(`""`)}, want: []string{call(`"{}"`)}, note: "1 arguments written"},
		"E15 half a surrogate pair inside arguments is replaced": {
			in: []string{call(`"{\"a\":\"x\\ud800y\"}"`)}, want: []string{call(`"{\"a\":\"x\\ufffdy\"}"`)}, note: "1 arguments freed"},
		"the other half, and halves the wrong way round": {
			in: []string{call(`"{\"a\":\"\\udc00\\ud800\"}"`)}, want: []string{call(`"{\"a\":\"\\ufffd\\ufffd\"}"`)}, note: "1 arguments freed"},
		"a whole pair stays":                      {in: []string{call(`"{\"a\":\"\\ud83d\\ude00\"}"`)}, want: []string{call(`"{\"a\":\"\\ud83d\\ude00\"}"`)}},
		"an escaped backslash is no escape":       {in: []string{call(`"{\"a\":\"\\\\ud800\"}"`)}, want: []string{call(`"{\"a\":\"\\\\ud800\"}"`)}},
		"arguments sent as an object are text":    {in: []string{call(`{"a":1}`)}, want: []string{call(`"{\"a\":1}"`)}, note: "1 arguments written"},
		"arguments that are null are an object":   {in: []string{call(`null`)}, want: []string{call(`"{}"`)}, note: "1 nulls"},
		"arguments that say null are an object":   {in: []string{call(`"null"`)}, want: []string{call(`"{}"`)}, note: "1 arguments written"},
		"arguments that are a list are an object": {in: []string{call(`"[1]"`)}, want: []string{call(`"{}"`)}, note: "1 arguments written"},
		"missing arguments are an object":         {in: []string{`{"type":"function_call","call_id":"c","name":"f"}`}, want: []string{call(`"{}"`)}, note: "1 empty members"},
		"a null that the API wants stays": {in: []string{`{"type":"code_interpreter_call","id":"ci_1","code":null,"outputs":null,"status":"completed","container_id":"c"}`},
			want: []string{`{"type":"code_interpreter_call","id":"ci_1","code":null,"outputs":null,"status":"completed","container_id":"c"}`}},
		"a status of the host's own is the API's": {in: []string{`{"type":"message","id":"msg_1","role":"assistant","status":"finished",` + text + `}`},
			want: []string{`{"type":"message","id":"msg_1","role":"assistant","status":"completed",` + text + `}`}, note: "1 values replaced"},
		"members that nobody knows stay at home": {in: []string{message(text + `,"sparkle":1`)}, want: []string{message(text + `,"sparkle":1`)}},
		"members that nobody knows do not leave it": {
			in:   []string{"b@" + message(`"content":[{"type":"text","text":"t","annotations":[{"type":"file_citation","file_id":"f","index":1}],"glitter":1}],"sparkle":1`)},
			want: []string{message(`"content":[{"type":"output_text","text":"t","annotations":[]}]`)}, note: "3 members left out"},
		"a message without a role is the model's":    {in: []string{`{"type":"message",` + text + `}`}, want: []string{`{"type":"message",` + text + `,"role":"assistant"}`}, note: "1 empty"},
		"a message without content has an empty one": {in: []string{message(`"content":null`)}, want: []string{message(`"content":[]`)}, note: "1 nulls"},
		"a call without a name gets one":             {in: []string{`{"type":"function_call","call_id":"c","name":"","arguments":"{}"}`}, want: []string{`{"type":"function_call","call_id":"c","name":"_","arguments":"{}"}`}, note: "1 names"},
		"an output that is null says nothing":        {in: []string{`{"type":"function_call_output","call_id":"c","output":null}`}, want: []string{`{"type":"function_call_output","call_id":"c","output":""}`}, lists: true, note: "1 nulls"},
	} {
		t.Run(name, c.check)
	}
}

// Whatever a transcript holds, what goes out is JSON, has no null that may be left
// out and no id that is refused, keeps pairs together, and is its own fitting.
func FuzzFit(f *testing.F) {
	f.Add("a"+`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"g"}`+"\na"+`{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":""}`+"\n?"+`{"type":"function_call_output","call_id":"c","output":"x"}`, "")
	f.Add("b"+`{"type":"message","id":null,"role":"assistant","content":[{"type":"text","text":"t","annotations":null}],"phase":null}`, "strip_ids")
	f.Add("a"+`{"type":"function_call","call_id":"functions.f:0","name":"f g","arguments":"{\"a\":\"\\ud800\"}"}`+"\n?"+`{"type":"function_call_output","call_id":"functions.f:0","output":null}`, "strip_reasoning")
	f.Add("a"+`{"\u0069d":"x","id":"y","id":"msg_1","role":null,"content":null}`, "")
	f.Fuzz(func(t *testing.T, transcript, repair string) {
		var in []onceward.Item
		for line := range strings.Lines(transcript) {
			if len(line) < 2 {
				continue
			}
			item, err := onceward.NewItem([]byte(line[1:]), "")
			if err != nil || item.Type == "compaction" || item.Type == "item_reference" { // refused, and names nothing but an id
				continue
			}
			if from := line[:1]; from != "?" && !ours(item) {
				item.MintedBy, item.MintedIn = from, from
				if Sealed(item) {
					item.Boundary = from
				}
			}
			in = append(in, item)
		}
		to := Target{Resource: "a", Boundary: "a", Capability: onceward.Capability{ListOutput: true}}
		sent := fitted(t, in, to, onceward.Repair(repair))
		calls := map[string]bool{}
		for _, item := range sent {
			if len(item.ID) > maxID || len(item.CallID) > maxCallID {
				t.Fatalf("an id of more than 64 characters went out: %s", item.Raw)
			}
			members(item.Raw, func(key, value []byte) bool {
				if string(value) == "null" && !nullable(item.Type, string(key)) {
					t.Fatalf("a null went out: %s", item.Raw)
				}
				return true
			})
			calls[item.CallID] = true
		}
		joined := map[string]bool{}
		for i, item := range in {
			if isCall(item.Type) {
				joined[item.CallID] = true
			}
			if isOutput(item.Type) && joined[item.CallID] && len(sent) == len(in) && !calls[sent[i].CallID] {
				t.Fatalf("an output lost its call: %s", sent[i].Raw)
			}
		}
		again := fitted(t, sent, to, onceward.Repair(repair))
		if len(again) != len(sent) {
			t.Fatalf("%d items, fitted again %d", len(sent), len(again))
		}
		for i := range sent {
			if string(sent[i].Raw) != string(again[i].Raw) {
				t.Fatalf("fitted again it differs:\n%s\n%s", sent[i].Raw, again[i].Raw)
			}
		}
	})
}

// fitted returns the items of a rendered request, each with the origin it had.
func fitted(t *testing.T, in []onceward.Item, to Target, repair onceward.Repair) []onceward.Item {
	t.Helper()
	r, err := Render(onceward.ModelRequest{Items: in, Repair: repair}, to)
	if err != nil {
		t.Fatal(err)
	}
	var body struct {
		Input []json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatalf("%v: %s", err, r.Body)
	}
	var kept []onceward.Item
	plan := NewFit(to, repair, maxCallID)
	for _, item := range in {
		if item.Type != onceward.ItemManifest && !plan.unread(item) {
			kept = append(kept, item)
		}
	}
	if repair == onceward.RepairHistory || len(body.Input) != len(kept) {
		kept = nil
	}
	out := make([]onceward.Item, len(body.Input))
	for i, raw := range body.Input {
		item, err := onceward.NewItem(raw, "")
		if err != nil {
			t.Fatal(err)
		}
		if kept != nil {
			item.MintedBy, item.MintedIn, item.Boundary = kept[i].MintedBy, kept[i].MintedIn, kept[i].Boundary
		}
		out[i] = item
	}
	return out
}
