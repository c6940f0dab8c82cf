package redact

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Marker stands where a credential was.
const Marker = "[redacted]"

// Shortest is how many characters a credential needs to be told from the words
// around it wherever they stand. A shorter one, such as the placeholders that
// local servers are given, is taken out of messages only, where it is a word of
// its own: replaced in answers, it would change what a model says and calls.
const Shortest = 8

// Set is the credentials that are looked for. A nil Set has none. It is
// immutable and safe for concurrent use.
type Set struct {
	forms [256][]*form   // by the bytes that can begin one
	pairs [256][256]bool // of bytes that can begin one
	look  [256]bool      // forms can begin here, or an escape
	short []string
	all   map[string]bool
}

// form is one spelling of a credential.
type form struct {
	chars  []byte // of a text that may be escaped
	fold   bool   // upper and lower case are the same
	base64 bool
	enough int // so many of its characters, from the first, are too many to leave
}

// NewSet returns the set of some credentials and of their parts that are
// credentials themselves, such as the token of "Bearer token". Empty ones are
// passed over.
func NewSet(credentials ...string) *Set {
	s := &Set{all: map[string]bool{}}
	for _, credential := range credentials {
		for _, part := range parts(credential) {
			s.add(part)
		}
	}
	return s
}

// Format keeps every way of printing a set from reaching what it holds.
func (s *Set) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Marker) }

// parts returns a header's value and what in it alone would open the door.
func parts(value string) []string {
	out := []string{value}
	scheme, rest, ok := strings.Cut(value, " ")
	if !ok {
		return out
	}
	out = append(out, rest)
	if !strings.EqualFold(scheme, "basic") {
		return out
	}
	pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest))
	if err != nil {
		return out
	}
	out = append(out, string(pair))
	if _, password, ok := strings.Cut(string(pair), ":"); ok {
		out = append(out, password)
	}
	return out
}

func (s *Set) add(value string) {
	value = strings.TrimSpace(value)
	if value == "" || s.all[value] {
		return
	}
	s.all[value] = true
	if len(value) < Shortest || strings.Trim(value, "0123456789.+-") == "" { // a number in JSON cannot be replaced
		s.short = append(s.short, value)
		return
	}
	lower := []byte(strings.ToLower(value))
	s.begin(&form{chars: lower, fold: true, enough: most(len(value))})
	if tail := len(value) - most(len(value)); tail > 0 && len(value)-tail >= Shortest+4 {
		s.begin(&form{chars: lower[tail:], fold: true, enough: len(value) - tail}) // a host cut its beginning
	}
	coded := []byte(hex.EncodeToString([]byte(value)))
	s.begin(&form{chars: coded, fold: true, enough: most(len(coded))})
	if upper := []byte(hex.EncodeToString([]byte(strings.ToLower(value)))); string(upper) != string(coded) {
		s.begin(&form{chars: upper, fold: true, enough: most(len(upper))})
	}
	for shift := range 3 {
		core := base64Core(value, shift)
		s.begin(&form{chars: core, base64: true, enough: most(len(core))})
	}
}

// most is three quarters of a length, and no less than Shortest.
func most(n int) int { return min(n, max(Shortest, (3*n+3)/4)) }

// base64Core is the part of the base64 of a text with value in it that value
// alone decides, when value begins shift bytes after a multiple of three.
func base64Core(value string, shift int) []byte {
	coded := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), value...))
	first := (shift*8 + 5) / 6           // the first sextet without a bit of what stands before
	last := (shift + len(value)) * 8 / 6 // whole sextets; the one after has bits of what follows
	return []byte(coded[first:last])
}

// begin enters a form under all the bytes that can begin it.
func (s *Set) begin(f *form) {
	enter := func(first, second byte) {
		if held := s.forms[first]; len(held) == 0 || held[len(held)-1] != f {
			s.forms[first] = append(held, f)
		}
		s.look[first], s.pairs[first][second] = true, true
	}
	for _, first := range f.plainly(0) {
		for _, second := range f.plainly(1) {
			enter(first, second)
		}
		for _, second := range f.escapes(1) {
			enter(first, second)
		}
	}
	for _, escape := range f.escapes(0) {
		seconds := map[byte]string{'%': "234567", '\\': `\ux`, '&': "#algq"}[escape]
		if escape == '\\' && !letterOrDigit(f.chars[0]) {
			seconds += string(f.chars[:1])
		}
		for _, second := range []byte(seconds) {
			enter(escape, second)
		}
	}
	s.look['\\'] = true
}

// plainly returns the bytes that the k-th character is without an escape.
func (f *form) plainly(k int) []byte {
	switch c := f.chars[k]; {
	case f.fold && c >= 'a' && c <= 'z':
		return []byte{c, c - 'a' + 'A'}
	case f.base64 && c == '+':
		return []byte{c, '-'}
	case f.base64 && c == '/':
		return []byte{c, '_'}
	default:
		return []byte{c}
	}
}

// escapes returns the bytes that an escape of the k-th character begins with, a
// line break in base64 included.
func (f *form) escapes(k int) []byte {
	switch {
	case !f.base64, strings.IndexByte("+/", f.chars[k]) >= 0 && k == 0:
		return []byte{'%', '\\', '&'}
	case k == 0:
		return nil
	default:
		return []byte{'\r', '\n', '\\', '%', '&'}
	}
}

// Text returns text without the credentials.
func (s *Set) Text(text string) string {
	if s == nil {
		return text
	}
	if _, consumed, hit := s.scan(nil, []byte(text), true); !hit && consumed == len(text) {
		return text
	}
	clean, _ := s.Bytes([]byte(text))
	return string(clean)
}

// Bytes returns raw without the credentials, and whether there was one. What is
// JSON stays JSON: no escape is torn apart. Without one it returns raw itself.
func (s *Set) Bytes(raw []byte) ([]byte, bool) {
	if s == nil {
		return raw, false
	}
	out, _, hit := s.scan(nil, raw, true)
	if !hit {
		return raw, false
	}
	return out, true
}

// Message returns a text for people without the credentials, the short ones
// included. It is to be called before the text is cut.
func (s *Set) Message(text string) string {
	if s == nil {
		return text
	}
	text = s.Text(text)
	for _, short := range s.short {
		text = withoutWord(text, short)
	}
	return text
}

// withoutWord replaces a word where letters and digits neither precede nor
// follow it.
func withoutWord(text, word string) string {
	var out strings.Builder
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			if out.Len() == 0 {
				return text
			}
			out.WriteString(text)
			return out.String()
		}
		at += from
		end := at + len(word)
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if inWord(before) || inWord(after) {
			from = at + 1
			continue
		}
		out.WriteString(text[:at] + Marker)
		text, from = text[end:], 0
	}
}

func inWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
