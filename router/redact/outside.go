package redact

import "strings"

// outside reads a text that JSON may have outside of its strings, where nothing
// can be replaced: a number that begins like a key is no key, and without the end
// of a string there is no JSON. The text may begin outside of a string or inside
// of one, so that both are followed; each " changes them about.
type outside struct {
	may     [2]bool // its even and its odd stretches between two " may be outside
	quotes  int
	escaped bool
	last    byte
}

// after is before a text that comes after a character.
func after(before byte) outside { return outside{may: [2]bool{true, false}, last: before} }

func (o *outside) read(text []byte) {
	for _, c := range text {
		o.meet(c)
		switch {
		case o.escaped:
			o.escaped = false
		case c == '\\':
			o.escaped = true
		case c == '"':
			o.may[1] = o.may[1] || o.quotes == 0
			o.quotes++
		}
	}
}

func (o *outside) meet(c byte) {
	o.may[o.quotes%2] = o.may[o.quotes%2] && canFollow(o.last, c)
	o.last = c
}

// needed reports whether JSON may need what was read, before what may come next:
// it can be replaced inside of one string only.
func (o *outside) needed(next ...reading) bool {
	if !o.may[0] && !o.may[1] {
		return false
	}
	needed := len(next) == 0
	for _, r := range next {
		met := *o
		met.meet(r.char)
		needed = needed || met.may[0] || met.may[1]
	}
	return needed
}

// bare reports whether a value may be JSON without a string in it or around it.
func bare(value string) bool {
	o := after(' ')
	o.read([]byte(value))
	return o.quotes == 0 && o.needed()
}

// canFollow reports whether JSON can have a character after another one outside
// of its strings.
func canFollow(before, c byte) bool {
	const between = " \t\r\n,:[]{}"
	begins := strings.IndexByte(between, before) >= 0
	digit := before >= '0' && before <= '9'
	exponent := before == 'e' || before == 'E'
	switch {
	case strings.IndexByte(between, c) >= 0:
		return true
	case c >= '0' && c <= '9':
		return begins || digit || exponent || strings.IndexByte("+-.", before) >= 0
	case c == '-':
		return begins || exponent
	case c == '+':
		return exponent
	case c == '.' || c == 'E' || c == 'e' && digit:
		return digit
	case begins:
		return strings.IndexByte(`"tfn`, c) >= 0
	}
	return strings.Contains("true false null", string([]byte{before, c}))
}
