package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func TestConversationIsSentOnlyWhatItDoesNotHold(t *testing.T) {
	const (
		manifest  = `{"type":"onceward_manifest"}`
		user      = `{"type":"message","role":"user","content":"hi"}`
		developer = `{"type":"message","role":"developer","content":"be kind"}`
		short     = `{"role":"system","content":"be brief"}`
		said      = `{"type":"message","id":"msg_1","role":"assistant","content":[]}`
		rs        = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA"}`
		call      = `{"type":"function_call","id":"fc_1","call_id":"call_0","name":"f","arguments":"{}"}`
		output    = `{"type":"function_call_output","call_id":"call_0","output":"x"}`
		custom    = `{"type":"custom_tool_call_output","call_id":"c2","output":"y"}`
		hosted    = `{"type":"web_search_call","id":"ws_1"}`
	)
	for name, c := range map[string]struct{ in, want []string }{
		"the first request is all of it":                  {in: []string{manifest, developer, user}, want: []string{developer, user}},
		"after a call only its output":                    {in: []string{manifest, user, rs, call, output}, want: []string{output}},
		"every output of the turn, in order":              {in: []string{user, call, hosted, output, custom}, want: []string{output, custom}},
		"only those of the last turn":                     {in: []string{user, call, output, rs, call, custom}, want: []string{custom}},
		"what was said after an answer":                   {in: []string{user, said, short, user}, want: []string{short, user}},
		"nothing where the model spoke last":              {in: []string{user, said}},
		"an item that nobody knows is the model's":        {in: []string{user, `{"type":"new_thing","id":"n_1"}`, output}, want: []string{output}},
		"nothing where there is no transcript":            {},
		"an output without its call: the conversation's":  {in: []string{output}, want: []string{output}},
		"a call id that comes again stays what it was":    {in: []string{user, call, output, call, output}, want: []string{output}},
		"a call id longer than others take is the host's": {in: []string{strings.Replace(call, "call_0", long65, 1), strings.Replace(output, "call_0", long65, 1)}, want: []string{strings.Replace(output, "call_0", long65, 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, repair := range []onceward.Repair{onceward.RepairNone, onceward.RepairHistory, onceward.RepairStripIDs, onceward.RepairStripReasoning} {
				req := onceward.ModelRequest{Items: items(t, c.in...), Conversation: "conv_1", Repair: repair}
				linted, notices := Lint(req)
				if len(notices) != 0 || len(linted) != len(req.Items) {
					t.Errorf("the lint left out %q", notices)
				}
				r, err := Render(req, Target{Deployment: "d", Boundary: "a", Capability: onceward.Capability{EncryptedReasoning: true}})
				if err != nil {
					t.Fatal(err)
				}
				if got := input(t, r); strings.Join(got, "\n") != strings.Join(c.want, "\n") || r.Stripped {
					t.Errorf("repair %q: stripped %v, got\n%s\nwant\n%s", repair, r.Stripped, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
				}
			}
		})
	}
}

var long65 = strings.Repeat("x", 65)

func TestBodyInAConversationIsStoredThere(t *testing.T) {
	req := onceward.ModelRequest{Items: items(t, `{"role":"user","content":"hi"}`), Conversation: "conv_1"}
	r, err := Render(req, Target{Deployment: "d", Capability: onceward.Capability{EncryptedReasoning: true}})
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	if string(body["conversation"]) != `"conv_1"` || string(body["store"]) != "true" {
		t.Errorf("%s", r.Body)
	}
	for _, key := range []string{"previous_response_id", "include"} {
		if _, ok := body[key]; ok {
			t.Errorf("%s was sent", key)
		}
	}
}

func TestBodyAfterAPreviousResponseIsNotStored(t *testing.T) {
	r, err := Render(onceward.ModelRequest{Items: items(t, `{"role":"user","content":"hi"}`), PreviousResponseID: "resp_1"}, Target{Deployment: "d"})
	if err != nil || !strings.Contains(string(r.Body), `"store":false,"stream":true,"previous_response_id":"resp_1"`) || strings.Contains(string(r.Body), "conversation") {
		t.Errorf("%v: %s", err, r.Body)
	}
}

func TestFilesOfTheFirstMessageAreSentAsTheyAre(t *testing.T) {
	const raw = `{"content":[{"text":"read this","type":"input_text"},{"file_id":"file-1","type":"input_file"}],"role":"user","type":"message"}`
	r, err := Render(onceward.ModelRequest{Items: items(t, raw)}, Target{Deployment: "d"})
	if err != nil || input(t, r)[0] != raw {
		t.Errorf("%v: %s", err, r.Body)
	}
}
