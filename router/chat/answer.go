package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/onceward/onceward/router/wire"
)

// messageItem and callItem are items as this package writes them. They have no
// id: it would pose as one of a host that keeps items.
type messageItem struct {
	Type    string `json:"type"`
	Role    string `json:"role"`
	Content []part `json:"content"`
}

type part struct {
	Type    string  `json:"type"`
	Text    *string `json:"text,omitempty"`
	Refusal string  `json:"refusal,omitempty"`
}

type callItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// usage is usage as the Responses API names it.
type usage struct {
	Input         int           `json:"input_tokens"`
	InputDetails  inputDetails  `json:"input_tokens_details"`
	Output        int           `json:"output_tokens"`
	OutputDetails outputDetails `json:"output_tokens_details"`
}

type inputDetails struct {
	Cached int `json:"cached_tokens"`
}

type outputDetails struct {
	Reasoning int `json:"reasoning_tokens"`
}

// Answer returns the answer as items of the Responses API, checked as answers of
// that API are. After a failed answer it holds usage, model and whatever items
// came; the error is then of no interest.
func (s *Stream) Answer() (wire.Answer, error) {
	body := struct {
		ID     string `json:"id"`
		Model  string `json:"model"`
		Output []any  `json:"output"`
		Usage  *usage `json:"usage"`
	}{s.id, s.model, s.items(), readUsage(s.usage)}
	raw, err := json.Marshal(body)
	if err != nil {
		return wire.Answer{}, fmt.Errorf("read answer: %w", err)
	}
	answer, err := wire.ReadAnswer(raw)
	if err == nil {
		err = s.mixed
	}
	return answer, err
}

func (s *Stream) items() []any {
	items := []any{}
	var parts []part
	if text := string(s.text); text != "" {
		parts = append(parts, part{Type: "output_text", Text: &text})
	}
	if len(s.refusal) > 0 {
		parts = append(parts, part{Type: "refusal", Refusal: string(s.refusal)})
	}
	if len(parts) > 0 {
		items = append(items, messageItem{Type: "message", Role: "assistant", Content: parts})
	}
	for i, c := range s.calls {
		arguments := string(c.arguments)
		if strings.TrimSpace(arguments) == "" {
			arguments = "{}"
		}
		id := c.id
		if id == "" {
			id = s.callID(i)
		}
		items = append(items, callItem{Type: "function_call", CallID: id, Name: c.name, Arguments: arguments})
	}
	return items
}

// callID names a call to which the host gave no id, so that its output can be
// told from that of another call.
func (s *Stream) callID(i int) string {
	sum := sha256.Sum256([]byte(s.id + "\x00" + strconv.Itoa(i)))
	return "call_" + hex.EncodeToString(sum[:12])
}

// readUsage translates a usage object; nil is unknown.
func readUsage(raw json.RawMessage) *usage {
	var u struct {
		Prompt        int `json:"prompt_tokens"`
		Completion    int `json:"completion_tokens"`
		Total         int `json:"total_tokens"`
		PromptDetails struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionDetails struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	if !filled(raw) || json.Unmarshal(raw, &u) != nil {
		return nil
	}
	output := u.Completion
	if u.CompletionDetails.Reasoning > 0 {
		// Some hosts count reasoning beside completion_tokens, and only the total
		// tells. What is billed must not be counted too low.
		output = max(output, u.Total-u.Prompt)
	}
	return &usage{
		Input: u.Prompt, InputDetails: inputDetails{u.PromptDetails.Cached},
		Output: output, OutputDetails: outputDetails{u.CompletionDetails.Reasoning},
	}
}
