package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// maxPage bounds one page of the transcript query in bytes.
const maxPage = 1 << 20

// register sets the operator's handlers before the first turn, so that nothing
// is sent to a run that cannot answer yet.
func (r *Run) register(ctx workflow.Context) error {
	for _, q := range []struct {
		name, description string
		handler           any
	}{
		{onceward.QueryStatus, "What the run is doing, for whom it waits, and what it has used of its budget.", func() (onceward.Status, error) { return r.statusNow(), nil }},
		{onceward.QueryTranscript, `Items of the transcript: {"from": 0, "to": 0}; to 0 means to the end; a page holds about 1 MB and next says where the following one begins.`, r.transcript},
		{onceward.QueryLedger, "The newest receipts of the run's actions, up to 1 MB.", func() ([]onceward.ActionReceipt, error) { actions, _ := r.ledger(maxAnswer); return actions, nil }},
		{onceward.QueryAttempts, "The newest model attempts of this execution, up to 1 MB, each with its route, its failure and its cost.", func() ([]onceward.AttemptRecord, error) { return fitting(r.attempts, maxAnswer), nil }},
	} {
		if err := workflow.SetQueryHandlerWithOptions(ctx, q.name, q.handler, workflow.QueryHandlerOptions{Description: q.description}); err != nil {
			return fmt.Errorf("register %s: %w", q.name, err)
		}
	}
	err := workflow.SetUpdateHandlerWithOptions(ctx, onceward.UpdateComplete,
		func(ctx workflow.Context, c onceward.Complete) (onceward.Status, error) {
			if err := r.complete(c); err != nil {
				return onceward.Status{}, err
			}
			return r.statusNow(), nil
		},
		workflow.UpdateHandlerOptions{
			Validator:   func(c onceward.Complete) error { return r.checkComplete(c) },
			Description: `Ends a run that waits for a person: {"by": "who", "text": "the answer", "note": ""}.`,
		})
	if err != nil {
		return fmt.Errorf("register %s: %w", onceward.UpdateComplete, err)
	}
	workflow.GoNamed(ctx, onceward.UpdateComplete, func(ctx workflow.Context) {
		channel := workflow.GetSignalChannelWithOptions(ctx, onceward.UpdateComplete, workflow.SignalChannelOptions{
			Description: `Like the update of this name: {"by": "who", "text": "the answer"}. A refused one is listed in onceward.status.`,
		})
		for {
			var c onceward.Complete
			if err := r.inbox.receive(ctx, channel, &c); err != nil {
				r.refused.add("onceward.complete: " + err.Error())
				continue
			}
			if err := r.checkComplete(c); err != nil {
				r.refused.add(said(c.By, c.Text, c.Note) + err.Error())
				continue
			}
			r.completed = &c
		}
	})
	return nil
}

func (r *Run) checkComplete(c onceward.Complete) error {
	if err := c.Validate(); err != nil {
		return err
	}
	switch {
	case r.completed != nil:
		return fmt.Errorf("complete: %s has completed the run already", r.completed.By)
	case r.outcome != onceward.OutcomeManualCompletion || r.status != onceward.StatusWaitingPerson:
		return fmt.Errorf("complete: the run is %s and does not wait for a completion", r.status)
	}
	return nil
}

func (r *Run) complete(c onceward.Complete) error {
	if err := r.checkComplete(c); err != nil {
		return temporal.NewNonRetryableApplicationError(err.Error(), "rejected", nil)
	}
	r.completed = &c
	return nil
}

// transcript answers a page of items.
func (r *Run) transcript(q onceward.TranscriptQuery) (onceward.TranscriptPage, error) {
	if q.To == 0 {
		q.To = len(r.items)
	}
	if q.From < 0 || q.To > len(r.items) || q.From > q.To {
		return onceward.TranscriptPage{}, fmt.Errorf("transcript: [%d, %d) is not within its %d items", q.From, q.To, len(r.items))
	}
	page := onceward.TranscriptPage{Next: q.From, Length: len(r.items)}
	size := 0
	for _, item := range r.items[q.From:q.To] {
		if size += item.Encoded(); size > maxPage && len(page.Items) > 0 {
			break
		}
		page.Items = append(page.Items, item)
		page.Next++
	}
	return page, nil
}

// publish writes what the Temporal UI shows of the run: the current details and,
// where the namespace has them, the search attributes.
func (r *Run) publish(ctx workflow.Context) {
	workflow.SetCurrentDetails(ctx, r.details())
	r.published = r.figures()
	if !r.plan.Attributes {
		return
	}
	_ = workflow.UpsertTypedSearchAttributes(ctx,
		temporal.NewSearchAttributeKeyKeyword(onceward.AttributeAgent).ValueSet(r.plan.Agent),
		temporal.NewSearchAttributeKeyKeyword(onceward.AttributeStatus).ValueSet(string(r.status)),
		temporal.NewSearchAttributeKeyKeyword(onceward.AttributeOutcome).ValueSet(string(r.outcome)),
		temporal.NewSearchAttributeKeyKeyword(onceward.AttributeResource).ValueSet(r.warm),
		temporal.NewSearchAttributeKeyInt64(onceward.AttributeAttempts).ValueSet(int64(r.use.Attempts)),
		temporal.NewSearchAttributeKeyFloat64(onceward.AttributeCostUSD).ValueSet(r.use.Cost().USD()),
		temporal.NewSearchAttributeKeyKeywordList(onceward.AttributePendingActions).ValueSet(r.pending()),
	)
}

// maxAttribute is what the server takes of one search attribute, in bytes as
// encoded. A larger one fails the workflow task for ever.
const maxAttribute = 2 << 10

// pending are the newest actions whose receipt is not final, as many as an attribute
// holds. The newest is the one that a person may be waited for.
func (r *Run) pending() []string {
	var ids []string
	room := maxAttribute - len("[]")
	for _, a := range slices.Backward(r.actions) {
		if a.Status.Final() {
			continue
		}
		if room -= onceward.EncodedText(string(a.ActionID)) + len(","); room < 0 {
			break
		}
		ids = append(ids, string(a.ActionID))
	}
	slices.Reverse(ids)
	return ids
}

// figures are what the search attributes have of a run, as one value to compare.
func (r *Run) figures() string {
	return fmt.Sprint(r.status, " ", r.outcome, " ", r.use.Attempts, " ", r.use.Cost(), " ", r.warm, " ", r.pending())
}

// update publishes figures that have changed since they were last published: while a
// run waits for a tool, a person or a resource, a list must show what the run
// itself says. The details cost nothing and follow everything.
func (r *Run) update(ctx workflow.Context) {
	switch {
	case r.plan.Figures && r.figures() != r.published:
		r.publish(ctx)
	default:
		workflow.SetCurrentDetails(ctx, r.details())
	}
}

// details is what the Temporal UI shows of the run.
func (r *Run) details() string {
	head := "**" + cell(r.plan.Agent) + "** · " + string(r.status)
	if r.outcome != "" {
		head += " · " + string(r.outcome)
	}
	out := head + fmt.Sprintf(" · turn %d · attempts %d of %d · %s of %s\n\n",
		r.turn, r.use.Attempts, r.plan.Budget.Attempts, usd(r.use.Cost()), usd(r.plan.Budget.Cost))
	if r.waiting != "" {
		out += "Waiting for " + words(r.waiting) + "\n\n"
	}
	var attempts, actions []string
	for _, a := range r.attempts {
		attempts = append(attempts, fmt.Sprintf("%d | %d | %s | %s", a.Turn, a.Attempt, cell(routeText(a.Route)), cell(attemptText(a))))
	}
	for _, a := range r.actions {
		actions = append(actions, cell(string(a.ActionID))+" | "+cell(string(a.Status))+" | "+cell(a.Ref))
	}
	if len(attempts) > 0 {
		out += tableOf("turn | attempt | route | result", attempts, (maxDetails-len(out))/2) + "\n"
	}
	if len(actions) > 0 {
		out += tableOf("action | state | ref", actions, maxDetails-len(out))
	}
	return out
}

func routeText(route *onceward.Route) string {
	if route == nil {
		return "none"
	}
	return route.Resource + "/" + route.Model
}

func attemptText(a onceward.AttemptRecord) string {
	switch {
	case a.Failure != nil:
		return string(a.Failure.Class)
	case a.Settled != nil:
		return "ok"
	default:
		return "in flight"
	}
}
