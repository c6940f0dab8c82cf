package router

import (
	"fmt"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/wire"
)

// whole says why a complete answer is not a whole one, although its host says so.
// No call of such an answer is ever bound.
func (a *attempt) whole(answer wire.Answer, err error) *onceward.Failure {
	invalid := func(format string, args ...any) *onceward.Failure {
		return a.failure(onceward.ClassInvalidOutput, onceward.PhaseSettled, fmt.Sprintf(format, args...))
	}
	if answer.Filtered {
		return a.failure(onceward.ClassContentFiltered, onceward.PhaseSettled, "the resource says completed, and that its content filter took something out of the answer")
	}
	if limit := a.reached(answer); limit > 0 && !declined(answer, err) {
		f := a.failure(onceward.ClassIncompleteOutput, onceward.PhaseSettled,
			fmt.Sprintf("the resource says completed, and it used %d output tokens of at most %d: the answer may be cut", answer.Stated, limit))
		return a.cutAnswer(f, answer, err)
	}
	switch {
	case err != nil:
		return invalid("%v", err)
	case answer.Unserved != "":
		return invalid("the answer holds a %s, which nobody declared", answer.Unserved)
	case len(a.req.Tools) > 0 && len(answer.Calls) == 0 && leftInText(answer.Messages):
		return invalid("the answer's text holds a call that its server did not take out of it")
	case answer.Partial != "":
		return invalid("the answer holds %s, which is not complete", answer.Partial)
	case answer.PartText != "":
		return invalid("the answer holds %s, which is not complete", answer.PartText)
	case answer.PartHosted && len(answer.Calls) > 0:
		return invalid("the answer holds calls beside a hosted one that did not end")
	}
	return nil
}

// callMarks are the tokens that models begin a call with. A server that knows the
// model takes them out of the text; one that does not says completed all the same.
var callMarks = []string{
	"<tool_call>", "<tool_calls>", "<function_call>", "<function=", "<|tool_call|>", "<|tool_call>", "<|tool_calls_section_begin|>", "<|python_tag|>",
	"[TOOL_CALLS]", "<｜tool▁calls▁begin｜>", "<|channel|>commentary to=", "<|start|>assistant<|channel|>commentary to=",
}

// leftInText reports whether a line of a text begins with such a mark.
func leftInText(messages []string) bool {
	for _, text := range messages {
		for _, mark := range callMarks {
			if strings.HasPrefix(strings.TrimSpace(text), mark) || strings.Contains(text, "\n"+mark) {
				return true
			}
		}
	}
	return false
}

// reached returns the output limit that an answer has used up, 0 where it has not
// or where nobody counted. The limit is the one that was sent, or a lower one that
// the resource says it took instead. Counted is what the resource itself calls
// output tokens: reasoning that it counts beside them is beside the limit too. A
// limit that was overrun cut nothing where the resource says that it has another.
func (a *attempt) reached(answer wire.Answer) int {
	limit, echo := a.limit, answer.Echo
	if n := echo.MaxOutputTokens; n > 0 && (limit == 0 || n < limit) {
		limit = n
	}
	switch {
	case limit == 0 || answer.Stated < limit:
		return 0
	case answer.Stated > limit && (echo.Unlimited || echo.MaxOutputTokens > answer.Stated):
		return 0
	}
	return limit
}

// declined reports a refusal, which is an answer however long it is.
func declined(answer wire.Answer, err error) bool {
	return err == nil && answer.Refusal != "" && len(answer.Calls) == 0
}

// cutAnswer returns the failure of an answer that was cut at the output limit, or
// takes its text for the answer where the caller said so. A call is never taken: a
// text that lacks its end can be read, an action that lacks its end must not be.
func (a *attempt) cutAnswer(f *onceward.Failure, answer wire.Answer, err error) *onceward.Failure {
	if f.Class != onceward.ClassIncompleteOutput || f.Repair != onceward.RepairRaiseOutput || !a.req.AcceptCut ||
		err != nil || len(answer.Calls) > 0 || answer.Unserved != "" || answer.Partial != "" || answer.Filtered || len(answer.Messages) == 0 {
		return f
	}
	a.notice("the text was cut at the output limit, and the agent accepts that")
	return a.take(answer)
}

// invented is a stream that ended with an event that the model's host cannot have
// written: like one without any.
func (a *attempt) invented(why string) *onceward.Failure {
	return a.failure(onceward.ClassNetwork, onceward.PhaseStream, "the stream's end was made up: "+why)
}
