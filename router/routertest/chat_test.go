package routertest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/onceward/onceward/router/routertest"
)

func startChat(t *testing.T, m routertest.Model, d routertest.Dialect) *routertest.Server {
	t.Helper()
	return start(t, m, routertest.Resource{Name: "A", API: routertest.APIChatCompletions, Dialect: d}).Resource("A")
}

func chat(t *testing.T, s *routertest.Server, body any) got {
	t.Helper()
	return postTo(t, s.URL()+"chat/completions", body)
}

func messages(list ...any) obj { return obj{"model": "m", "messages": append([]any{}, list...)} }

func tcall(id string) obj {
	return obj{"role": "assistant", "content": nil, "tool_calls": []any{obj{"id": id, "type": "function", "function": obj{"name": "f", "arguments": "{}"}}}}
}

func toutput(id string) obj { return obj{"role": "tool", "tool_call_id": id, "content": "1"} }

func TestChatResourceAnswersAsTheRealAPIDoes(t *testing.T) {
	t.Parallel()
	s := startChat(t, routertest.Model{Rules: []routertest.Rule{{Reply: []routertest.Out{
		{Reasoning: &routertest.Reasoning{Summary: "Thinking."}}, routertest.Say("Let me look."), routertest.CallTool("f", obj{"x": 1}), routertest.CallTool("g", obj{"x": 2}),
	}}}}, "")
	whole := chat(t, s, messages(user("hi")))
	choice := whole.json(t)["choices"].([]any)[0].(obj)
	said := choice["message"].(obj)
	if whole.status != 200 || choice["finish_reason"] != "tool_calls" || said["content"] != "Let me look." || len(said["tool_calls"].([]any)) != 2 || said["reasoning_content"] != "Thinking." {
		t.Fatalf("status %d: %s", whole.status, whole.body)
	}
	g := chat(t, s, with(streamed(messages(user("hi"))), "stream_options", obj{"include_usage": true}))
	if !strings.HasSuffix(g.body, "data: [DONE]\n\n") || strings.Contains(g.body, "event:") {
		t.Fatalf("stream %s", g.body)
	}
	text, arguments := "", []string{}
	for _, e := range g.events[:len(g.events)-1] {
		delta, _ := e["choices"].([]any)[0].(obj)["delta"].(obj)
		part, _ := delta["content"].(string)
		text += part
		list, _ := delta["tool_calls"].([]any)
		for _, c := range list {
			i := int(c.(obj)["index"].(float64))
			if i == len(arguments) {
				arguments = append(arguments, "")
			}
			arguments[i] += c.(obj)["function"].(obj)["arguments"].(string)
		}
	}
	if text != "Let me look." || strings.Join(arguments, " ") != `{"x":1} {"x":2}` {
		t.Errorf("text %q, arguments %v", text, arguments)
	}
	if u, ok := g.last(t)["usage"].(obj); !ok || u["prompt_tokens"].(float64) <= 0 || len(g.last(t)["choices"].([]any)) != 0 {
		t.Errorf("last event %v", g.last(t))
	}
	if g := chat(t, s, streamed(messages(user("hi")))); strings.Contains(g.body, "prompt_tokens") {
		t.Error("usage came without being asked for")
	}
	if g := post(t, s, ask(user("hi"))); g.status != 404 {
		t.Errorf("POST responses: %d", g.status)
	}
	if s.Attempts() != 4 { // the one to the wrong API is an attempt as well
		t.Errorf("%d attempts", s.Attempts())
	}
}

func TestChatResourceRefusesWhatTheRealAPIRefuses(t *testing.T) {
	t.Parallel()
	azure, compatible := startChat(t, routertest.Model{}, ""), startChat(t, routertest.Model{}, routertest.DialectCompatible)
	ok := messages(user("a"))
	for name, c := range map[string]struct {
		s       *routertest.Server
		body    any
		message string
		param   string
	}{
		"input of the other API":              {azure, with(ok, "input", "a"), "Unknown parameter", "input"},
		"include":                             {azure, with(ok, "include", []string{"reasoning.encrypted_content"}), "Unknown parameter", "include"},
		"previous response":                   {azure, with(ok, "previous_response_id", "resp_1"), "Unknown parameter", "previous_response_id"},
		"the older output limit":              {azure, with(ok, "max_tokens", 5), "Use 'max_completion_tokens' instead", "max_tokens"},
		"the newer output limit":              {compatible, with(ok, "max_completion_tokens", 5), "Unknown parameter", "max_completion_tokens"},
		"developer where it is not known":     {compatible, messages(obj{"role": "developer", "content": "a"}), "Invalid value: 'developer'", "messages[0].role"},
		"no messages":                         {azure, obj{"model": "m"}, "Missing required parameter", "messages"},
		"an empty list":                       {azure, messages(), "empty array", "messages"},
		"an item":                             {azure, messages(foutput("a", "1")), "Invalid value: ''", "messages[0].role"},
		"an id on a message":                  {azure, messages(with(user("a"), "id", "msg_1")), "Unknown parameter", "messages[0].id"},
		"a part of the other API":             {azure, messages(obj{"role": "user", "content": []any{obj{"type": "input_text", "text": "a"}}}), "Invalid value: 'input_text'", "messages[0].content[0].type"},
		"an assistant that says nothing":      {azure, messages(obj{"role": "assistant", "content": nil}), "expected a string, got null", "messages[0].content"},
		"an output without an id":             {azure, messages(obj{"role": "tool", "content": "a"}), "Missing required parameter", "messages[0].tool_call_id"},
		"a call id too long":                  {azure, messages(tcall(strings.Repeat("x", 41)), toutput(strings.Repeat("x", 41))), "maximum length 40", "messages[0].tool_calls[0].id"},
		"a call without an output":            {azure, messages(tcall("a")), "must be followed by tool messages", "messages.[0].role"},
		"a question between call and output":  {azure, messages(tcall("a"), user("b"), toutput("a")), "must be followed by tool messages", "messages.[1].role"},
		"an output without a call":            {azure, messages(user("a"), toutput("a")), "must be a response to a preceeding message", "messages.[1].role"},
		"an output twice":                     {azure, messages(tcall("a"), toutput("a"), toutput("a")), "must be a response to a preceeding message", "messages.[2].role"},
		"a tool of the other API":             {azure, with(ok, "tools", []any{obj{"type": "function", "name": "f"}}), "Unknown parameter", "tools[0].name"},
		"a strict tool with an open schema":   {azure, with(ok, "tools", []any{obj{"type": "function", "function": obj{"name": "f", "strict": true, "parameters": obj{"type": "object"}}}}), "additionalProperties", "tools[0].function.parameters"},
		"a strict answer with an open schema": {azure, with(ok, "response_format", obj{"type": "json_schema", "json_schema": obj{"name": "a", "strict": true, "schema": obj{"type": "object"}}}), "additionalProperties", "response_format.schema"},
		"usage of an answer in one piece":     {azure, with(ok, "stream_options", obj{"include_usage": true}), "only allowed when 'stream'", "stream_options"},
	} {
		g := chat(t, c.s, c.body)
		message, _, param := errorOf(t, g)
		if g.status != 400 || !strings.Contains(message, c.message) || param != c.param {
			t.Errorf("%s: %d %s", name, g.status, g.body)
		}
	}
	for _, s := range []*routertest.Server{azure, compatible} {
		if g := chat(t, s, messages(obj{"role": "system", "content": "a"}, user("b"), tcall("a"), toutput("a"))); g.status != 200 {
			t.Errorf("a good request: %d %s", g.status, g.body)
		}
	}
}

func TestUnknownAPIIsRefused(t *testing.T) {
	if _, err := routertest.New(routertest.Config{Resources: []routertest.Resource{{Name: "A", API: "soap"}}}); err == nil || !strings.Contains(err.Error(), "soap") {
		t.Error(err)
	}
	cfg, err := routertest.Load(strings.NewReader(`{"resources":[{"name":"A","api":"chat_completions","dialect":"compatible"}]}`))
	raw, _ := json.Marshal(cfg.Resources)
	if err != nil || cfg.Resources[0].API != routertest.APIChatCompletions || !strings.Contains(string(raw), "chat_completions") {
		t.Errorf("%s, %v", raw, err)
	}
}
