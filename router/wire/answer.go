package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/onceward/onceward"
)

// Answer is a complete answer as the model gave it. The zero value is empty.
type Answer struct {
	ID       string
	Model    string
	Items    []json.RawMessage // each once, in order
	Messages []string          // the text of each message item that has one
	Refusal  string            // of the last message, when it refused
	Calls    []onceward.WireCall
	Usage    onceward.Usage
	Remarks                  // what else it says that a judge has to know
	Filters  json.RawMessage // content_filters, which Azure adds
}

// head is what identifies an item.
type head struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	CallID string `json:"call_id"`
}

func headOf(raw []byte) head {
	var h head
	members(raw, func(key, value []byte) bool {
		switch string(key) {
		case "type":
			h.Type = text(value)
		case "id":
			h.ID = text(value)
		case "call_id":
			h.CallID = text(value)
		}
		return true
	})
	return h
}

// fill returns the object first, with members of second where first has nothing.
func fill(first, second json.RawMessage) json.RawMessage {
	var lacks [][2][]byte
	members(second, func(key, value []byte) bool {
		if !empty(value) && empty(member(first, string(key))) {
			lacks = append(lacks, [2][]byte{key, value})
		}
		return true
	})
	if len(lacks) == 0 {
		return first
	}
	w := writer{buf: make([]byte, 0, len(first)+len(second))}
	w.raw(`{`)
	put := func(key, value []byte) {
		if len(w.buf) > 1 {
			w.raw(`,`)
		}
		w.raw(`"`).raw(string(key)).raw(`":`)
		w.buf = append(w.buf, value...)
	}
	members(first, func(key, value []byte) bool {
		for _, l := range lacks {
			if bytes.Equal(l[0], key) {
				return true
			}
		}
		put(key, value)
		return true
	})
	for _, l := range lacks {
		put(l[0], l[1])
	}
	w.raw(`}`)
	return w.buf
}

// response is what of a response object is of interest.
type response struct {
	ID     string            `json:"id"`
	Model  string            `json:"model"`
	Output []json.RawMessage `json:"output"`
	Usage  json.RawMessage   `json:"usage"`

	Filters json.RawMessage `json:"content_filters"`
}

// readResponse reads valid JSON.
func readResponse(raw []byte) (response, error) {
	var r response
	if plain(raw, func(key, value []byte) bool {
		switch string(key) {
		case "id":
			return setText(&r.ID, value)
		case "model":
			return setText(&r.Model, value)
		case "output":
			r.Output = nil
			return elements(value, func(element []byte) bool {
				r.Output = append(r.Output, element)
				return true
			})
		case "usage":
			r.Usage = value
		case "content_filters":
			r.Filters = value
		}
		return true
	}) {
		return r, nil
	}
	r = response{}
	err := json.Unmarshal(raw, &r)
	return r, err
}

// readAnswer reads a response object, which must be valid JSON or nothing: the
// body of a JSON answer or the snapshot of a terminal event, together with items
// that were streamed before.
func readAnswer(raw []byte, streamed []entry) (Answer, error) {
	var body response
	if len(raw) > 0 {
		var err error
		if body, err = readResponse(raw); err != nil {
			return Answer{}, fmt.Errorf("read answer: %w", err)
		}
	}
	var snapshot []entry
	for i, raw := range body.Output {
		snapshot = append(snapshot, newEntry(i, raw))
	}
	a := Answer{ID: body.ID, Model: body.Model, Filters: body.Filters}
	if err := tooMany(len(body.Output)); err != nil {
		a.count(body.Usage)
		return a, err
	}
	for _, e := range merge(streamed, snapshot) {
		a.Items = append(a.Items, e.raw)
	}
	a.count(body.Usage)
	a.survey(raw)
	return a, a.index()
}

// ReadAnswer reads a response object that came as a JSON body.
func ReadAnswer(response []byte) (Answer, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(response, &whole); err != nil {
		return Answer{}, fmt.Errorf("read answer: %w", err)
	}
	return readAnswer(response, nil)
}

// output is a message or a call as the model wrote it.
type output struct {
	CallID  string `json:"call_id"`
	ID      string `json:"id"`
	Type    string `json:"type"`
	Name    string `json:"name"`
	Content []part `json:"content"`
	Refusal string `json:"refusal"` // of hosts that write messages as chat completions do
}

// part is a part of a message.
type part struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// readOutput reads valid JSON.
func readOutput(raw []byte) (output, error) {
	var o output
	if plain(raw, func(key, value []byte) bool {
		switch string(key) {
		case "type":
			return setText(&o.Type, value)
		case "id":
			return setText(&o.ID, value)
		case "call_id":
			return setText(&o.CallID, value)
		case "name":
			return setText(&o.Name, value)
		case "content":
			o.Content = nil
			return elements(value, o.part)
		case "refusal":
			return setText(&o.Refusal, value)
		}
		return true
	}) {
		return o, nil
	}
	o = output{}
	err := json.Unmarshal(raw, &o)
	return o, err
}

func (o *output) part(raw []byte) bool {
	var p part
	ok := plain(raw, func(key, value []byte) bool {
		switch string(key) {
		case "type":
			return setText(&p.Type, value)
		case "text":
			return setText(&p.Text, value)
		case "refusal":
			return setText(&p.Refusal, value)
		}
		return true
	})
	o.Content = append(o.Content, p)
	return ok
}

// index finds texts, refusals and calls among the items.
func (a *Answer) index() error {
	seen := map[string]bool{}
	for i, raw := range a.Items {
		switch headOf(raw).Type {
		case "message", "": // the short form of a message has no type
			item, err := readOutput(raw)
			if err != nil {
				return fmt.Errorf("read message: %w", err)
			}
			var text, refusal strings.Builder
			for _, part := range item.Content {
				switch part.Type {
				case "output_text", "text":
					text.WriteString(part.Text)
				case "refusal":
					refusal.WriteString(part.Refusal)
				}
			}
			refusal.WriteString(item.Refusal)
			a.Refusal = refusal.String()
			if text.Len() > 0 {
				a.Messages = append(a.Messages, text.String())
			}
		case "function_call":
			item, err := readOutput(raw)
			if err != nil {
				return fmt.Errorf("read call: %w", err)
			}
			arguments, err := arguments(member(raw, "arguments"))
			if err != nil {
				return fmt.Errorf("read arguments of %s: %w", item.Name, err)
			}
			if item.CallID == "" || seen[item.CallID] {
				return fmt.Errorf("read call of %s: its call_id %q is empty or taken", item.Name, item.CallID)
			}
			seen[item.CallID] = true
			a.Calls = append(a.Calls, onceward.WireCall{Index: i, CallID: item.CallID, Name: item.Name, Arguments: arguments})
		case customCall:
			item, err := readOutput(raw)
			if err != nil {
				return fmt.Errorf("read call: %w", err)
			}
			if item.CallID == "" || seen[item.CallID] {
				return fmt.Errorf("read call of %s: its call_id %q is empty or taken", item.Name, item.CallID)
			}
			seen[item.CallID] = true
			a.Calls = append(a.Calls, onceward.WireCall{Index: i, CallID: item.CallID, Name: item.Name, Custom: true})
		}
	}
	return nil
}

// arguments returns complete JSON. Blank means no arguments. Anything else that
// is cut or broken is refused, never repaired: a repaired amount is a guess.
func arguments(value []byte) (string, error) {
	if len(value) > 0 && value[0] == '{' {
		return string(value), nil // some hosts send the object itself
	}
	var s string
	if len(value) > 0 {
		if err := json.Unmarshal(value, &s); err != nil {
			return "", err
		}
	}
	if strings.TrimSpace(s) == "" {
		return "{}", nil
	}
	if !json.Valid([]byte(s)) {
		return "", fmt.Errorf("not complete JSON (%d bytes)", len(s))
	}
	return s, nil
}
