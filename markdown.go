package onceward

import (
	"strings"
	"unicode"
)

// maxSummary is what the server takes of a summary, in bytes, and some room.
const maxSummary = 390

// Summary writes the summary of a workflow, an activity or a timer, which the
// Temporal UI may read as Markdown, and of which the server takes 400 bytes. Words of
// our own have nothing to escape, so that ids and names need not be told from them.
func Summary(text string) string { return PlainMarkdown(text, maxSummary) }

// special are the characters that Markdown, tables and formulas in it give a
// meaning to. A backslash takes it from each of them in every dialect; the colon is
// among them because an address in a text would become a link.
const special = "\\`*_{}[]()<>#+-!|&~^$:."

// PlainMarkdown writes a text of somebody else's into Markdown, where it is only
// text: one line, nothing in it that a terminal obeys, and what would make a link, a
// cell, a formula or anything else of it escaped. It takes at most n bytes, and is
// never cut in the middle of an escape. The first word of a line must not be such a
// text, or it may begin a heading or a list.
func PlainMarkdown(text string, n int) string {
	const more = "…"
	line := []rune(PrintableLine(text))
	var out strings.Builder
	kept := 0 // bytes that leave room for more
	for i, r := range line {
		escaped := string(r)
		if strings.ContainsRune(special, r) && !harmless(line, i) {
			escaped = `\` + escaped
		}
		if out.Len()+len(escaped) > n {
			return out.String()[:kept] + more
		}
		out.WriteString(escaped)
		if out.Len() <= n-len(more) {
			kept = out.Len()
		}
	}
	return out.String()
}

// harmless reports whether a character needs no escape where it stands, so that the
// usual action id and tool name stay as they are written: a sign inside a word, the
// end of a sentence, a bracket that follows no other.
func harmless(line []rune, i int) bool {
	inside := i > 0 && i < len(line)-1 && word(line[i-1]) && word(line[i+1])
	switch line[i] {
	case '_', '-', '+', '#':
		return inside
	case ':': // a time, and the end of a word
		return i == len(line)-1 || line[i+1] == ' ' || i > 0 && unicode.IsDigit(line[i-1]) && unicode.IsDigit(line[i+1])
	case '(', ')':
		return i == 0 || line[i-1] != ']'
	case '.':
		return i < 3 || !strings.EqualFold(string(line[i-3:i]), "www")
	}
	return false
}

func word(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
