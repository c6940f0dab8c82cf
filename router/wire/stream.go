package wire

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Stream collects the events of one answer. The zero value is ready. It belongs
// to one goroutine.
type Stream struct {
	Events   int  // events received
	Started  bool // the first output item has come
	terminal string
	response []byte // of the terminal event
	items    []entry
}

// Add takes one event. It returns true with the terminal event; events after it
// are not looked at. An error means that the event is not JSON.
func (s *Stream) Add(ev Event) (terminal bool, err error) {
	if string(ev.Data) == "[DONE]" {
		return false, nil // the end mark of another API; it ends nothing here
	}
	s.Events++
	typ, failed := "", false
	whole := members(ev.Data, func(key, value []byte) bool {
		switch string(key) {
		case "type":
			typ = text(value)
		case "error":
			failed = !empty(value)
		}
		return true
	})
	if !whole {
		return false, fmt.Errorf("read event %d: not a JSON object", s.Events)
	}
	if typ == "" {
		typ = ev.Name
	}
	if typ == "" && failed {
		typ = "error" // some hosts send the bare error object of a JSON answer
	}
	switch typ {
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "error":
		if !json.Valid(ev.Data) {
			return false, fmt.Errorf("read event %d: broken JSON", s.Events)
		}
		s.terminal = typ
		s.response = append([]byte(nil), ev.Data...)
		return true, nil
	case "response.output_item.added":
		s.Started = true
	case "response.output_item.done":
		s.Started = true
		return false, s.item(ev.Data)
	default:
		if strings.HasSuffix(typ, ".delta") {
			s.Started = true // a host that leaves output_item.added out
		}
	}
	return false, nil
}

func (s *Stream) item(data []byte) error {
	var done struct {
		Index *int            `json:"output_index"`
		Item  json.RawMessage `json:"item"`
	}
	if err := json.Unmarshal(data, &done); err != nil {
		return fmt.Errorf("read event %d: %w", s.Events, err)
	}
	if empty(done.Item) {
		return nil
	}
	e := entry{index: len(s.items), head: headOf(done.Item), raw: append(json.RawMessage(nil), done.Item...)}
	if done.Index != nil {
		e.index = *done.Index
	}
	s.items = collect(s.items, e)
	return nil
}

// Completed reports whether the answer ended as response.completed, and its
// snapshot says nothing else.
func (s *Stream) Completed() bool {
	status := text(member(member(s.response, "response"), "status"))
	return s.terminal == "response.completed" && (status == "" || status == "completed")
}

// Verdict returns what is to be classified when the answer did not complete:
// the terminal event, or the response in it where the event claims a success.
func (s *Stream) Verdict() []byte {
	if s.terminal == "response.completed" {
		return member(s.response, "response")
	}
	return s.response
}

// Answer joins what was streamed with the terminal snapshot. After a failed
// answer it holds usage, model and whatever items came whole; the error is then
// of no interest.
func (s *Stream) Answer() (Answer, error) {
	response := member(s.response, "response")
	if empty(response) {
		response = nil
	}
	return readAnswer(response, s.items)
}

// IsTerminal reports whether an event ends an answer.
func IsTerminal(ev Event) bool {
	var s Stream
	terminal, err := s.Add(ev)
	return terminal && err == nil
}
