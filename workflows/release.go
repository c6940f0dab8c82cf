package workflows

import (
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// registerRelease sets the handler by which people approve an action that nobody was
// asked about: one that an older worker, or somebody by hand, has started.
func (a *action) registerRelease(ctx workflow.Context) error {
	err := workflow.SetUpdateHandlerWithOptions(ctx, onceward.UpdateApprove,
		func(ctx workflow.Context, v onceward.Vote) (onceward.ActionReceipt, error) {
			if err := a.checkVote(v); err != nil {
				return a.receipt, temporal.NewNonRetryableApplicationError(err.Error(), "rejected", nil)
			}
			a.approve(ctx, v)
			return a.receipt, nil
		},
		workflow.UpdateHandlerOptions{
			Validator:   func(v onceward.Vote) error { return a.checkVote(v) },
			Description: `Approves an action that waits because nobody was asked: {"by": "who", "note": "", "version": as onceward.receipt says}.`,
		})
	if err != nil {
		return fmt.Errorf("register %s: %w", onceward.UpdateApprove, err)
	}
	workflow.GoNamed(ctx, onceward.UpdateApprove, func(ctx workflow.Context) {
		channel := workflow.GetSignalChannelWithOptions(ctx, onceward.UpdateApprove, workflow.SignalChannelOptions{
			Description: "Like the update of this name. A refused one is listed in onceward.receipt.",
		})
		for {
			var v onceward.Vote
			if err := a.inbox.receive(ctx, channel, &v); err != nil {
				a.refuse(ctx, err.Error())
				continue
			}
			if err := a.checkVote(v); err != nil {
				a.refuse(ctx, said(v.By, "approve", v.Note)+err.Error())
				continue
			}
			a.approve(ctx, v)
		}
	})
	return nil
}

func (a *action) checkVote(v onceward.Vote) error {
	if err := v.Validate(false); err != nil {
		return err
	}
	switch {
	case a.receipt.Status != onceward.StateAwaitingOperator || a.unapproved == 0:
		return fmt.Errorf("approve: action %s is %s and waits for no approval", a.in.ActionID, a.receipt.Status)
	case a.released():
		return fmt.Errorf("approve: action %s is approved already", a.in.ActionID)
	case v.Version != a.receipt.Version:
		return fmt.Errorf("approve: version %d is not the state's version, which is %d: look again before you decide", v.Version, a.receipt.Version)
	case slices.ContainsFunc(a.receipt.ApprovedBy, func(other onceward.Approver) bool { return onceward.SamePerson(other.By, v.By) }):
		return fmt.Errorf("approve: %s has approved already, and %d different people are needed", v.By, a.unapproved)
	}
	return nil
}

func (a *action) approve(ctx workflow.Context, v onceward.Vote) {
	a.receipt.ApprovedBy = append(a.receipt.ApprovedBy, onceward.Approver{By: strings.TrimSpace(v.By), Note: v.Note, At: workflow.Now(ctx).UTC()})
	workflow.SetCurrentDetails(ctx, a.details())
}

// released reports that enough people have approved what nobody was asked about.
func (a *action) released() bool {
	return a.receipt.Status == onceward.StateAwaitingOperator && a.unapproved > 0 && len(a.receipt.ApprovedBy) >= a.unapproved
}
