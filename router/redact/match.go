package redact

// scan appends text without the credentials to out, once there is one in it. It
// returns how much of text it is through with: the rest may be the beginning of
// a credential, unless final says that nothing follows. Without a hit out is
// returned as it came, and text[:consumed] is clean.
func (s *Set) scan(out, text []byte, final bool) (clean []byte, consumed int, hit bool) {
	if s == nil {
		return out, len(text), false
	}
	kept := 0 // text before it is in out
	for i := 0; i < len(text); {
		if !s.look[text[i]] {
			i++
			continue
		}
		size, whole := unit(text, i)
		if !whole && !final {
			return s.finish(out, text, kept, i, hit)
		}
		end, more := 0, false
		for at := i; at < i+size; at++ { // a credential may begin in what only looks like an escape
			if at+1 < len(text) && !s.pairs[text[at]][text[at+1]] {
				continue
			}
			e, m := s.match(text, at)
			end, more = max(end, e), more || m
		}
		if more && !final {
			return s.finish(out, text, kept, i, hit)
		}
		if end == 0 {
			i += size
			continue
		}
		end, whole = boundary(text, i, end)
		if !whole && !final {
			return s.finish(out, text, kept, i, hit)
		}
		out = append(append(out, text[kept:i]...), Marker...)
		i, kept, hit = end, end, true
	}
	return s.finish(out, text, kept, len(text), hit)
}

func (s *Set) finish(out, text []byte, kept, consumed int, hit bool) ([]byte, int, bool) {
	if hit {
		out = append(out, text[kept:consumed]...)
	}
	return out, consumed, hit
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

// match returns the end of the longest credential at a place, 0 for none, and
// whether a longer text might hold a longer one.
func (s *Set) match(text []byte, at int) (end int, more bool) {
	for _, f := range s.forms[text[at]] {
		e, m := f.match(text, at)
		end, more = max(end, e), more || m
	}
	return end, more
}

// match follows all readings of the text at once: a % may stand for itself or
// begin an escape.
func (f *form) match(text []byte, at int) (end int, more bool) {
	var here, next places
	here.add(at)
	for k, c := range f.chars {
		next.n = 0
		for _, p := range here.list[:here.n] {
			more = f.spell(text, p, c, &next) || more
			if !f.base64 || k == 0 {
				continue
			}
			broken, m := afterBreak(text, p)
			more = more || m
			if broken > p {
				more = f.spell(text, broken, c, &next) || more
			}
		}
		if next.n == 0 {
			break
		}
		if k+1 >= f.enough {
			end = next.last()
		}
		if k+1 == len(f.chars) {
			return end, more // another reading may go on
		}
		here, next = next, here
	}
	return end, more
}

// places are the ends of what was read so far, one for each reading.
type places struct {
	list [8]int
	n    int
}

func (p *places) add(at int) {
	for _, have := range p.list[:p.n] {
		if have == at {
			return
		}
	}
	if p.n < len(p.list) {
		p.list[p.n] = at
		p.n++
	}
}

func (p *places) last() int {
	last := 0
	for _, at := range p.list[:p.n] {
		last = max(last, at)
	}
	return last
}

// same compares one character as the form reads it.
func (f *form) same(got, want byte) bool {
	switch {
	case got == want:
		return true
	case f.fold:
		return got >= 'A' && got <= 'Z' && got+'a'-'A' == want
	case f.base64:
		return got == '-' && want == '+' || got == '_' && want == '/'
	}
	return false
}

// spell adds the ends of every spelling of c at p. It reports that the text ends
// before that is known.
func (f *form) spell(text []byte, p int, c byte, ends *places) (more bool) {
	if p >= len(text) {
		return true
	}
	got := text[p]
	if f.same(got, c) {
		ends.add(p + 1)
	}
	switch got {
	case '%':
		return f.percent(text, p+1, c, ends)
	case '\\':
		return f.escaped(text, p, c, ends)
	case '&':
		return f.entity(text, p+1, c, ends)
	}
	return false
}

// nesting bounds how often a text was escaped again.
const nesting = 4

// percent reads the escape of a URL after its %, which may be escaped again.
func (f *form) percent(text []byte, p int, c byte, ends *places) (more bool) {
	for range nesting {
		value, ok, more := number(text, p, 2)
		if more {
			return true
		}
		if !ok {
			return false
		}
		if f.same(value, c) {
			ends.add(p + 2)
		}
		if value != '%' {
			return false
		}
		p += 2
	}
	return false
}

// escaped reads a character after backslashes: JSON doubles them each time it
// is written into JSON.
func (f *form) escaped(text []byte, p int, c byte, ends *places) (more bool) {
	run := 0
	for p+run < len(text) && text[p+run] == '\\' && run < 1<<nesting {
		run++
		if c == '\\' && run > 1 && run&(run-1) == 0 {
			ends.add(p + run)
		}
	}
	p += run
	if p >= len(text) {
		return true
	}
	digits := 0
	switch got := text[p]; {
	case got == 'u':
		digits = 4
	case got == 'x':
		digits = 2
	case letterOrDigit(got):
		return false // \n is no n
	case f.same(got, c):
		ends.add(p + 1)
		return false
	default:
		return false
	}
	value, ok, more := number(text, p+1, digits)
	if ok && f.same(value, c) {
		ends.add(p + 1 + digits)
	}
	return more
}

// entities are the characters that HTML has names for.
var entities = []struct {
	name string
	c    byte
}{{"amp;", '&'}, {"lt;", '<'}, {"gt;", '>'}, {"quot;", '"'}, {"apos;", '\''}}

// entity reads what follows the & of HTML.
func (f *form) entity(text []byte, p int, c byte, ends *places) (more bool) {
	for range nesting {
		escapedAgain := false
		for _, e := range entities {
			got := text[min(p, len(text)):min(p+len(e.name), len(text))]
			switch {
			case string(got) == e.name:
				if f.same(e.c, c) {
					ends.add(p + len(e.name))
				}
				escapedAgain = e.c == '&'
			case string(got) == e.name[:len(got)]:
				more = true
			}
		}
		m := f.reference(text, p, c, ends)
		more = more || m
		if !escapedAgain {
			return more
		}
		p += len("amp;")
	}
	return more
}

// reference reads &#47; and &#x2f; after the &.
func (f *form) reference(text []byte, p int, c byte, ends *places) (more bool) {
	if p >= len(text) {
		return true
	}
	if text[p] != '#' {
		return false
	}
	base, value := 10, 0
	for n := 1; n < 10; n++ {
		if p+n >= len(text) {
			return true
		}
		got := text[p+n]
		digit, ok := hexDigit(got)
		switch {
		case n == 1 && (got == 'x' || got == 'X'):
			base = 16
		case got == ';':
			if value < 128 && f.same(byte(value), c) {
				ends.add(p + n + 1)
			}
			return false
		case !ok || digit >= base:
			return false
		default:
			value = value*base + digit
		}
	}
	return false
}

// afterBreak returns the place after a line break inside of base64, escaped or
// not, or p itself.
func afterBreak(text []byte, p int) (int, bool) {
	from := p
	for p < len(text) {
		switch {
		case text[p] == '\n' || text[p] == '\r':
			p++
		case text[p] == '\\' && p+1 == len(text):
			return from, true
		case text[p] == '\\' && (text[p+1] == 'n' || text[p+1] == 'r'):
			p += 2
		default:
			return p, false
		}
		if p-from > 8 {
			return from, false
		}
	}
	return p, true
}

// number reads so many hexadecimal digits of an ASCII character.
func number(text []byte, p, digits int) (value byte, ok, more bool) {
	n := 0
	for i := range digits {
		if p+i >= len(text) {
			return 0, false, true
		}
		digit, ok := hexDigit(text[p+i])
		if !ok {
			return 0, false, false
		}
		n = n<<4 | digit
	}
	return byte(n & 127), n < 128, false
}

func hexDigit(c byte) (int, bool) {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0'), true
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10, true
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10, true
	}
	return 0, false
}

func letterOrDigit(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
