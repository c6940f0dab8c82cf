package redact

// node is a character of spellings that have all characters before it in common:
// a text is compared with every credential at once, or what it costs to read
// would grow with their number.
type node struct {
	char   byte
	coded  bool  // base64: upper and lower case differ, and lines may be broken
	enough bool  // what was read up to here is too much to leave
	child  int32 // the first that may come next; 0 for none
	beside int32 // another one that may stand in its place; 0 for none
}

// root is the node before every spelling.
const root = 0

// enter adds a spelling, of whose characters so many from the first are too many
// to leave.
func (s *Set) enter(chars []byte, coded bool, enough int) {
	at := int32(root)
	for k, c := range chars {
		next := s.nodes[at].child
		for next != 0 && (s.nodes[next].char != c || s.nodes[next].coded != coded) {
			next = s.nodes[next].beside
		}
		if next == 0 {
			next = int32(len(s.nodes))
			s.nodes = append(s.nodes, node{char: c, coded: coded, beside: s.nodes[at].child})
			s.nodes[at].child = next
		}
		at = next
		s.nodes[at].enough = s.nodes[at].enough || k+1 >= enough
	}
}

// reads reports whether a character of a text is the node's.
func (n *node) reads(c byte) bool {
	switch {
	case c == n.char:
		return true
	case n.coded:
		return c == '-' && n.char == '+' || c == '_' && n.char == '/'
	}
	return c >= 'A' && c <= 'Z' && c+'a'-'A' == n.char
}

// index notes what credentials can begin with, once all have been entered.
func (s *Set) index() {
	for first := range 256 {
		for n := s.nodes[root].child; n != 0; n = s.nodes[n].beside {
			if !s.nodes[n].reads(byte(first)) {
				continue
			}
			s.look[first], s.first[first] = true, append(s.first[first], n)
			for second := range 256 {
				if s.goesOn(n, byte(second)) {
					s.pairs[first][second] = true
				}
			}
			if !letterOrDigit(byte(first)) {
				s.pairs['\\'][first] = true
			}
		}
	}
	for lead, seconds := range map[byte]string{'%': "234567", '\\': `\ux`, '&': "#algq"} {
		s.look[lead] = true
		for _, second := range []byte(seconds) {
			s.pairs[lead][second] = true
		}
	}
}

// goesOn reports whether a byte may come after a node: the next character, or
// what an escape or a line break begins with.
func (s *Set) goesOn(n int32, c byte) bool {
	if leads[c] || s.nodes[n].coded && (c == '\r' || c == '\n') {
		return true
	}
	for next := s.nodes[n].child; next != 0; next = s.nodes[next].beside {
		if s.nodes[next].reads(c) {
			return true
		}
	}
	return false
}
