package router

import (
	"cmp"
	"fmt"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/classify"
	"github.com/onceward/onceward/router/wire"
)

// readTerminal judges a stream by the event that ended it.
func (a *attempt) readTerminal() *onceward.Failure {
	answer, err := a.stream.Answer()
	a.clean(&answer)
	a.learn(answer)
	if a.stream.Completed() {
		if why := a.stream.Doubt(answer); why != "" {
			return a.invented(why)
		}
		return a.judge(answer, err)
	}
	f := a.classify(classify.SSE, a.stream.Verdict(), nil)
	switch {
	case f.Class == onceward.ClassIncompleteOutput:
		f.Phase = onceward.PhaseSettled
		return a.cutAnswer(f, answer, err)
	case f.Class == onceward.ClassEmptyOutput && a.stream.Begun():
		// Its last event alone is empty, with a reason that nobody knows.
		return a.failure(onceward.ClassInvalidOutput, a.phase(), "the answer ended, and not as a whole one does: "+f.Message)
	}
	return f
}

// readBody judges a JSON answer, which some hosts give to a stream request.
func (a *attempt) readBody(body []byte) *onceward.Failure {
	if blank(body) {
		return a.classify(classify.HTTP, body[:min(len(body), classify.MaxBody)], nil)
	}
	answer, complete, err := a.endpoint.protocol.body(body)
	a.clean(&answer)
	a.learn(answer)
	if !complete {
		f := a.classify(classify.HTTP, body[:min(len(body), classify.MaxBody)], nil)
		return a.cutAnswer(f, answer, err)
	}
	return a.judge(answer, err)
}

// learn keeps what any answer tells, failed ones included.
func (a *attempt) learn(answer wire.Answer) {
	a.response.Usage, a.response.ResponseModel = answer.Usage, answer.Model
	a.measure(answer)
	if answer.Model == "" {
		return
	}
	for _, notice := range a.router.drift.learn(a.candidate, a.router.all, factsOf(answer, a.header)) {
		a.notice(notice)
	}
	last := a.candidate.Health.LastModel.Swap(&answer.Model)
	if last != nil && *last != answer.Model {
		a.breach(onceward.BreachModel, "the deployment now answers as %s, before as %s", answer.Model, *last)
	}
}

// judge decides whether a complete answer is usable, inside the attempt, so
// that an unusable one rotates like any other failure.
func (a *attempt) judge(answer wire.Answer, err error) *onceward.Failure {
	a.compare(answer)
	if f := a.whole(answer, err); f != nil {
		return f
	}
	return a.take(answer)
}

// take makes the response of an answer that is whole, if it is usable.
func (a *attempt) take(answer wire.Answer) *onceward.Failure {
	invalid := func(err error) *onceward.Failure {
		return a.failure(onceward.ClassInvalidOutput, onceward.PhaseSettled, err.Error())
	}
	if err := a.uncleanCall(answer); err != nil {
		return invalid(err)
	}
	items := make([]onceward.Item, len(answer.Items))
	for i, raw := range answer.Items {
		item, err := wire.NewItem(raw)
		if err != nil {
			return invalid(err)
		}
		item.MintedBy, item.MintedIn = a.candidate.Name, a.candidate.Boundary
		if wire.Sealed(item) {
			item.Boundary = a.candidate.Boundary
		}
		items[i] = item
	}
	switch {
	case answer.Declined && len(answer.Calls) > 0:
		// The model says no and asks for it all the same: what it was not sure of is
		// not done, and nobody else is asked to do it.
		a.notice(fmt.Sprintf("the refusal came with %d calls, none of which is carried out", len(answer.Calls)))
		return a.failure(onceward.ClassRefusal, onceward.PhaseSettled, cmp.Or(answer.Refusal, "the model refused, and called tools beside it"))
	case len(answer.Calls) > 0:
	case answer.Refusal != "":
		return a.failure(onceward.ClassRefusal, onceward.PhaseSettled, answer.Refusal)
	case len(answer.Messages) == 0:
		f := a.failure(onceward.ClassEmptyOutput, onceward.PhaseSettled, "a completed answer without text and without calls")
		f.ModelResult = onceward.ModelResultNone
		return f
	}
	if f := a.saidError(answer); f != nil {
		return f
	}
	text, err := a.accepted(answer)
	if err != nil {
		return invalid(err)
	}
	a.response.Items, a.response.Text, a.response.Calls = items, text, answer.Calls
	return nil
}

// saidError is the failure of an answer whose whole text is an error of the host.
func (a *attempt) saidError(answer wire.Answer) *onceward.Failure {
	if len(answer.Calls) > 0 || len(answer.Messages) != 1 {
		return nil
	}
	f, ok := classify.Sentence(answer.Messages[0])
	if !ok {
		return nil
	}
	own := a.failure(f.Class, onceward.PhaseSettled, f.Message)
	own.FallbackEligible, own.Retryable, own.RetryAfter = f.FallbackEligible, f.Retryable, f.RetryAfter
	own.Scope, own.StateEffect, own.Repair = f.Scope, f.StateEffect, f.Repair
	return own
}

// accepted returns the last message that the caller's check accepts. Without
// one, the error is about the last message.
func (a *attempt) accepted(answer wire.Answer) (string, error) {
	n := len(answer.Messages)
	if n == 0 {
		return "", nil
	}
	last := answer.Messages[n-1]
	if a.req.Check == nil || len(answer.Calls) > 0 {
		return last, nil
	}
	first := a.req.Check(last)
	if first == nil {
		return last, nil
	}
	for i := n - 2; i >= 0; i-- {
		if a.req.Check(answer.Messages[i]) == nil {
			return answer.Messages[i], nil
		}
	}
	return "", fmt.Errorf("check answer: %w", first)
}
