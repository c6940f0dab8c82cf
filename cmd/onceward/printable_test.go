package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
)

// hostile is a text that a model, a product or a server may have written.
const hostile = "\x1b]0;owned\x07 \u202Efdp\u200B\u2028é\U000E0041 |"

func hidesNothing(t *testing.T, name, printed string) {
	t.Helper()
	if printed == "" || onceward.Printable(printed) != printed {
		t.Errorf("E41: %s printed %+q", name, printed)
	}
}

func TestEverythingPrintedIsCleanAndJSONSaysTheSame(t *testing.T) {
	t.Parallel()
	text, class, phase := hostile, onceward.Class(hostile), onceward.PhaseStream
	outcome := onceward.Outcome(hostile)
	report := show.Report{WorkflowID: hostile, RunID: hostile, Agent: &text, Status: onceward.StatusClosed, Outcome: &outcome, Text: &text,
		Attempts: []show.Attempt{{Turn: 1, Attempt: 1, Resource: &text, Model: &text, Class: &class, Phase: &phase,
			Dropped: []show.Dropped{{Resource: hostile, Step: hostile, Reason: hostile}}}},
		Actions: []show.Action{{ActionID: onceward.ActionID(hostile), Tool: hostile, Status: onceward.ActionState(hostile), Ref: &text, ResolvedBy: &text, Remark: &text}}}
	health := onceward.PoolHealth{Disabled: []onceward.Disabled{{Resource: hostile, Model: hostile, Class: class, Reason: hostile, By: hostile}},
		Tests: []onceward.PoolTest{{Resource: hostile, Error: hostile}}, Enabled: []onceward.Enabled{{Resource: hostile, By: hostile}}}
	runs := []listed{{WorkflowID: hostile, Agent: &text, Outcome: &text, PendingActions: []onceward.ActionID{onceward.ActionID(hostile)}}}
	for name, print := range map[string]func(io.Writer) error{
		"show":         func(w io.Writer) error { return show.Print(w, report) },
		"show --json":  func(w io.Writer) error { return printJSON(w, report) },
		"list":         func(w io.Writer) error { _, err := io.WriteString(w, listTable(runs)); return err },
		"list --json":  func(w io.Writer) error { return printJSON(w, runs) },
		"pool show":    func(w io.Writer) error { return printPool(w, hostile, true, health, false) },
		"pool --json":  func(w io.Writer) error { return printPool(w, hostile, true, health, true) },
		"an error":     func(w io.Writer) error { _, err := io.WriteString(w, "onceward: "+hostile); return err },
		"a text by it": func(w io.Writer) error { return show.PrintActions(w, report.Actions) },
	} {
		var out bytes.Buffer
		if err := print(printableText(&out)); err != nil {
			t.Fatal(err)
		}
		hidesNothing(t, name, out.String())
		if !strings.Contains(name, "json") {
			continue
		}
		var v any
		if err := json.Unmarshal(out.Bytes(), &v); err != nil {
			t.Errorf("E41: %s is no JSON: %v", name, err)
		}
		if back, err := json.Marshal(v); err != nil || !strings.Contains(string(back), `\u202efdp`) && !strings.Contains(string(back), "\u202Efdp") {
			t.Errorf("E41: %s has lost what was written: %s, %v", name, back, err)
		}
	}
}

// A cell of a table is one line, whoever has written it.
func TestTablesHaveOneLineARow(t *testing.T) {
	t.Parallel()
	name := "a\nb\r\n\u2028c"
	if got := listTable([]listed{{WorkflowID: name, Agent: &name}}); strings.Count(got, "\n") != 1 {
		t.Errorf("E41: one run has the table\n%s", got)
	}
}

func TestWriterKeepsCharactersWholeOverWrites(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := printableText(&out)
	for _, b := range []byte("é\u202E\U0001F600€x") {
		if n, err := w.Write([]byte{b}); n != 1 || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	if out.String() != "é\U0001F600€x" {
		t.Errorf("E41: %+q", out.String())
	}
}

func TestCommandsCleanWhatTheyRepeat(t *testing.T) {
	t.Parallel()
	_, _, errs := call(t, "", "resolve", "a "+hostile, "--by", "dana", "--status", "rejected")
	hidesNothing(t, "an error", errs)
	_, out, _ := call(t, `{"id":"`+"\u202Ea"+`","status":429,"body":{}}`+"\n", "classify")
	hidesNothing(t, "classify", out)
	if !strings.Contains(out, `"\u202ea"`) {
		t.Errorf("E41: classify has lost the id: %s", out)
	}
}
