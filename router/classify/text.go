package classify

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"
)

// addMessage takes one message text. JSON inside it is read as well: gateways
// paste the upstream's body into their own message.
func (e *envelope) addMessage(raw []byte, escaped bool, level int) {
	if len(raw) == 0 {
		return
	}
	plain := clipBytes(raw, MaxBody)
	e.addExceptions(plain)
	if escaped {
		plain = unescape(make([]byte, 0, min(len(plain), maxText)), plain)
	}
	if level < maxLevel {
		if at := nestedJSON(plain); at >= 0 && !quotesCaller(plain[:at]) {
			e.addText(plain[:at])
			before := len(e.text)
			e.scan(plain[at:], level+1, zRoot)
			if len(e.text) > before {
				return
			}
			plain = plain[at:]
		}
	}
	e.addText(plain)
}

// addExceptions takes the class names that client libraries put before a
// message ("litellm.RateLimitError: AzureException - ...") or in brackets
// ("An error occurred (ThrottlingException) when calling ...") as codes.
func (e *envelope) addExceptions(b []byte) {
	b = clipBytes(b, 256)
	for n := 0; n < 4; n++ {
		end := bytes.IndexAny(b, ":( ")
		if end < 0 {
			return
		}
		name := b[:end]
		if dot := bytes.LastIndexByte(name, '.'); dot >= 0 {
			name = name[dot+1:]
		}
		if b[end] == ':' && (bytes.HasSuffix(name, []byte("Error")) || bytes.HasSuffix(name, []byte("Exception"))) {
			e.addCodeBytes(name)
			b = bytes.TrimLeft(b[end+1:], " ")
			continue
		}
		break
	}
	for rest := b; ; {
		open := bytes.IndexByte(rest, '(')
		if open < 0 {
			return
		}
		before := rest[:open]
		rest = rest[open+1:]
		if bytes.HasSuffix(before, []byte("error occurred ")) && !quotesCaller(b[:len(b)-len(rest)]) {
			if name, _, ok := bytes.Cut(rest, []byte(")")); ok {
				e.addCodeBytes(name)
			}
			return
		}
	}
}

// nestedJSON returns where a JSON object begins inside a text, or -1.
func nestedJSON(b []byte) int {
	for i := 0; i+1 < len(b); i++ {
		at := bytes.IndexByte(b[i:], '{')
		if at < 0 {
			return -1
		}
		i += at
		for j := i + 1; j < len(b) && j < i+8; j++ {
			if b[j] == '"' || b[j] == '\'' {
				return i
			}
			if b[j] != ' ' && b[j] != '\n' && b[j] != '\r' && b[j] != '\t' {
				break
			}
		}
	}
	return -1
}

// addText appends b in lower case with one kind of quote and single spaces, and
// looks for the phrases in it. Texts are kept apart by a line break.
func (e *envelope) addText(b []byte) {
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return
	}
	if len(e.first) == 0 {
		e.first = append(e.first, clipBytes(b, maxSummary)...)
	}
	n := len(e.text)
	room := max(maxText-n, 0)
	text := slices.Grow(e.text, min(len(b), room)+1)[:n+min(len(b), room)]
	last := uint8(0)
	for i := 0; i < len(b) && n < len(text); i++ {
		for i+8 <= len(b) && n+8 <= len(text) {
			eight, plain := foldEight(binary.LittleEndian.Uint64(b[i:]), last)
			if !plain {
				break
			}
			binary.LittleEndian.PutUint64(text[n:], eight)
			last = isBlank[b[i+7]]
			i, n = i+8, n+8
		}
		if i == len(b) || n == len(text) {
			break
		}
		c := fold[b[i]]
		if c == 0xE2 && i+2 < len(b) && b[i+1] == 0x80 && b[i+2] >= 0x98 && b[i+2] <= 0x9F {
			c = '\'' // typographic quotes
			i += 2
		}
		text[n] = c
		n += 1 - int(isBlank[c]&last) // a branch would be mispredicted at every third word
		last = isBlank[c]
	}
	t := table()
	t.index.find(text[len(e.text):n], func(state uint16) { e.found(t, state) }) // a phrase never spans two texts
	e.text = append(text[:n], '\n')
}

// found takes the phrases that end in a state.
func (e *envelope) found(t *compiled, state uint16) {
	for _, id := range t.index.out[state] {
		e.phrases.set(id)
		for _, r := range t.phraseRules[id] {
			e.textHits.set(r)
		}
	}
}

// foldEight folds eight bytes at once, when fold would change nothing but the
// case of letters and none of them is a second blank. last is 1 after a blank.
func foldEight(x uint64, last uint8) (folded uint64, plain bool) {
	const each, high = 0x0101010101010101, 0x8080808080808080
	if x&high != 0 {
		return 0, false
	}
	// The high bit of a byte of each sum says what the name says of the byte of x.
	printable := x + each*(0x80-' ')
	notQuote := (x ^ each*'"') + each*0x7F
	notTick := (x ^ each*'`') + each*0x7F
	blank := ^((x ^ each*' ') + each*0x7F) & high
	second := blank & (blank<<8 | uint64(last)<<7)
	if printable&notQuote&notTick&high != high || second != 0 {
		return 0, false
	}
	capital := (x + each*(0x80-'A')) &^ (x + each*(0x80-'Z'-1)) & high
	return x | capital>>2, true
}

var isBlank = [256]uint8{' ': 1}

// fold maps upper case to lower, every quote to one and white space to blank.
var fold = func() (t [256]byte) {
	for i := range t {
		c := byte(i)
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c == '"' || c == '`':
			c = '\''
		case c == '\n' || c == '\r' || c == '\t':
			c = ' '
		}
		t[i] = c
	}
	return t
}()

// addCodeBytes takes one code, type or reason.
func (e *envelope) addCodeBytes(raw []byte) {
	if len(raw) == 0 || len(raw) > 160 {
		return
	}
	var buf [64]byte
	n, head := 0, 0 // head is the length of what stands before the first dot
	for _, c := range raw {
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case c == ':':
			if n > 0 { // ThrottlingException:http://...
				goto done
			}
			continue
		case c == '#': // com.amazon.coral.service#AccessDeniedException
			n, head = 0, 0
			continue
		case c == '.':
			if head == 0 {
				head = n
			}
			continue
		default:
			continue
		}
		if n == len(buf) {
			return
		}
		buf[n] = c
		n++
	}
done:
	if n == 0 {
		return
	}
	e.codeCount++
	e.hitCode(buf[:n])
	if head > 0 && head < n { // RateLimitExceeded.EndpointRPMExceeded is a rate limit, whatever its kind
		e.hitCode(buf[:head])
	}
}

// hitCode takes a code in the form of codeKey.
func (e *envelope) hitCode(key []byte) {
	t := table()
	if id, ok := t.codes[string(key)]; ok {
		for _, r := range t.codeRules[id] {
			e.codeHits.set(r)
		}
	}
}

func (e *envelope) addCode(s string) { e.addCodeBytes([]byte(s)) }

// looksHTML tells a page from texts that merely begin with "<400> ...".
func looksHTML(b []byte) bool {
	return len(b) > 1 && (b[1] == '!' || b[1] == '?' || (b[1] >= 'a' && b[1] <= 'z') || (b[1] >= 'A' && b[1] <= 'Z'))
}

// addHTML takes the words of a page without its tags, scripts and styles.
func (e *envelope) addHTML(b []byte) {
	out := e.scratch[:0]
	for len(b) > 0 && len(out) < maxText {
		open := bytes.IndexByte(b, '<')
		if open < 0 {
			out = append(out, b...)
			break
		}
		out = append(out, b[:open]...)
		out = append(out, ' ')
		b = b[open:]
		for _, tag := range []string{"script", "style"} {
			if hasTag(b, tag) {
				end := bytes.Index(b, []byte("</"+tag))
				if end < 0 {
					end = len(b) // never closed: no words follow
				}
				b = b[end:]
			}
		}
		end := bytes.IndexByte(b, '>')
		if end < 0 {
			break
		}
		b = b[end+1:]
	}
	e.scratch = out
	e.addText(clipBytes(out, maxText))
}

func hasTag(b []byte, tag string) bool {
	return len(b) > len(tag) && b[1]|0x20 == tag[0] && bytes.EqualFold(b[1:1+len(tag)], []byte(tag))
}

// proseStatus finds the status in texts such as "Error code: 429 - ...",
// "HTTP 400, ...", `POST "https://...": 502 Bad Gateway`, "<503> ...".
var proseStatus = regexp.MustCompile(`(?:^\W{0,2}|\bstatus(?:[ _]?code)?\W{1,3}|\berror(?:[ _]code)?\W{1,3}|\bhttp(?:/[\d.]+)?(?:\W{1,2}| error | status )|': )([45]\d\d)\b`)

func statusInProse(text []byte) int {
	m := proseStatus.FindSubmatch(clipBytes(text, 512))
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		return 0
	}
	return n
}

// summary is the message for people: what the error said, else what it was.
func (e *envelope) summary(in Input) string {
	if len(e.first) > 0 {
		return valid(e.first)
	}
	switch {
	case e.empty:
		return "empty body"
	case e.nullBody:
		return "null"
	}
	if e.reason != "" {
		return e.reason
	}
	return valid(clipBytes(bytes.TrimSpace(in.Body), 200))
}

func valid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string(bytes.ToValidUTF8(b, []byte("?")))
}
