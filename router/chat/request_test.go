package chat

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/wire"
)

func item(t testing.TB, raw, boundary string) onceward.Item {
	t.Helper()
	it, err := onceward.NewItem([]byte(raw), boundary)
	if err != nil {
		t.Fatal(err)
	}
	return it
}

func transcript(t testing.TB, raws ...string) []onceward.Item {
	t.Helper()
	items := make([]onceward.Item, len(raws))
	for i, raw := range raws {
		items[i] = item(t, raw, "")
	}
	return items
}

const (
	user    = `{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}`
	said    = `{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"looking","annotations":[]}]}`
	callA   = `{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{\"x\":1}","status":"completed"}`
	callB   = `{"type":"function_call","call_id":"b","name":"g","arguments":""}`
	outputA = `{"type":"function_call_output","call_id":"a","output":"1"}`
	outputB = `{"type":"function_call_output","call_id":"b","output":""}`

	mUser  = `{"role":"user","content":"hi"}`
	mCallA = `{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}`
	mCallB = `{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}`
	mOutA  = `{"role":"tool","content":"1","tool_call_id":"a"}`
	mOutB  = `{"role":"tool","content":"","tool_call_id":"b"}`
)

func TestItemsBecomeMessages(t *testing.T) {
	calls := func(content string, list ...string) string {
		return `{"role":"assistant","content":` + content + `,"tool_calls":[` + strings.Join(list, ",") + `]}`
	}
	for name, c := range map[string]struct {
		in         []string
		want       []string
		compatible bool
		repair     onceward.Repair
	}{
		"a question":                         {in: []string{user}, want: []string{mUser}},
		"the short form of a message":        {in: []string{`{"role":"user","content":"hi"}`}, want: []string{mUser}},
		"parts of a question, joined":        {in: []string{`{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}`}, want: []string{`{"role":"user","content":"a\nb"}`}},
		"developer stays where it is known":  {in: []string{`{"role":"developer","content":"x"}`}, want: []string{`{"role":"developer","content":"x"}`}},
		"developer is system elsewhere":      {in: []string{`{"role":"developer","content":"x"}`}, want: []string{`{"role":"system","content":"x"}`}, compatible: true},
		"a call and its output":              {in: []string{user, callA, outputA}, want: []string{mUser, calls("null", mCallA), mOutA}},
		"text and calls of a turn together":  {in: []string{user, said, callA, callB, outputA, outputB}, want: []string{mUser, calls(`"looking"`, mCallA, mCallB), mOutA, mOutB}},
		"text after the calls, too":          {in: []string{callA, said, callB, outputA, outputB}, want: []string{calls(`"looking"`, mCallA, mCallB), mOutA, mOutB}},
		"outputs in another order":           {in: []string{callA, callB, outputB, outputA}, want: []string{calls("null", mCallA, mCallB), mOutA, mOutB}},
		"calls and outputs in turn":          {in: []string{callA, outputA, callB, outputB}, want: []string{calls("null", mCallA), mOutA, calls("null", mCallB), mOutB}},
		"a text between call and output":     {in: []string{callA, callB, outputA, said, outputB}, want: []string{calls("null", mCallA, mCallB), mOutA, mOutB, `{"role":"assistant","content":"looking"}`}},
		"a question between call and output": {in: []string{callA, user, outputA}, want: []string{calls("null", mCallA), mOutA, mUser}},
		"an output before its call":          {in: []string{outputA, user, callA}, want: []string{mUser, calls("null", mCallA), mOutA}},
		"an orphan is left for the host":     {in: []string{user, callA}, want: []string{mUser, calls("null", mCallA)}},
		"an orphan output, too":              {in: []string{user, outputA}, want: []string{mUser, mOutA}},
		"two orphan outputs, each once":      {in: []string{user, outputA, `{"type":"function_call_output","call_id":"a","output":"2"}`}, want: []string{mUser, mOutA, `{"role":"tool","content":"2","tool_call_id":"a"}`}},
		"orphans go with the repair":         {in: []string{callB, user, outputA}, want: []string{mUser}, repair: onceward.RepairHistory},
		"arguments that came as an object":   {in: []string{`{"type":"function_call","call_id":"a","name":"f","arguments":{"x":1}}`, outputA}, want: []string{calls("null", mCallA), mOutA}},
		"E10 a custom call and its error": {in: []string{`{"type":"custom_tool_call","call_id":"a","name":"sh","input":"ls"}`, `{"type":"custom_tool_call_output","call_id":"a","output":"no"}`},
			want: []string{calls("null", `{"id":"a","type":"function","function":{"name":"sh","arguments":"{\"input\":\"ls\"}"}}`), `{"role":"tool","content":"no","tool_call_id":"a"}`}},
		"a list of texts as output":            {in: []string{callA, `{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"1"}]}`}, want: []string{calls("null", mCallA), mOutA}},
		"an empty list as output":              {in: []string{callB, `{"type":"function_call_output","call_id":"b","output":[]}`}, want: []string{calls("null", mCallB), mOutB}},
		"a refusal is what the assistant said": {in: []string{`{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`}, want: []string{`{"role":"assistant","content":"no"}`}},
		"an assistant that says nothing":       {in: []string{user, `{"type":"message","role":"assistant","content":[]}`}, want: []string{mUser}},
		"the manifest is ours":                 {in: []string{`{"type":"onceward_manifest"}`, user}, want: []string{mUser}},
	} {
		t.Run(name, func(t *testing.T) {
			got, stripped, err := messagesOf(onceward.ModelRequest{Items: transcript(t, c.in...), Repair: c.repair}, c.compatible, fitting(c.repair))
			if err != nil || stripped {
				t.Fatalf("stripped %v, %v", stripped, err)
			}
			raw, _ := json.Marshal(got)
			if want := "[" + strings.Join(c.want, ",") + "]"; string(raw) != want {
				t.Errorf("got\n%s\nwant\n%s", raw, want)
			}
		})
	}
}

func TestReasoningIsLeftOutAndToldOfWhereItWasSealed(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA"}`: true,
		`{"type":"reasoning","id":"rs_1","summary":[]}`:                          false,
	} {
		got, err := Render(onceward.ModelRequest{Items: []onceward.Item{item(t, user, ""), item(t, raw, "x"), item(t, said, "")}}, Target{})
		if err != nil || got.Stripped != want || strings.Contains(string(got.Body), "rs_1") {
			t.Errorf("%s: stripped %v, %v: %s", raw, got.Stripped, err, got.Body)
		}
	}
}

func TestWhatCannotBeCarriedIsNamed(t *testing.T) {
	for raw, want := range map[string]Unsupported{
		`{"role":"user","content":[{"type":"input_image","image_url":"x"}]}`:                 {"message", "input_image"},
		`{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_file"}]}`: {"message", "input_file"},
		`{"role":"robot","content":"a"}`:                                                     {"message", "role robot"},
		`{"type":"function_call_output","call_id":"a","output":[{"type":"input_image"}]}`:    {"function_call_output", "input_image"},
		`{"type":"function_call_output","call_id":"a","output":{"a":1}}`:                     {"function_call_output", "content that is neither text nor a list"},
		`{"type":"web_search_call","id":"ws_1"}`:                                             {Item: "web_search_call"},
		`{"type":"item_reference","id":"msg_1"}`:                                             {Item: "item_reference"},
		`{"type":"compaction","id":"cmp_1","encrypted_content":"gA"}`:                        {Item: "compaction"},
	} {
		_, err := Render(onceward.ModelRequest{Items: transcript(t, raw)}, Target{})
		var got *Unsupported
		if !errors.As(err, &got) || *got != want {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestRequestHasWhatEachKindOfHostKnows(t *testing.T) {
	req := onceward.ModelRequest{
		RunKey: "wf/1", Instructions: "be brief", Items: transcript(t, user),
		Tools:  []onceward.ToolDecl{{Name: "f", Description: "does f", Schema: []byte(`{"type":"object"}`)}},
		Output: &onceward.OutputDecl{Name: "answer", Schema: []byte(`{"type":"object"}`)},
	}
	const (
		head     = `{"model":"dep","messages":[{"role":"system","content":"be brief"},` + mUser + `],"tools":[{"type":"function","function":{"name":"f","description":"does f","parameters":{"type":"object"}`
		response = `"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"},"strict":`
		tail     = `"stream":true,"stream_options":{"include_usage":true}}`
	)
	for name, c := range map[string]struct {
		to   Target
		want string
	}{
		"strict and parallel": {
			Target{Target: wire.Target{Deployment: "dep", MaxOutputTokens: 500, Capability: onceward.Capability{StrictSchema: true, ParallelTools: true}}},
			head + `,"strict":true}}],` + response + `true}},"max_completion_tokens":500,"prompt_cache_key":"` + wire.CacheKey("wf/1") + `",` + tail,
		},
		"compatible, and neither": {
			Target{Target: wire.Target{Deployment: "dep", MaxOutputTokens: 500}, Compatible: true},
			head + `}}],"parallel_tool_calls":false,` + response + `false}},"max_tokens":500,` + tail,
		},
	} {
		got, err := Render(req, c.to)
		if err != nil || string(got.Body) != c.want {
			t.Errorf("%s: %v\ngot\n%s\nwant\n%s", name, err, got.Body, c.want)
		}
	}
	bare, err := Render(onceward.ModelRequest{Items: transcript(t, user)}, Target{Target: wire.Target{Deployment: "dep"}})
	if err != nil || string(bare.Body) != `{"model":"dep","messages":[`+mUser+`],`+tail {
		t.Errorf("bare: %v: %s", err, bare.Body)
	}
	req.Tools[0].Schema = []byte(`{`)
	if _, err := Render(req, Target{}); err == nil {
		t.Error("a broken tool schema was accepted")
	}
	req.Tools, req.Output.Schema = nil, []byte(`{`)
	if _, err := Render(req, Target{}); err == nil {
		t.Error("a broken output schema was accepted")
	}
}

func fitting(repair onceward.Repair) *wire.Fit { return wire.NewFit(wire.Target{}, repair, maxCallID) }

func TestCallIDsFitTheHostAndJoinTheirOutputs(t *testing.T) {
	long := strings.Repeat("x", 84)
	items := transcript(t,
		`{"type":"function_call","call_id":"`+long+`","name":"f","arguments":"{}"}`, `{"type":"function_call_output","call_id":"`+long+`","output":"1"}`,
		`{"type":"function_call","call_id":"call_0","name":"f","arguments":"{}"}`, `{"type":"function_call_output","call_id":"call_0","output":"2"}`,
		`{"type":"function_call","call_id":"call_0","name":"f","arguments":"{}"}`, `{"type":"function_call_output","call_id":"call_0","output":"3"}`)
	got, _, err := messagesOf(onceward.ModelRequest{Items: items}, true, fitting(onceward.RepairNone))
	if err != nil || len(got) != 6 {
		t.Fatalf("%+v, %v", got, err)
	}
	seen := map[string]bool{}
	for i := 0; i < 6; i += 2 {
		id := got[i].ToolCalls[0].ID
		if len(id) > maxCallID || seen[id] || got[i+1].ToolCallID != id || *got[i+1].Content != string(rune('1'+i/2)) {
			t.Errorf("messages %+v %+v", got[i], got[i+1])
		}
		seen[id] = true
	}
	if !seen["call_0"] {
		t.Error("an id that fits was changed")
	}
}
