package wire

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/onceward/onceward"
)

// Fit makes the items of one transcript well formed for one target. The transcript
// keeps them as they came; what goes out differently is counted for the trail. Make
// it with NewFit; it belongs to one goroutine.
type Fit struct {
	to     Target
	repair onceward.Repair
	ids    *callIDs
	bare   []bool // by place in the transcript: the item goes out without its id
	noted  notes
}

// NewFit returns the fit for a target whose API takes call ids of at most
// longestCallID bytes, which must be 15 or more.
func NewFit(to Target, repair onceward.Repair, longestCallID int) *Fit {
	return &Fit{to: to, repair: repair, ids: newCallIDs(longestCallID, to, repair)}
}

// CallID returns the call id under which an item goes out. It must be asked in the
// order of the transcript, once for each item.
func (f *Fit) CallID(item onceward.Item) string { return f.ids.next(item) }

// Notice says what goes out differently from what the transcript keeps, in one
// line for the trail. It is empty where nothing does.
func (f *Fit) Notice() string {
	noted := f.noted
	noted[notedCallIDs] = f.ids.renamed
	return noted.String()
}

// field is one member of an item.
type field struct {
	key   string
	value []byte
}

// fieldsOf returns the members of an object, the last of each key, and whether it
// stands for the object as it is.
func fieldsOf(raw []byte, room []field) (list []field, same bool) {
	list, same = room, true
	members(raw, func(key, value []byte) bool {
		name := string(key)
		if strings.IndexByte(name, '\\') >= 0 { // else an id could go out under a key that nobody looked at
			var plain string
			if json.Unmarshal([]byte(`"`+name+`"`), &plain) == nil && plain != name {
				name, same = plain, false
			}
		}
		for i := range list {
			if list[i].key == name { // readers differ in which of two they believe; ours takes the last
				list, same = slices.Delete(list, i, i+1), false
				break
			}
		}
		list = append(list, field{name, value})
		return true
	})
	return list, same
}

// items' members that another host than their own knows as well.
var portable = map[string][]string{
	"message":          {"type", "id", "role", "content", "status", "phase"},
	"function_call":    {"type", "id", "call_id", "name", "arguments", "status", "namespace", "caller"},
	"custom_tool_call": {"type", "id", "call_id", "name", "input", "namespace", "caller"},
	"output_text":      {"type", "text", "annotations"},
	"refusal":          {"type", "refusal"},
}

// required are members without which a host refuses an item, and what they are
// when the item came without them.
var required = map[string][]field{
	"message":                 {{"role", []byte(`"assistant"`)}, {"content", []byte(`[]`)}},
	"reasoning":               {{"summary", []byte(`[]`)}},
	"function_call":           {{"arguments", []byte(`"{}"`)}},
	"custom_tool_call":        {{"input", []byte(`""`)}},
	"function_call_output":    {{"output", []byte(`""`)}},
	"custom_tool_call_output": {{"output", []byte(`""`)}},
	"output_text":             {{"annotations", []byte(`[]`)}},
}

// nullable are members that the API wants even where they are null.
func nullable(typ, key string) bool {
	switch typ {
	case "image_generation_call":
		return key == "result"
	case "code_interpreter_call":
		return key == "code" || key == "outputs"
	case "tool_search_call", "tool_search_output":
		return key == "call_id" || key == "arguments"
	}
	return false
}

// item writes one item as the target takes it.
func (w *writer) item(f *Fit, item onceward.Item, callID string, bare bool) error {
	var room [16]field
	list, same := fieldsOf(item.Raw, room[:0])
	mark := len(w.buf)
	w.raw(`{`)
	for _, m := range list {
		value, keep, err := f.member(item, m, callID, bare)
		if err != nil {
			return err
		}
		if !keep {
			same = false
			continue
		}
		same = same && len(value) == len(m.value) && (len(value) == 0 || &value[0] == &m.value[0])
		w.member(m.key, value, len(w.buf) > mark+1)
	}
	for _, m := range required[item.Type] {
		if !slices.ContainsFunc(list, func(has field) bool { return has.key == m.key && string(has.value) != "null" }) {
			w.member(m.key, m.value, len(w.buf) > mark+1)
			f.noted[notedEmpty]++
			same = false
		}
	}
	w.raw(`}`)
	if same { // not a byte of it differs: not even a space
		w.buf = append(w.buf[:mark], item.Raw...)
	}
	return nil
}

func (w *writer) member(key string, value []byte, more bool) {
	if more {
		w.raw(`,`)
	}
	w.str(key).raw(`:`)
	w.buf = append(w.buf, value...)
}

// member returns what goes out for one member, which is the value itself where
// nothing is to be changed, and whether it goes out at all.
func (f *Fit) member(item onceward.Item, m field, callID string, bare bool) (value []byte, keep bool, err error) {
	if outputOnly(item.Type, m.key) {
		return nil, false, nil
	}
	if string(m.value) == "null" {
		if nullable(item.Type, m.key) {
			return m.value, true, nil
		}
		f.noted[notedNulls]++
		return nil, false, nil
	}
	if f.strange(item, m.key) {
		f.noted[notedMembers]++
		return nil, false, nil
	}
	switch m.key {
	case "id":
		return f.id(item, m.value, bare)
	case "approval_request_id":
		return quoted(joinID(text(m.value)), m.value), true, nil
	case "call_id":
		return quoted(callID, m.value), true, nil
	case "name":
		if isCall(item.Type) {
			return quoted(f.Name(text(m.value)), m.value), true, nil
		}
	case "role":
		if item.Type == "message" && !ours(item) && text(m.value) != "assistant" { // other APIs have other words for who the model is
			f.noted[notedValues]++
			return []byte(`"assistant"`), true, nil
		}
	case "status":
		value, keep = f.status(item, m.value)
		return value, keep, nil
	case "arguments":
		if item.Type == "function_call" {
			return f.arguments(m.value), true, nil
		}
	case "content":
		if item.Type == "message" && !ours(item) {
			return f.content(item, m.value), true, nil
		}
	case "output":
		if isOutput(item.Type) && !f.to.Capability.ListOutput && m.value[0] == '[' {
			flat, err := flatText(m.value)
			return quoted(flat, nil), true, err
		}
	}
	return m.value, true, nil
}

// outputOnly names what hosts give out and refuse to take back.
func outputOnly(typ, key string) bool {
	switch key {
	case "created_by":
		return true
	case "status", "content":
		return typ == "reasoning"
	}
	return false
}

// strange reports a member that no host but its own knows: a host of another
// boundary refuses the whole request for it.
func (f *Fit) strange(item onceward.Item, key string) bool {
	known, listed := portable[item.Type]
	return listed && !slices.Contains(known, key) && !f.to.home(item) && !ours(item)
}

// id returns the id of an item that keeps it.
func (f *Fit) id(item onceward.Item, value []byte, bare bool) ([]byte, bool, error) {
	switch {
	case idIsJoin(item.Type):
		return quoted(joinID(text(value)), value), true, nil
	case bare, value[0] != '"', item.ID == "": // an id that is no text, or an empty one, names nothing
		return nil, false, nil
	}
	return value, true, nil
}

// joinID shortens an id that other items refer to, so that they still do.
func joinID(id string) string {
	if len(id) <= maxID {
		return id
	}
	return "mcpr_" + onceward.DigestBytes([]byte(id))[:40]
}

// quoted returns s as a JSON string: the value that has it already, if it does.
func quoted(s string, value []byte) []byte {
	if value != nil && string(inside(value)) == s {
		return value
	}
	var w writer
	return w.str(s).buf
}

// statuses are those that an item may have in a request.
var statuses = []string{"in_progress", "completed", "incomplete"}

// status keeps hosts' own words for a status at home. A message that keeps its id
// must have one.
func (f *Fit) status(item onceward.Item, value []byte) ([]byte, bool) {
	switch item.Type {
	case "message", "function_call", "custom_tool_call":
		if !slices.Contains(statuses, text(value)) {
			f.noted[notedValues]++
			return []byte(`"completed"`), true
		}
	}
	return value, true
}

// content returns what a message of the model holds.
func (f *Fit) content(item onceward.Item, value []byte) []byte {
	if value[0] != '[' {
		return value
	}
	home := f.to.home(item)
	var w writer
	w.raw(`[`)
	same := true
	whole := elements(value, func(part []byte) bool {
		if len(w.buf) > 1 {
			w.raw(`,`)
		}
		same = f.part(&w, part, home) && same
		return true
	})
	if same || !whole {
		return value
	}
	return w.raw(`]`).buf
}

// part writes one part of a message and reports whether it is as it was.
func (f *Fit) part(w *writer, part []byte, home bool) bool {
	if part[0] != '{' {
		w.buf = append(w.buf, part...)
		return true
	}
	var room [8]field
	list, same := fieldsOf(part, room[:0])
	typ := ""
	for _, m := range list {
		if m.key == "type" {
			typ = text(m.value)
		}
	}
	if typ == "text" && !home {
		typ = "output_text" // the word of another API, which many hosts use
		f.noted[notedValues]++
		same = false
	}
	known, listed := portable[typ]
	mark := len(w.buf)
	w.raw(`{`)
	for _, m := range list {
		switch {
		case string(m.value) == "null":
			f.noted[notedNulls]++
			same = false
			continue
		case listed && !home && !slices.Contains(known, m.key):
			f.noted[notedMembers]++
			same = false
			continue
		case m.key == "type":
			m.value = quoted(typ, m.value)
		case m.key == "annotations" && !home && string(m.value) != "[]":
			// They name files and containers of their host.
			f.noted[notedMembers]++
			m.value, same = []byte(`[]`), false
		}
		w.member(m.key, m.value, len(w.buf) > mark+1)
	}
	for _, m := range required[typ] {
		if !slices.ContainsFunc(list, func(has field) bool { return has.key == m.key && string(has.value) != "null" }) {
			w.member(m.key, m.value, len(w.buf) > mark+1)
			f.noted[notedEmpty]++
			same = false
		}
	}
	w.raw(`}`)
	return same
}
