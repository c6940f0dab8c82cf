package redact

import "math"

// scan is the way through one text, which may come in pieces. It belongs to one
// goroutine.
type scan struct {
	set     *Set
	before  byte // the text; a space says nothing about it
	try     attempt
	waiting bool // the attempt at the first place of the next text goes on
}

func (s *Set) scan() scan { return scan{set: s, before: ' '} }

// over appends text without the credentials to out, once there is one in it. It
// returns how much of text it is through with: the rest may be the beginning of
// a credential, unless final says that nothing follows, and is to come again
// with what follows it. Without a hit out is returned as it came, and
// text[:consumed] is clean.
func (sc *scan) over(out, text []byte, final bool) (clean []byte, consumed int, hit bool) {
	if sc.set == nil {
		return out, len(text), false
	}
	kept, plain := 0, 0 // text before kept is in out; sc.before stands before plain
	resume := sc.waiting
	sc.waiting = false
	i := 0
	for i < len(text) {
		if i = sc.set.skip(text, i); i == len(text) {
			break
		}
		size, whole := unit(text, i)
		if !whole && !final {
			break
		}
		if i > plain {
			sc.before = text[i-1]
			plain = i
		}
		if i > 0 || !resume {
			sc.try.begin(sc.set, sc.before, text[i:], size)
		}
		if !sc.try.run(sc.set, text[i:], final) {
			sc.waiting = true
			break
		}
		if sc.try.end == 0 {
			if size > 1 {
				sc.before, plain = lastOf(text[i:i+size]), i+size
			}
			i += size
			continue
		}
		end, whole := boundary(text, i, i+sc.try.end)
		if !whole && !final {
			break
		}
		out = append(append(out, text[kept:i]...), Marker...)
		i, kept, hit = end, end, true
		sc.before, plain = ' ', end
	}
	if i > plain {
		sc.before = text[i-1]
	}
	if hit {
		out = append(out, text[kept:i]...)
	}
	return out, i, hit
}

// skip returns the next place where a credential or an escape may begin.
func (s *Set) skip(text []byte, i int) int {
	for ; i < len(text); i++ {
		c := text[i]
		if s.look[c] && (c == '\\' || i+1 == len(text) || s.pairs[c][text[i+1]]) {
			break
		}
	}
	return i
}

// unit returns the length of the character or JSON escape at i, and whether all
// of it is there.
func unit(text []byte, i int) (int, bool) {
	if text[i] != '\\' {
		return 1, true
	}
	left := len(text) - i
	switch {
	case left < 2:
		return left, false
	case text[i+1] != 'u':
		return 2, true
	}
	for n := 2; n < 6; n++ {
		if n == left {
			return left, false
		}
		if _, ok := hexDigit(text[i+n]); !ok {
			return 2, true
		}
	}
	return 6, true
}

// lastOf returns the character that an escape of JSON in JSON puts before what
// follows; a line break is as good as a space.
func lastOf(escape []byte) byte {
	if last := escape[len(escape)-1]; !letterOrDigit(last) {
		return last
	}
	return ' '
}

// boundary moves the end of what begins at i to the end of the escape that it
// cuts: half an escape would spoil the JSON around it.
func boundary(text []byte, i, end int) (int, bool) {
	for at := i; ; {
		if at >= end {
			return at, true
		}
		size, whole := unit(text, at)
		if !whole {
			return len(text), false
		}
		at += size
	}
}

// attempt looks for the longest credential that begins with a text. It follows
// all readings of the text at once, in an order that does not depend on the
// pieces in which it comes.
type attempt struct {
	lists   [2]places
	now     int // the list that is followed; the other one comes next
	done    int // of it
	end     int // of the longest one so far; 0 for none
	before  byte
	outside outside // what text[:read] may be in JSON
	read    int

	readings [8]reading // of one place: room, and nothing else
}

// place is how far a reading of a text has come.
type place struct {
	at     int   // in the text
	node   int32 // that was read last
	breaks int32 // of lines since
}

// places are bounded: a key of nothing but backslashes has more readings than
// can be followed.
type places struct {
	list [16]place
	n    int
}

func (p *places) add(to place) {
	for _, have := range p.list[:p.n] {
		if have == to {
			return
		}
	}
	if p.n < len(p.list) {
		p.list[p.n] = to
		p.n++
	}
}

// begin begins at the character or escape of some size that the text begins
// with: a credential may begin in what only looks like an escape.
func (a *attempt) begin(s *Set, before byte, text []byte, size int) {
	a.lists[0].n, a.lists[1].n, a.now, a.done, a.end = 0, 0, 0, 0, 0
	a.before, a.read = before, math.MaxInt
	for at := range size {
		switch {
		case at+1 < len(text) && !s.pairs[text[at]][text[at+1]]:
		case leads[text[at]]:
			a.lists[0].add(place{at: at})
		default:
			s.reach(reading{text[at], at + 1}, &a.lists[0])
		}
	}
}

// reach adds what begins with a character.
func (s *Set) reach(r reading, to *places) {
	for _, node := range s.first[r.char] {
		to.add(place{at: r.end, node: node})
	}
}

// run goes on to the end of every reading. It returns false when it has to see
// what follows the text, and is then to be run on the longer text.
func (a *attempt) run(s *Set, text []byte, final bool) bool {
	for {
		now, next := &a.lists[a.now], &a.lists[1-a.now]
		for ; a.done < now.n; a.done++ {
			if !a.step(s, now.list[a.done], next, text, final) {
				return false
			}
		}
		if next.n == 0 {
			return true
		}
		now.n, a.now, a.done = 0, 1-a.now, 0
	}
}

// maxBreaks is how many ends of lines in a row may break base64: an empty line
// of \r\n has as many.
const maxBreaks = 4

// step reads what follows one place.
func (a *attempt) step(s *Set, from place, to *places, text []byte, final bool) bool {
	n := &s.nodes[from.node]
	complete := n.enough && from.breaks == 0 && from.at > a.end
	if complete && n.child == 0 && !a.needed(text[:from.at]) {
		a.end = from.at
		return true
	}
	readings, more := spelt(text, from.at, a.readings[:0])
	if more && !final {
		return false
	}
	if complete && !a.needed(text[:from.at], readings...) {
		a.end = from.at
	}
	for _, r := range readings {
		if from.node == root {
			s.reach(r, to)
			continue
		}
		for next := n.child; next != 0; next = s.nodes[next].beside {
			if s.nodes[next].reads(r.char) {
				to.add(place{at: r.end, node: next})
			}
		}
		if n.coded && (r.char == '\n' || r.char == '\r') && from.breaks < maxBreaks {
			to.add(place{at: r.end, node: from.node, breaks: from.breaks + 1})
		}
	}
	return true
}

// needed reports whether JSON may need a beginning of the text, before what may
// come next.
func (a *attempt) needed(text []byte, next ...reading) bool {
	if len(text) < a.read { // nothing was read, or another reading that is longer
		a.outside, a.read = after(a.before), 0
	}
	a.outside.read(text[a.read:])
	a.read = len(text)
	return a.outside.needed(next...)
}
