package workflows

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/states.md")

const statesPath = "../docs/states.md"

// TestStatesDocIsInStep draws docs/states.md from the table the code decides
// with. Run it with -update after changing the table.
func TestStatesDocIsInStep(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# The states of an action

Drawn from the transition table in workflows/transitions.go; a test keeps it in
step (` + "`go test ./workflows -run States -update`" + ` rewrites it).

An action is a workflow of its own, ` + "`action/<action id>`" + `. It ends as committed or
rejected, and that execution never changes. An action that somebody terminated has
no receipt: it reads as unknown, nothing is sent for it any more, and a resolve-only
run records what an operator found out. News that a committed effect failed after
all is recorded by a run of its own as well: it reads as reversed until somebody
decides, and neither kind of run ever commits.

` + "```mermaid\nstateDiagram-v2\n    [*] --> proposed\n")
	for _, tr := range Transitions {
		fmt.Fprintf(&b, "    %s --> %s\n", tr.From, tr.To)
	}
	b.WriteString("    committed --> [*]\n    rejected --> [*]\n```\n\n| from | to | when |\n|---|---|---|\n")
	for _, tr := range Transitions {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", tr.From, tr.To, tr.When)
	}
	b.WriteString(`
## What stops a commit

- **The read before it.** Every commit activity reads first; what the read finds is
  adopted, and nothing is sent.
- **What the activity knows of itself**, after the read: it belongs to the very run
  that scheduled it, that run was not made by a reset, and no worker has begun it
  before.
- **The guard**, right before the user's function: the worker is not stopping, and
  the lease has not ended.
- **The lease.** ScheduleToClose, counted by the server from scheduling; the user's
  context ends with it.
- **Absent is believed late.** Only a read that begins after the lease, the tool's
  Settle and the skew margin have passed counts as "there is nothing".
- **The version.** A decision names the version of the state it decides. Versions
  are times, so a state that a reset makes again has another one.
`)
	want := b.String()
	if *update {
		if err := os.WriteFile(statesPath, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(statesPath)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/states.md is not what the table says: run go test ./workflows -run States -update")
	}
}
