package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// about is what an event says of the item that it is about.
type about struct{ index, id, item, part, delta, response []byte }

// piece is what came of one item before the end of the stream.
type piece struct {
	index  int // -1: the host gave none
	id     string
	typ    string
	cut    string // what an event that ends it or a part of it says, where that is not complete
	deltas bool   // something of it came
	said   bool   // and was not blank
	args   bool   // some of its arguments
	closed bool   // its content had an event that ends it
	done   bool   // output_item.done came
	whole  string // its arguments, as the event that ends them has them
}

// pieces follows the items of a stream, so that an end that somebody else than
// the model's host has written can be told. The zero value is ready.
type pieces struct {
	list    []piece
	named   bool // response.created or a later event named the response
	refused bool // a piece of a refusal came
	partial bool // an item was begun before it was there as a whole
}

// maxPieces bounds what is followed; no answer has more items.
const maxPieces = 4096

func (p *pieces) see(typ []byte, at about, event []byte) {
	switch {
	case string(typ) == "response.output_item.added":
		p.partial = true
		it := p.of(at)
		it.said = it.said || it.typ != "message" || !hollow(at.item)
	case string(typ) == "response.output_item.done":
		it := p.of(at)
		it.done, it.said, it.cut = true, true, cmp.Or(it.cut, StateOf(event).Cut)
		p.refused = p.refused || declines(at.item)
	case bytes.HasSuffix(typ, delta):
		p.partial = true
		it := p.of(at)
		it.deltas = true // most events of an answer
		it.said = it.said || !empty(at.delta)
		if kind := kindOf(typ); it.typ == "" {
			it.typ = kind
		}
		if bytes.Contains(typ, argumentsOf) && len(bytes.TrimSpace(inside(at.delta))) > 0 {
			it.args = true
		}
		p.refused = p.refused || bytes.Contains(typ, ofRefusal) && !empty(at.delta)
	case bytes.HasSuffix(typ, doneEvent) && bytes.HasPrefix(typ, ofAnswer) && string(typ) != finishedEvent:
		cut := StateOf(event).Cut
		if cut == "" && len(at.index)+len(at.id) == 0 {
			return
		}
		it := p.of(at)
		it.closed, it.cut = true, cmp.Or(it.cut, cut)
		if bytes.Contains(typ, argumentsOf) {
			it.whole = string(member(event, "arguments"))
		}
		if kind := kindOf(typ); cut != "" && it.typ == "" {
			it.typ = kind
		}
		p.refused = p.refused || declines(event) || declines(at.part)
	case len(at.response) > 0 && !p.named:
		p.named = !empty(member(at.response, "id"))
	}
}

// hollow reports whether a message is there without saying anything.
func hollow(message []byte) bool {
	content := member(message, "content")
	if empty(content) {
		return true
	}
	blank := true
	return elements(content, func(part []byte) bool {
		var o output
		o.part(part)
		p := o.Content[0]
		blank = blank && p.Text+p.Refusal == "" && (p.Type == "output_text" || p.Type == "text" || p.Type == "refusal")
		return blank
	}) && blank
}

var doneEvent, argumentsOf, ofRefusal = []byte(".done"), []byte("function_call_arguments"), []byte("refusal")

// kindOf names the type of the item that a delta or its end is of, "" for what an
// answer can do without.
func kindOf(typ []byte) string {
	switch {
	case bytes.Contains(typ, argumentsOf):
		return "function_call"
	case bytes.Contains(typ, []byte("custom_tool_call")):
		return customCall
	case bytes.Contains(typ, []byte("output_text")), bytes.Contains(typ, []byte("refusal")):
		return "message"
	}
	return ""
}

// of finds the item of an event, by its place and else by its id.
func (p *pieces) of(at about) *piece {
	index := -1
	if !setCount(&index, at.index) {
		index = -1
	}
	if last := len(p.list) - 1; last >= 0 && index >= 0 && at.item == nil && p.list[last].index == index {
		return &p.list[last]
	}
	h := headOf(at.item)
	id := text(at.id)
	if id == "" {
		id = h.ID
	}
	if id == "" {
		id = h.CallID // some hosts give a call no id, and name it by its call id in the events of its arguments
	}
	for i := len(p.list) - 1; i >= 0; i-- {
		it := &p.list[i]
		if index >= 0 && it.index == index || index < 0 && id != "" && it.id == id || index < 0 && id == "" && !it.done {
			if h.Type != "" {
				it.typ = h.Type
			}
			return it
		}
	}
	if len(p.list) >= maxPieces {
		return &p.list[maxPieces-1]
	}
	p.list = append(p.list, piece{index: index, id: id, typ: h.Type})
	return &p.list[len(p.list)-1]
}

// needed reports whether an answer is another one without this item.
func (it piece) needed() bool { return it.typ != "" && it.typ != "reasoning" }

// Doubt says why the end of a completed stream is not believed, or "". A gateway
// whose upstream broke closes what is open and writes an end of its own. What it
// cannot know is what was used. Some hosts end a good stream with an empty
// snapshot, others count nothing, so that one of the two alone proves nothing.
func (s *Stream) Doubt(a Answer) string {
	if s.terminal == finishedEvent && word(member(s.response, "status")) != "completed" {
		return "the event " + finishedEvent + " ends it without a status"
	}
	counted := a.Stated > 0
	filled := !empty(member(s.response, "output"))
	var open, closedByOther bool
	begun, args := map[string]int{}, 0
	for _, it := range s.pieces.list {
		if it.args {
			args++
		}
		if !it.needed() || filled && it.typ == "message" && !it.said {
			continue // a message that was announced and left empty: the end knows whether there was one
		}
		begun[it.typ]++
		open = open || !it.done
		closedByOther = closedByOther || it.deltas && !it.closed
	}
	for _, raw := range a.Items {
		typ := headOf(raw).Type
		if typ == "" {
			typ = "message"
		}
		begun[typ]--
		if typ == "function_call" && argued(raw) {
			args--
		}
	}
	for _, typ := range slices.Sorted(maps.Keys(begun)) {
		if begun[typ] > 0 {
			return "an item " + typ + " was begun and is not in the answer"
		}
	}
	switch {
	case args > 0:
		return "arguments were streamed that are not in the answer"
	case !s.pieces.partial || len(s.pieces.list) == 0: // whole items, or none
		return ""
	case !filled && !counted:
		return "the end has neither output nor usage"
	case !filled && open:
		return "the end has no output, and an item was never done"
	case !filled && s.pieces.named && empty(member(s.response, "id")):
		return "the end has neither output nor the response's id"
	case !counted && open:
		return "the end has no usage, and an item was never done"
	case a.Zero && closedByOther:
		return "the end says that nothing was used, and an item was closed without its content's end"
	}
	return ""
}

// marked adds what the stream said of items: one that its host called cut while it
// was streamed is not made whole by an end that says nothing of it, and a refusal
// is not taken back. An item that was only in progress is what its end says.
func (p *pieces) marked(r *Remarks) {
	r.Declined = r.Declined || p.refused
	for _, it := range p.list {
		switch {
		case it.cut == "", slices.Contains(selfContained, it.typ):
		case it.typ == "message":
			r.PartText = "a message that was streamed with " + it.cut
		default:
			r.Partial = strings.TrimSpace("an item "+it.typ) + " that was streamed with " + it.cut
		}
	}
}

// differs reports that the arguments of a call ended in the stream as others than
// in the answer: to carry out either would be a guess.
func (p *pieces) differs(items []json.RawMessage) bool {
	for _, it := range p.list {
		streamed, err := arguments([]byte(it.whole))
		if it.whole == "" || it.id == "" || err != nil {
			continue
		}
		for _, raw := range items {
			h := headOf(raw)
			if h.Type != "function_call" || h.ID != it.id && h.CallID != it.id {
				continue
			}
			end, err := arguments(member(raw, "arguments"))
			if err == nil && streamed != "{}" && !bytes.Equal(sorted([]byte(streamed)), sorted([]byte(end))) {
				return true
			}
		}
	}
	return false
}

// argued reports whether a call has arguments that are not blank.
func argued(call []byte) bool {
	value := member(call, "arguments")
	return len(bytes.TrimSpace(inside(value))) > 0 || len(value) > 0 && value[0] == '{'
}
