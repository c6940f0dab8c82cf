package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// entry is one output item while it is being collected.
type entry struct {
	index int // the place that its event gave it, or where it stands in a list
	head  head
	raw   json.RawMessage
	says  []fact
}

// fact is what an item says under one key, whatever white space and escapes it
// was written with.
type fact struct{ key, value string }

func newEntry(index int, raw json.RawMessage) entry {
	e := entry{index: index, head: headOf(raw), raw: raw}
	if e.head.Type == "" {
		e.head.Type = "message" // the short form of a message has no type
	}
	members(raw, func(key, value []byte) bool {
		switch string(key) {
		case "type", "id", "call_id", "status", "created_by", "phase":
			return true // names and states of an item, which change while it is made
		}
		if said := said(e.head.Type, string(key), value); said != "" {
			e.says = append(e.says, fact{string(key), said})
		}
		return true
	})
	slices.SortFunc(e.says, func(a, b fact) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.value, b.value)) })
	return e
}

// said returns the meaning of a member, empty for one without any.
func said(typ, key string, value []byte) string {
	if empty(value) {
		return ""
	}
	switch {
	case key == "content" && typ == "message":
		var o output
		if elements(value, o.part) {
			var text strings.Builder
			for _, p := range o.Content {
				text.WriteString(p.Text)
				text.WriteString(p.Refusal)
			}
			return strings.TrimSpace(text.String()) // servers trim at the end what they streamed
		}
	case key == "arguments":
		if s, err := arguments(value); err == nil {
			value = sorted([]byte(s))
		}
	}
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return string(value)
	}
	return compact.String()
}

// sorted returns JSON as one value has it however it was written: some hosts stream
// the arguments of a call as the model wrote them, and end with what their parser
// made of these, under another call id.
func sorted(raw []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // two large numbers that differ in their last digit are two
	var value any
	if d.Decode(&value) != nil {
		return raw
	}
	plain, err := json.Marshal(value)
	if err != nil {
		return raw
	}
	return plain
}

// agree reports whether two records can be of one item: neither says anything
// that the other says differently.
func (e *entry) agree(other *entry) bool {
	for i, j := 0, 0; i < len(e.says) && j < len(other.says); {
		a, b := e.says[i], other.says[j]
		switch {
		case a.key < b.key:
			i++
		case a.key > b.key:
			j++
		case a.value != b.value:
			return false
		default:
			i++
			j++
		}
	}
	return true
}

// key names a record by everything it says.
func (e *entry) key() string {
	var b strings.Builder
	b.WriteString(e.head.Type)
	for _, f := range e.says {
		b.WriteByte(0)
		b.WriteString(f.key)
		b.WriteByte(1)
		b.WriteString(f.value)
	}
	return b.String()
}

// contradict reports that two records of one call ask for different things. They
// stay two, and the answer is refused for the id that they share: to carry out
// either would be a guess.
func contradict(s, t *entry) bool {
	if s.head.Type != "function_call" || t.head.Type != "function_call" {
		return false
	}
	if differ(text(member(s.raw, "name")), text(member(t.raw, "name"))) {
		return true
	}
	a, b := member(s.raw, "arguments"), member(t.raw, "arguments")
	if strings.TrimSpace(text(a)) == "" && (len(a) == 0 || a[0] != '{') || strings.TrimSpace(text(b)) == "" && (len(b) == 0 || b[0] != '{') {
		return false // one of the two leaves them out
	}
	var x, y any
	one, errOne := arguments(a)
	two, errTwo := arguments(b)
	if errOne != nil || errTwo != nil || json.Unmarshal([]byte(one), &x) != nil || json.Unmarshal([]byte(two), &y) != nil {
		return false // of what is cut the whole one is taken, and if none is, neither
	}
	return !reflect.DeepEqual(x, y)
}

func differ(a, b string) bool { return a != "" && b != "" && a != b }

// twin reports whether two records of one view are of one item. A repeated id is
// believed where the records agree, or claim the same place: some hosts give every
// item the same id, and others an item another id in every event. Two calls that
// say anything different are two, and share an id by mistake: the answer is refused
// for it, because nobody knows which was meant.
func (e *entry) twin(other *entry, streamed bool) bool {
	place := streamed && e.index == other.index
	switch {
	case e.head.Type != other.head.Type, differ(e.head.CallID, other.head.CallID):
		return false
	case e.head.CallID != "" && e.head.CallID == other.head.CallID:
		return place || e.key() == other.key()
	case e.head.ID != "" && e.head.ID == other.head.ID:
		return place || e.agree(other)
	}
	return place && e.agree(other)
}

// maxItems bounds the items of one answer: no transcript takes as many, and to tell
// them from one another takes time.
const maxItems = 4096

func tooMany(n int) error {
	if n > maxItems {
		return fmt.Errorf("%w: more than %d items", ErrTooLarge, maxItems)
	}
	return nil
}

// once returns the items of one view, each one time: where it stood first, with
// what was said of it last.
func once(view []entry, streamed bool) []entry {
	for {
		var list []entry
		for _, e := range view {
			i := slices.IndexFunc(list, func(has entry) bool { return has.twin(&e, streamed) })
			if i < 0 {
				list = append(list, e)
				continue
			}
			list[i] = newEntry(list[i].index, fill(e.raw, list[i].raw))
		}
		if len(list) == len(view) {
			return list
		}
		view = list // what was filled in may show two more to be one
	}
}

// merge joins what was streamed of an answer with its terminal snapshot, each item
// one time. The two are matched by what an item is, not by where it stands: by its
// call id, by its id, by what it says, and only then by its place. The terminal
// order wins, and where both say something the terminal snapshot does: some hosts
// send encrypted reasoning only there, others end with an empty snapshot after a
// full stream. What was streamed alone stands where it stood in the stream, and
// never a call before its reasoning.
func merge(streamed, terminal []entry) []entry {
	slices.SortStableFunc(streamed, func(a, b entry) int { return cmp.Compare(a.index, b.index) })
	streamed, terminal = once(streamed, true), once(terminal, false)
	at := match(streamed, terminal)
	list := make([]placed, len(terminal), len(terminal)+len(streamed))
	for t := range terminal {
		list[t] = placed{entry: terminal[t], place: place{t, itself, 0, itself}}
	}
	for s, where := range arrange(streamed, at) {
		if t := at[s]; t >= 0 {
			list[t].entry = newEntry(t, fill(terminal[t].raw, streamed[s].raw))
			continue
		}
		list = append(list, placed{streamed[s], where})
	}
	slices.SortStableFunc(list, func(a, b placed) int { return slices.Compare(a.place[:], b.place[:]) })
	all := make([]entry, len(list))
	for i := range list {
		all[i] = list[i].entry
	}
	return once(all, false)
}

// match returns for each streamed item the terminal one that it is, or -1.
func match(streamed, terminal []entry) []int {
	at := make([]int, len(streamed))
	taken := make([]bool, len(terminal))
	for s := range at {
		at[s] = -1
	}
	pair := func(key func(e *entry, place int) string, fits func(s, t *entry) bool) {
		free := map[string][]int{}
		for t := range terminal {
			if k := key(&terminal[t], t); !taken[t] && k != "" {
				free[k] = append(free[k], t)
			}
		}
		for s := range streamed {
			if at[s] >= 0 {
				continue
			}
			k := key(&streamed[s], streamed[s].index)
			if left := free[k]; k != "" && len(left) > 0 && fits(&streamed[s], &terminal[left[0]]) && !contradict(&streamed[s], &terminal[left[0]]) {
				at[s], taken[left[0]], free[k] = left[0], true, left[1:]
			}
		}
	}
	always := func(_, _ *entry) bool { return true }
	agree := func(s, t *entry) bool { return s.agree(t) }
	pair(func(e *entry, _ int) string { return named(e, e.head.CallID) }, agree)
	pair(func(e *entry, _ int) string { return named(e, e.head.CallID) }, always)
	pair(func(e *entry, _ int) string { return named(e, e.head.ID) }, agree)
	pair(func(e *entry, _ int) string { return named(e, e.head.ID) }, func(s, t *entry) bool { return !differ(s.head.CallID, t.head.CallID) })
	pair(func(e *entry, _ int) string { return e.key() }, always)
	pair(func(e *entry, place int) string { return e.head.Type + "\x00" + strconv.Itoa(place) }, agree)
	pair(func(e *entry, _ int) string { return "\x00" + e.head.Type }, agree)
	return at
}

func named(e *entry, name string) string {
	if name == "" {
		return ""
	}
	return e.head.Type + "\x00" + name
}

// place is where an item stands: at a terminal item, before or after it, and there
// at a streamed one, before it or itself.
type place [4]int

const (
	ahead  = -1
	itself = 0
	behind = 1
)

type placed struct {
	entry
	place place
}

// arrange returns the places of the streamed items. One that was streamed alone
// stands behind what came before it, and behind its reasoning.
func arrange(streamed []entry, at []int) []place {
	places := make([]place, len(streamed))
	anchor, reasoned := -1, -1 // terminal items: the one before, and the last reasoning before
	for s := range streamed {
		switch t := at[s]; {
		case t >= 0:
			places[s] = place{t, itself, 0, itself}
			if anchor = t; isReasoning(streamed[s]) {
				reasoned = t
			}
		case !isReasoning(streamed[s]):
			anchor = max(anchor, reasoned)
			places[s] = place{anchor, behind, s, itself}
		}
	}
	for s := len(streamed) - 1; s >= 0; s-- {
		if at[s] < 0 && isReasoning(streamed[s]) {
			places[s] = inFront(streamed, places, s)
		}
	}
	return places
}

func isReasoning(e entry) bool { return e.head.Type == "reasoning" }

// inFront returns the place of reasoning that was streamed alone: in front of what
// followed it, or, if nothing did, of what it was made for all the same.
func inFront(streamed []entry, places []place, s int) place {
	first := place{ahead, ahead, 0, ahead}
	switch {
	case s+1 < len(streamed):
		if first = places[s+1]; isReasoning(streamed[s+1]) && first[1] != itself {
			return first // in front of the same
		}
	default:
		last := s - 1
		for last >= 0 && isReasoning(streamed[last]) {
			last--
		}
		for k := last; k >= 0 && !isReasoning(streamed[k]); k-- {
			if k == last || slices.Compare(places[k][:], first[:]) < 0 {
				first = places[k]
			}
		}
	}
	if first[1] == itself {
		return place{first[0], ahead, 0, itself}
	}
	first[3] = ahead
	return first
}
