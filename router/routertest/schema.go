package routertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// checkTools checks the function tools; hosted tools are accepted unseen.
func checkTools(raw json.RawMessage) *apiError {
	var tools []map[string]json.RawMessage
	if err := json.Unmarshal(orEmpty(raw, "[]"), &tools); err != nil {
		return invalidType("tools", "an array of objects", raw)
	}
	seen := map[string]bool{}
	for i, t := range tools {
		at := fmt.Sprintf("tools[%d]", i)
		typ, name := str(t["type"]), str(t["name"])
		if typ == "" {
			return missingParameter(at + ".type")
		}
		if typ != "function" {
			continue
		}
		for _, key := range sortedKeys(t) {
			if !slices.Contains([]string{"type", "name", "description", "parameters", "strict", "async", "defer_loading", "allowed_callers", "output_schema"}, key) {
				return unknownParameter(at + "." + key)
			}
		}
		if name == "" {
			return missingParameter(at + ".name")
		}
		if !toolName.MatchString(name) {
			return badRequest(at+".name", "invalid_value", "Invalid '%s.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at)
		}
		if seen[name] {
			return badRequest("tools", "", "Duplicate tool name '%s'.", name)
		}
		seen[name] = true
		if string(t["strict"]) != "true" {
			continue
		}
		if reason := strictReason(t["parameters"], nil); reason != "" {
			return badRequest(at+".parameters", "invalid_function_parameters", "Invalid schema for function '%s': %s", name, reason)
		}
	}
	return nil
}

// checkFormat checks the text parameter's json_schema format.
func checkFormat(raw json.RawMessage) *apiError {
	var text struct {
		Format struct {
			Type   string          `json:"type"`
			Name   string          `json:"name"`
			Strict *bool           `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	}
	if err := json.Unmarshal(orEmpty(raw, "{}"), &text); err != nil {
		return invalidType("text.format", "an object", raw)
	}
	f := text.Format
	switch f.Type {
	case "", "text", "json_object":
		return nil
	case "json_schema":
	default:
		return badRequest("text.format.type", "invalid_value", "Invalid value: '%s'. Supported values are: 'json_object', 'json_schema', and 'text'.", f.Type)
	}
	if f.Name == "" {
		return missingParameter("text.format.name")
	}
	if len(f.Schema) == 0 {
		return missingParameter("text.format.schema")
	}
	if f.Strict == nil || !*f.Strict {
		return nil
	}
	if reason := strictReason(f.Schema, nil); reason != "" {
		return badRequest("text.format.schema", "invalid_json_schema", "Invalid schema for response_format '%s': %s", f.Name, reason)
	}
	return nil
}

// strictReason says why a schema is not accepted in strict mode, or "".
func strictReason(raw json.RawMessage, path []string) string {
	var s struct {
		Type       json.RawMessage            `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Additional json.RawMessage            `json:"additionalProperties"`
		Items      json.RawMessage            `json:"items"`
		AnyOf      []json.RawMessage          `json:"anyOf"`
		Defs       map[string]json.RawMessage `json:"$defs"`
	}
	where := "()"
	if len(path) > 0 {
		where = "(" + quoted(path) + ")"
	}
	if err := json.Unmarshal(orEmpty(raw, "{}"), &s); err != nil {
		return fmt.Sprintf("In context=%s, the schema is not an object.", where)
	}
	isObject := strings.Contains(string(s.Type), `"object"`)
	if len(path) == 0 && !isObject {
		return fmt.Sprintf("schema must be a JSON Schema of 'type: \"object\"', got 'type: %s'.", orEmpty(s.Type, `"None"`))
	}
	if isObject {
		if string(s.Additional) != "false" {
			return fmt.Sprintf("In context=%s, 'additionalProperties' is required to be supplied and to be false.", where)
		}
		for _, key := range sortedKeys(s.Properties) {
			if !slices.Contains(s.Required, key) {
				return fmt.Sprintf("In context=%s, 'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.", where, key)
			}
		}
	}
	for _, group := range []struct {
		key string
		of  map[string]json.RawMessage
	}{{"properties", s.Properties}, {"$defs", s.Defs}} {
		for _, key := range sortedKeys(group.of) {
			if r := strictReason(group.of[key], append(slices.Clone(path), group.key, key)); r != "" {
				return r
			}
		}
	}
	for i, sub := range s.AnyOf {
		if r := strictReason(sub, append(slices.Clone(path), "anyOf", fmt.Sprint(i))); r != "" {
			return r
		}
	}
	if len(s.Items) > 0 {
		return strictReason(s.Items, append(slices.Clone(path), "items"))
	}
	return ""
}
