package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// items makes a transcript. What stands before an @ is the boundary that minted
// an item: a where nothing does, and nobody knows for a question mark.
func items(t testing.TB, list ...string) []onceward.Item {
	t.Helper()
	var out []onceward.Item
	for _, s := range list {
		boundary := "a"
		if at, rest, ok := strings.Cut(s, "@"); ok && len(at) == 1 {
			boundary, s = at, rest
		}
		item, err := onceward.NewItem([]byte(s), "")
		if err != nil {
			t.Fatal(err)
		}
		if boundary != "?" && !ours(item) {
			item.MintedBy, item.MintedIn = "of-"+boundary, boundary
		}
		if boundary != "?" && Sealed(item) {
			item.Boundary = boundary
		}
		out = append(out, item)
	}
	return out
}

func input(t *testing.T, r Rendered) []string {
	t.Helper()
	var body struct {
		Input []json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatalf("%v in %s", err, r.Body)
	}
	var out []string
	for _, raw := range body.Input {
		out = append(out, string(raw))
	}
	return out
}

func TestInputItems(t *testing.T) {
	const (
		user   = `{"type":"message","role":"user","content":"hi"}`
		rsA    = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA"}`
		rsBare = `{"type":"reasoning","id":"rs_0","summary":[]}`
		fc     = `{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{}"}`
		fcBare = `{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}`
		out    = `{"type":"function_call_output","call_id":"c1","output":"x"}`
		rsC    = `{"type":"reasoning","id":"rs_3","summary":[],"encrypted_content":"gC"}`
		fc2    = `{"type":"function_call","id":"fc_2","call_id":"c2","name":"f","arguments":"{}"}`
	)
	fcStrict, outStrict := strings.Replace(fcBare, "c1", strictID("c1"), 1), strings.Replace(out, "c1", strictID("c1"), 1)
	omit := func(c *onceward.Capability) { c.OmitReasoningIDs = true }
	long := strings.Repeat("x", 65)
	for name, c := range map[string]struct {
		in       []string
		repair   onceward.Repair
		cap      func(*onceward.Capability)
		want     []string
		stripped bool
	}{
		"inside its boundary reasoning is replayed": {in: []string{user, "a@" + rsA, fc, out}, want: []string{user, rsA, fc, out}},
		"the manifest stays at home":                {in: []string{`{"type":"onceward_manifest"}`, user}, want: []string{user}},
		"another boundary's reasoning is left out with the ids that need it": {
			in: []string{user, "b@" + rsA, "b@" + fc, out}, want: []string{user, fcBare, out}, stripped: true},
		"only the foreign one is left out": {
			in: []string{user, "b@" + rsA, "b@" + fc, out, "a@" + rsC, fc2}, want: []string{user, fcBare, out, rsC, fc2}, stripped: true},
		"unsealed reasoning is nothing but an id":  {in: []string{user, rsBare, fc, out}, want: []string{user, fcBare, out}},
		"output-only fields do not go back":        {in: []string{"a@" + `{"type":"reasoning","id":"rs_1","status":"completed","content":[{"type":"reasoning_text","text":"t"}],"summary":[],"encrypted_content":"gA"}`}, want: []string{rsA}},
		"created_by does not go back":              {in: []string{`{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{}","created_by":"x"}`}, want: []string{fc}},
		"strip_reasoning leaves all of it out":     {in: []string{user, "a@" + rsA, fc, out}, repair: onceward.RepairStripReasoning, want: []string{user, fcStrict, outStrict}, stripped: true},
		"strip_ids leaves ids out":                 {in: []string{user, "a@" + rsA, fc, out}, repair: onceward.RepairStripIDs, want: []string{user, `{"type":"reasoning","summary":[],"encrypted_content":"gA"}`, fcStrict, outStrict}},
		"a deployment that omits ids":              {in: []string{user, "a@" + rsA, fc, out}, cap: omit, want: []string{user, `{"type":"reasoning","summary":[],"encrypted_content":"gA"}`, fcBare, out}},
		"repair_history drops an orphan call":      {in: []string{user, "a@" + rsA, fc}, repair: onceward.RepairHistory, want: []string{user}},
		"repair_history drops an orphan output":    {in: []string{user, out}, repair: onceward.RepairHistory, want: []string{user}},
		"repair_history leaves the rest alone":     {in: []string{user, "a@" + rsA, fc, out, `{"type":"web_search_call","id":"ws_1"}`}, repair: onceward.RepairHistory, want: []string{user, rsA, fc, out, `{"type":"web_search_call","id":"ws_1"}`}},
		"an orphan stays where no repair is asked": {in: []string{user, fc}, want: []string{user, fc}},
		"a name that nobody declared goes back in letters that hosts take": {
			in:   []string{`{"type":"function_call","call_id":"c1","name":"functions.f g","arguments":"{}"}`, out},
			want: []string{`{"type":"function_call","call_id":"c1","name":"functions_f_g","arguments":"{}"}`, out}},
		"an over-long call id is the same both times": {in: []string{fmt.Sprintf(`{"type":"function_call","call_id":%q,"name":"f","arguments":""}`, long), fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":""}`, long)}, want: []string{fmt.Sprintf(`{"type":"function_call","call_id":%q,"name":"f","arguments":"{}"}`, digestID(long)), fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":""}`, digestID(long))}},
		"a call id that comes again is another call": {in: []string{fcBare, out, fcBare, out, fcBare}, want: []string{fcBare, out,
			strings.Replace(fcBare, "c1", digestID("c1\x002"), 1), strings.Replace(out, "c1", digestID("c1\x002"), 1),
			strings.Replace(fcBare, "c1", digestID("c1\x003"), 1)}},
		"repair_history keeps reasoning that another item follows": {
			in: []string{user, "a@" + rsA, fc2, fc, out}, repair: onceward.RepairHistory, want: []string{user, rsA, fc, out}},
		"repair_history drops all reasoning that only the orphan followed": {
			in: []string{user, "a@" + rsA, fc, out, "a@" + rsA, "a@" + rsA, fc2, user}, repair: onceward.RepairHistory, want: []string{user, rsA, fc, out, user}},
		"a list of texts is flattened for a host without lists": {
			in:   []string{`{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}`},
			want: []string{`{"type":"function_call_output","call_id":"c1","output":"a\nb"}`}},
		"an empty list is an empty text": {in: []string{`{"type":"function_call_output","call_id":"c1","output":[]}`}, want: []string{`{"type":"function_call_output","call_id":"c1","output":""}`}},
		"empty values are kept, nulls are not": {in: []string{`{"type":"function_call_output","call_id":"c1","output":""}`, `{"type":"custom_tool_call_output","call_id":"","output":"","x":null,"y":[]}`},
			want: []string{`{"type":"function_call_output","call_id":"c1","output":""}`, `{"type":"custom_tool_call_output","call_id":"","output":"","y":[]}`}},
		"unknown members and numbers survive": {in: []string{`{"type":"new_thing","x":1.10,"y":{"z":[1,2]},"id":"n_1"}`}, want: []string{`{"type":"new_thing","x":1.10,"y":{"z":[1,2]},"id":"n_1"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			to := Target{Deployment: "d", Boundary: "a", MaxOutputTokens: 10, Capability: onceward.Capability{EncryptedReasoning: true}}
			if c.cap != nil {
				c.cap(&to.Capability)
			}
			r, err := Render(onceward.ModelRequest{Items: items(t, c.in...), Repair: c.repair}, to)
			if err != nil {
				t.Fatal(err)
			}
			if got := input(t, r); strings.Join(got, "\n") != strings.Join(c.want, "\n") || r.Stripped != c.stripped {
				t.Errorf("stripped %v, got\n%s\nwant\n%s", r.Stripped, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
	if n := len(digestID(long)); n > maxCallID {
		t.Errorf("shortened to %d", n)
	}
}

func TestBodyIsStatelessAndCarriesTools(t *testing.T) {
	req := onceward.ModelRequest{
		RunKey: "wf/run", Instructions: "be \"brief\"", Items: items(t, `{"role":"user","content":"hi"}`),
		Tools:  []onceward.ToolDecl{{Name: "f", Description: "does f", Schema: json.RawMessage(`{"type":"object"}`)}},
		Output: &onceward.OutputDecl{Name: "answer", Schema: json.RawMessage(`{"type":"object"}`)},
	}
	to := Target{Deployment: "d", MaxOutputTokens: 10, Capability: onceward.Capability{EncryptedReasoning: true, StrictSchema: true, ParallelTools: true}}
	r, err := Render(req, to)
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"model": `"d"`, "instructions": `"be \"brief\""`, "store": "false", "stream": "true", "max_output_tokens": "10",
		"include": `["reasoning.encrypted_content"]`, "parallel_tool_calls": "true",
		"tools": `[{"type":"function","name":"f","description":"does f","parameters":{"type":"object"},"strict":true}]`,
		"text":  `{"format":{"type":"json_schema","name":"answer","schema":{"type":"object"},"strict":true}}`,
	} {
		if string(body[key]) != want {
			t.Errorf("%s: %s, want %s", key, body[key], want)
		}
	}
	for _, key := range []string{"previous_response_id", "conversation", "background", "truncation"} {
		if _, ok := body[key]; ok {
			t.Errorf("%s was sent", key)
		}
	}
	again, _ := Render(req, to)
	if string(again.Body) != string(r.Body) {
		t.Error("two renderings differ: the prompt cache would miss")
	}
	to.Capability = onceward.Capability{}
	if r, _ = Render(req, to); strings.Contains(string(r.Body), "include") || strings.Contains(string(r.Body), `"strict":true`) {
		t.Errorf("asks for what the deployment cannot: %s", r.Body)
	}
}

func TestCompactionOfAnotherBoundaryIsRefused(t *testing.T) {
	in := items(t, `b@{"type":"compaction","id":"cmp_1","encrypted_content":"x"}`)
	if _, err := Render(onceward.ModelRequest{Items: in}, Target{Boundary: "a"}); err == nil {
		t.Error("it was sent or left out")
	}
}

func TestImageForAHostWithoutListsIsRefused(t *testing.T) {
	in := items(t, `{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"x"}]}`)
	if _, err := Render(onceward.ModelRequest{Items: in}, Target{}); err == nil {
		t.Error("the image was dropped or sent")
	}
	if r, err := Render(onceward.ModelRequest{Items: in}, Target{Capability: onceward.Capability{ListOutput: true}}); err != nil || input(t, r)[0] != string(in[0].Raw) {
		t.Errorf("with lists: %v", err)
	}
}

func FuzzMembers(f *testing.F) {
	f.Add(`{"a":1,"b":[{"c":"}\""}]}`)
	f.Add(`{"a" : null , "b":"\\"}`)
	f.Fuzz(func(t *testing.T, in string) {
		n := 0
		ok := members([]byte(in), func(_, _ []byte) bool { n++; return true })
		var m map[string]json.RawMessage
		if json.Unmarshal([]byte(in), &m) == nil && m != nil && (!ok || n < len(m)) {
			t.Fatalf("%q: %v, %d members of %d", in, ok, n, len(m))
		}
	})
}

func BenchmarkRender300Items(b *testing.B) {
	var in []onceward.Item
	for i := range 100 {
		for _, s := range []string{
			fmt.Sprintf(`{"type":"reasoning","id":"rs_%d","summary":[],"encrypted_content":"%s"}`, i, strings.Repeat("g", 2000)),
			fmt.Sprintf(`{"type":"function_call","id":"fc_%d","call_id":"c%d","name":"f","arguments":"{}"}`, i, i),
			fmt.Sprintf(`{"type":"function_call_output","call_id":"c%d","output":"%s"}`, i, strings.Repeat("x", 4000)),
		} {
			item, err := onceward.NewItem([]byte(s), "")
			if err != nil {
				b.Fatal(err)
			}
			in = append(in, item)
		}
	}
	req := onceward.ModelRequest{RunKey: "wf/run", Items: in}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Render(req, Target{Deployment: "d"}); err != nil {
			b.Fatal(err)
		}
	}
}
