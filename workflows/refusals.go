package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"
)

// maxRefused bounds the list of refused signals an operator is shown.
const maxRefused = 20

// refusals are what operators sent and was not taken, and why. The first are
// listed and the rest is counted, so that nobody is told less than they sent.
type refusals struct {
	list []string
	more int
}

func (f *refusals) add(why string) {
	if len(f.list) >= maxRefused {
		f.more++
		return
	}
	f.list = append(f.list, cutSummary(why))
}

// listed writes refusals into the details.
func listed(list []string, more int) (out string) {
	for _, why := range list {
		out += "\nrefused: " + cell(why) + "\n"
	}
	if more > 0 {
		out += fmt.Sprintf("\nand %d more\n", more)
	}
	return out
}

// hearOut lets every other coroutine have its turn. A signal that came with this
// very task is in the hands of its reader, where no drain of the channel finds it:
// a workflow that returned now would lose it. It writes no command.
func hearOut(ctx workflow.Context) {
	heard := false
	workflow.GoNamed(ctx, "hear out", func(workflow.Context) { heard = true })
	_ = workflow.Await(ctx, func() bool { return heard })
}
