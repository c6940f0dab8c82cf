package classify

import (
	"slices"
)

// phraseIndex finds every phrase of the rule table in one pass over a text
// (Aho-Corasick as a flat transition table). Searching the phrases one after
// another would cost a pass for each of several hundred.
//
// The table is larger than a processor's first cache, and a text takes one load a
// byte that the next must wait for. So the states near the root, in which a text
// spends nearly all its bytes, stand together, and in every row so do the common
// bytes; and a text is read in four places at once.
// It is built once and only read afterwards.
type phraseIndex struct {
	class [256]uint8 // byte -> column; 0 is every byte no phrase contains
	width int
	next  []uint16  // state*width + column -> state
	ends  uint16    // the first state in which a phrase ends; in all after it one does too
	out   [][]int16 // phrases that end in a state
	most  int       // bytes of the longest phrase
	depth []uint8   // of a state: how many bytes of a phrase it stands for
}

func newPhraseIndex(phrases []string) *phraseIndex {
	ix := &phraseIndex{}
	total := 1 + ix.columns(phrases)
	ix.next = make([]uint16, ix.width, total*ix.width)
	ix.out, ix.depth = make([][]int16, 1, total), make([]uint8, 1, total)
	for id, p := range phrases {
		ix.insert(p, int16(id))
	}
	ix.renumber(ix.link())
	return ix
}

// columns gives every byte of the phrases its column, the commonest first, and
// returns how many bytes the phrases have.
func (ix *phraseIndex) columns(phrases []string) (total int) {
	var count [256]int
	var used []byte
	for _, p := range phrases {
		total += len(p)
		ix.most = max(ix.most, len(p))
		for i := 0; i < len(p); i++ {
			if count[p[i]] == 0 {
				used = append(used, p[i])
			}
			count[p[i]]++
		}
	}
	slices.SortStableFunc(used, func(a, b byte) int { return count[b] - count[a] })
	for i, c := range used {
		ix.class[c] = uint8(i + 1)
	}
	ix.width = len(used) + 1
	return total
}

func (ix *phraseIndex) insert(p string, id int16) {
	state := 0
	for i := 0; i < len(p); i++ {
		slot := state*ix.width + int(ix.class[p[i]])
		if ix.next[slot] == 0 {
			ix.next[slot] = uint16(len(ix.out))
			ix.out = append(ix.out, nil)
			ix.depth = append(ix.depth, uint8(i+1))
			ix.next = append(ix.next, make([]uint16, ix.width)...)
		}
		state = int(ix.next[slot])
	}
	ix.out[state] = append(ix.out[state], id)
}

// link turns the trie into an automaton, breadth first, and returns its states
// in that order.
func (ix *phraseIndex) link() []int {
	fail := make([]uint16, len(ix.out))
	queue := make([]int, 1, len(ix.out))
	for at := 0; at < len(queue); at++ {
		s := queue[at]
		f := int(fail[s])
		if s != 0 {
			ix.out[s] = append(ix.out[s], ix.out[f]...)
		}
		for c := range ix.width {
			slot := s*ix.width + c
			switch t := ix.next[slot]; {
			case t != 0:
				if s != 0 {
					fail[t] = ix.next[f*ix.width+c]
				}
				queue = append(queue, int(t))
			case s != 0:
				ix.next[slot] = ix.next[f*ix.width+c]
			}
		}
	}
	return queue
}

// renumber orders the states by their distance from the root, those in which a
// phrase ends after all others.
func (ix *phraseIndex) renumber(order []int) {
	slices.SortStableFunc(order, func(a, b int) int { return min(len(ix.out[a]), 1) - min(len(ix.out[b]), 1) })
	number := make([]uint16, len(order))
	for i, s := range order {
		number[s] = uint16(i)
	}
	next, out, depth := make([]uint16, len(ix.next)), make([][]int16, len(order)), make([]uint8, len(order))
	ix.ends = uint16(len(order))
	for i, s := range order {
		out[i], depth[i] = ix.out[s], ix.depth[s]
		if len(out[i]) > 0 {
			ix.ends = min(ix.ends, uint16(i))
		}
		for c := range ix.width {
			next[i*ix.width+c] = number[ix.next[s*ix.width+c]]
		}
	}
	ix.next, ix.out, ix.depth = next, out, depth
}

// find calls found with every state reached in which a phrase ends, some of them
// twice.
func (ix *phraseIndex) find(text []byte, found func(state uint16)) {
	next, class, width, ends := ix.next, &ix.class, ix.width, ix.ends
	quarter := len(text) / 4
	if quarter <= ix.most {
		state := uint16(0)
		for _, c := range text {
			if state = next[int(state)*width+int(class[c])]; state >= ends {
				found(state)
			}
		}
		return
	}
	// A part reaches into the next one by a phrase's length less one: what lies
	// across the border is found in the part where it begins.
	reach := quarter + ix.most - 1
	t0, t1, t2, t3 := text[:reach], text[quarter:][:reach], text[2*quarter:][:reach], text[3*quarter:]
	s0, s1, s2, s3 := uint16(0), uint16(0), uint16(0), uint16(0)
	both := min(reach, len(t3))
	for i := range both {
		s0 = next[int(s0)*width+int(class[t0[i]])]
		s1 = next[int(s1)*width+int(class[t1[i]])]
		s2 = next[int(s2)*width+int(class[t2[i]])]
		s3 = next[int(s3)*width+int(class[t3[i]])]
		if max(s0, s1, s2, s3) < ends {
			continue
		}
		for _, s := range [...]uint16{s0, s1, s2, s3} {
			if s >= ends {
				found(s)
			}
		}
	}
	for i, s := range [...]uint16{s0, s1, s2, s3} {
		part := [...][]byte{t0, t1, t2, t3}[i]
		// What is under way may begin in this part only as long as it reaches back.
		for at := both; at < len(part) && (i == 3 || int(ix.depth[s]) > at-quarter); at++ {
			if s = next[int(s)*width+int(class[part[at]])]; s >= ends {
				found(s)
			}
		}
	}
}

// each calls found with every state in which a phrase ends, and with its end.
func (ix *phraseIndex) each(text []byte, found func(state uint16, end int)) {
	state := uint16(0)
	for i, c := range text {
		if state = ix.next[int(state)*ix.width+int(ix.class[c])]; state >= ix.ends {
			found(state, i+1)
		}
	}
}

// bits is a small set of phrase or code numbers. The zero value is empty.
type bits [maxBits / 64]uint64

const maxBits = 2048

func (b *bits) set(i int16)      { b[i>>6] |= 1 << (uint(i) & 63) }
func (b *bits) has(i int16) bool { return b[i>>6]&(1<<(uint(i)&63)) != 0 }

// ruleSet is a set of rule numbers. The zero value is empty.
type ruleSet [maxRules / 64]uint64

const maxRules = 256

func (s *ruleSet) set(i uint8)    { s[i>>6] |= 1 << (i & 63) }
func (s *ruleSet) has(i int) bool { return s[i>>6]&(1<<(uint(i)&63)) != 0 }

func (b *bits) hasAll(ids []int16) bool {
	for _, i := range ids {
		if !b.has(i) {
			return false
		}
	}
	return true
}

func (b *bits) hasAny(ids []int16) bool {
	for _, i := range ids {
		if b.has(i) {
			return true
		}
	}
	return false
}
