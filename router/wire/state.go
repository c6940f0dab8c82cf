package wire

import (
	"encoding/json"
	"strings"
)

// State is what an object and its pieces say of how far they have come. The zero
// value is of one that says nothing, which counts as complete.
type State struct {
	Told    bool   // there is a status
	Cut     string // the worst that one of them says, "" where each is complete
	Running string // one of them says that it is still being made
}

// maxNesting is more than any host nests the pieces of an item.
const maxNesting = 16

// nested are the members whose values are pieces of an item, with a status of
// their own. A status elsewhere, in arguments, outputs or annotations, is data.
var nested = map[string]bool{
	"content": true, "summary": true, "parts": true, "part": true, "item": true, "message": true, "delta": true, "reasoning": true,
	"tool_calls": true, "tool_call": true, "calls": true, "call": true, "function": true, "function_call": true, "custom": true,
}

// StateOf reads every status of an object: its own and those of its pieces, under
// keys in whatever letters. A key that comes twice counts with its worse value:
// readers disagree about which one holds.
func StateOf(raw []byte) State {
	var s State
	s.read(raw, "", 0)
	return s
}

func (s *State) read(raw []byte, at string, depth int) {
	if depth > maxNesting {
		s.Cut = "pieces that nobody can have nested so deep"
		return
	}
	members(raw, func(key, value []byte) bool {
		if says := stopped(key, value); says != "" {
			s.Told, s.Cut = true, at+says
		}
		switch name := string(nameOf(key)); {
		case name == "status":
			s.note(at, value)
		case nested[name] && len(value) > 0 && value[0] == '{':
			s.read(value, name+" with ", depth+1)
		case nested[name] && len(value) > 0 && value[0] == '[':
			elements(value, func(piece []byte) bool {
				s.read(piece, name+" with ", depth+1)
				return true
			})
		}
		return true
	})
}

func (s *State) note(at string, value []byte) {
	switch word := word(value); word {
	case "": // null and blank say nothing
	case "completed":
		s.Told = true
	case "in_progress", "in-progress", "queued":
		s.Told, s.Running = true, at+"status "+shown(value)
	default:
		s.Told, s.Cut = true, at+"status "+shown(value)
	}
}

// unfinished says that something is not complete, or "".
func (s State) unfinished() string {
	if s.Cut != "" {
		return s.Cut
	}
	return s.Running
}

// word returns a state as it is compared: in small letters. What is no text is
// returned as it stands, and null as nothing.
func word(value []byte) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return string(value)
	}
	return strings.ToLower(strings.TrimSpace(s))
}

func shown(value []byte) string { return string(value[:min(len(value), 40)]) }

// statusOf returns a status of an object itself that says that it is not complete.
func statusOf(object []byte) (status string, bad bool) {
	members(object, func(key, value []byte) bool {
		if string(nameOf(key)) == "status" {
			if w := word(value); w != "" && w != "completed" {
				status, bad = shown(value), true
			}
		}
		return true
	})
	return status, bad
}
