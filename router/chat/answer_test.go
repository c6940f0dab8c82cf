package chat

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/wire"
)

// stream collects events, all but the last of which must not end the stream.
func stream(t testing.TB, events ...string) *Stream {
	t.Helper()
	s := &Stream{}
	for i, e := range events {
		if end, err := s.Add(wire.Event{Data: []byte(e)}); err != nil || end && i < len(events)-1 {
			t.Fatalf("event %d: end %v, %v", i, end, err)
		}
	}
	return s
}

func delta(d string) string {
	return `{"id":"c1","model":"m-1","choices":[{"index":0,"delta":` + d + `}]}`
}

const (
	stop  = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}`
	asked = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
)

func TestAnswersBecomeItems(t *testing.T) {
	const (
		hi = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}`
		f  = `{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}"}`
		g  = `{"type":"function_call","call_id":"b","name":"g","arguments":"{}"}`
	)
	for name, c := range map[string]struct {
		events []string
		want   []string
	}{
		"a text in pieces":                                                {[]string{delta(`{"role":"assistant","content":""}`), delta(`{"content":"h"}`), delta(`{"content":"i"}`), stop, "[DONE]"}, []string{hi}},
		"a text in parts":                                                 {[]string{delta(`{"content":[{"type":"text","text":"h"},{"type":"text","text":"i"}]}`), stop}, []string{hi}},
		"a whole JSON answer":                                             {[]string{`{"id":"c1","object":"chat.completion","error":null,"choices":[{"index":0,"message":{"role":"assistant","content":"hi","refusal":null,"tool_calls":null},"finish_reason":"stop"}]}`}, []string{hi}},
		"a message that repeats the deltas":                               {[]string{delta(`{"content":"hi"}`), `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`}, []string{hi}},
		"E10 a custom call in pieces":                                     {[]string{delta(`{"tool_calls":[{"index":0,"id":"c","type":"custom","custom":{"name":"sh","input":"l"}}]}`), delta(`{"tool_calls":[{"index":0,"custom":{"input":"s"}}]}`), asked}, []string{`{"type":"custom_tool_call","call_id":"c","name":"sh","input":"ls"}`}},
		"E16 a call that only the message at the end has":                 {[]string{delta(`{"content":"hi"}`), `{"choices":[{"message":{"content":"hi","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]},"finish_reason":"tool_calls"}]}`}, []string{hi, f}},
		"E16 a call that the message at the end repeats under another id": {[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}`), `{"choices":[{"message":{"content":"hi","tool_calls":[{"id":"z","function":{"name":"f","arguments":"{\"x\":1}"}}]},"finish_reason":"tool_calls"}]}`}, []string{hi, f}},
		"E16 a call that comes twice under one id is one":                 {[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"index":1,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}`), asked}, []string{f}},
		"reasoning in the clear is left out":                              {[]string{delta(`{"reasoning_content":"hm"}`), delta(`{"content":"hi"}`), stop}, []string{hi}},
		"a second choice is nobody's":                                     {[]string{delta(`{"content":"hi"}`), `{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"length"}]}`, stop}, []string{hi}},
		"filters before the answer":                                       {[]string{`{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}`, delta(`{"content":"hi"}`), stop}, []string{hi}},
		"calls in pieces": {[]string{
			delta(`{"content":"hi","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]}`), delta(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`),
			delta(`{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}`), asked}, []string{hi, f, g}},
		"calls that end as stop":         {[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}`), stop}, []string{f}},
		"calls all numbered 0":           {[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]}`), asked}, []string{f, g}},
		"calls without numbers":          {[]string{delta(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\""}}]}`), delta(`{"tool_calls":[{"function":{"arguments":":1}"}}]}`), delta(`{"tool_calls":[{"id":"b","function":{"name":"g","arguments":""}}]}`), asked}, []string{f, g}},
		"a name and an id in each piece": {[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]}`), delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}]}`), asked}, []string{f}},
		"arguments as an object":         {[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}]}`), asked}, []string{f}},
		"blank arguments are none":       {[]string{delta(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":" \n"}}]}`), asked}, []string{g}},
		"a refusal":                      {[]string{delta(`{"refusal":"I "}`), delta(`{"refusal":"won't"}`), stop}, []string{`{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"I won't"}]}`}},
		"nothing":                        {[]string{delta(`{"role":"assistant","content":null}`), stop, "[DONE]"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := stream(t, c.events...)
			a, err := s.Answer()
			if err != nil || !s.Ended() || !s.Completed() || s.Begun() != (len(c.want) > 0) {
				t.Fatalf("ended %v, completed %v, begun %v, %v", s.Ended(), s.Completed(), s.Begun(), err)
			}
			var got []string
			for _, raw := range a.Items {
				it, err := onceward.NewItem(raw, "")
				if err != nil || it.ID != "" {
					t.Fatalf("%s: id %q, %v", raw, it.ID, err)
				}
				got = append(got, string(raw))
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// Gateways give every call of an answer the number 0, or none, and some no ids: each
// piece is then a whole call.
func TestE16CallsOfOneNumberAreToldApart(t *testing.T) {
	piece := func(at, id, name, arguments string) string {
		member := func(key, value string) string {
			if value == "" {
				return ""
			}
			return `"` + key + `":` + value + `,`
		}
		return `{` + member("index", at) + member("id", id) + `"function":{` + member("name", name) + `"arguments":` + arguments + `}}`
	}
	calls := func(pieces ...string) string { return delta(`{"tool_calls":[` + strings.Join(pieces, ",") + `]}`) }
	f1, f2, g3 := `f{"x":1}`, `f{"x":2}`, `g{"y":3}`
	for name, c := range map[string]struct {
		events []string
		want   string // names and arguments; "": refused
	}{
		"all numbered 0, no ids, one an event":             {[]string{calls(piece("0", "", `"f"`, `"{\"x\":1}"`)), calls(piece("0", "", `"g"`, `"{\"y\":3}"`))}, f1 + g3},
		"all numbered 0, no ids, all in one event":         {[]string{calls(piece("0", "", `"f"`, `"{\"x\":1}"`), piece("0", "", `"g"`, `"{\"y\":3}"`))}, f1 + g3},
		"all numbered 0, empty ids, one tool":              {[]string{calls(piece("0", `""`, `"f"`, `"{\"x\":1}"`)), calls(piece("0", `""`, `"f"`, `"{\"x\":2}"`))}, f1 + f2},
		"no numbers, no ids":                               {[]string{calls(piece("", "", `"f"`, `"{\"x\":1}"`)), calls(piece("", "", `"f"`, `"{\"x\":2}"`)), calls(piece("", "", `"g"`, `{"y":3}`))}, f1 + f2 + g3},
		"no numbers, null ids, objects":                    {[]string{calls(piece("null", "null", `"f"`, `{"x":1}`)), calls(piece("null", "null", `"f"`, `{"x":2}`))}, f1 + f2},
		"one id for all":                                   {[]string{calls(piece("0", `"a"`, `"f"`, `"{\"x\":1}"`)), calls(piece("0", `"a"`, `"f"`, `"{\"x\":2}"`))}, ""},
		"the same call twice under one id is one":          {[]string{calls(piece("0", `"a"`, `"f"`, `"{\"x\":1}"`)), calls(piece("0", `"a"`, `"f"`, `"{\"x\":1}"`))}, f1},
		"the second in pieces":                             {[]string{calls(piece("0", "", `"f"`, `"{\"x\":1}"`)), calls(piece("0", "", `"g"`, `""`)), calls(piece("0", "", "", `"{\"y\""`)), calls(piece("0", "", "", `":3}"`))}, f1 + g3},
		"both in pieces":                                   {[]string{calls(piece("0", "", `"f"`, `"{\"x\""`)), calls(piece("0", "", "", `":1} "`)), calls(piece("0", "", `"f"`, `"{\"x\":"`)), calls(piece("0", "", "", `"2}"`))}, f1 + f2},
		"a name in every piece":                            {[]string{calls(piece("0", "", `"f"`, `"{\"x\""`)), calls(piece("0", "", `"f"`, `":1}"`)), calls(piece("0", "", `"f"`, `""`))}, f1},
		"a nested object in a piece of its own":            {[]string{calls(piece("0", "", `"f"`, `"{\"x\":"`)), calls(piece("0", "", `"f"`, `"{\"z\":1}"`)), calls(piece("0", "", `"f"`, `"}"`))}, `f{"x":{"z":1}}`},
		"pieces in turns, told by their ids":               {[]string{calls(piece("0", `"a"`, `"f"`, `"{\"x\":"`)), calls(piece("0", `"b"`, `"g"`, `"{\"y\":"`)), calls(piece("0", `"a"`, "", `"1}"`)), calls(piece("0", `"b"`, "", `"3}"`))}, f1 + g3},
		"pieces in turns, told by their ids alone":         {[]string{calls(piece("", `"a"`, `"f"`, `"{\"x\":"`)), calls(piece("", `"b"`, `"g"`, `"{\"y\":"`)), calls(piece("", `"a"`, "", `"1}"`)), calls(piece("", `"b"`, "", `"3}"`))}, f1 + g3},
		"more arguments without a name are of nobody":      {[]string{calls(piece("0", "", `"f"`, `"{\"x\":1}"`)), calls(piece("0", "", "", `"{\"x\":2}"`))}, ""},
		"a blank after the arguments is nothing":           {[]string{calls(piece("0", "", `"f"`, `"{\"x\":1}"`)), calls(piece("0", "", "", `" \n"`))}, f1},
		"another name before the arguments are whole":      {[]string{calls(piece("0", "", `"f"`, `"{\"x\":"`)), calls(piece("0", "", `"g"`, `"1}"`))}, ""},
		"another name without arguments is no call":        {[]string{calls(piece("0", "", `"f"`, `"{\"x\":1}"`)), calls(piece("0", "", `"g"`, `""`))}, ""},
		"another name with an id and without arguments":    {[]string{calls(piece("0", `"a"`, `"f"`, `"{\"x\":1}"`)), calls(piece("0", `"b"`, `"g"`, `""`))}, f1 + "g{}"},
		"a message of calls without numbers and ids":       {[]string{`{"choices":[{"message":{"tool_calls":[` + piece("", "", `"f"`, `""`) + `,` + piece("", "", `"f"`, `"{\"x\":2}"`) + `]},"finish_reason":"tool_calls"}]}`}, "f{}" + f2},
		"a message of calls that are all numbered 0":       {[]string{`{"choices":[{"message":{"tool_calls":[` + piece("0", "", `"f"`, `"{\"x\":"`) + `,` + piece("0", "", `"f"`, `"2}"`) + `]},"finish_reason":"tool_calls"}]}`}, ""},
		"two that are cut do not become one that is whole": {[]string{calls(piece("0", `"a"`, `"f"`, `"{\"x\":"`)), calls(piece("0", `"b"`, `"f"`, `"1}"`))}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			events := c.events
			if !strings.Contains(events[0], "finish_reason") {
				events = append(events, asked)
			}
			a, err := stream(t, events...).Answer()
			var got strings.Builder
			ids := map[string]bool{}
			for _, call := range a.Calls {
				got.WriteString(call.Name + strings.TrimSpace(call.Arguments))
				ids[call.CallID] = true
			}
			if c.want == "" && err == nil || c.want != "" && (err != nil || got.String() != c.want || len(ids) != len(a.Calls)) {
				t.Errorf("got %s with %d ids, %v", &got, len(ids), err)
			}
		})
	}
}

func TestCallsWithoutIDsGetDifferentOnes(t *testing.T) {
	one := delta(`{"tool_calls":[{"index":0,"id":"","function":{"name":"f","arguments":"{}"}},{"index":1,"function":{"name":"f","arguments":"{}"}}]}`)
	a, err := stream(t, one, asked).Answer()
	if err != nil || len(a.Calls) != 2 || a.Calls[0].CallID == a.Calls[1].CallID || a.Calls[0].CallID == "" || len(a.Calls[0].CallID) > maxCallID {
		t.Fatalf("%+v, %v", a.Calls, err)
	}
	again, _ := stream(t, one, asked).Answer()
	other, _ := stream(t, strings.Replace(one, "c1", "c2", 1), asked).Answer()
	if again.Calls[0] != a.Calls[0] || other.Calls[0].CallID == a.Calls[0].CallID {
		t.Errorf("ids %v, again %v, of another answer %v", a.Calls[0], again.Calls[0], other.Calls[0])
	}
}

func TestBrokenCallsAreRefusedAndNeverRepaired(t *testing.T) {
	for name, d := range map[string]string{
		"arguments cut":              `{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\": \"unt"}}]}`,
		"arguments that are no JSON": `{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"amount 12"}}]}`,
		"one id for two calls":       `{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}`,
		"two names for one call":     `{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":0,"function":{"name":"g","arguments":""}}]}`,
	} {
		s := stream(t, delta(d), `{"choices":[{"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":7,"completion_tokens":2}}`)
		if a, err := s.Answer(); err == nil || !a.Usage.Known || a.Model != "m-1" {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

func TestEndsOfAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		events           []string
		ended, completed bool
		verdict          string
	}{
		"the end mark alone":                   {events: []string{delta(`{"content":"a"}`), "[DONE]"}},
		"a finish reason alone":                {[]string{delta(`{"content":"a"}`), stop}, true, true, stop},
		"cut at the limit":                     {[]string{`{"choices":[{"delta":{},"finish_reason":"length"}]}`}, true, false, `{"choices":[{"delta":{},"finish_reason":"length"}]}`},
		"a later reason does not make it good": {[]string{`{"choices":[{"delta":{},"finish_reason":"length"}]}`, stop}, true, false, `{"choices":[{"delta":{},"finish_reason":"length"}]}`},
		"an unknown reason is not a success":   {[]string{`{"choices":[{"delta":{},"finish_reason":"bored"}]}`}, true, false, `{"choices":[{"delta":{},"finish_reason":"bored"}]}`},
		"an error":                             {[]string{delta(`{"content":"a"}`), `{"error":{"message":"boom"}}`}, true, false, `{"error":{"message":"boom"}}`},
		"an error after the finish reason":     {[]string{stop, `{"error":{"message":"boom"}}`}, true, false, `{"error":{"message":"boom"}}`},
		"an error of another shape":            {[]string{`{"object":"error","message":"boom","code":500}`}, true, false, `{"object":"error","message":"boom","code":500}`},
	} {
		s := stream(t, c.events...)
		if s.Ended() != c.ended || s.Completed() != c.completed || string(s.Verdict()) != c.verdict {
			t.Errorf("%s: ended %v, completed %v, verdict %s", name, s.Ended(), s.Completed(), s.Verdict())
		}
	}
	for _, data := range []string{`{"choices":[{"delta":{"content":"a`, `[1]`, `"text"`, `{"choices":{}}`} {
		var s Stream
		if _, err := s.Add(wire.Event{Data: []byte(data)}); err == nil {
			t.Errorf("%s was accepted", data)
		}
	}
}

func TestUsageIsTranslatedAndNeverTooLow(t *testing.T) {
	for raw, want := range map[string]onceward.Usage{
		`null`: {}, `{}`: {}, `"many"`: {}, `{"prompt_tokens":0,"completion_tokens":0}`: {}, `{"prompt_tokens":-1,"completion_tokens":5}`: {},
		`{"prompt_tokens":100,"completion_tokens":0}`: {},
		`{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110,"prompt_tokens_details":{"cached_tokens":40},"completion_tokens_details":{"reasoning_tokens":2}}`: {Known: true, InputTokens: 100, CachedTokens: 40, OutputTokens: 10, ReasoningTokens: 2},
		`{"prompt_tokens":100,"completion_tokens":10,"total_tokens":150,"prompt_tokens_details":null,"completion_tokens_details":{"reasoning_tokens":40}}`:                {Known: true, InputTokens: 100, OutputTokens: 50, ReasoningTokens: 40},
		`{"prompt_tokens":100,"completion_tokens":10,"total_tokens":999}`:                                                                                                 {Known: true, InputTokens: 100, OutputTokens: 899},
	} {
		a, _ := stream(t, delta(`{"content":"a"}`), stop, `{"choices":[],"usage":`+raw+`}`).Answer()
		if want.InputTokens > 0 && !want.Known {
			t.Fatal("a row that says nothing")
		}
		if a.Usage.Known != want.Known || want.Known && a.Usage != want {
			t.Errorf("%s: %+v", raw, a.Usage)
		}
	}
}

func TestThoughtsUnderAnyNameBringTheAnswerOn(t *testing.T) {
	for delta, want := range map[string]bool{
		`{"reasoning":"hm"}`: true, `{"reasoning_content":"hm"}`: true, `{"reasoning_text":"hm"}`: true, `{"thinking":"hm"}`: true,
		`{"reasoning_details":[{"type":"reasoning.text","text":"hm"}]}`: true, `{"thinking_blocks":[{"type":"thinking","thinking":"hm"}]}`: true,
		`{"content":"","reasoning":"","thinking_blocks":[],"reasoning_details":null}`: false, `{"role":"assistant"}`: false,
	} {
		var s Stream
		for range 3 { // the first event counts, whatever it holds
			if _, err := s.Add(wire.Event{Data: []byte(`{"id":"c","choices":[{"index":0,"delta":` + delta + `}]}`)}); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.Steps() > 1; got != want {
			t.Errorf("E17 %s: %d steps", delta, s.Steps())
		}
	}
}
