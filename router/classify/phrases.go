package classify

// phraseIndex finds every phrase of the rule table in one pass over a text
// (Aho-Corasick as a flat transition table). Searching the phrases one after
// another would cost a pass for each of several hundred.
// It is built once and only read afterwards.
type phraseIndex struct {
	class [256]uint8 // byte -> column; 0 is every byte no phrase contains
	width int
	next  []uint16  // state*width + column -> state
	out   [][]int16 // phrases that end in a state
}

func newPhraseIndex(phrases []string) *phraseIndex {
	ix := &phraseIndex{width: 1}
	total := 1
	for _, p := range phrases {
		total += len(p)
		for i := 0; i < len(p); i++ {
			if ix.class[p[i]] == 0 {
				ix.class[p[i]] = uint8(ix.width)
				ix.width++
			}
		}
	}
	ix.next = make([]uint16, ix.width, total*ix.width)
	ix.out = make([][]int16, 1, total)
	for id, p := range phrases {
		ix.insert(p, int16(id))
	}
	ix.link()
	return ix
}

func (ix *phraseIndex) insert(p string, id int16) {
	state := 0
	for i := 0; i < len(p); i++ {
		slot := state*ix.width + int(ix.class[p[i]])
		if ix.next[slot] == 0 {
			ix.next[slot] = uint16(len(ix.out))
			ix.out = append(ix.out, nil)
			ix.next = append(ix.next, make([]uint16, ix.width)...)
		}
		state = int(ix.next[slot])
	}
	ix.out[state] = append(ix.out[state], id)
}

// link turns the trie into an automaton, breadth first.
func (ix *phraseIndex) link() {
	fail := make([]uint16, len(ix.out))
	queue := make([]int, 0, len(ix.out))
	for c := 0; c < ix.width; c++ {
		if s := ix.next[c]; s != 0 {
			queue = append(queue, int(s))
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		f := int(fail[s])
		ix.out[s] = append(ix.out[s], ix.out[f]...)
		for c := 0; c < ix.width; c++ {
			slot := s*ix.width + c
			if t := ix.next[slot]; t != 0 {
				fail[t] = ix.next[f*ix.width+c]
				queue = append(queue, int(t))
			} else {
				ix.next[slot] = ix.next[f*ix.width+c]
			}
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
