package routertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// API is what a resource speaks.
type API string

// The APIs.
const (
	APIResponses       API = "responses"
	APIChatCompletions API = "chat_completions" // and nothing of the Responses API
)

// chatParameters are the top-level parameters of Chat Completions with the JSON
// kind each must have. What only the Responses API has is refused.
var chatParameters = map[string]string{
	"audio": "an object", "frequency_penalty": "a number", "logit_bias": "an object", "logprobs": "a boolean",
	"max_completion_tokens": "a number", "max_tokens": "a number", "messages": "an array", "metadata": "an object",
	"modalities": "an array", "model": "a string", "n": "a number", "parallel_tool_calls": "a boolean",
	"prediction": "an object", "presence_penalty": "a number", "prompt_cache_key": "a string",
	"reasoning_effort": "a string", "response_format": "an object", "safety_identifier": "a string", "seed": "a number",
	"service_tier": "a string", "stop": "", "store": "a boolean", "stream": "a boolean", "stream_options": "an object",
	"temperature": "a number", "tool_choice": "", "tools": "an array", "top_logprobs": "a number", "top_p": "a number",
	"user": "a string", "verbosity": "a string",
}

// maxChatCallID is the longest id of a tool call, in bytes.
const maxChatCallID = 40

// chatMessage is one message of a request.
type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Refusal    *string         `json:"refusal"`
	Name       string          `json:"name"`
	ToolCallID *string         `json:"tool_call_id"`
	ToolCalls  []chatCall      `json:"tool_calls"`
}

type chatCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// parseChat reads what models look at and never fails; checkChat reports.
func parseChat(raw []byte) (Body, []Item) {
	var m struct {
		Model     string        `json:"model"`
		Stream    bool          `json:"stream"`
		CacheKey  string        `json:"prompt_cache_key"`
		Limit     int           `json:"max_completion_tokens"`
		OlderName int           `json:"max_tokens"`
		Messages  []chatMessage `json:"messages"`
		Tools     []struct {
			Function struct{ Name string } `json:"function"`
		} `json:"tools"`
	}
	_ = json.Unmarshal(raw, &m) // a wrong type leaves the rest as it is; checkChat refuses it
	never := false
	b := Body{Model: m.Model, Stream: m.Stream, Store: &never, PromptCacheKey: m.CacheKey, MaxOutputTokens: m.Limit + m.OlderName}
	for _, t := range m.Tools {
		b.Tools = append(b.Tools, t.Function.Name)
	}
	var items []Item
	for i, msg := range m.Messages {
		if i == 0 && msg.Role == "system" {
			b.Instructions = msg.Content
			continue
		}
		items = append(items, msg.items()...)
	}
	return b, items
}

// items is the message as models see it, in the form of the other API.
func (m chatMessage) items() []Item {
	var list []Item
	add := func(v any) {
		it, _ := parseItem(encode(v)) // made here
		list = append(list, it)
	}
	type object = map[string]any
	switch m.Role {
	case "tool":
		id := ""
		if m.ToolCallID != nil {
			id = *m.ToolCallID
		}
		add(object{"type": "function_call_output", "call_id": id, "output": orEmpty(m.Content, `""`)})
		return list
	case "assistant":
		if k := jsonKind(m.Content); k == "null" || k == "nothing" {
			break
		}
		fallthrough
	default:
		add(object{"type": "message", "role": m.Role, "content": orEmpty(m.Content, `""`)})
	}
	for _, c := range m.ToolCalls {
		add(object{"type": "function_call", "call_id": c.ID, "name": c.Function.Name, "arguments": c.Function.Arguments})
	}
	return list
}

// checkChat checks the whole body as strictly as the real API does.
func (s *Server) checkChat(raw []byte) (map[string]json.RawMessage, *apiError) {
	m, e := s.checkParameters(raw, chatParameters)
	if e != nil {
		return nil, e
	}
	compatible := s.cfg.Dialect == DialectCompatible
	switch {
	case !compatible && len(m["max_tokens"]) > 0:
		return nil, badRequest("max_tokens", "unsupported_parameter", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	case len(m["max_completion_tokens"]) > 0 && compatible:
		return nil, unknownParameter("max_completion_tokens")
	case len(m["prompt_cache_key"]) > 0 && compatible:
		return nil, unknownParameter("prompt_cache_key")
	case len(m["stream_options"]) > 0 && string(m["stream"]) != "true":
		return nil, badRequest("stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case string(m["parallel_tool_calls"]) != "" && len(m["tools"]) == 0:
		return nil, badRequest("parallel_tool_calls", "", "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.")
	}
	if e := checkChatTools(m["tools"]); e != nil {
		return nil, e
	}
	if e := checkChatFormat(m["response_format"]); e != nil {
		return nil, e
	}
	var messages []json.RawMessage
	if err := json.Unmarshal(orEmpty(m["messages"], "null"), &messages); err != nil || messages == nil {
		return nil, missingParameter("messages")
	}
	if len(messages) == 0 {
		return nil, badRequest("messages", "empty_array", "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	parsed := make([]chatMessage, len(messages))
	for i, raw := range messages {
		if parsed[i], e = checkChatMessage(fmt.Sprintf("messages[%d]", i), raw, compatible); e != nil {
			return nil, e
		}
	}
	return m, checkChatPairs(parsed)
}

// chatFields are the fields each role may carry.
var chatFields = map[string]string{
	"system": "role content name", "developer": "role content name", "user": "role content name",
	"assistant": "role content name refusal tool_calls", "tool": "role content tool_call_id",
}

func checkChatMessage(at string, raw json.RawMessage, compatible bool) (chatMessage, *apiError) {
	var m chatMessage
	var keys map[string]json.RawMessage
	if json.Unmarshal(raw, &keys) != nil || json.Unmarshal(raw, &m) != nil {
		return m, invalidType(at, "an object", raw)
	}
	fields, known := chatFields[m.Role]
	if !known || m.Role == "developer" && compatible {
		return m, badRequest(at+".role", "invalid_value", "Invalid value: '%s'. Supported values are: %s.", m.Role, quoted(sortedKeys(chatFields)))
	}
	for _, key := range sortedKeys(keys) {
		if !slices.Contains(strings.Fields(fields), key) {
			return m, unknownParameter(at + "." + key)
		}
	}
	if m.Role == "tool" && m.ToolCallID == nil {
		return m, missingParameter(at + ".tool_call_id")
	}
	for i, c := range m.ToolCalls {
		call := fmt.Sprintf("%s.tool_calls[%d]", at, i)
		switch {
		case c.ID == "":
			return m, missingParameter(call + ".id")
		case len(c.ID) > maxChatCallID:
			return m, badRequest(call+".id", "string_above_max_length", "Invalid '%s.id': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", call, maxChatCallID, len(c.ID))
		case c.Type != "function":
			return m, badRequest(call+".type", "invalid_value", "Invalid value: '%s'. Supported values are: 'function'.", c.Type)
		case !toolName.MatchString(c.Function.Name):
			return m, badRequest(call+".function.name", "invalid_value", "Invalid '%s.function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", call)
		}
	}
	switch k := jsonKind(m.Content); {
	case k == "a string":
	case k == "an array":
		return m, checkChatParts(at, m.Content)
	case (k == "null" || k == "nothing") && m.Role == "assistant" && len(m.ToolCalls) > 0:
	default:
		return m, badRequest(at+".content", "invalid_type", "Invalid value for 'content': expected a string, got %s.", k)
	}
	return m, nil
}

func checkChatParts(at string, raw json.RawMessage) *apiError {
	var parts []struct{ Type string }
	if json.Unmarshal(raw, &parts) != nil {
		return invalidType(at+".content", "an array of objects", raw)
	}
	for i, p := range parts {
		if !slices.Contains([]string{"text", "image_url", "input_audio", "refusal", "file"}, p.Type) {
			return badRequest(fmt.Sprintf("%s.content[%d].type", at, i), "invalid_value", "Invalid value: '%s'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', and 'file'.", p.Type)
		}
	}
	return nil
}

// checkChatPairs checks that the outputs of a message's calls come directly
// after it, each once, and none anywhere else.
func checkChatPairs(messages []chatMessage) *apiError {
	var waiting []string
	at := 0
	missing := func() *apiError {
		return badRequest(fmt.Sprintf("messages.[%d].role", at), "", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(waiting, ", "))
	}
	for i, m := range messages {
		at = i
		if m.Role == "tool" {
			n := slices.Index(waiting, *m.ToolCallID)
			if n < 0 {
				return badRequest(fmt.Sprintf("messages.[%d].role", i), "", "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
			}
			waiting = slices.Delete(waiting, n, n+1)
			continue
		}
		if len(waiting) > 0 {
			return missing()
		}
		for _, c := range m.ToolCalls {
			waiting = append(waiting, c.ID)
		}
	}
	if len(waiting) > 0 {
		return missing()
	}
	return nil
}

// checkChatTools checks the wrapping; the tools in it are those of the other API.
func checkChatTools(raw json.RawMessage) *apiError {
	var tools []map[string]json.RawMessage
	if err := json.Unmarshal(orEmpty(raw, "[]"), &tools); err != nil {
		return invalidType("tools", "an array of objects", raw)
	}
	var flat []map[string]json.RawMessage
	for i, t := range tools {
		at := fmt.Sprintf("tools[%d]", i)
		for _, key := range sortedKeys(t) {
			if key != "type" && key != "function" {
				return unknownParameter(at + "." + key)
			}
		}
		var f map[string]json.RawMessage
		if str(t["type"]) != "function" || json.Unmarshal(orEmpty(t["function"], "null"), &f) != nil || f == nil {
			return missingParameter(at + ".function")
		}
		f["type"] = t["type"]
		flat = append(flat, f)
	}
	if flat == nil {
		return nil
	}
	return renamed(checkTools(encode(flat)), "].", "].function.")
}

// renamed puts the names of this API into a refusal of the other's checks.
func renamed(e *apiError, old, name string) *apiError {
	if e != nil {
		e.param = strings.Replace(e.param, old, name, 1)
	}
	return e
}

func checkChatFormat(raw json.RawMessage) *apiError {
	var f struct {
		Type   string                     `json:"type"`
		Schema map[string]json.RawMessage `json:"json_schema"`
	}
	if json.Unmarshal(orEmpty(raw, "{}"), &f) != nil {
		return invalidType("response_format", "an object", raw)
	}
	if f.Type != "json_schema" {
		return renamed(checkFormat(encode(map[string]any{"format": map[string]any{"type": f.Type}})), "text.format", "response_format")
	}
	format := map[string]any{"type": f.Type}
	for key, v := range f.Schema {
		format[key] = v
	}
	return renamed(checkFormat(encode(map[string]any{"format": format})), "text.format", "response_format")
}
