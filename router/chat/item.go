package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/onceward/onceward"
)

// kind says what an item is in a conversation.
type kind int

const (
	kindSaid      kind = iota // by user, developer or system
	kindAssistant             // text of the model
	kindCall
	kindOutput
)

// content is what an item says. name is the role of a kindSaid and the function
// of a kindCall; text is the arguments of a kindCall.
type content struct {
	kind kind
	name string
	text string
}

// readItem decodes an item that a message can stand for.
func readItem(item onceward.Item) (content, error) {
	var raw struct {
		Role      string          `json:"role"`
		Name      string          `json:"name"`
		Content   json.RawMessage `json:"content"`
		Arguments json.RawMessage `json:"arguments"`
		Output    json.RawMessage `json:"output"`
		Input     string          `json:"input"`
	}
	switch item.Type {
	case "message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output":
		if err := json.Unmarshal(item.Raw, &raw); err != nil {
			return content{}, fmt.Errorf("render %s: %w", item.Type, err)
		}
	default:
		return content{}, &Unsupported{Item: item.Type}
	}
	switch item.Type {
	case "function_call":
		arguments, err := argumentsOf(raw.Arguments)
		if err != nil {
			return content{}, fmt.Errorf("render call of %s: %w", raw.Name, err)
		}
		return content{kind: kindCall, name: raw.Name, text: arguments}, nil
	case "custom_tool_call": // nobody declared its tool; it goes on as a call that was refused
		arguments, err := json.Marshal(map[string]string{"input": raw.Input})
		return content{kind: kindCall, name: raw.Name, text: string(arguments)}, err
	case "function_call_output", "custom_tool_call_output":
		text, err := textOf(item.Type, raw.Output, "\n")
		return content{kind: kindOutput, text: text}, err
	}
	role := raw.Role
	if lower := strings.ToLower(role); item.MintedBy != "" && lower != "user" && lower != "developer" && lower != "system" {
		role = "assistant" // by whatever word its host has for the model
	}
	switch role {
	case "assistant":
		text, err := textOf(item.Type, raw.Content, "")
		return content{kind: kindAssistant, text: text}, err
	case "user", "developer", "system":
		text, err := textOf(item.Type, raw.Content, "\n")
		return content{kind: kindSaid, name: raw.Role, text: text}, err
	}
	return content{}, &Unsupported{Item: item.Type, Part: "role " + raw.Role}
}

// textOf returns a string as it is and the parts of a list joined, if all of
// them are text.
func textOf(item string, value json.RawMessage, separator string) (string, error) {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || string(value) == "null" {
		return "", nil
	}
	if value[0] == '"' {
		var s string
		err := json.Unmarshal(value, &s)
		return s, err
	}
	var parts []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	if err := json.Unmarshal(value, &parts); err != nil {
		return "", &Unsupported{Item: item, Part: "content that is neither text nor a list"}
	}
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		switch p.Type {
		case "input_text", "output_text", "text":
			texts = append(texts, p.Text)
		case "refusal":
			texts = append(texts, p.Refusal)
		default:
			return "", &Unsupported{Item: item, Part: p.Type}
		}
	}
	return strings.Join(texts, separator), nil
}

// argumentsOf returns the arguments of a call as text. Some hosts send the object
// itself.
func argumentsOf(value json.RawMessage) (string, error) {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || string(value) == "null" {
		return "", nil
	}
	if value[0] == '{' {
		return string(value), nil
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return "", err
	}
	return s, nil
}
