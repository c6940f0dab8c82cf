package redact

// reading is a character that a piece of text may stand for.
type reading struct {
	char byte
	end  int // of the piece
}

// leads are what escapes begin with.
var leads = [256]bool{'%': true, '\\': true, '&': true}

// spelt appends what the text at p may stand for: a % is itself or begins an
// escape, which may have been escaped again. more says that the text ends before
// that is known.
func spelt(text []byte, p int, out []reading) (readings []reading, more bool) {
	if p >= len(text) {
		return out, true
	}
	out = append(out, reading{text[p], p + 1})
	switch text[p] {
	case '%':
		return percent(text, p+1, out)
	case '\\':
		return escaped(text, p, out)
	case '&':
		return entity(text, p+1, out)
	}
	return out, false
}

// nesting bounds how often a text was escaped again.
const nesting = 4

// percent reads the escape of a URL after its %.
func percent(text []byte, p int, out []reading) ([]reading, bool) {
	for range nesting {
		value, ok, more := number(text, p, 2)
		if !ok {
			return out, more
		}
		p += 2
		out = append(out, reading{value, p})
		if value != '%' {
			break
		}
	}
	return out, false
}

// escaped reads a character after backslashes: JSON doubles them each time it
// is written into JSON.
func escaped(text []byte, p int, out []reading) ([]reading, bool) {
	run := 1
	for p+run < len(text) && text[p+run] == '\\' && run < 1<<nesting {
		run++
		if run&(run-1) == 0 {
			out = append(out, reading{'\\', p + run})
		}
	}
	p += run
	if p >= len(text) {
		return out, true
	}
	digits := 0
	switch got := text[p]; {
	case got == 'u':
		digits = 4
	case got == 'x':
		digits = 2
	case got == 'n':
		return append(out, reading{'\n', p + 1}), false
	case got == 'r':
		return append(out, reading{'\r', p + 1}), false
	case letterOrDigit(got):
		return out, false
	default:
		return append(out, reading{got, p + 1}), false
	}
	value, ok, more := number(text, p+1, digits)
	if ok {
		out = append(out, reading{value, p + 1 + digits})
	}
	return out, more
}

// entities are the characters that HTML has names for.
var entities = []struct {
	name string
	char byte
}{{"amp;", '&'}, {"lt;", '<'}, {"gt;", '>'}, {"quot;", '"'}, {"apos;", '\''}}

// entity reads what follows the & of HTML.
func entity(text []byte, p int, out []reading) ([]reading, bool) {
	for range nesting {
		if p < len(text) && text[p] == '#' {
			return reference(text, p+1, out)
		}
		again := false
		for _, e := range entities {
			got := text[min(p, len(text)):min(p+len(e.name), len(text))]
			if string(got) != e.name[:len(got)] {
				continue
			}
			if len(got) < len(e.name) {
				return out, true
			}
			p += len(got)
			out = append(out, reading{e.char, p})
			again = e.char == '&'
			break
		}
		if !again {
			break
		}
	}
	return out, false
}

// reference reads &#47; and &#x2f; after the #.
func reference(text []byte, p int, out []reading) ([]reading, bool) {
	base, value := 10, 0
	for n := range 9 {
		if p+n >= len(text) {
			return out, true
		}
		got := text[p+n]
		digit, ok := hexDigit(got)
		switch {
		case n == 0 && (got == 'x' || got == 'X'):
			base = 16
		case got == ';' && value < 128:
			return append(out, reading{byte(value), p + n + 1}), false
		case !ok || digit >= base:
			return out, false
		default:
			value = value*base + digit
		}
	}
	return out, false
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
