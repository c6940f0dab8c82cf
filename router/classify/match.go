package classify

import (
	"regexp"
	"strings"
)

// matcher finds every phrase of the table in one pass over a text: a slot for the
// first three bytes lists the few phrases that may begin there. It is built once
// and only read afterwards.
type matcher struct {
	phrases []string
	ids     map[string]int
	slots   [1 << 14][]int
}

func slot(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 2654435761 >> 18
}

// add gives the phrases their numbers.
func (m *matcher) add(phrases []string) (ids []int) {
	for _, p := range phrases {
		id, ok := m.ids[p]
		if !ok {
			id = len(m.phrases)
			m.ids[p] = id
			m.phrases = append(m.phrases, p)
			at := &m.slots[slot(p[0], p[1], p[2])]
			*at = append(*at, id)
		}
		ids = append(ids, id)
	}
	return ids
}

// find marks the phrases of a folded text.
func (m *matcher) find(text []byte, found []bool) {
	for i := 0; i+3 <= len(text); i++ {
		for _, id := range m.slots[slot(text[i], text[i+1], text[i+2])] {
			if p := m.phrases[id]; len(text)-i >= len(p) && string(text[i:i+len(p)]) == p {
				found[id] = true
			}
		}
	}
}

// either is the pattern of any of its alternatives.
func either(alternatives ...string) *regexp.Regexp {
	return regexp.MustCompile(strings.Join(alternatives, "|"))
}
