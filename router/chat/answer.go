package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
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

type customItem struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	Input  string `json:"input"`
}

// Answer returns the answer as items of the Responses API, checked as answers of
// that API are. After a failed answer it holds usage, model and whatever items
// came; the error is then of no interest.
func (s *Stream) Answer() (wire.Answer, error) {
	body := struct {
		ID     string          `json:"id"`
		Model  string          `json:"model"`
		Output []any           `json:"output"`
		Usage  json.RawMessage `json:"usage,omitempty"`
	}{s.id, s.model, s.items(), s.usage}
	raw, err := json.Marshal(body)
	if err != nil {
		return wire.Answer{}, fmt.Errorf("read answer: %w", err)
	}
	answer, err := wire.ReadAnswer(raw)
	if doubt := s.doubtful(); doubt != nil {
		err = doubt // it says more than that their arguments are not JSON
	}
	if s.unserved != "" {
		answer.Unserved = s.unserved
	}
	switch says := s.unfinished(); {
	case says == "":
	case len(s.calls) > 0:
		answer.Partial = "an answer with " + says
	default:
		answer.PartText = "an answer with " + says
	}
	if len(s.calls) == 0 && slices.Contains(calling, s.finish) && answer.Unserved == "" {
		answer.Unserved = "call that the finish reason names and that is not there"
	}
	answer.Choices, answer.Filtered = s.choices, s.filtered
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
		if c.custom {
			items = append(items, customItem{Type: "custom_tool_call", CallID: id, Name: c.name, Input: string(c.arguments)})
			continue
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
