package show

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/onceward/onceward"
)

// Print writes the report for people: a timeline of the attempts, the receipts,
// what it cost and what came of it. It is meant for a terminal of 120 columns.
func Print(w io.Writer, r Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s · %s · %s", OneLine(r.WorkflowID), or(r.Agent, "not opened yet"), r.Status)
	if r.Outcome != nil {
		fmt.Fprintf(&b, " · %s", *r.Outcome)
	}
	b.WriteString("\n")
	if r.closed != "" && r.Text == nil {
		fmt.Fprintf(&b, "closed without a result: %s\n", OneLine(r.closed))
	}
	if r.waiting != "" {
		fmt.Fprintf(&b, "waiting for %s\n", OneLine(r.waiting))
	}
	if len(r.Attempts) > 0 {
		b.WriteString(attemptTable(r.Attempts) + "\n")
	}
	if len(r.Actions) > 0 {
		b.WriteString(actionTable(r.Actions) + "\n")
	}
	fmt.Fprintf(&b, "attempts %d%s · cost $%.6f%s", r.Budget.Attempts.Used, limit(r.Budget.Attempts.Limit, " of %d"), r.Budget.CostUSD.Used, limit(r.Budget.CostUSD.Limit, " of $%.2f"))
	if r.Budget.Deadline != nil {
		fmt.Fprintf(&b, " · deadline %s", *r.Budget.Deadline)
	}
	fmt.Fprintf(&b, " · history %d events, %d bytes\n", r.History.Events, r.History.Bytes)
	if r.CompletedBy != nil {
		fmt.Fprintf(&b, "completed by %s\n", OneLine(*r.CompletedBy))
	}
	if r.Note != nil {
		fmt.Fprintf(&b, "note: %s\n", OneLine(*r.Note))
	}
	for _, why := range refusals(r.Refused, r.More) {
		b.WriteString(why + "\n")
	}
	if r.Text != nil && *r.Text != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(onceward.Printable(*r.Text)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// attemptTable puts why a route was left and which candidates were passed over
// in lines of their own: in a column they would push the table off the screen.
func attemptTable(attempts []Attempt) string {
	t := NewTable("turn·att", "route", "result", "phase", "ms", "tokens in/out", "cost $")
	var notes []string
	for _, a := range attempts {
		t.AppendRow(table.Row{
			fmt.Sprintf("%d·%d", a.Turn, a.Attempt), route(a), result(a), or(a.Phase, ""), limit(a.DurationMS, "%d"), tokens(a), cost(a),
		})
		if a.message != "" {
			notes = append(notes, fmt.Sprintf("  %d·%d %s", a.Turn, a.Attempt, OneLine(a.message)))
		}
		for _, d := range a.Dropped {
			notes = append(notes, fmt.Sprintf("  %d·%d passed over %s: %s (%s)", a.Turn, a.Attempt, OneLine(d.Resource), d.Step, OneLine(d.Reason)))
		}
		for _, v := range a.Verdicts {
			notes = append(notes, fmt.Sprintf("  %d·%d %s", a.Turn, a.Attempt, verdict(v)))
		}
	}
	return strings.Join(append([]string{Render(t)}, notes...), "\n")
}

// verdict says what became of a suspicion.
func verdict(v onceward.RouteVerdict) string {
	said := fmt.Sprintf("%s/%s is %s", OneLine(v.Resource), OneLine(v.Model), v.Judged)
	switch v.Judged {
	case onceward.JudgedAcquitted:
		return said + ": its neutral request passed"
	case onceward.JudgedConvicted:
		return fmt.Sprintf("%s by its neutral request: %s (%s)", said, v.Class, OneLine(v.Reason))
	}
	return said + ": its neutral request has not answered"
}

func route(a Attempt) string {
	if a.Resource == nil {
		return "none"
	}
	return *a.Resource + "/" + or(a.Model, "?")
}

func result(a Attempt) string {
	switch {
	case a.Class != nil && a.NotSent:
		return string(*a.Class) + ", not sent"
	case a.Class != nil:
		return string(*a.Class)
	case a.Phase == nil:
		return "in flight"
	default:
		return "ok"
	}
}

func tokens(a Attempt) string {
	if a.Usage == nil {
		return "-"
	}
	return fmt.Sprintf("%d/%d", a.Usage.InputTokens, a.Usage.OutputTokens)
}

func cost(a Attempt) string {
	s := fmt.Sprintf("%.6f", a.CostUSD)
	if a.CostBasis == "reserved" {
		s += " reserved"
	}
	return s
}

func actionTable(actions []Action) string {
	t := NewTable("action", "tool", "status", "ref", "commits", "reconciled", "verified by", "version")
	var notes []string
	for _, a := range actions {
		by := or(a.VerifiedBy, "")
		if a.ResolvedBy != nil {
			by += " " + *a.ResolvedBy
		}
		for _, p := range a.ApprovedBy {
			notes = append(notes, fmt.Sprintf("  %s: approved by %s at %s %s", OneLine(string(a.ActionID)), OneLine(p.By), p.At.UTC().Format(time.RFC3339), OneLine(p.Note)))
		}
		t.AppendRow(table.Row{a.ActionID, a.Tool, a.Status, or(a.Ref, ""), a.Commits, a.Reconciled, by, a.Version})
		if a.reason != "" {
			notes = append(notes, fmt.Sprintf("  %s: %s", OneLine(string(a.ActionID)), OneLine(a.reason)))
		}
		if r := a.Reversal; r != nil && a.Status != onceward.StateReversed { // else it is the reason
			notes = append(notes, fmt.Sprintf("  %s: was reversed, as %s says: %s", a.ActionID, OneLine(r.By), OneLine(r.Reason)))
		}
		if a.Note != nil {
			notes = append(notes, fmt.Sprintf("  %s: note: %s", a.ActionID, OneLine(*a.Note)))
		}
		for _, why := range refusals(a.Refused, a.More) {
			notes = append(notes, fmt.Sprintf("  %s: %s", a.ActionID, why))
		}
	}
	return strings.Join(append([]string{Render(t)}, notes...), "\n")
}

// refusals are lines for people of what operators sent and was not taken.
func refusals(list []string, more int) []string {
	var out []string
	for _, why := range list {
		out = append(out, "refused: "+OneLine(why))
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("refused: %d more", more))
	}
	return out
}

// NewTable returns a table in the style of all that onceward prints.
func NewTable(header ...string) table.Writer {
	t := table.NewWriter()
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = 0 // as it is written
	t.SetStyle(style)
	row := table.Row{}
	var columns []table.ColumnConfig
	for i, h := range header {
		row = append(row, h)
		columns = append(columns, table.ColumnConfig{Number: i + 1, Transformer: inOneLine})
	}
	t.AppendHeader(row)
	t.SetColumnConfigs(columns)
	return t
}

// inOneLine keeps a cell from being more than a cell, whoever has written it.
func inOneLine(cell any) string { return onceward.PrintableLine(fmt.Sprint(cell)) }

// Render returns the table without the white space that pads its last column.
func Render(t table.Writer) string {
	lines := strings.Split(t.Render(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

func or[T ~string](p *T, otherwise string) string {
	if p == nil {
		return otherwise
	}
	return onceward.PrintableLine(string(*p))
}

func limit[T any](p *T, format string) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf(format, *p)
}

const maxLine = 200

// OneLine makes a text of a resource, a model or a product fit one line of a
// terminal: shortened, and without what would move the cursor, colour it or hide.
func OneLine(s string) string {
	s = onceward.PrintableLine(s)
	if r := []rune(s); len(r) > maxLine {
		return string(r[:maxLine]) + "…"
	}
	return s
}

// PrintActions writes receipts for people.
func PrintActions(w io.Writer, actions []Action) error {
	_, err := io.WriteString(w, actionTable(actions)+"\n")
	return err
}
