package test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/test/harness"
)

// The next steps after a failed attempt, as a run shows them.
const (
	another = "another resource" // and its answer ends the run
	same    = "the same turn with a repair"
	over    = "no further request"
)

// met is one fault that one run meets, and what has to come of it. The run's
// request is the row's name, so its requests can be told from those of others.
type met struct {
	fault    routertest.Fault
	workflow string // "": reader
	class    onceward.Class
	next     string
	effect   onceward.StateEffect
	// until says that what was disabled comes back by itself.
	until   bool
	started bool // the failure came after the first output
}

func status(code int, body string) routertest.Fault { return routertest.FailWith(code, body) }

func said(kind routertest.FaultKind, code, message string) routertest.Fault {
	return routertest.Fault{Kind: kind, Code: code, Message: message}
}

// deltas is a text that is streamed in more than sixty events.
var deltas = strings.Repeat("word after word after word ", 40)

// what each fault has to become. They are sent as a status before any stream and
// as events of a stream that began with 200: the class must be the same.
var faultsMet = map[string]met{
	"429": {fault: status(429, ""), class: onceward.ClassRateLimited, next: another, effect: onceward.EffectThrottle},
	"429 in a stream": {fault: said(routertest.FaultErrorEvent, "rate_limit_exceeded", "Rate limit reached for tokens per min (TPM). Please try again in 1s."),
		class: onceward.ClassRateLimited, next: another, effect: onceward.EffectThrottle},
	"overload": {fault: status(503, ""), class: onceward.ClassOverloaded, next: another, effect: onceward.EffectBreaker},
	"overload in a stream": {fault: said(routertest.FaultFailed, "server_is_overloaded", "Our servers are currently overloaded. Please try again later."),
		class: onceward.ClassOverloaded, next: another, effect: onceward.EffectBreaker},
	"500": {fault: status(500, ""), class: onceward.ClassServerError, next: another, effect: onceward.EffectBreaker},
	"server error in a stream": {fault: said(routertest.FaultErrorEvent, "server_error", "The server had an error while processing your request."),
		class: onceward.ClassServerError, next: another, effect: onceward.EffectBreaker},
	"body too large": {fault: status(413, `{"error":{"message":"Request body too large.","type":"invalid_request_error","param":null,"code":null}}`),
		class: onceward.ClassRequestTooLarge, next: another, effect: onceward.EffectNone},
	"context too long": {fault: status(400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`),
		class: onceward.ClassContextLength, next: another, effect: onceward.EffectNone},
	"context too long in a stream": {fault: said(routertest.FaultFailed, "context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again."),
		class: onceward.ClassContextLength, next: another, effect: onceward.EffectNone},
	"schema": {fault: status(400, `{"error":{"message":"Invalid schema for response_format 'quiz': In context=(), 'additionalProperties' is required to be supplied and to be false.","type":"invalid_request_error","param":"text.format.schema","code":"invalid_json_schema"}}`),
		workflow: "QuizWorkflow", class: onceward.ClassInvalidRequest, next: over, effect: onceward.EffectNone},
	"malformed": {fault: status(400, `{"error":{"message":"Invalid type for 'input[0]': expected an object, but got a string instead.","type":"invalid_request_error","param":"input[0]","code":"invalid_type"}}`),
		class: onceward.ClassInvalidRequest, next: over, effect: onceward.EffectNone},
	"bad key": {fault: status(401, ""), class: onceward.ClassAuthentication, next: another, effect: onceward.EffectDisable},
	"bad key as a 400": {fault: status(400, `{"error":{"message":"API key not valid. Please pass a valid API key.","type":"invalid_request_error","code":"API_KEY_INVALID"}}`),
		class: onceward.ClassAuthentication, next: another, effect: onceward.EffectDisable},
	"bad key in a stream": {fault: said(routertest.FaultErrorEvent, "invalid_api_key", "Incorrect API key provided."),
		class: onceward.ClassAuthentication, next: another, effect: onceward.EffectDisable},
	"content filter": {fault: status(400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.","type":null,"param":"prompt","code":"content_filter","status":400}}`),
		class: onceward.ClassContentFiltered, next: over, effect: onceward.EffectNone},
	"content filter in a stream": {fault: routertest.Fault{Kind: routertest.FaultIncomplete, Reason: "content_filter", AfterEvents: 2},
		class: onceward.ClassContentFiltered, next: over, effect: onceward.EffectNone},
	"missing deployment": {fault: status(404, ""), class: onceward.ClassModelUnavailable, next: another, effect: onceward.EffectDeploymentDown, until: true},
	"model not for this account": {fault: status(400, `{"detail":"The 'gpt-5.6' model is not supported when using Codex with a ChatGPT account."}`),
		class: onceward.ClassModelUnavailable, next: another, effect: onceward.EffectDeploymentDown, until: true},
	"reset":                              {fault: routertest.Fault{Kind: routertest.FaultReset}, class: onceward.ClassNetwork, next: another, effect: onceward.EffectBreaker},
	"closed without a word":              {fault: routertest.Fault{Kind: routertest.FaultClose}, class: onceward.ClassNetwork, next: another, effect: onceward.EffectBreaker},
	"a client error that nobody defined": {fault: status(418, `{"fault":"xyzzy"}`), class: onceward.ClassUnknown, next: over, effect: onceward.EffectNone},
	"a server error that nobody defined": {fault: status(555, `{"fault":"xyzzy"}`), class: onceward.ClassServerError, next: another, effect: onceward.EffectBreaker},
	"an event that nobody defined":       {fault: said(routertest.FaultErrorEvent, "xyzzy", "plugh"), class: onceward.ClassServerError, next: another, effect: onceward.EffectBreaker},

	// The shapes of a quota that is used up.
	"402": {fault: status(402, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`),
		class: onceward.ClassQuotaExhausted, next: another, effect: onceward.EffectDisable},
	"429 that is no rate": {fault: status(429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`),
		class: onceward.ClassQuotaExhausted, next: another, effect: onceward.EffectDisable},
	"400 with a date": {fault: status(400, fmt.Sprintf(`{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on %s at 00:00 UTC."}}`, time.Now().UTC().AddDate(0, 0, 20).Format("2006-01-02"))),
		class: onceward.ClassQuotaExhausted, next: another, effect: onceward.EffectDisable, until: true},
	"quota in a stream": {fault: said(routertest.FaultErrorEvent, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details."),
		class: onceward.ClassQuotaExhausted, next: another, effect: onceward.EffectDisable},

	// The shapes of a stream that goes wrong.
	"cut after forty of sixty deltas": {fault: routertest.Fault{Kind: routertest.FaultCutEvents, AfterEvents: 46, RST: true},
		class: onceward.ClassNetwork, next: another, effect: onceward.EffectBreaker, started: true},
	"failed after forty deltas": {fault: routertest.Fault{Kind: routertest.FaultFailed, AfterEvents: 46, Code: "server_error"},
		class: onceward.ClassServerError, next: another, effect: onceward.EffectBreaker, started: true},
	"a broken event after thirty deltas": {fault: routertest.Fault{Kind: routertest.FaultBrokenEvent, AfterEvents: 36},
		class: onceward.ClassNetwork, next: another, effect: onceward.EffectBreaker, started: true},
	"no terminal event": {fault: routertest.Fault{Kind: routertest.FaultNoTerminal},
		class: onceward.ClassNetwork, next: another, effect: onceward.EffectBreaker, started: true},
	"a stall in the middle": {fault: routertest.Fault{Kind: routertest.FaultHangEvents, AfterEvents: 20},
		class: onceward.ClassTimeout, next: another, effect: onceward.EffectBreaker, started: true},
	"headers and then nothing": {fault: routertest.Fault{Kind: routertest.FaultHangHeaders},
		class: onceward.ClassTimeout, next: another, effect: onceward.EffectBreaker},
	"no byte at all": {fault: routertest.Fault{Kind: routertest.FaultEmpty},
		class: onceward.ClassEmptyOutput, next: another, effect: onceward.EffectBreaker},
	"incomplete in a success": {fault: routertest.Fault{Kind: routertest.FaultIncomplete},
		class: onceward.ClassIncompleteOutput, next: same, effect: onceward.EffectNone, started: true},
	"a completed answer without output": {fault: routertest.Fault{Kind: routertest.FaultNoOutput},
		class: onceward.ClassEmptyOutput, next: another, effect: onceward.EffectNone, started: true},
}

// One worker and a pool of many resources: each run meets one fault, once, at
// whatever resource it is sent to first. A fault that every resource would
// repeat costs one request, however many resources there are.
func TestRouterNamesEachFaultAndTakesTheRightStep(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("r%02d", i))
	}
	model := routertest.Model{Rules: []routertest.Rule{
		{When: routertest.Match{Instructions: "quiz"}, Reply: []routertest.Out{routertest.Say(`{"topic":"t","questions":[{"question":"q","answer":"a"}]}`)}},
		{Reply: []routertest.Out{routertest.Say(deltas)}},
	}}
	b := harness.New(t, harness.Options{Resources: names, Model: &model})
	var faults []routertest.Fault
	for name, row := range faultsMet {
		row.fault.Match.FirstUser, row.fault.Times = "^"+name+"$", 1
		faults = append(faults, row.fault)
	}
	if err := b.Pool.SetFaults(faults...); err != nil {
		t.Fatal(err)
	}
	// What disables is refused to the neutral request as well: the run's failure alone
	// disables nothing.
	var seen sync.Map
	b.Pool.OnRequest(func(r routertest.Request) {
		row, known := faultsMet[r.FirstUser()]
		if _, before := seen.LoadOrStore(r.FirstUser(), true); before || !known || row.effect != onceward.EffectDisable && row.effect != onceward.EffectDeploymentDown {
			return
		}
		again := row.fault
		again.Only, again.Resource, again.Match, again.Times = routertest.Neutrals, r.Resource, routertest.Match{}, 0
		if err := b.Pool.AddFaults(again); err != nil {
			t.Error(err)
		}
	})
	// Two rows wait for these; in all others a slow machine must not meet them.
	b.StartWorker(false, "--config="+b.OtherConfig(swap(t, "first_event: 1m, idle: 1m, attempt: 2m", "first_event: 8s, idle: 8s, attempt: 1m")))
	off := map[string]met{} // by the resource that the row disabled
	for _, name := range slices.Sorted(maps.Keys(faultsMet)) {
		row := faultsMet[name]
		t.Run(name, func(t *testing.T) {
			if resource := row.run(t, b, name); row.effect == onceward.EffectDisable || row.effect == onceward.EffectDeploymentDown {
				off[resource] = row
			}
		})
	}
	if t.Failed() {
		return
	}
	health := harness.Until(b, onceward.PoolWorkflowID(b.Queue), onceward.QueryHealth, "all that was disabled", func(h onceward.PoolHealth) bool {
		return len(h.Disabled) >= len(off)
	})
	for _, d := range health.Disabled {
		row, ok := off[d.Resource]
		if !ok || d.Class != row.class || d.Reason == "" || d.Model == "" || d.Until.IsZero() == row.until {
			t.Errorf("the pool has %+v on record, want a pair for %s, with an end %v", d, row.class, row.until)
		}
	}
}

// run makes one run and returns the resource that failed.
func (row met) run(t *testing.T, b *harness.Bench, name string) string {
	workflow := row.workflow
	if workflow == "" {
		workflow = "ReaderWorkflow"
	}
	run := b.Start(name, workflow, name)
	result := run.Result()
	var requests []routertest.Request
	for _, r := range b.Pool.Requests() {
		if r.FirstUser() == name {
			requests = append(requests, r)
		}
	}
	attempts := b.Attempts(run.Chain())
	if len(attempts) == 0 || attempts[0].Failure == nil {
		t.Fatalf("outcome %s (%s, %v) without a failed attempt: the fault was never met", result.Outcome, result.Reason, result.Failure)
	}
	f := attempts[0].Failure
	if f.Class != row.class || f.StateEffect != row.effect || f.ResponseStarted != row.started || f.NotSent {
		t.Errorf("the failure is %s, effect %s, started %v (%s); want %s, %s, %v",
			f.Class, f.StateEffect, f.ResponseStarted, f.Message, row.class, row.effect, row.started)
	}
	want, outcome := 2, onceward.OutcomeCompleted
	if row.next == over {
		want, outcome = 1, onceward.OutcomeFailed
	}
	if result.Outcome != outcome || len(requests) != want || result.Use.Attempts != want {
		t.Fatalf("outcome %s (%s) after %d requests and %d attempts, want %s after %d", result.Outcome, result.Reason, len(requests), result.Use.Attempts, outcome, want)
	}
	if row.next == over && (result.Failure == nil || result.Failure.Class != row.class) {
		t.Errorf("the run ended with %v, want %s", result.Failure, row.class)
	}
	if row.next == another && requests[0].Resource == requests[1].Resource {
		t.Errorf("%s was asked twice", requests[0].Resource)
	}
	if row.next == same && attempts[1].Input.Repair == onceward.RepairNone {
		t.Error("the second attempt repaired nothing")
	}
	return requests[0].Resource
}

// A refusal is an answer: one request, the model's words in the result, and no
// other resource is asked for a kinder one.
func TestRouterTakesARefusalForTheAnswer(t *testing.T) {
	t.Parallel()
	model := routertest.Model{Rules: []routertest.Rule{{Reply: []routertest.Out{{Reasoning: &routertest.Reasoning{}}, {Refusal: "I cannot help with that."}}}}}
	b := harness.New(t, harness.Options{Model: &model})
	b.StartWorker(false)
	result := b.Start("run", "QuizWorkflow", "topic locks").Result()
	if result.Outcome != onceward.OutcomeFailed || result.Failure == nil || result.Failure.Class != onceward.ClassRefusal || result.Text != "I cannot help with that." {
		t.Errorf("outcome %s (%q, %v), want failed for %s with the model's words", result.Outcome, result.Text, result.Failure, onceward.ClassRefusal)
	}
	if n := b.Pool.Attempts(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}
