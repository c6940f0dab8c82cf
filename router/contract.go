package router

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/wire"
)

// maxBreaches bounds the notices of one attempt: they ride in the details of a
// failure, which Temporal cuts at 4 KB.
const maxBreaches = 6

// breach notes what the resource did not keep to. It is carried out all the same:
// what must not be is a failure, not a notice.
func (a *attempt) breach(kind onceward.Breach, format string, args ...any) {
	notice := kind.Notice(fmt.Sprintf(format, args...))
	if a.breaches < maxBreaches && !slices.Contains(a.response.Notices, notice) {
		a.breaches++
		a.notice(notice)
	}
}

// compare holds a complete answer against the request and against what the
// capability record claims.
func (a *attempt) compare(answer wire.Answer) {
	c := a.candidate.Capability
	if n := len(answer.Calls); n > 1 && !c.ParallelTools && len(a.req.Tools) > 0 {
		a.breach(onceward.BreachParallel, "false was sent and %d calls came", n)
	}
	if a.limit > 0 && answer.Stated > a.limit {
		a.breach(onceward.BreachOutput, "%d was sent and %d output tokens came", a.limit, answer.Stated)
	}
	if answer.Choices > 0 {
		a.breach(onceward.BreachChoices, "one answer was asked for and %d more came", answer.Choices)
	}
	if answer.Bare && c.EncryptedReasoning && a.req.Conversation == "" {
		a.breach(onceward.BreachReasoning, "reasoning came without the encrypted content that was asked for")
	}
	if len(answer.Hosted) > 0 {
		a.breach(onceward.BreachHosted, "the resource ran what nobody declared: %s", strings.Join(answer.Hosted, ", "))
	}
	for _, kind := range answer.Strange {
		a.breach(onceward.BreachItem, "%q", kind)
	}
	if c.StrictSchema {
		a.compareSchemas(answer)
	}
	a.compareEcho(answer)
	if answer.Model != "" && !sameModel(answer.Model, a.candidate.Model) && !sameModel(answer.Model, a.candidate.Deployment) {
		notice := onceward.BreachModel.Notice(fmt.Sprintf("%s was asked of %s and %s answers", a.candidate.Deployment, a.candidate.Name, answer.Model))
		if a.router.drift.first(notice) { // an alias looks the same: once is enough
			a.notice(notice)
		}
	}
}

// compareEcho compares what the response repeats of the request with the request.
func (a *attempt) compareEcho(answer wire.Answer) {
	echo, req := answer.Echo, a.req
	if store := req.Conversation != ""; echo.Store != nil && *echo.Store != store {
		a.breach(onceward.BreachStore, "%v was sent and %v is in force", store, *echo.Store)
	}
	if parallel := a.candidate.Capability.ParallelTools; echo.Parallel != nil && *echo.Parallel && !parallel && len(req.Tools) > 0 {
		a.breach(onceward.BreachParallel, "false was sent and true is in force")
	}
	if n := echo.MaxOutputTokens; n > 0 && a.limit > 0 && n != a.limit {
		a.breach(onceward.BreachOutput, "%d was sent and %d is in force", a.limit, n)
	}
	if choice := echo.ToolChoice; len(req.Tools) > 0 && choice != "" && choice != "auto" {
		a.breach(onceward.BreachTools, "the choice was left to the model and %q is in force", choice)
	}
	if n := echo.Tools; n >= 0 && n < len(req.Tools) && len(answer.Calls) == 0 {
		a.breach(onceward.BreachTools, "%d tools were sent and %d are in force", len(req.Tools), n)
	}
	if req.Output != nil && echo.Format != "" && echo.Format != "json_schema" {
		a.breach(onceward.BreachSchema, "an answer in JSON was asked for and format %q is in force", echo.Format)
	}
	if req.Output != nil && a.candidate.Capability.StrictSchema && echo.Strict != nil && !*echo.Strict {
		a.breach(onceward.BreachSchema, "strict was sent and is not in force")
	}
	if echo.Truncation != "" && echo.Truncation != "disabled" {
		a.breach(onceward.BreachTruncation, "%q is in force, so that input may be dropped in silence", echo.Truncation)
	}
	if id := echo.PreviousResponseID; req.PreviousResponseID != "" && id != nil && *id != req.PreviousResponseID {
		a.breach(onceward.BreachState, "the previous response that was sent is not the one gone on from")
	}
	if id := echo.Conversation; req.Conversation != "" && id != nil && *id != req.Conversation {
		a.breach(onceward.BreachState, "the conversation that was sent is not the one in force")
	}
}

// compareSchemas checks what strict mode would have made sure of. Only the first
// level is looked at: the caller's own check judges the rest.
func (a *attempt) compareSchemas(answer wire.Answer) {
	for _, call := range answer.Calls {
		for _, tool := range a.req.Tools {
			if tool.Name == call.Name && !fits(tool.Schema, call.Arguments) {
				a.breach(onceward.BreachSchema, "a call of %s has other arguments than its schema", tool.Name)
			}
		}
	}
	if n := len(answer.Messages); a.req.Output != nil && len(answer.Calls) == 0 && n > 0 && !fits(a.req.Output.Schema, answer.Messages[n-1]) {
		a.breach(onceward.BreachSchema, "the answer is not JSON of the schema that was sent")
	}
}

// fits reports whether a JSON object has the keys that a strict schema wants.
func fits(schema json.RawMessage, object string) bool {
	var want struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Additional *bool                      `json:"additionalProperties"`
	}
	if json.Unmarshal(schema, &want) != nil {
		return true
	}
	var got map[string]json.RawMessage
	if json.Unmarshal([]byte(object), &got) != nil || got == nil {
		return false
	}
	for _, key := range want.Required {
		if _, there := got[key]; !there {
			return false
		}
	}
	for key := range got {
		if _, declared := want.Properties[key]; !declared && want.Additional != nil && !*want.Additional {
			return false
		}
	}
	return true
}

// sameModel reports whether one name is the other with a vendor before it or a
// snapshot after it.
func sameModel(a, b string) bool {
	plain := func(s string) string { return strings.ToLower(s[strings.LastIndexByte(s, '/')+1:]) }
	a, b = plain(a), plain(b)
	return a != "" && b != "" && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}
