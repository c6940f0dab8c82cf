package routertest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// parameters are the top-level parameters of the real API with the JSON kind
// each must have; null is always allowed. A stray key is how a client's own
// field leaks into a request, and the real API refuses it.
var parameters = map[string]string{
	"background": "a boolean", "client_metadata": "an object", "conversation": "", "context_management": "an array", "include": "an array",
	"input": "", "instructions": "", "max_output_tokens": "a number", "max_tool_calls": "a number",
	"metadata": "an object", "model": "a string", "moderation": "", "access_programs": "",
	"parallel_tool_calls": "a boolean", "previous_response_id": "a string", "prompt": "an object",
	"prompt_cache_key": "a string", "prompt_cache_options": "an object", "prompt_cache_retention": "a string",
	"reasoning": "an object", "safety_identifier": "a string", "service_tier": "a string", "store": "a boolean",
	"stream": "a boolean", "stream_options": "an object", "temperature": "a number", "text": "an object",
	"tool_choice": "", "tools": "an array", "top_logprobs": "a number", "top_p": "a number",
	"truncation": "a string", "user": "a string",
}

var includables = []string{
	"file_search_call.results", "web_search_call.results", "web_search_call.action.sources",
	"message.input_image.image_url", "computer_call_output.output.image_url",
	"code_interpreter_call.outputs", sealInclude, "message.output_text.logprobs",
}

const sealInclude = "reasoning.encrypted_content"

// parseBody reads what models look at and never fails; checkBody reports.
func parseBody(raw []byte) Body {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return Body{}
	}
	var b Body
	for key, dst := range map[string]any{
		"model": &b.Model, "stream": &b.Stream, "store": &b.Store, "include": &b.Include,
		"previous_response_id": &b.PreviousResponseID, "prompt_cache_key": &b.PromptCacheKey,
		"max_output_tokens": &b.MaxOutputTokens,
	} {
		if v, ok := m[key]; ok {
			_ = json.Unmarshal(v, dst) // a wrong type leaves the zero value; checkBody refuses it
		}
	}
	b.Input, b.Instructions, b.Conversation = m["input"], m["instructions"], conversationOf(m["conversation"])
	var tools []struct{ Name string }
	if json.Unmarshal(m["tools"], &tools) == nil {
		for _, t := range tools {
			if t.Name != "" {
				b.Tools = append(b.Tools, t.Name)
			}
		}
	}
	return b
}

// checkBody checks everything but the input items.
func (s *Server) checkBody(raw []byte) (map[string]json.RawMessage, *apiError) {
	m, e := s.checkParameters(raw, parameters)
	if e != nil {
		return nil, e
	}
	if e := s.checkOptions(m); e != nil {
		return nil, e
	}
	if e := checkTools(m["tools"]); e != nil {
		return nil, e
	}
	return m, checkFormat(m["text"])
}

// checkParameters checks the names and kinds of the parameters, and the model.
func (s *Server) checkParameters(raw []byte, parameters map[string]string) (map[string]json.RawMessage, *apiError) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil || m == nil {
		return nil, badRequest("", "", "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)")
	}
	for _, key := range sortedKeys(m) {
		want, known := parameters[key]
		if !known {
			return nil, unknownParameter(key)
		}
		if got := jsonKind(m[key]); want != "" && got != want && got != "null" {
			return nil, invalidType(key, want, m[key])
		}
	}
	model := str(m["model"])
	if model == "" {
		return nil, missingParameter("model")
	}
	if !s.serves(model) {
		return nil, modelNotFound(s.cfg.Dialect, model)
	}
	return m, nil
}

// conversationOf returns the id of a conversation, which is given bare or as an
// object.
func conversationOf(raw json.RawMessage) string {
	if jsonKind(raw) == "an object" {
		raw = field(raw, "id")
	}
	return str(raw)
}

func (s *Server) checkOptions(m map[string]json.RawMessage) *apiError {
	var include []string
	if err := json.Unmarshal(orEmpty(m["include"], "[]"), &include); err != nil {
		return invalidType("include", "an array of strings", m["include"])
	}
	for i, v := range include {
		if !slices.Contains(includables, v) {
			return badRequest(fmt.Sprintf("include[%d]", i), "invalid_value", "Invalid value: '%s'. Supported values are: %s.", v, quoted(includables))
		}
		if v == sealInclude && s.cfg.NoEncryptedReasoning {
			return badRequest("include", "", "Encrypted content is not supported with this model.")
		}
	}
	for _, c := range []struct {
		key    string
		lo, hi float64
	}{{"max_output_tokens", 16, 1e9}, {"temperature", 0, 2}, {"top_p", 0, 1}, {"top_logprobs", 0, 20}} {
		if e := checkRange(c.key, m[c.key], c.lo, c.hi); e != nil {
			return e
		}
	}
	if t := str(m["truncation"]); t != "" && t != "auto" && t != "disabled" {
		return badRequest("truncation", "invalid_value", "Invalid value: '%s'. Supported values are: 'auto' and 'disabled'.", t)
	}
	if string(m["background"]) == "true" {
		return badRequest("background", "unsupported_parameter", "Unsupported parameter: 'background' is not supported with this model.")
	}
	p, talk := str(m["previous_response_id"]), conversationOf(m["conversation"])
	if p != "" && talk != "" {
		return badRequest("", "mutually_exclusive_parameters", "Mutually exclusive parameters: 'previous_response_id' and 'conversation'.")
	}
	if i := jsonKind(m["input"]); p == "" && talk == "" && (i == "null" || i == "nothing") {
		return missingParameter("input")
	}
	return nil
}

func checkRange(key string, raw json.RawMessage, lo, hi float64) *apiError {
	var v *float64
	if json.Unmarshal(orEmpty(raw, "null"), &v) != nil || v == nil {
		return nil
	}
	kind := "decimal"
	if *v == float64(int64(*v)) && lo != 0 {
		kind = "integer"
	}
	switch {
	case *v < lo:
		return badRequest(key, kind+"_below_min_value", "Invalid '%s': %s below minimum value. Expected a value >= %v, but got %v instead.", key, kind, lo, *v)
	case *v > hi:
		return badRequest(key, kind+"_above_max_value", "Invalid '%s': %s above maximum value. Expected a value <= %v, but got %v instead.", key, kind, hi, *v)
	}
	return nil
}

// itemFields are the fields each input item may carry.
var itemFields = map[string]string{
	"message":              "type role content id status phase",
	"reasoning":            "type id summary content encrypted_content",
	"function_call":        "type id call_id name arguments status namespace caller async",
	"function_call_output": "type id call_id output status caller name namespace",
	"item_reference":       "type id",
	"compaction":           "type id encrypted_content",
}

// required are the fields each input item must carry.
var required = map[string][]string{
	"message":              {"role", "content"},
	"reasoning":            {"summary"},
	"function_call":        {"call_id", "name", "arguments"},
	"function_call_output": {"call_id", "output"},
	"item_reference":       {"id"},
	"compaction":           {"encrypted_content"},
}

// idPrefix is what the id of an item must begin with.
var idPrefix = map[string]string{"reasoning": "rs", "function_call": "fc", "compaction": "cmp"}

// otherItems are accepted without a look inside.
var otherItems = []string{
	"custom_tool_call", "custom_tool_call_output", "apply_patch_call", "apply_patch_call_output",
	"shell_call", "shell_call_output", "local_shell_call", "local_shell_call_output", "computer_call",
	"computer_call_output", "tool_search_call", "tool_search_output", "mcp_approval_request",
	"mcp_approval_response", "mcp_call", "mcp_list_tools", "web_search_call", "file_search_call",
	"code_interpreter_call", "image_generation_call", "program", "program_output", "compaction_trigger",
	"additional_tools", "configuration_update",
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// checkItem checks the shape of an item; at is its place in the request.
func checkItem(at string, it Item) *apiError {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(it.Raw, &m); err != nil || m == nil {
		return invalidType(at, "an object", it.Raw)
	}
	if it.Type == "" {
		return missingParameter(at + ".type")
	}
	fields, known := itemFields[it.Type]
	if !known && !slices.Contains(otherItems, it.Type) {
		return badRequest(at, "invalid_value", "Invalid value: '%s'. Supported values are: %s.", it.Type, quoted(append(sortedKeys(itemFields), otherItems...)))
	}
	for _, key := range sortedKeys(m) {
		if known && !slices.Contains(strings.Fields(fields), key) {
			return unknownParameter(at + "." + key)
		}
	}
	for _, key := range required[it.Type] {
		if k := jsonKind(m[key]); k == "nothing" || k == "null" {
			return missingParameter(at + "." + key)
		}
	}
	if n := len(it.CallID); n > 64 {
		return badRequest(at+".call_id", "string_above_max_length", "Invalid '%s.call_id': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", at, n)
	}
	if p := itemPrefix(it); it.ID != "" && p != "" && !strings.HasPrefix(it.ID, p) {
		return badRequest(at+".id", "invalid_value", "Invalid '%s.id': '%s'. Expected an ID that begins with '%s'.", at, it.ID, p)
	}
	switch it.Type {
	case "message":
		return checkMessage(at, it, m["content"])
	case "function_call":
		if !toolName.MatchString(it.Name) {
			return badRequest(at+".name", "invalid_value", "Invalid '%s.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at)
		}
		if k := jsonKind(m["arguments"]); k != "a string" {
			return invalidType(at+".arguments", "a string", m["arguments"])
		}
	case "function_call_output":
		if k := jsonKind(m["output"]); k != "a string" && k != "an array" {
			return invalidType(at+".output", "one of a string or array of objects", m["output"])
		}
	case "reasoning":
		var content []json.RawMessage
		if json.Unmarshal(orEmpty(m["content"], "[]"), &content) == nil && len(content) > 0 {
			return badRequest(at+".content", "array_above_max_length", "Invalid '%s.content': array too long. Expected an array with maximum length 0, but got an array with length %d instead.", at, len(content))
		}
	}
	return nil
}

func itemPrefix(it Item) string {
	if it.Type == "message" && it.Role == "assistant" {
		return "msg"
	}
	return idPrefix[it.Type]
}

func checkMessage(at string, it Item, content json.RawMessage) *apiError {
	parts := "'input_text', 'input_image', 'input_file'"
	switch it.Role {
	case "user", "system", "developer":
	case "assistant":
		parts = "'output_text', 'refusal'"
	default:
		return badRequest(at+".role", "invalid_value", "Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", it.Role)
	}
	if jsonKind(content) == "a string" {
		return nil
	}
	var list []struct{ Type string }
	if err := json.Unmarshal(content, &list); err != nil {
		return invalidType(at+".content", "one of an array of objects or string", content)
	}
	for i, c := range list {
		if !strings.Contains(parts, "'"+c.Type+"'") {
			return badRequest(fmt.Sprintf("%s.content[%d]", at, i), "invalid_value", "Invalid value: '%s'. Supported values are: %s.", c.Type, parts)
		}
	}
	return nil
}

func str(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(orEmpty(raw, `""`), &s)
	return s
}

func orEmpty(raw json.RawMessage, otherwise string) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(otherwise)
	}
	return raw
}

func quoted(list []string) string { return "'" + strings.Join(list, "', '") + "'" }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
