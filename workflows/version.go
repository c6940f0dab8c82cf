package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/temporal"

	"github.com/onceward/onceward"
)

// bounded is the manifest version from which turns are bounded and the end of a
// cancelled attempt is waited for. A run that was opened before goes on as it
// began: its history holds other commands.
const bounded = 2

// readable refuses what is older than this release reads. What is newer fails the
// workflow task instead: the run is not at fault, and waits for a worker of that
// release.
func readable(what string, version, oldest, newest int) error {
	if version > newest {
		leaveToNewer(what, fmt.Sprintf("version %d, and this one reads %d to %d", version, oldest, newest))
	}
	if version < oldest {
		return temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("%s has version %d, this release reads %d to %d: finish such runs with the release that began them", what, version, oldest, newest), onceward.ErrorInvalidStart, nil)
	}
	return nil
}

// leaveToNewer fails the workflow task about something that only a newer release
// can have written, as after a release that was taken back. Deciding without
// understanding it would be a guess, and ending the run would lose it.
func leaveToNewer(what, found string) {
	panic(fmt.Sprintf("%s was written by a newer release (%s): the run waits for a worker of that release", what, found))
}

// The following look for what is not of this release in what a worker has answered.
func understandRepair(repair onceward.Repair) {
	if !repair.Known() {
		leaveToNewer("a selection or a failure", fmt.Sprintf("repair %q", repair))
	}
}

func understandCalls(calls []onceward.Call) {
	for _, call := range calls {
		switch call.Kind {
		case "", onceward.KindRead, onceward.KindWrite:
		default:
			leaveToNewer("a call of "+call.Tool, fmt.Sprintf("kind %q", call.Kind))
		}
	}
}

func understandReceipt(receipt onceward.ActionReceipt) {
	known := func(t Transition) bool { return t.From == receipt.Status || t.To == receipt.Status }
	if receipt.Status != "" && receipt.Status != onceward.StateUnknown && receipt.Status != onceward.StateAwaitingApproval && !slices.ContainsFunc(Transitions, known) {
		leaveToNewer("the receipt of "+string(receipt.ActionID), fmt.Sprintf("state %q", receipt.Status))
	}
}
