package test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/test/harness"
)

// The ids of what a holds; no other resource knows them.
const (
	itsFile         = "file-7Qa"
	itsConversation = "conv_7Qa"
)

// holding gives a its file and its conversation.
func holding(cfg *routertest.Config) {
	for i := range cfg.Resources {
		if cfg.Resources[i].Name == "a" {
			cfg.Resources[i].Files, cfg.Resources[i].Conversations = []string{itsFile}, []string{itsConversation}
		}
	}
}

// throttledOnce is a 429 of a that is over soon.
var throttledOnce = routertest.Fault{Kind: routertest.FaultStatus, Resource: "a", Status: 429, Header: map[string]string{"Retry-After": "2"}, Times: 1}

// inputOf are the types of the items that a request brought.
func inputOf(t *testing.T, r routertest.Request) (types []string) {
	t.Helper()
	var body struct {
		Input []struct{ Type string }
	}
	if err := json.Unmarshal(r.Raw, &body); err != nil {
		t.Fatal(err)
	}
	for _, item := range body.Input {
		types = append(types, item.Type)
	}
	return types
}

// A refund about what only a holds: three requests, or as many as the faults of a
// add to them, and none to b or c.
func TestRouterRefundsAboutWhatOneResourceHolds(t *testing.T) {
	files := onceward.ProviderState{Resource: "a", Files: []string{itsFile}}
	conversation := onceward.ProviderState{Resource: "a", Conversation: itsConversation}
	for name, row := range map[string]struct {
		state  onceward.ProviderState
		faults []routertest.Fault
		waits  bool
	}{
		"a file":                               {state: files},
		"a file, while a is throttled":         {state: files, faults: []routertest.Fault{throttledOnce}, waits: true},
		"a file, when a cuts an answer":        {state: files, faults: []routertest.Fault{{Kind: routertest.FaultCutEvents, AfterEvents: 5, Resource: "a", Times: 1}}, waits: true},
		"a conversation":                       {state: conversation},
		"a conversation, while a is throttled": {state: conversation, faults: []routertest.Fault{throttledOnce}, waits: true},
		"a conversation, when a has no room":   {state: conversation, faults: []routertest.Fault{routertest.FailWith(529, "").On("a").For(1)}, waits: true},
		"a conversation, while another request holds it": {state: conversation, faults: []routertest.Fault{routertest.FailWith(400,
			`{"error":{"message":"Another process is currently operating on this conversation.","type":"invalid_request_error","param":"conversation","code":"conversation_locked"}}`).On("a").For(1)}, waits: true},
		"a conversation, with a file that a has too": {state: onceward.ProviderState{Resource: "a", Conversation: itsConversation, Files: []string{itsFile}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := harness.New(t, harness.Options{Resources: []string{"a", "b", "c"}, Pool: holding, Faults: row.faults})
			order := b.Order()
			b.StartWorker(false)
			in := onceward.Ask("Please refund " + order + ".")
			in.State = &row.state
			run := b.StartWith("run", "RefundWorkflow", in)
			result, _ := b.Check(run, order, paid())
			if got := asked(b); got["a"] != 3+len(row.faults) || got["b"] != 0 || got["c"] != 0 {
				t.Errorf("requests %v, want %d to a and none to others", got, 3+len(row.faults))
			}
			if (result.Use.Waited > 0) != row.waits {
				t.Errorf("waited %s, want some: %v", result.Use.Waited, row.waits)
			}
			if row.state.Conversation != "" {
				heldOnce(t, b, run)
			}
			for i, r := range b.Pool.Requests() {
				named := strings.Contains(string(r.Raw), `{"file_id":"`+itsFile+`","type":"input_file"}`)
				if want := len(row.state.Files) > 0 && (row.state.Conversation == "" || i == 0); named != want {
					t.Errorf("request %d names the file: %v, want %v", i, named, want)
				}
			}
		})
	}
}

// heldOnce checks that the conversation holds each item of the run once, and
// that no request but those of the first turn brought more than outputs.
func heldOnce(t *testing.T, b *harness.Bench, run *harness.Run) {
	t.Helper()
	var want, got []string
	for _, item := range run.Transcript() {
		if item.Type != onceward.ItemManifest {
			want = append(want, item.Type+item.CallID)
		}
	}
	for _, item := range b.Pool.Resource("a").Conversation(itsConversation) {
		got = append(got, item.Type+item.CallID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the conversation holds %q, the transcript %q", got, want)
	}
	answers := 0
	for _, r := range b.Pool.Resource("a").Requests() {
		if r.Body.Conversation != itsConversation || r.Body.PreviousResponseID != "" || r.Body.Store == nil || !*r.Body.Store {
			t.Errorf("request %d: %+v, want it stored in the conversation", r.Nth, r.Body)
		}
		want := "message"
		if answers > 0 {
			want = "function_call_output"
		}
		if types := inputOf(t, r); len(types) != 1 || types[0] != want {
			t.Errorf("request %d brought %q, want one %s", r.Nth, types, want)
		}
		if r.Outcome.Complete {
			answers++
		}
	}
}

// What is gone, what cannot be carried and what may be in the conversation already
// ends the run, and it says so. One request at most, and nothing is added twice.
func TestRouterEndsARunWhoseStateIsGoneOrUnclear(t *testing.T) {
	conversation := onceward.ProviderState{Resource: "a", Conversation: itsConversation}
	cut := routertest.Fault{Kind: routertest.FaultCutEvents, AfterEvents: 5, RST: true, Resource: "a"}
	type row struct {
		state    onceward.ProviderState
		faults   []routertest.Fault
		kill     bool // in the middle of the stream
		flags    []string
		change   func(*testing.T) func(string) string // of the configuration
		requests int
		outcome  onceward.Outcome
		class    onceward.Class
		reason   string
	}
	for name, c := range map[string]row{
		"the file is gone": {state: onceward.ProviderState{Resource: "a", Files: []string{"file-gone"}},
			requests: 1, outcome: onceward.OutcomeFailed, class: onceward.ClassResourceAffinity, reason: "not portable"},
		"the conversation is gone": {state: onceward.ProviderState{Resource: "a", Conversation: "conv_gone"},
			requests: 1, outcome: onceward.OutcomeFailed, class: onceward.ClassStaleAnchor, reason: "not portable"},
		"a conversation, and the stream is cut": {state: conversation, faults: []routertest.Fault{cut},
			requests: 1, outcome: onceward.OutcomeFailed, class: onceward.ClassNetwork, reason: "could add it twice"},
		"a conversation, and a gateway says that the connection broke": {state: conversation, faults: []routertest.Fault{
			routertest.FailWith(500, `{"error":{"message":"read ECONNRESET"}}`).On("a")},
			requests: 1, outcome: onceward.OutcomeFailed, class: onceward.ClassServerError, reason: "could add it twice"},
		"a conversation, and the answer is empty": {state: conversation, faults: []routertest.Fault{{Kind: routertest.FaultEmpty, Resource: "a"}},
			requests: 1, outcome: onceward.OutcomeFailed, class: onceward.ClassEmptyOutput, reason: "could add it twice"},
		"a conversation, and the answer is of no use": {state: conversation, faults: []routertest.Fault{{Kind: routertest.FaultNoOutput, Resource: "a"}},
			requests: 1, outcome: onceward.OutcomeFailed, class: onceward.ClassEmptyOutput, reason: "could add it twice"},
		"a conversation, and the worker is killed in the stream": {state: conversation, kill: true,
			requests: 1, outcome: onceward.OutcomeFailed, class: onceward.ClassWorkerLost, reason: "could add it twice"},
		"a conversation, and the worker is killed with the answer": {state: conversation, flags: []string{"--kill-at=call_done"},
			requests: 1, outcome: onceward.OutcomeFailed, class: onceward.ClassWorkerLost, reason: "could add it twice"},
		"a conversation on a resource whose API has none": {state: conversation, change: chatOnly,
			outcome: onceward.OutcomeUnavailable, class: onceward.ClassUnsupportedCapability, reason: "not portable"},
		"a file on a resource whose API has none": {state: onceward.ProviderState{Resource: "a", Files: []string{itsFile}}, change: chatOnly,
			outcome: onceward.OutcomeUnavailable, class: onceward.ClassUnsupportedCapability, reason: "not portable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := harness.New(t, harness.Options{Resources: []string{"a", "b", "c"}, Pool: holding, Faults: c.faults, Heartbeat: harness.SoonLost})
			if c.kill {
				b.Pool.OnEvent(func(r routertest.Request, e routertest.Event) {
					if r.Seq == 1 && e.N == 4 {
						killLive(b)
					}
				})
			}
			if c.change != nil {
				c.flags = append(c.flags, "--config="+b.OtherConfig(c.change(t)))
			}
			b.StartWorker(true, c.flags...)
			in := onceward.Ask("Please refund " + b.Order() + ".")
			in.State = &c.state
			run := b.StartWith("run", "RefundWorkflow", in)
			result := run.Result()
			if result.Outcome != c.outcome || result.Failure == nil || result.Failure.Class != c.class || !strings.Contains(result.Reason, c.reason) {
				t.Errorf("outcome %s (%s, %v), want %s for %s with %q", result.Outcome, result.Reason, result.Failure, c.outcome, c.class, c.reason)
			}
			if got := asked(b); got["a"] != c.requests || got["b"] != 0 || got["c"] != 0 {
				t.Errorf("requests %v, want %d to a and none to others", got, c.requests)
			}
			if lost := c.kill || len(c.flags) > 0 && c.change == nil; lost != (b.Deaths() == 1) {
				t.Errorf("%d workers were killed", b.Deaths())
			}
			said := 0
			for _, item := range b.Pool.Resource("a").Conversation(itsConversation) {
				if item.Role == "user" {
					said++
				}
			}
			if said > 1 {
				t.Errorf("the conversation holds the request %d times", said)
			}
			for _, h := range run.Chain() {
				if err := h.Replay(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// chatOnly says of a that it speaks Chat Completions.
func chatOnly(t *testing.T) func(string) string {
	return all(swap(t, "encrypted_reasoning: true", "encrypted_reasoning: false"), of(t, "a", "kind: openai\n", "kind: openai\n      api: chat_completions\n"),
		of(t, "a", "      encryption_boundary: one\n", ""))
}

// A run whose state makes no sense fails at its start and asks nobody.
func TestRouterRefusesStateThatExcludesItself(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{Pool: holding})
	b.StartWorker(false)
	in := onceward.Ask("What is my name?")
	in.State = &onceward.ProviderState{Resource: "a", Conversation: itsConversation, PreviousResponseID: "resp_1"}
	run := b.StartWith("run", "ReaderWorkflow", in)
	err := b.Client.GetWorkflow(b.Context(), run.ID, "").Get(b.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "state.conversation and state.previous_response_id") {
		t.Errorf("%v, want both keys named", err)
	}
	if n := b.Pool.Attempts(); n != 0 {
		t.Errorf("%d requests", n)
	}
}
