package workflows

import (
	"fmt"
	"strings"

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

// words writes a sentence that is not ours into the details.
func words(text string) string { return onceward.PlainMarkdown(text, maxWords) }

// cell writes a text that is not ours into a cell of a table.
func cell(text string) string { return onceward.PlainMarkdown(text, maxCell) }

// named is an action id in a command to be copied, which takes no escapes.
func named(id onceward.ActionID) string {
	if plain := string(id); cell(plain) == plain {
		return plain
	}
	return "ACTION_ID"
}

// usd writes an amount without a sign that Markdown takes for a formula.
func usd(m onceward.MicroUSD) string { return fmt.Sprintf("USD %.6f", m.USD()) }

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
