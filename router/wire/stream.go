package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Stream collects the events of one answer. The zero value is ready. It belongs
// to one goroutine.
type Stream struct {
	Events   int  // events received
	Steps    int  // events that brought the answer on
	Started  bool // the first output item has come
	terminal string
	event    []byte // the terminal one
	response []byte // in it
	items    []entry
	pieces   pieces // of items, as they came
	state    string // the last that was told of the whole answer
}

// step counts an event that brings the answer on. Keepalives do not, whatever they
// are called, and neither does a state that is told again and again.
func (s *Stream) step(typ []byte) {
	switch string(typ) {
	case "response.created", "response.queued", "response.in_progress":
		if s.state == string(typ) {
			return
		}
		s.state = string(typ)
	}
	if bytes.HasPrefix(typ, ofAnswer) || string(typ) == "error" {
		s.Steps++
	}
}

// ofAnswer begins the type of every event that is about an answer.
var ofAnswer = []byte("response.")

// Add takes one event. It returns true with the terminal event; events after it
// are not looked at. An error means that the event is not JSON.
func (s *Stream) Add(ev Event) (terminal bool, err error) {
	if string(ev.Data) == "[DONE]" {
		return false, nil // the end mark of another API; it ends nothing here
	}
	s.Events++
	var typ []byte
	failed := false
	var at about
	whole := members(ev.Data, func(key, value []byte) bool {
		switch string(key) {
		case "type":
			typ = typeOf(value)
		case "output_index":
			at.index = value
		case "item_id":
			at.id = value
		case "item":
			at.item = value
		case "delta":
			at.delta = value
		case "part":
			at.part = value
		case "response":
			at.response = value
		case "error":
			failed = !empty(value)
		}
		return true
	})
	if !whole {
		return false, fmt.Errorf("read event %d: not a JSON object", s.Events)
	}
	if len(typ) == 0 {
		typ = bytes.ToLower(bytes.TrimSpace([]byte(ev.Name)))
	}
	if len(typ) == 0 && failed {
		typ = []byte("error") // some hosts send the bare error object of a JSON answer
	}
	s.pieces.see(typ, at, ev.Data)
	s.step(typ)
	switch string(typ) {
	case completedEvent, finishedEvent, "response.incomplete", "response.failed", "response.cancelled", "response.canceled", "response.error", "error":
		if !json.Valid(ev.Data) {
			return false, fmt.Errorf("read event %d: broken JSON", s.Events)
		}
		s.terminal = string(typ)
		s.event = bytes.Clone(ev.Data)
		s.response = member(s.event, "response")
		return true, nil
	case "response.output_item.added":
		s.Started = true
	case "response.output_item.done":
		s.Started = true
		return false, s.item(ev.Data)
	default:
		if bytes.HasSuffix(typ, delta) {
			s.Started = true // a host that leaves output_item.added out
		}
	}
	return false, nil
}

// The events that end an answer well. Some gateways write the second, which other
// APIs end every response with: only its status says how.
const (
	completedEvent = "response.completed"
	finishedEvent  = "response.done"
)

// typeOf returns the type of an event in small letters: a terminal one that is
// not known as such would be waited for until the clocks run out.
func typeOf(value []byte) []byte {
	for _, c := range value {
		if c >= 'A' && c <= 'Z' || c == '\\' || c == ' ' {
			return []byte(word(value))
		}
	}
	return inside(value)
}

// delta ends the type of every event that carries a piece of the answer.
var delta = []byte(".delta")

func (s *Stream) item(data []byte) error {
	index, item, err := readDone(data)
	if err != nil {
		return fmt.Errorf("read event %d: %w", s.Events, err)
	}
	if empty(item) {
		return nil
	}
	if index < 0 {
		index = len(s.items)
	}
	s.items = append(s.items, newEntry(index, bytes.Clone(item)))
	return tooMany(len(s.items))
}

// readDone returns the place, -1 where none is given, and the item of an event.
func readDone(data []byte) (index int, item json.RawMessage, err error) {
	index = -1
	if json.Valid(data) && plain(data, func(key, value []byte) bool {
		switch string(key) {
		case "output_index":
			index = -1
			return setCount(&index, value)
		case "item":
			item = value
		}
		return true
	}) {
		return index, item, nil
	}
	var done struct {
		Index *int            `json:"output_index"`
		Item  json.RawMessage `json:"item"`
	}
	if err := json.Unmarshal(data, &done); err != nil {
		return 0, nil, err
	}
	index = -1
	if done.Index != nil {
		index = *done.Index
	}
	return index, done.Item, nil
}

// Completed reports whether the answer ended as a completed one, and its snapshot
// says nothing else.
func (s *Stream) Completed() bool { return s.good() && !Flawed(s.event) && Whole(s.response) }

func (s *Stream) good() bool { return s.terminal == completedEvent || s.terminal == finishedEvent }

// Verdict returns what is to be classified when the answer did not complete:
// the terminal event, or the response in it where the event claims a success.
func (s *Stream) Verdict() []byte {
	if s.good() && !Whole(s.response) {
		return s.response
	}
	return s.event
}

// Answer joins what was streamed with the terminal snapshot. After a failed
// answer it holds usage, model and whatever items came whole; the error is then
// of no interest.
func (s *Stream) Answer() (Answer, error) {
	response := s.response
	if empty(response) {
		response = nil
	}
	answer, err := readAnswer(response, s.items) // Add has seen that it is JSON
	s.pieces.marked(&answer.Remarks)
	if s.pieces.differs(answer.Items) {
		answer.Partial = "a call whose arguments ended in the stream as others than in the end,"
	}
	return answer, err
}

// IsTerminal reports whether an event ends an answer.
func IsTerminal(ev Event) bool {
	var s Stream
	terminal, err := s.Add(ev)
	return terminal && err == nil
}
