package onceward

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Printable returns a text of somebody else's, such as a model's answer or a
// product's reason, without what a terminal obeys or does not show: controls,
// with them every escape sequence, marks that turn the direction of writing, and
// characters without a width. Line feeds and tabs stay, and other ends of a line
// become line feeds. The rest of an escape sequence stays to be seen: it shows
// that somebody tried.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case !concealed(r):
			return r
		case strings.ContainsRune("\v\f\u0085\u2028\u2029", r):
			return '\n' // dropped, it would join two lines into a third
		}
		return -1
	}, text)
}

// PrintableLine is Printable for what has to stay in one line: white space of any
// kind and length becomes one space.
func PrintableLine(text string) string {
	return strings.Join(strings.Fields(Printable(text)), " ")
}

// PrintableJSON returns a JSON text with everything that Printable would drop
// written as \u escapes, so that it still says the same and may be printed on a
// terminal. raw has to be valid JSON: only in its strings can such a character be.
func PrintableJSON(raw []byte) []byte {
	if strings.IndexFunc(string(raw), concealed) < 0 {
		return raw
	}
	var out strings.Builder
	for _, r := range string(raw) {
		switch {
		case !concealed(r) || r == '\r': // a return is white space between two values
			out.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return []byte(out.String())
}

// concealed reports whether a terminal would obey a character or show nothing of
// it. Joiners inside an emoji or a word are among them: what is left can be read,
// and nothing hides between two letters.
func concealed(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case '\u2800': // a braille pattern without dots
		return true
	}
	return !unicode.IsGraphic(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
