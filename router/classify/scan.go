package classify

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner walks JSON, and what people paste in its place: Python's repr, a body
// cut by a log, two objects in a row. It builds no tree; it hands every scalar
// to the envelope together with the zone it was found in. It never fails: what
// it cannot read sets broken, and it goes on or stops.
type scanner struct {
	env    *envelope
	b      []byte
	i      int
	level  int // how many JSON-in-a-string layers lie above
	depth  int
	broken bool // not well-formed
	cut    bool // ended inside a value
}

// maxDepth bounds recursion; maxLevel bounds JSON inside strings inside JSON.
const (
	maxDepth = 64
	maxLevel = 3
)

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return
		}
	}
}

// value reads one value. key is the name it was found under, in lower case.
func (s *scanner) value(z zone, key string) {
	s.space()
	if s.i >= len(s.b) {
		s.broken, s.cut = true, true
		return
	}
	switch c := s.b[s.i]; {
	case c == '{':
		s.object(z, key)
	case c == '[':
		s.array(z, key)
	case c == '"' || c == '\'':
		raw, escaped := s.str(c)
		s.env.onString(s, z, key, raw, escaped)
	default:
		s.word(z, key)
	}
}

func (s *scanner) object(z zone, key string) {
	inner := s.env.enter(z, key)
	s.i++
	s.depth++
	defer func() { s.depth-- }()
	if s.depth > maxDepth {
		s.broken, s.i = true, len(s.b)
		return
	}
	count := 0
	for {
		s.space()
		if s.i >= len(s.b) {
			s.broken, s.cut = true, true
			return
		}
		switch c := s.b[s.i]; c {
		case '}':
			s.i++
			s.env.leave(z, key, inner, count)
			return
		case ',':
			s.i++
			continue
		case '"', '\'':
			raw, _ := s.str(c)
			s.space()
			if s.i >= len(s.b) || s.b[s.i] != ':' {
				s.broken = true
				if s.i >= len(s.b) {
					s.cut = true
					return
				}
				continue
			}
			s.i++
			count++
			s.value(inner, keyName(raw))
		default:
			s.broken = true
			s.i++
		}
	}
}

func (s *scanner) array(z zone, key string) {
	s.i++
	s.depth++
	defer func() { s.depth-- }()
	if s.depth > maxDepth {
		s.broken, s.i = true, len(s.b)
		return
	}
	s.env.onArray(z, key)
	count := 0
	for {
		s.space()
		if s.i >= len(s.b) {
			s.broken, s.cut = true, true
			return
		}
		switch s.b[s.i] {
		case ']':
			s.i++
			if z == zRoot && key == "" && count == 0 && s.depth == 1 {
				s.env.emptyObject = true
			}
			return
		case ',':
			s.i++
		case '}', ':':
			s.broken = true
			s.i++
		default:
			count++
			s.value(z, key)
		}
	}
}

// str reads a quoted string and returns its raw bytes without the quotes.
func (s *scanner) str(quote byte) (raw []byte, escaped bool) {
	s.i++
	start := s.i
	for short := min(len(s.b), start+16); s.i < short && s.b[s.i] != '\\'; s.i++ {
		if s.b[s.i] == quote { // a key, most often: too short for a search to pay
			s.i++
			return s.b[start : s.i-1], false
		}
	}
	s.i = start
	if at := bytes.IndexByte(s.b[start:], quote); at >= 0 && bytes.IndexByte(s.b[start:start+at], '\\') < 0 {
		s.i = start + at + 1
		return s.b[start : start+at], false
	}
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case '\\':
			escaped = true
			s.i += 2
		case quote:
			raw = s.b[start:s.i]
			s.i++
			return raw, escaped
		default:
			s.i++
		}
	}
	s.i = len(s.b)
	s.broken, s.cut = true, true
	return s.b[start:], escaped
}

// word reads a number, a literal, or something that is neither.
func (s *scanner) word(z zone, key string) {
	start := s.i
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ',', '}', ']', ':', ' ', '\t', '\r', '\n', '{', '[', '"', '\'':
		default:
			s.i++
			continue
		}
		break
	}
	w := s.b[start:s.i]
	switch {
	case len(w) == 0:
		s.broken = true
		s.i++
	case string(w) == "null" || string(w) == "None":
		s.env.onNull(z, key)
	case string(w) == "true" || string(w) == "True":
		s.env.onBool(z, key, true)
	case string(w) == "false" || string(w) == "False":
		s.env.onBool(z, key, false)
	default:
		if n, err := strconv.ParseFloat(string(clipBytes(w, 32)), 64); err == nil {
			s.env.onNumber(z, key, n, w)
			return
		}
		s.broken = true
	}
}

// keyName is the key in lower case, without an allocation.
func keyName(raw []byte) string {
	if len(raw) == 0 || len(raw) >= len(knownKeys[0]) {
		return unknownKey
	}
	for _, k := range knownKeys[raw[0]&31][len(raw)] {
		if isKey(raw, k) {
			return k
		}
	}
	return unknownKey
}

// isKey reports whether raw is k, which is in lower case and as long.
func isKey(raw []byte, k string) bool {
	for i, c := range raw {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != k[i] {
			return false
		}
	}
	return true
}

// unknownKey stands for every key that means nothing to the envelope. The
// empty key is taken: it is an element of a list, or the outermost value.
const unknownKey = "?"

// unescape appends the decoded string to dst. Bad escapes are kept as they are.
func unescape(dst, raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '\\' || i+1 >= len(raw) {
			dst = append(dst, c)
			continue
		}
		i++
		switch raw[i] {
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r', 'b', 'f':
			dst = append(dst, ' ')
		case 'u':
			r, n := hexRune(raw[i+1:])
			dst = utf8.AppendRune(dst, r)
			i += n
		default:
			dst = append(dst, raw[i])
		}
	}
	return dst
}

func hexRune(b []byte) (rune, int) {
	if len(b) < 4 {
		return utf8.RuneError, len(b)
	}
	v, err := strconv.ParseUint(string(b[:4]), 16, 16)
	if err != nil {
		return utf8.RuneError, 0
	}
	r := rune(v)
	if utf16.IsSurrogate(r) && len(b) >= 10 && b[4] == '\\' && b[5] == 'u' {
		if low, err := strconv.ParseUint(string(b[6:10]), 16, 16); err == nil {
			if pair := utf16.DecodeRune(r, rune(low)); pair != utf8.RuneError {
				return pair, 10
			}
		}
	}
	return r, 4
}

func clipBytes(b []byte, n int) []byte {
	if len(b) > n {
		return b[:n]
	}
	return b
}

// clip cuts s to at most n bytes without splitting a UTF-8 sequence.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
