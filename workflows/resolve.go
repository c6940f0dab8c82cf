package workflows

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// register sets the operator's handlers of an action.
func (a *action) register(ctx workflow.Context) error {
	err := workflow.SetQueryHandlerWithOptions(ctx, onceward.QueryReceipt,
		func() (onceward.ActionReceipt, error) { return a.receipt, nil },
		workflow.QueryHandlerOptions{Description: "What is known of the effect, and the version of the state that a decision has to name."})
	if err != nil {
		return fmt.Errorf("register %s: %w", onceward.QueryReceipt, err)
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, onceward.UpdateResolve,
		func(ctx workflow.Context, r onceward.Resolve) (onceward.ActionReceipt, error) {
			if err := a.check(r); err != nil {
				return a.receipt, temporal.NewNonRetryableApplicationError(err.Error(), "rejected", nil)
			}
			a.record(ctx, r)
			return a.receipt, nil
		},
		workflow.UpdateHandlerOptions{
			Validator:   func(r onceward.Resolve) error { return a.check(r) },
			Description: `Decides an action whose outcome nobody could read: {"status": "committed" or "rejected", "ref": "the product's name for it", "by": "who", "note": "", "version": as onceward.receipt says}.`,
		})
	if err != nil {
		return fmt.Errorf("register %s: %w", onceward.UpdateResolve, err)
	}
	workflow.GoNamed(ctx, onceward.UpdateResolve, func(ctx workflow.Context) {
		channel := workflow.GetSignalChannelWithOptions(ctx, onceward.UpdateResolve, workflow.SignalChannelOptions{
			Description: "Like the update of this name. A refused one is listed in onceward.receipt.",
		})
		for {
			var r onceward.Resolve
			err := a.inbox.receive(ctx, channel, &r)
			if err != nil {
				a.refuse(ctx, err.Error())
				continue
			}
			if err := a.check(r); err != nil {
				a.refuse(ctx, said(r.By, string(r.Status)+" "+r.Ref, r.Note)+err.Error())
				continue
			}
			a.record(ctx, r)
		}
	})
	return nil
}

// check refuses a decision that is not complete, comes when none is needed, or
// was made for another state.
func (a *action) check(r onceward.Resolve) error {
	if err := r.Validate(); err != nil {
		return err
	}
	switch {
	case a.receipt.Status != onceward.StateAwaitingOperator && a.receipt.Status != onceward.StateReversed:
		return fmt.Errorf("resolve: action %s is %s and awaits no operator", a.in.ActionID, a.receipt.Status)
	case r.Version != a.receipt.Version:
		return fmt.Errorf("resolve: version %d is not the state's version, which is %d: look again before you decide", r.Version, a.receipt.Version)
	}
	return nil
}

// record takes an operator's decision.
func (a *action) record(ctx workflow.Context, r onceward.Resolve) {
	if r.Ref != "" || a.receipt.Reversal == nil { // what was reversed keeps the name that people know it by
		a.receipt.Ref = r.Ref
	}
	a.receipt.VerifiedBy, a.receipt.ResolvedBy, a.receipt.Note = onceward.VerifiedByOperator, r.By, a.noted(r)
	state := onceward.StateRejected
	if r.Status == onceward.StatusCommitted {
		state = onceward.StateCommitted
	}
	// The note is for the record; the reason is what the model is told.
	a.to(ctx, state, "decided by an operator")
}

// noted is the note of a decision, and before it that of the decision which was
// reversed: its words would be lost with the name of who said them.
func (a *action) noted(r onceward.Resolve) string {
	if a.receipt.Note == "" {
		return r.Note
	}
	return onceward.Cut(also(r.Note, fmt.Sprintf("%s had noted: %s", a.receipt.ResolvedBy, a.receipt.Note)), onceward.MaxOperatorText)
}

func (a *action) refuse(ctx workflow.Context, why string) {
	a.refused.add(why)
	a.receipt.Refused, a.receipt.More = a.refused.list, a.refused.more
	workflow.SetCurrentDetails(ctx, a.details())
}

// said is what an operator sent, for the record of why it was not taken.
func said(by, what, note string) string {
	out := fmt.Sprintf("%s said %s", onceward.Cut(by, 60), onceward.Cut(strings.TrimSpace(what), 100))
	if note != "" {
		out += fmt.Sprintf(" (%s)", onceward.Cut(note, 100))
	}
	return out + ": "
}

// details is what the Temporal UI shows of the action.
func (a *action) details() string {
	r := a.receipt
	id := cell(string(r.ActionID))
	out := fmt.Sprintf("**%s** · %s · version %d\n\n", id, r.Status, r.Version)
	if r.Reason != "" {
		out += "Because: " + words(r.Reason) + "\n\n" // with a word of ours before it, no text begins a heading or a list
	}
	out += tableOf("tool | ref | commits | reads after | verified by | resolved by", []string{fmt.Sprintf(
		"%s | %s | %d | %d | %s | %s", cell(r.Tool), cell(r.Ref), r.Commits, r.Reconciled, cell(string(r.VerifiedBy)), cell(r.ResolvedBy))}, maxDetails)
	if r.Status == onceward.StateAwaitingOperator || r.Status == onceward.StateReversed {
		out += fmt.Sprintf("\nWaiting for `onceward resolve %s --status committed|rejected --ref REF --by WHO`, or the update onceward.resolve with version %d.\n", named(r.ActionID), r.Version)
	}
	return out + listed(r.Refused, r.More)
}
