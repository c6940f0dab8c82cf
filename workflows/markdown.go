package workflows

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/onceward/onceward"
)

const (
	// maxDetails keeps the current details below the 20,000 bytes at which the
	// server refuses them.
	maxDetails = 19_000
	// maxWords bounds a sentence of somebody else's in the details, and maxCell what
	// stands in a cell of a table, in bytes once they are escaped.
	maxWords = 1500
	maxCell  = 400
)

// special are the characters that Markdown, tables and formulas in it give a
// meaning to. A backslash takes it from each of them in every dialect; the colon is
// among them because an address in a text would become a link.
const special = "\\`*_{}[]()<>#+-!|&~^$:."

// plain writes a text that is not ours into Markdown: one line, nothing in it that
// a terminal obeys, and every character that would make it something else than
// text escaped. It ends after at most n bytes, never in the middle of an escape.
func plain(text string, n int) string {
	const more = "…"
	line := []rune(onceward.PrintableLine(text))
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

// cell is plain for a cell of a table.
func cell(text string) string { return plain(text, maxCell) }

// usd writes an amount without a sign that Markdown takes for a formula.
func usd(m onceward.MicroUSD) string { return fmt.Sprintf("USD %.6f", m.USD()) }

// summary writes what the Temporal UI shows beside an event, and may read as
// Markdown. Our own words in it have nothing to escape, so that ids, tools and
// resources need not be told from them.
func summary(text string) string { return plain(text, maxSummary) }

// tableOf writes the newest rows of a table that fit into room bytes, and says how
// many are left out. Each cell must be written by us or by cell.
func tableOf(head string, rows []string, room int) string {
	columns := strings.Count(head, "|") + 1
	top := "| " + head + " |\n|" + strings.Repeat("---|", columns) + "\n"
	const note = 60 // bytes, of the line about what is left out
	size, first := len(top)+note, len(rows)
	for first > 0 && size+len(rows[first-1])+len("|  |\n") <= room {
		first--
		size += len(rows[first]) + len("|  |\n")
	}
	var out strings.Builder
	if first > 0 {
		fmt.Fprintf(&out, "%d earlier ones are not shown.\n\n", first)
	}
	out.WriteString(top)
	for _, row := range rows[first:] {
		out.WriteString("| " + row + " |\n")
	}
	return out.String()
}
