package activities

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

type lookArgs struct {
	Order string `json:"order"`
}

func (s *shop) Look(context.Context, lookArgs) (string, error) { return "ok", nil }

func shopAgent(t *testing.T) *Agent {
	t.Helper()
	s := &shop{}
	look, err := onceward.Read(onceward.Spec{Name: "look"}, (*shop).Look).Bind(s)
	if err != nil {
		t.Fatal(err)
	}
	return &Agent{Tools: map[string]Tool{
		"buy": buyTool(t, s),
		"look": {Bound: look, Validate: func(raw json.RawMessage) error {
			if strings.Contains(string(raw), "forbidden") {
				return errors.New("order: not allowed")
			}
			return nil
		}},
	}}
}

func TestBindCalls(t *testing.T) {
	for name, c := range map[string]struct {
		wire      onceward.WireCall
		withdrawn []string
		code      string // of the answer; empty: bound
		says      string
		tool      string
		id        onceward.ActionID
	}{
		"a read":                 {wire: onceward.WireCall{Name: "look", Arguments: `{"order":"7"}`}, tool: "look"},
		"a write":                {wire: onceward.WireCall{Name: "buy", Arguments: `{"item":"7"}`}, tool: "buy", id: "buy/7"},
		"blank arguments":        {wire: onceward.WireCall{Name: "look", Arguments: " "}, tool: "look"},
		"a known prefix":         {wire: onceward.WireCall{Name: "functions.look", Arguments: `{"order":"7"}`}, tool: "look"},
		"a prefix of nothing":    {wire: onceward.WireCall{Name: "functions.sell"}, code: codeUnknownTool, says: "buy, look", tool: "unknown"},
		"another case":           {wire: onceward.WireCall{Name: "Buy", Arguments: `{"item":"7"}`}, code: codeUnknownTool, says: "buy, look", tool: "unknown"},
		"a doubled name":         {wire: onceward.WireCall{Name: "buybuy", Arguments: `{"item":"7"}`}, code: codeUnknownTool, tool: "unknown"},
		"a duplicate key":        {wire: onceward.WireCall{Name: "buy", Arguments: `{"item":"7","item":"8"}`}, code: codeInvalidArguments, says: "twice", tool: "buy"},
		"a case variant":         {wire: onceward.WireCall{Name: "buy", Arguments: `{"item":"7","Item":"8"}`}, code: codeInvalidArguments, says: "twice", tool: "buy"},
		"an unknown key":         {wire: onceward.WireCall{Name: "buy", Arguments: `{"item":"7","key":"k"}`}, code: codeInvalidArguments, says: "key", tool: "buy"},
		"a schema miss":          {wire: onceward.WireCall{Name: "look", Arguments: `{"order":"forbidden"}`}, code: codeInvalidArguments, says: "not allowed", tool: "look"},
		"an id with a space":     {wire: onceward.WireCall{Name: "buy", Arguments: `{"item":"a b"}`}, code: codeInvalidArguments, says: "action id", tool: "buy"},
		"an id without end":      {wire: onceward.WireCall{Name: "buy", Arguments: `{"item":"` + strings.Repeat("x", 300) + `"}`}, code: codeInvalidArguments, says: "at most 200", tool: "buy"},
		"E10 a custom tool":      {wire: onceward.WireCall{Name: "buy", Custom: true}, code: codeUnknownTool, says: "no custom tool", tool: "unknown"},
		"a tool that is used up": {wire: onceward.WireCall{Name: "buy", Arguments: `{"item":"7"}`}, withdrawn: []string{"buy"}, code: codeWithdrawn, tool: "buy"},
	} {
		t.Run(name, func(t *testing.T) {
			c.wire.CallID = "call_1"
			got := bindCalls(shopAgent(t), onceward.Caller{}, []onceward.WireCall{c.wire}, c.withdrawn, 0)[0]
			if got.Tool != c.tool || got.ActionID != c.id {
				t.Errorf("tool %q, action id %q, want %q, %q", got.Tool, got.ActionID, c.tool, c.id)
			}
			if c.code == "" {
				if got.Output != nil || len(got.Args) == 0 {
					t.Fatalf("not bound: %+v", got)
				}
				return
			}
			if got.Output == nil || got.Output.CallID != "call_1" {
				t.Fatalf("no answer to the call: %+v", got)
			}
			if kind := map[bool]string{true: "custom_tool_call_output", false: "function_call_output"}[c.wire.Custom]; got.Output.Type != kind {
				t.Errorf("the answer is a %s, want a %s", got.Output.Type, kind)
			}
			var output struct {
				Output string `json:"output"`
			}
			if err := json.Unmarshal(got.Output.Raw, &output); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(output.Output, `"error":"`+c.code+`"`) || !strings.Contains(output.Output, c.says) {
				t.Errorf("the model reads %s, want %s and %q", output.Output, c.code, c.says)
			}
		})
	}
}

func TestOutputItem(t *testing.T) {
	for name, c := range map[string]struct{ out, want string }{
		"an object":                    {`{"a":1}`, `{"a":1}`},
		"a text":                       {`"hello"`, `hello`},
		"an empty text":                {`""`, ``},
		"an empty list":                {`[]`, `[]`},
		"too large":                    {`"` + strings.Repeat("x", onceward.MaxOutput) + `"`, `output_too_large`},
		"too large when escaped again": {`{"a":"` + strings.Repeat(`\u003c`, onceward.MaxOutput/6-10) + `"}`, `output_too_large`},
	} {
		item := outputItem("call_1", json.RawMessage(c.out), 0)
		var got struct {
			Output *string `json:"output"`
		}
		if err := json.Unmarshal(item.Raw, &got); err != nil || got.Output == nil {
			t.Errorf("%s: %.80s has no output (%v)", name, item.Raw, err)
			continue
		}
		if *got.Output != c.want && (c.want == "" || !strings.Contains(*got.Output, c.want)) {
			t.Errorf("%s: the model reads %.80q, want %q", name, *got.Output, c.want)
		}
		if len(item.Raw) > onceward.MaxItem {
			t.Errorf("%s: an item of %d bytes", name, len(item.Raw))
		}
	}
}

func TestTranscriptCacheKnowsBranches(t *testing.T) {
	items := func(texts ...string) []onceward.Item {
		var out []onceward.Item
		for _, text := range texts {
			item, err := onceward.Text("user", text)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, item)
		}
		return out
	}
	cache := newTranscripts(1 << 20)
	abc := items("a", "b", "c")
	cache.put("run", abc)
	if got := cache.get("run", 2, chainOf(abc[:2])); len(got) != 2 {
		t.Errorf("a prefix of the cached transcript: %d items, want 2", len(got))
	}
	if got := cache.get("run", 5, chainOf(items("a", "b", "c", "d", "e"))); len(got) != 3 {
		t.Errorf("a longer transcript begins with %d cached items, want 3", len(got))
	}
	if got := cache.get("run", 3, chainOf(items("a", "b", "x"))); got != nil {
		t.Errorf("another branch got %d items of this one", len(got))
	}
	small := newTranscripts(500)
	small.put("one", items("a"))
	small.put("two", items("b"))
	if small.get("one", 1, chainOf(items("a"))) != nil || small.get("two", 1, chainOf(items("b"))) == nil {
		t.Error("the least recently used run was not the one dropped")
	}
	if small.bytes > 500 {
		t.Errorf("%d bytes kept, limit 500", small.bytes)
	}
}
