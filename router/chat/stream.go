package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/onceward/onceward/router/wire"
)

// Stream collects the events of one answer. An answer in one JSON object is read
// as one event. The zero value is ready. It belongs to one goroutine.
type Stream struct {
	events  int
	steps   int // of them that brought the answer on
	begun   bool
	failed  bool   // an error ended it
	finish  string // why the model stopped
	verdict []byte // the event that says how it ended
	id      string
	model   string
	text    []byte
	refusal []byte
	calls   []*call
	usage   json.RawMessage
	mixed   error // the pieces of calls do not fit together

	streamed bool   // some of it came in pieces
	unserved string // a call of a kind that nothing can answer
	choices  int    // answers beside the one that was asked for
}

// call is a tool call while its pieces are being collected.
type call struct {
	index     int
	custom    bool // of a custom tool: arguments is its free text
	id, name  string
	arguments []byte
}

type chunk struct {
	ID      any             `json:"id"`
	Model   any             `json:"model"`
	Object  any             `json:"object"`
	Type    any             `json:"type"`
	Error   json.RawMessage `json:"error"`
	Usage   json.RawMessage `json:"usage"`
	Choices []struct {
		Index   int    `json:"index"`
		Delta   *piece `json:"delta"`
		Message *piece `json:"message"`
		Finish  string `json:"finish_reason"`
	} `json:"choices"`
}

// piece is a part of what the model says, or all of it.
type piece struct {
	Content          json.RawMessage `json:"content"`
	Refusal          string          `json:"refusal"`
	Reasoning        json.RawMessage `json:"reasoning"`         // of some hosts, in the clear
	ReasoningContent json.RawMessage `json:"reasoning_content"` // the same, of others
	ToolCalls        []callPiece     `json:"tool_calls"`
	FunctionCall     json.RawMessage `json:"function_call"` // of the API before tool_calls
}

type callPiece struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
	Type   string `json:"type"`
	Custom struct {
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	} `json:"custom"`
}

// Add takes one event. It returns true with the one that ends the stream: the
// end mark or an error. An error of Add means that the event is not one of this
// API.
func (s *Stream) Add(ev wire.Event) (end bool, err error) {
	if string(bytes.TrimSpace(ev.Data)) == "[DONE]" {
		return true, nil
	}
	s.events++
	var c chunk
	if err := json.Unmarshal(ev.Data, &c); err != nil {
		return false, fmt.Errorf("read event %d: broken JSON: %w", s.events, err)
	}
	if s.id == "" {
		s.id, _ = c.ID.(string)
	}
	if model, _ := c.Model.(string); model != "" {
		s.model = model
	}
	if s.events == 1 {
		s.steps++
	}
	if filled(c.Usage) {
		s.steps++
		s.usage = c.Usage // json made a copy of it
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			s.choices = max(s.choices, choice.Index)
			continue // one answer was asked for
		}
		switch {
		case choice.Delta != nil:
			s.say(choice.Delta)
			s.streamed = s.begun
		case choice.Message != nil:
			s.repeat(choice.Message)
		}
		if choice.Finish != "" {
			s.steps++
		}
		if choice.Finish != "" && (s.finish == "" || s.Completed()) { // what spoils an answer is never taken back
			s.finish, s.verdict = choice.Finish, bytes.Clone(ev.Data)
		}
	}
	if wire.Tells(bytes.TrimSpace(c.Error)) || ev.Name == "error" || c.Object == "error" || c.Type == "error" {
		s.failed, s.verdict = true, bytes.Clone(ev.Data)
		return true, nil
	}
	return false, nil
}

// repeat takes the whole answer, which some hosts send at the end of a stream: of
// each part what was not streamed.
func (s *Stream) repeat(whole *piece) {
	rest := *whole
	if len(s.text) > 0 {
		rest.Content = nil
	}
	if len(s.refusal) > 0 {
		rest.Refusal = ""
	}
	if len(s.calls) > 0 {
		rest.ToolCalls, rest.FunctionCall = nil, nil // under whatever id, it is the same call
	}
	s.say(&rest)
}

// step notes a piece of the answer.
func (s *Stream) step() {
	s.begun = true
	s.steps++
}

func (s *Stream) say(p *piece) {
	if filled(p.FunctionCall) {
		s.begun, s.unserved = true, "call function_call of the older form"
	}
	if kind := callInside(p.Content); kind != "" {
		s.begun, s.unserved = true, kind
	}
	text, refusal := plain(p.Content)
	if text != "" || len(p.Content) > 0 && p.Content[0] == '[' && filled(p.Content) {
		s.step() // parts of other kinds are thinking and sources: left out as reasoning is
		s.text = append(s.text, text...)
	}
	s.refusal = append(s.refusal, refusal...)
	if p.Refusal != "" {
		s.step()
		s.refusal = append(s.refusal, p.Refusal...)
	}
	if filled(p.Reasoning) || filled(p.ReasoningContent) {
		s.step() // it is paid for, and left out: no host takes another's back
	}
	for _, tc := range p.ToolCalls {
		s.step()
		s.call(tc)
	}
}

// call adds a piece to the call it belongs to. Some hosts leave the index out or
// number every call 0, so that a new id with a name begins a new call as well.
func (s *Stream) call(p callPiece) {
	var to *call
	for _, c := range s.calls {
		if p.Index != nil && c.index == *p.Index {
			to = c // the last of the number, which is the one being written
		}
	}
	if p.Index == nil && len(s.calls) > 0 {
		to = s.calls[len(s.calls)-1]
	}
	if p.Function.Name == "" && p.Custom.Name != "" {
		p.Function.Name = p.Custom.Name
	}
	fresh := p.ID != "" && p.Function.Name != ""
	if to == nil || fresh && to.id != "" && to.id != p.ID {
		to = &call{index: len(s.calls), id: p.ID}
		if p.Index != nil {
			to.index = *p.Index
		}
		s.calls = append(s.calls, to)
	}
	if to.id == "" {
		to.id = p.ID
	}
	switch name := p.Function.Name; {
	case to.name == "":
		to.name = name
	case name != "" && name != to.name:
		s.mixed = fmt.Errorf("read call: %s and %s have the same number", to.name, name)
	}
	switch p.Type {
	case "", "function":
	case "custom":
		to.custom = true
	default:
		s.unserved = "tool call of type " + p.Type
	}
	to.arguments = append(to.arguments, argumentText(p.Function.Arguments)...)
	to.arguments = append(to.arguments, argumentText(p.Custom.Input)...)
}

// callInside returns the kind of a call among the parts of a message. They are not
// read, and an answer without them must not pass for a whole one.
func callInside(content json.RawMessage) string {
	var parts []struct {
		Type string `json:"type"`
	}
	if !filled(content) || content[0] != '[' || json.Unmarshal(content, &parts) != nil {
		return ""
	}
	for _, part := range parts {
		if strings.Contains(part.Type, "tool") || strings.Contains(part.Type, "call") || strings.Contains(part.Type, "function") {
			return "call " + part.Type + " inside a message"
		}
	}
	return ""
}

// argumentText returns a piece of arguments; some hosts send the object itself.
func argumentText(value json.RawMessage) string {
	var s string
	switch {
	case !filled(value):
		return ""
	case value[0] == '"' && json.Unmarshal(value, &s) == nil:
		return s
	}
	return string(value)
}

// plain returns the text and the refusal of content that is a string or a list of
// parts. Of a list the parts count that say something: a host's thinking or sources
// beside them must not take the answer away.
func plain(value json.RawMessage) (text, refusal string) {
	if !filled(value) || json.Unmarshal(value, &text) == nil {
		return text, ""
	}
	var parts []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	if json.Unmarshal(value, &parts) != nil {
		return "", ""
	}
	for _, p := range parts {
		switch p.Type {
		case "output_text", "text":
			text += p.Text
		case "refusal":
			refusal += p.Refusal
		}
	}
	return text, refusal
}

// filled reports whether a value says anything.
func filled(value json.RawMessage) bool {
	switch string(value) {
	case "", "null", `""`, "[]", "{}":
		return false
	}
	return true
}

// Steps returns how many of the events brought the answer on: a piece of it, its
// usage or its end. Some hosts send empty ones to keep the connection alive.
func (s *Stream) Steps() int { return s.steps }

// Count returns how many events have come.
func (s *Stream) Count() int { return s.events }

// Begun reports whether any output has come.
func (s *Stream) Begun() bool { return s.begun }

// Ended reports whether the answer is over: by a finish reason, or by an error.
// Usage and the end mark may still come.
func (s *Stream) Ended() bool { return s.failed || s.finish != "" }

// completed are the finish reasons of a whole answer.
var completed = []string{"stop", "tool_calls", "function_call", "end_turn", "stop_sequence", "eos"}

// Completed reports whether the answer came to its own end.
func (s *Stream) Completed() bool { return !s.failed && slices.Contains(completed, s.finish) }

// Doubt says why the end of a completed stream is not believed, or "": a gateway
// whose upstream broke makes an end up, and cannot know what was used. Many hosts
// send no usage, so that only one that claims to be nothing proves it.
func (s *Stream) Doubt(answer wire.Answer) string {
	if s.streamed && answer.Zero {
		return "the end says that nothing was used, after output had come"
	}
	return ""
}

// Verdict returns what is to be classified when the answer did not complete: the
// event with the error or the finish reason.
func (s *Stream) Verdict() []byte { return s.verdict }
