package chat

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/onceward/onceward/router/wire"
)

// call is a tool call while its pieces are being collected.
type call struct {
	index     int
	custom    bool // of a custom tool: arguments is its free text
	id, name  string
	arguments []byte
	running   string // its last status, where it says that the call is being made
	bare      bool   // it began with a name alone, under the number of another
}

// whole reports whether the arguments are complete. No beginning of an object is
// an object, so that whatever follows is of another call.
func (c *call) whole() bool {
	text := bytes.TrimSpace(c.arguments)
	return len(text) > 1 && text[0] == '{' && text[len(text)-1] == '}' && json.Valid(text)
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
	state wire.State
}

// UnmarshalJSON reads the statuses of a call along with it.
func (p *callPiece) UnmarshalJSON(raw []byte) error {
	type plain callPiece
	p.state = wire.StateOf(raw)
	return json.Unmarshal(raw, (*plain)(p))
}

// call adds a piece to the call it belongs to, or begins a new one with it.
func (s *Stream) call(p callPiece, whole bool) {
	if p.Function.Name == "" {
		p.Function.Name = p.Custom.Name
	}
	arguments := argumentText(p.Function.Arguments) + argumentText(p.Custom.Input)
	to := s.callOf(p)
	if to == nil || whole || p.begins(to, arguments) {
		to = &call{index: len(s.calls), id: p.ID, bare: to != nil && !whole && p.ID == ""}
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
	if p.state.Told {
		to.running = p.state.Running
	}
	if !to.custom && to.whole() && len(bytes.TrimSpace([]byte(arguments))) > 0 {
		s.mixed = fmt.Errorf("read call: more arguments came after the whole ones of %s, and nothing says of which call", to.name)
	}
	to.arguments = append(to.arguments, arguments...)
}

// callOf returns the call that a piece is of by its id and its number, and without
// a number the last. Some hosts leave the number out or give every call 0, so
// that an id that was there before says more.
func (s *Stream) callOf(p callPiece) *call {
	var to *call
	for _, c := range s.calls {
		if p.Index == nil || c.index == *p.Index {
			to = c // the last of the number, which is the one being written
		}
	}
	if p.ID == "" {
		return to
	}
	for i := len(s.calls) - 1; i >= 0; i-- {
		if c := s.calls[i]; c.id == p.ID && (p.Index == nil || c.index == *p.Index) {
			return c
		}
	}
	return to
}

// begins reports whether a piece begins a new call although an earlier one has its
// number: it has a name, and another id, or that call lacks nothing any more.
func (p *callPiece) begins(to *call, arguments string) bool {
	name := p.Function.Name
	switch {
	case name == "":
		return false
	case p.ID != "" && to.id != "" && to.id != p.ID:
		return true
	}
	return !to.custom && to.whole() && (name != to.name || len(bytes.TrimSpace([]byte(arguments))) > 0)
}

// doubtful returns why the pieces of calls do not fit together, or nil.
func (s *Stream) doubtful() error {
	for _, c := range s.calls {
		if c.bare && len(bytes.TrimSpace(c.arguments)) == 0 {
			return fmt.Errorf("read call: %s has the number of another call, and neither id nor arguments", c.name)
		}
	}
	return s.mixed
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
