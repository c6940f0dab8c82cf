package routertest_test

import (
	"strings"
	"testing"

	"github.com/onceward/onceward/router/routertest"
)

func errorOf(t *testing.T, g got) (message, code, param string) {
	t.Helper()
	e, _ := g.json(t)["error"].(obj)
	text := func(k string) string { s, _ := e[k].(string); return s }
	return text("message"), text("code"), text("param")
}

func TestStrictChecksRefuseWhatTheRealAPIRefuses(t *testing.T) {
	t.Parallel()
	strictTool := func(schema obj) []any {
		return []any{obj{"type": "function", "name": "f", "strict": true, "parameters": schema}}
	}
	p := start(t, routertest.Model{}, routertest.Resource{Name: "A", Deployments: []string{"m"}, ContextTokens: 2000})
	for _, c := range []struct {
		name    string
		body    any
		status  int
		message string
		code    string
		param   string
	}{
		{"no JSON", "{", 400, "We could not parse the JSON body", "", ""},
		{"unknown parameter", with(ask(user("a")), "seed", 1), 400, "Unknown parameter: 'seed'.", "unknown_parameter", "seed"},
		{"wrong type", with(ask(user("a")), "store", "no"), 400, "Invalid type for 'store': expected a boolean, but got a string instead.", "invalid_type", "store"},
		{"no model", obj{"input": "a"}, 400, "Missing required parameter: 'model'.", "missing_required_parameter", "model"},
		{"no input", obj{"model": "m"}, 400, "Missing required parameter: 'input'.", "missing_required_parameter", "input"},
		{"unknown deployment", with(ask(user("a")), "model", "x"), 404, "The API deployment for this resource does not exist.", "DeploymentNotFound", ""},
		{"unknown include", with(ask(user("a")), "include", []string{"x"}), 400, "Invalid value: 'x'.", "invalid_value", "include[0]"},
		{"max_output_tokens too small", with(ask(user("a")), "max_output_tokens", 1), 400, "integer below minimum value. Expected a value >= 16, but got 1", "integer_below_min_value", "max_output_tokens"},
		{"temperature below 0", with(ask(user("a")), "temperature", -1), 400, "Invalid 'temperature': decimal below minimum value.", "decimal_below_min_value", "temperature"},
		{"unknown item type", ask(obj{"type": "thing"}), 400, "Invalid value: 'thing'.", "invalid_value", "input[0]"},
		{"unknown item field", ask(obj{"role": "user", "content": "a", "name": "x"}), 400, "Unknown parameter: 'input[0].name'.", "unknown_parameter", "input[0].name"},
		{"item without a required field", ask(user("a"), obj{"type": "function_call", "name": "f", "arguments": "{}"}), 400, "Missing required parameter: 'input[1].call_id'.", "missing_required_parameter", "input[1].call_id"},
		{"arguments as an object", ask(obj{"type": "function_call", "call_id": "c", "name": "f", "arguments": obj{}}), 400, "Invalid type for 'input[0].arguments'", "invalid_type", "input[0].arguments"},
		{"call_id too long", ask(fcall(strings.Repeat("c", 65), "f", "{}")), 400, "string too long. Expected a string with maximum length 64, but got a string with length 65", "string_above_max_length", "input[0].call_id"},
		{"foreign id", ask(obj{"type": "reasoning", "id": "x1", "summary": []any{}}), 400, "Expected an ID that begins with 'rs'.", "invalid_value", "input[0].id"},
		{"status on reasoning", ask(obj{"type": "reasoning", "id": "rs_1", "summary": []any{}, "status": "completed"}), 400, "Unknown parameter: 'input[0].status'.", "unknown_parameter", "input[0].status"},
		{"content on reasoning", ask(obj{"type": "reasoning", "id": "rs_1", "summary": []any{}, "content": []any{obj{}}}), 400, "array too long. Expected an array with maximum length 0", "array_above_max_length", "input[0].content"},
		{"output part in a user message", ask(obj{"role": "user", "content": []any{obj{"type": "output_text", "text": "a"}}}), 400, "Invalid value: 'output_text'.", "invalid_value", "input[0].content[0]"},
		{"unknown role", ask(obj{"role": "tool", "content": "a"}), 400, "Invalid value: 'tool'.", "invalid_value", "input[0].role"},
		{"call without output", ask(user("a"), fcall("call_x", "f", "{}")), 400, "No tool output found for function call call_x.", "", "input"},
		{"custom call without output", ask(user("a"), obj{"type": "custom_tool_call", "call_id": "call_x", "name": "f", "input": ""}), 400, "No tool output found for custom tool call call_x.", "", "input"},
		{"output without call", ask(user("a"), foutput("call_x", "1")), 400, "No tool call found for function call output with call_id call_x.", "", "input"},
		{"output before its call", ask(foutput("call_x", "1"), fcall("call_x", "f", "{}")), 400, "No tool call found for function call output with call_id call_x.", "", "input"},
		{"second output of a call", ask(fcall("call_x", "f", "{}"), foutput("call_x", "1"), foutput("call_x", "1")), 400, "Duplicate item found with id call_x.", "", "input"},
		{"one id twice", ask(obj{"type": "message", "id": "msg_1", "role": "assistant", "content": "a"}, obj{"type": "message", "id": "msg_1", "role": "assistant", "content": "a"}), 400, "Duplicate item found with id msg_1.", "", "input"},
		{"bare reasoning id", ask(user("a"), obj{"type": "reasoning", "id": "rs_1", "summary": []any{}}), 400, "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.", "", "input"},
		{"item reference", ask(user("a"), obj{"type": "item_reference", "id": "msg_1"}), 400, "Items are not persisted when `store` is set to false.", "", "input"},
		{"seal of nobody", ask(user("a"), obj{"type": "reasoning", "id": "rs_1", "summary": []any{}, "encrypted_content": "gAAAAABnonsense"}), 400, "The encrypted content gAAA...ense could not be verified. Reason: Encrypted content could not be decrypted or parsed.", "invalid_encrypted_content", ""},
		{"unknown previous response", with(ask(user("a")), "previous_response_id", "resp_1"), 400, "Previous response with id 'resp_1' not found.", "previous_response_not_found", "previous_response_id"},
		{"strict tool without additionalProperties", with(ask(user("a")), "tools", strictTool(obj{"type": "object", "properties": obj{}})), 400, "'additionalProperties' is required to be supplied and to be false", "invalid_function_parameters", "tools[0].parameters"},
		{"strict tool with an optional key", with(ask(user("a")), "tools", strictTool(obj{"type": "object", "additionalProperties": false, "required": []string{}, "properties": obj{"multiple": obj{"type": "string"}}})), 400, "Missing 'multiple'.", "invalid_function_parameters", "tools[0].parameters"},
		{"input over the context window", ask(user(strings.Repeat("long ", 2000))), 400, "Your input exceeds the context window", "context_length_exceeded", "input"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := post(t, p.Resource("A"), c.body)
			message, code, param := errorOf(t, g)
			if g.status != c.status || !strings.Contains(message, c.message) || code != c.code || param != c.param {
				t.Errorf("%d %s", g.status, g.body)
			}
			if s := post(t, p.Resource("A"), c.body); s.status != c.status {
				t.Errorf("the same request again: %d", s.status)
			}
		})
	}
}

func TestWellFormedRequestsPass(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.Model{})
	for name, body := range map[string]obj{
		"string input":              {"model": "m", "input": "hi"},
		"call and output":           ask(user("a"), fcall("c", "f", "{}"), foutput("c", "1")),
		"text between call, output": ask(user("a"), fcall("c", "f", "{}"), obj{"role": "assistant", "content": []any{obj{"type": "output_text", "text": "x"}}}, foutput("c", "1")),
		"two calls, two outputs":    ask(fcall("c", "f", "{}"), fcall("d", "f", "{}"), foutput("d", "1"), foutput("c", "1")),
		"null options":              with(ask(user("a")), "temperature", nil),
		"hosted tool":               with(ask(user("a")), "tools", []any{obj{"type": "web_search"}}),
		"strict schema":             with(ask(user("a")), "text", obj{"format": obj{"type": "json_schema", "name": "q", "strict": true, "schema": obj{"type": "object", "additionalProperties": false, "required": []string{"a"}, "properties": obj{"a": obj{"type": []string{"string", "null"}}}}}}),
	} {
		if g := post(t, p.Resource("A"), body); g.status != 200 {
			t.Errorf("%s: %d %s", name, g.status, g.body)
		}
	}
}

func TestKeyIsDemanded(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.Model{},
		routertest.Resource{Name: "A", Key: "secret-key-of-a"}, routertest.Resource{Name: "O", Key: "secret-key-of-o", Dialect: routertest.DialectOpenAI})
	for _, c := range []struct {
		resource string
		header   []string
		status   int
		code     string
	}{
		{"A", []string{"Authorization", "Bearer secret-key-of-a"}, 200, ""},
		{"A", []string{"api-key", "secret-key-of-a"}, 200, ""},
		{"A", nil, 401, "401"},
		{"A", []string{"api-key", "secret-key-of-o"}, 401, "401"},
		{"O", []string{"Authorization", "Bearer wrong-key-of-somebody"}, 401, "invalid_api_key"},
		{"O", nil, 401, ""},
	} {
		g := post(t, p.Resource(c.resource), ask(user("hi")), c.header...)
		code := ""
		if c.status != 200 {
			_, code, _ = errorOf(t, g)
		}
		if g.status != c.status || code != c.code {
			t.Errorf("%s %v: %d %s", c.resource, c.header, g.status, g.body)
		}
		if strings.Contains(g.body, "wrong-key-of-somebody") {
			t.Error("the answer holds the whole key")
		}
	}
	for _, r := range p.Requests() {
		for k, v := range r.Header {
			if strings.Contains(strings.Join(v, " "), "key-of") {
				t.Errorf("recorded header %s holds a key", k)
			}
		}
	}
}

func TestOpenAIDialectUsesItsOwnStatuses(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.Model{}, routertest.Resource{Name: "O", Dialect: routertest.DialectOpenAI, Deployments: []string{"m"}, NoEncryptedReasoning: true})
	g := post(t, p.Resource("O"), with(ask(user("a")), "model", "x"))
	if _, code, _ := errorOf(t, g); g.status != 400 || code != "model_not_found" {
		t.Errorf("%d %s", g.status, g.body)
	}
	if g := post(t, p.Resource("O"), ask(obj{"type": "item_reference", "id": "msg_1"})); g.status != 404 {
		t.Errorf("%d %s", g.status, g.body)
	}
	g = post(t, p.Resource("O"), with(ask(user("a")), "include", []string{"reasoning.encrypted_content"}))
	if m, _, _ := errorOf(t, g); g.status != 400 || m != "Encrypted content is not supported with this model." {
		t.Errorf("%d %s", g.status, g.body)
	}
}
