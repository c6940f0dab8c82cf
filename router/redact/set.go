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
	nodes []node         // of all spellings; the first is their root
	first [256][]int32   // nodes that a character reaches from the root
	look  [256]bool      // a spelling can begin with it, or an escape
	pairs [256][256]bool // a spelling can begin with both
	short []string
	all   map[string]bool
}

// NewSet returns the set of some credentials and of their parts that are
// credentials themselves, such as the token of "Bearer token". Empty ones are
// passed over.
func NewSet(credentials ...string) *Set {
	s := &Set{nodes: make([]node, 1), all: map[string]bool{}}
	for _, credential := range credentials {
		for _, part := range parts(credential) {
			s.add(part)
		}
	}
	s.index()
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
	value = strings.Trim(value, " \t\r\n\"") // a " at its end may be the end of a string
	if value == "" || s.all[value] {
		return
	}
	s.all[value] = true
	if len(value) < Shortest || bare(value) { // a number in JSON cannot be replaced
		s.short = append(s.short, value)
		return
	}
	lower := strings.ToLower(value)
	s.enter([]byte(lower), false, most(len(value)))
	if left := most(len(value)); left < len(value) && left >= Shortest+4 {
		s.enter([]byte(lower[len(value)-left:]), false, left) // a host cut its beginning
	}
	for _, text := range []string{value, lower} {
		coded := hex.EncodeToString([]byte(text))
		s.enter([]byte(coded), false, most(len(coded)))
		if bare(coded) {
			s.short = append(s.short, coded, strings.ToUpper(coded))
		}
	}
	for shift := range 3 {
		core := base64Core(value, shift)
		s.enter(core, true, most(len(core)))
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

// Text returns text without the credentials.
func (s *Set) Text(text string) string {
	if s == nil {
		return text
	}
	clean, hit := s.Bytes([]byte(text))
	if !hit {
		return text
	}
	return string(clean)
}

// Bytes returns raw without the credentials, and whether there was one. What is
// JSON stays JSON: no escape is torn apart. Without one it returns raw itself.
func (s *Set) Bytes(raw []byte) ([]byte, bool) {
	if s == nil {
		return raw, false
	}
	scan := s.scan()
	out, _, hit := scan.over(nil, raw, true)
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
