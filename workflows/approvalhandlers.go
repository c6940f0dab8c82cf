package workflows

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/border"
)

// register sets the handlers of a gate before anything else, and opens the channel of
// the runs that ask.
func (g *gate) register(ctx workflow.Context) error {
	g.wants = workflow.GetSignalChannelWithOptions(ctx, onceward.SignalWant, workflow.SignalChannelOptions{Description: "A run waits for a decision. Runs send it."})
	err := workflow.SetQueryHandlerWithOptions(ctx, onceward.QueryReceipt, func() (onceward.Gate, error) { return g.state, nil },
		workflow.QueryHandlerOptions{Description: "What is asked for, who has decided, and the version that a decision has to name."})
	if err != nil {
		return fmt.Errorf("register %s: %w", onceward.QueryReceipt, err)
	}
	for _, h := range []struct {
		name, description string
		deny              bool
	}{
		{onceward.UpdateApprove, `Agrees: {"by": "who", "note": "", "version": as onceward.receipt says}.`, false},
		{onceward.UpdateDeny, `Refuses, for good: {"by": "who", "note": "why, the model is told", "version": as onceward.receipt says}.`, true},
	} {
		if err := g.registerVote(ctx, h.name, h.description, h.deny); err != nil {
			return fmt.Errorf("register %s: %w", h.name, err)
		}
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, onceward.UpdateWithdraw, g.withdraw, workflow.UpdateHandlerOptions{
		Validator: func(w border.Withdrawal) error {
			if w.Run == "" || w.RunID == "" {
				return fmt.Errorf("withdraw: run and run_id are needed: it is for runs that have asked")
			}
			return nil
		},
		Description: `Takes an ask back: {"run": "", "run_id": ""}. Runs send it.`,
	})
	if err != nil {
		return fmt.Errorf("register %s: %w", onceward.UpdateWithdraw, err)
	}
	return nil
}

func (g *gate) registerVote(ctx workflow.Context, name, description string, deny bool) error {
	err := workflow.SetUpdateHandlerWithOptions(ctx, name,
		func(ctx workflow.Context, v onceward.Vote) (onceward.Gate, error) {
			if err := g.take(ctx, v, deny); err != nil {
				return g.state, temporal.NewNonRetryableApplicationError(err.Error(), "rejected", nil)
			}
			return g.state, nil
		},
		workflow.UpdateHandlerOptions{Validator: func(v onceward.Vote) error {
			if g.state.Status == onceward.GateChecking { // within a second or so
				return v.Validate(deny)
			}
			return g.refusal(v, deny)
		}, Description: description})
	if err != nil {
		return err
	}
	workflow.GoNamed(ctx, name, func(ctx workflow.Context) {
		channel := workflow.GetSignalChannelWithOptions(ctx, name, workflow.SignalChannelOptions{
			Description: "Like the update of this name. A refused one is listed in onceward.receipt.",
		})
		for {
			var v onceward.Vote
			if err := g.inbox.receive(ctx, channel, &v); err != nil {
				g.refuse(ctx, name+": "+err.Error())
				continue
			}
			workflow.GoNamed(ctx, name+" by signal", func(ctx workflow.Context) { // the next one is read while this is decided
				if err := g.take(ctx, v, deny); err != nil {
					g.refuse(ctx, said(v.By, strings.TrimPrefix(name, "onceward."), v.Note)+err.Error())
				}
			})
		}
	})
	return nil
}

// refusal says why a vote is not taken: it is not complete, was made for another
// request, or comes from somebody who has voted.
func (g *gate) refusal(v onceward.Vote, deny bool) error {
	if err := v.Validate(deny); err != nil {
		return err
	}
	what := "approve"
	if deny {
		what = "deny"
	}
	same := func(a onceward.Approver) bool { return onceward.SamePerson(a.By, v.By) }
	switch {
	case g.state.Status.Final():
		return fmt.Errorf("%s: %s is %s already", what, g.state.ActionID, g.state.Status)
	case g.vote != nil:
		return fmt.Errorf("%s: %s has decided about %s a moment before: look again", what, g.vote.By, g.state.ActionID)
	case v.Version != g.state.Version:
		return fmt.Errorf("%s: version %d is not the request's version, which is %d: look again before you decide", what, v.Version, g.state.Version)
	case !deny && slices.ContainsFunc(g.state.ApprovedBy, same):
		return fmt.Errorf("approve: %s has approved already, and %d different people are needed", v.By, g.state.Needed)
	}
	return nil
}

// take counts a vote. One that decides waits for what comes of it.
func (g *gate) take(ctx workflow.Context, v onceward.Vote, deny bool) error {
	if err := workflow.Await(ctx, func() bool { return g.state.Status != onceward.GateChecking }); err != nil {
		return err
	}
	if err := g.refusal(v, deny); err != nil {
		return err
	}
	b := &ballot{Approver: onceward.Approver{By: strings.TrimSpace(v.By), Note: v.Note, At: workflow.Now(ctx).UTC()}, deny: deny}
	if !deny {
		g.state.ApprovedBy = append(g.state.ApprovedBy, b.Approver)
		if len(g.state.ApprovedBy) < g.state.Needed {
			g.until(ctx)
			return nil
		}
	}
	g.vote, g.changed = b, true
	if err := workflow.Await(ctx, func() bool { return b.done }); err != nil {
		return err
	}
	return b.err
}

// withdraw takes an ask back. What is being decided goes first: a run that hears
// approved goes on with the action.
func (g *gate) withdraw(ctx workflow.Context, w border.Withdrawal) (onceward.Gate, error) {
	err := workflow.Await(ctx, func() bool {
		return g.vote == nil && g.state.Status != onceward.GateChecking && g.state.Status != onceward.GateDeciding
	})
	if err != nil {
		return g.state, err
	}
	g.hearWants(ctx) // its ask came before it
	g.withdrawn = latest(append(g.withdrawn, w), maxWithdrawn)
	if !g.state.Status.Final() {
		g.state.Asks = slices.DeleteFunc(g.state.Asks, w.Of)
		g.until(ctx)
	}
	out := g.state
	out.Arguments, out.Asks = nil, nil
	return out, nil
}

func (g *gate) refuse(ctx workflow.Context, why string) {
	g.refused.add(why)
	g.state.Refused, g.state.More = g.refused.list, g.refused.more
	workflow.SetCurrentDetails(ctx, g.details())
}

// details is what the Temporal UI shows of the gate: the request as a person has to
// read it, and how to answer.
func (g *gate) details() string {
	s := g.state
	id := cell(string(s.ActionID))
	out := fmt.Sprintf("**%s** · %s · version %d\n\n", id, cell(string(s.Status)), s.Version)
	if s.Why != "" {
		out += "Because: " + words(s.Why) + "\n\n"
	}
	out += tableOf("tool | tenant | user | approvals | wanted until", []string{fmt.Sprintf("%s | %s | %s | %d of %d | %s",
		cell(s.Tool), cell(s.Caller.Tenant), cell(s.Caller.User), len(s.ApprovedBy), s.Needed, s.Until.UTC().Format(time.RFC3339))}, maxDetails)
	out += "\nArguments: " + onceward.PlainMarkdown(string(s.Arguments), maxArguments) + "\n"
	for _, a := range s.ApprovedBy {
		out += "\napproved by " + cell(a.By) + " " + cell(a.Note) + "\n"
	}
	if s.DeniedBy != nil {
		out += "\ndenied by " + cell(s.DeniedBy.By) + ": " + cell(s.DeniedBy.Note) + "\n"
	}
	if s.Status == onceward.GateAwaiting {
		out += fmt.Sprintf("\nWaiting for `onceward approve %s --by WHO` or `onceward deny %s --by WHO --note WHY`, or the update or signal onceward.approve or onceward.deny with version %d.\n", named(s.ActionID), named(s.ActionID), s.Version)
	}
	return onceward.Cut(out+listed(s.Refused, s.More), maxDetails)
}

// maxArguments bounds the arguments in the details, in bytes once they are escaped. The
// query onceward.receipt has all of them.
const maxArguments = 6000
