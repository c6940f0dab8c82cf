// Package page tells what servers in front of an API send in its place: mark-up,
// bytes that are no text, and the bare name of a status. Such an answer says nothing
// about the request.
package page

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// looked is how many bytes of an answer are looked at.
const looked = 1024

var (
	// prologue is what stands before the first element of a page.
	prologue = regexp.MustCompile(`^(?s:\s*(?:<!--.*?(?:-->|\z)|<\?xml[^>]*>|<!doctype[^>]*>))*\s*`)
	// elements of HTML that a page begins with.
	elements = regexp.MustCompile(`^</?(?:html|head|body|title|meta|link|base|script|style|noscript|template|center|h[1-6]|div|p|pre|code|span|font|b|i|u|a|br|hr|img|svg|` +
		`ul|ol|table|form|input|label|main|section|article|nav|header|iframe|object|frameset|noframes|small|strong|em|tt)(?:[\s/>]|$)`)
	// within are tags that make a page of what they stand in.
	within = regexp.MustCompile(`<!doctype html|<(?:html|body)[\s>]|<(?:head|title|center|h1)>`)
	markup = regexp.MustCompile(`(?is)<script.*?(?:</script|\z)|<style.*?(?:</style|\z)|<!--.*?(?:-->|\z)|<[^>]*>?`)
)

// Begins reports whether an answer is a page from its first element on.
func Begins(b []byte) bool {
	head := bytes.ToLower(b[:min(len(b), looked)])
	rest := head[len(prologue.Find(head)):]
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("<!doctype html")) || elements.Match(rest) || len(rest) == 0 && bytes.IndexByte(head, '<') >= 0
}

// Within returns where a page begins in a text that says something before it, or -1.
func Within(text string) int {
	at := within.FindStringIndex(strings.ToLower(text[:min(len(text), looked)]))
	if at == nil {
		return -1
	}
	return at[0]
}

// Words are those of a page without its tags, scripts and styles.
func Words(s string) string { return markup.ReplaceAllString(s, " ") }

// Opaque reports whether an answer is no text at all, such as one that is still
// compressed in a way that nobody asked for.
func Opaque(b []byte) bool {
	b = b[:min(len(b), looked)]
	odd, n := 0, 0
	for i := 0; i < len(b); n++ {
		r, size := utf8.DecodeRune(b[i:])
		cut := r == utf8.RuneError && size == 1 && i+utf8.UTFMax > len(b) // the end of a longer one
		if !cut && (r == utf8.RuneError && size == 1 || r < ' ' && !strings.ContainsRune("\t\r\n\f\v\x1b", r)) {
			odd++
		}
		i += size
	}
	return odd*10 > n
}

// UTF8 returns an answer that was written in UTF-16, with or without its mark, as
// UTF-8, and every other one as it is.
func UTF8(b []byte) []byte {
	var order binary.ByteOrder
	switch {
	case len(b) < 4:
		return b
	case b[0] == 0xFE && b[1] == 0xFF, b[0] == 0 && b[1] != 0 && b[2] == 0 && b[3] != 0:
		order = binary.BigEndian
	case b[0] == 0xFF && b[1] == 0xFE, b[0] != 0 && b[1] == 0 && b[2] != 0 && b[3] == 0:
		order = binary.LittleEndian
	default:
		return b
	}
	units := make([]uint16, 0, len(b)/2)
	for i := 0; i+1 < len(b); i += 2 {
		units = append(units, order.Uint16(b[i:]))
	}
	return []byte(strings.TrimPrefix(string(utf16.Decode(units)), "\uFEFF"))
}

var (
	statusNames = sync.OnceValue(func() map[string]bool {
		names := map[string]bool{"payload too large": true, "request uri too large": true, "unprocessable content": true, "unprocessable": true, "error": true}
		for code := 400; code < 600; code++ {
			if name := http.StatusText(code); name != "" {
				names[strings.ToLower(name)] = true
			}
		}
		return names
	})
	around = regexp.MustCompile(`^(?:http(?:/[\d.]+)?\W+)?(?:error\W+)?(?:status\W+)?(?:code\W+)?(?:[45]\d\d\b\W*)?|\W*(?:\b[45]\d\d)?\W*$`)
)

// StatusName reports whether every line of a text in lower case says no more than the
// name of a status, such as "400 bad request".
func StatusName(text string) bool {
	for line := range strings.Lines(text) {
		if len(line) >= 80 || !statusNames()[around.ReplaceAllString(strings.TrimSpace(line), "")] {
			return false
		}
	}
	return text != ""
}
