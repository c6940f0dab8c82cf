package test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/test/agents"
	"github.com/onceward/onceward/test/harness"
)

// speaks is a model that always says the same.
func speaks(text string) *routertest.Model {
	return &routertest.Model{Rules: []routertest.Rule{{Reply: []routertest.Out{routertest.Say(text)}}}}
}

// keptBy makes a resource keep a response, as an application that used it before
// would have, and returns its id.
func keptBy(t *testing.T, b *harness.Bench, resource string) string {
	t.Helper()
	body := strings.NewReader(`{"model":"gpt-5.6","store":true,"input":"My name is Ada."}`)
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, b.Pool.Resource(resource).URL()+"responses", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+harness.Key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct{ ID string }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || answer.ID == "" {
		t.Fatalf("no stored response: status %d, %v", res.StatusCode, err)
	}
	return answer.ID
}

// pinned is the Start of a run that goes on from a stored response of a.
func pinned(anchor string) onceward.Start {
	in := onceward.Ask("What is my name?")
	in.State = &onceward.ProviderState{Resource: "a", PreviousResponseID: anchor}
	return in
}

// throttled is a 429 with a wait, given to runs and not to the test itself.
func throttled(after string) routertest.Fault {
	return routertest.Fault{Kind: routertest.FaultStatus, Status: 429, Header: map[string]string{"Retry-After": after}, Match: routertest.Match{LastUser: "What is my name"}}
}

// The one resource that holds a run's state cannot answer now. The run waits for
// it longer than its machine time is, over the loss of its worker, and asks
// nobody else.
func TestRouterWaitsForTheOwnerOfPinnedState(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{Model: speaks("You are Ada."), Faults: []routertest.Fault{throttled("12").On("a").For(1)}})
	anchor := keptBy(t, b, "a")
	config := "--config=" + b.OtherConfig(swap(t, "deadline: 20m", "deadline: 10s"))
	worker := b.StartWorker(false, config)
	run := b.StartWith("run", "ReaderWorkflow", pinned(anchor))
	waiting := harness.Until(b, run.ID, onceward.QueryStatus, "that it waits for a", func(s onceward.Status) bool { return s.Status == onceward.StatusWaitingResource })
	if waiting.Outcome != onceward.OutcomeResultDelayed || !strings.HasPrefix(waiting.Waiting, "a,") {
		t.Errorf("status %+v, want provisionally result_delayed for a", waiting)
	}
	worker.Kill()
	b.StartWorker(false, config)
	result := run.Result()
	if result.Outcome != onceward.OutcomeCompleted || result.Text != "You are Ada." {
		t.Fatalf("outcome %s (%s, %v), want completed", result.Outcome, result.Reason, result.Failure)
	}
	if result.Use.Waited < 4*time.Second || result.Use.Attempts != 2 {
		t.Errorf("use %+v, want 2 attempts and the wait apart from machine time", result.Use)
	}
	requests := b.Pool.Resource("a").Requests()
	if n := b.Pool.Resource("b").Attempts(); n != 0 || len(requests) != 3 {
		t.Fatalf("%d requests to a and %d to b, want 3 with the one that was stored, and 0", len(requests), n)
	}
	for _, r := range requests[1:] {
		if r.Body.PreviousResponseID != anchor {
			t.Errorf("a request with the anchor %q, want %q", r.Body.PreviousResponseID, anchor)
		}
	}
	if gap := requests[2].Time.Sub(requests[1].Time); gap < 11*time.Second {
		t.Errorf("a was asked again after %s, want not before the 12 s it named", gap)
	}
	for _, h := range run.Chain() {
		if err := h.Replay(); err != nil {
			t.Error(err)
		}
	}
}

// State that cannot be waited for ends the run truthfully; no other resource is
// asked for what only one can know.
func TestRouterSaysWhyPinnedStateIsOutOfReach(t *testing.T) {
	for name, row := range map[string]struct {
		anchor  string // "": a stored response
		fault   routertest.Fault
		config  []string
		outcome onceward.Outcome
		class   onceward.Class
		reason  string
	}{
		"its owner refuses the key: unavailable, not portable": {
			fault:   routertest.FailWith(401, ""),
			outcome: onceward.OutcomeUnavailable, class: onceward.ClassAuthentication, reason: "not portable"},
		"its owner refuses this run alone: failed": {
			fault:   routertest.FailWith(401, "").Of(routertest.Runs),
			outcome: onceward.OutcomeFailed, class: onceward.ClassAuthentication, reason: "passed a test of its own, first a"},
		"the owner has forgotten it: failed, stale": {
			anchor:  "resp_forgotten",
			outcome: onceward.OutcomeFailed, class: onceward.ClassStaleAnchor, reason: "not portable"},
		"the owner is away for longer than anybody would wait: delayed": {
			fault: throttled("86400"), config: []string{"people_deadline: 1h", "people_deadline: 2m"},
			outcome: onceward.OutcomeResultDelayed, class: onceward.ClassRateLimited, reason: "a, which holds the run's state"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := harness.New(t, harness.Options{Model: speaks("You are Ada.")})
			if row.anchor == "" {
				row.anchor = keptBy(t, b, "a")
			}
			before := b.Pool.Attempts()
			if row.fault.Kind != "" {
				if err := b.Pool.SetFaults(row.fault.On("a")); err != nil {
					t.Fatal(err)
				}
			}
			var flags []string
			if row.config != nil {
				flags = []string{"--config=" + b.OtherConfig(swap(t, row.config...))}
			}
			b.StartWorker(false, flags...)
			begin := time.Now()
			result := b.StartWith("run", "ReaderWorkflow", pinned(row.anchor)).Result()
			if result.Outcome != row.outcome || result.Failure == nil || result.Failure.Class != row.class || !strings.Contains(result.Reason, row.reason) {
				t.Errorf("outcome %s (%s, %v), want %s for %s with %q", result.Outcome, result.Reason, result.Failure, row.outcome, row.class, row.reason)
			}
			if n, other := b.Pool.Attempts()-before, b.Pool.Resource("b").Attempts(); n != 1 || other != 0 {
				t.Errorf("%d requests, %d of them to b, want 1 and 0", n, other)
			}
			if took := time.Since(begin); took >= 2*time.Minute { // which is how long it might wait
				t.Errorf("the run took %s, want it to end at once", took)
			}
		})
	}
}

// Runs whose history lacks a tool output fail on one resource again and again,
// beside a run that needs it: that one never fails, and the breaker, which three
// failures would open, stays closed.
func TestRouterKeepsPoisonedRunsFromAPinnedOne(t *testing.T) {
	t.Parallel()
	const poisoned = 25
	b := harness.New(t, harness.Options{Model: speaks("on and on"), Faults: []routertest.Fault{{
		Kind: routertest.FaultStatus, Status: 400, Resource: "a", Match: routertest.Match{LastUser: "^poison"},
		Body: `{"error":{"message":"No tool output found for function call call_9.","type":"invalid_request_error","param":"input","code":null}}`,
	}}})
	b.StartWorker(false, "--config="+b.OtherConfig(swap(t, "failures: 50, consecutive: 50", "failures: 3, consecutive: 3")))
	start := func(id, workflow, text string) *harness.Run {
		in := onceward.Ask(text)
		in.State = &onceward.ProviderState{Resource: "a"}
		return b.StartWith(id, workflow, in)
	}
	// The healthy run is in its fifth turn when the first of the others comes, and
	// has its sixth before any of them is answered.
	sickCame, healthyCame := newGate(t), newGate(t)
	var turns, refused atomic.Int64
	b.Pool.OnRequest(func(r routertest.Request) {
		if strings.HasPrefix(r.FirstUser(), "poison") {
			if refused.Add(1) == 1 {
				sickCame.release()
			}
			<-healthyCame.open
			return
		}
		switch turns.Add(1) {
		case 5:
			<-sickCame.open
		case 6:
			healthyCame.release()
		}
	})
	healthy := start("healthy", "TalkWorkflow", "Talk.")
	b.Scheduled(healthy.ID, onceward.ActivityCallModel, 2)
	var sick []*harness.Run
	for i := range poisoned {
		sick = append(sick, start(fmt.Sprintf("poisoned-%d", i), "ReaderWorkflow", fmt.Sprintf("poison %d", i)))
	}
	for _, run := range sick {
		result := run.Result()
		if result.Outcome != onceward.OutcomeFailed || result.Failure == nil || result.Failure.Class != onceward.ClassMissingToolOutput || result.Use.Attempts != 2 {
			t.Errorf("%s: outcome %s (%v) after %d attempts, want failed for %s after the request and its repair",
				run.ID, result.Outcome, result.Failure, result.Use.Attempts, onceward.ClassMissingToolOutput)
		}
	}
	result := healthy.Result()
	if result.Outcome != onceward.OutcomeCompleted || result.Turns != agents.TalkTurns || result.Use.Attempts != agents.TalkTurns || result.Use.Waited != 0 {
		t.Errorf("outcome %s (%s) after %d turns and %d attempts, waited %s; want %d of each and no wait",
			result.Outcome, result.Reason, result.Turns, result.Use.Attempts, result.Use.Waited, agents.TalkTurns)
	}
	records := harness.Until(b, healthy.ID, onceward.QueryAttempts, "its attempts", func(list []onceward.AttemptRecord) bool { return len(list) > 0 })
	for _, r := range records {
		if r.Failure != nil {
			t.Errorf("turn %d failed with %v, dropped %v", r.Turn, r.Failure, r.Dropped)
		}
	}
	between, sicker := 0, 0
	for _, r := range b.Pool.Resource("a").Requests() {
		switch {
		case r.Outcome.Status == 400:
			sicker++
		case sicker > 0 && sicker < 2*poisoned:
			between++
		}
	}
	if sicker != 2*poisoned || between == 0 {
		t.Errorf("%d refused requests and %d others between them, want %d and some", sicker, between, 2*poisoned)
	}
}

// otherBoundary seals the reasoning of b for itself.
func otherBoundary(cfg *routertest.Config) {
	for i := range cfg.Resources {
		if cfg.Resources[i].Name == "b" {
			cfg.Resources[i].EncryptionBoundary = "two"
		}
	}
}

// A run that moves to another encryption boundary leaves its sealed reasoning
// behind and says so, whether the configuration knew of the boundary or the
// resource had to say it. Neither marks a resource's health: one mark would open
// the breaker here.
func TestRouterLeavesReasoningBehindAtAnotherBoundary(t *testing.T) {
	for name, row := range map[string]struct {
		told    bool // the configuration knows
		refused int
	}{
		"that the configuration knows: nothing is refused":       {told: true},
		"that nobody told it: refused, repaired and never again": {refused: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := reasons(3)
			b := harness.New(t, harness.Options{Model: &model, Pool: otherBoundary})
			// The run begins on a, whatever its key, and a is out of the pool after one turn.
			change := all(swap(t, "failures: 50, consecutive: 50", "failures: 1, consecutive: 1"), of(t, "a", "kind: openai\n", "kind: openai\n      weight: 1000000\n"))
			if row.told {
				change = all(change, of(t, "b", "encryption_boundary: one", "encryption_boundary: two"))
			}
			gone := routertest.FailWith(401, "").On("a").For(1)
			gone.Match.Turn = routertest.At(1)
			if err := b.Pool.SetFaults(gone); err != nil {
				t.Fatal(err)
			}
			b.StartWorker(false, "--config="+b.OtherConfig(change))
			run := b.Start("run", "ReaderWorkflow", "Go on.")
			if result := run.Result(); result.Outcome != onceward.OutcomeCompleted {
				t.Fatalf("outcome %s (%s, %v)", result.Outcome, result.Reason, result.Failure)
			}
			if sealed := b.Pool.Resource("a").Requests(); len(sealed) != 2 {
				t.Fatalf("%d requests to a, want its one answer and its one refusal", len(sealed))
			}
			refused, said := 0, 0
			for _, a := range b.Attempts(run.Chain()) {
				if a.Failure != nil && a.Failure.Class == onceward.ClassUndecryptableReasoning {
					refused++
					if a.Failure.StateEffect != onceward.EffectNone {
						t.Errorf("%s marks health with %s", a.Failure.Class, a.Failure.StateEffect)
					}
				}
				if a.Failure == nil && a.Settled != nil && a.Settled.ReasoningStripped {
					said++
					if !a.Input.Route.StripReasoning {
						t.Errorf("turn %d left reasoning out and its route does not say so: %+v", a.Input.Turn, a.Input.Route)
					}
				}
			}
			if refused != row.refused || said == 0 {
				t.Errorf("%d attempts were refused for sealed reasoning and %d said that they left it out, want %d and some", refused, said, row.refused)
			}
		})
	}
}

// reasons is a model that reasons and asks for a page in each of so many turns.
func reasons(turns int) routertest.Model {
	m := pages(turns, 3)
	for i := range m.Rules {
		m.Rules[i].Reply = append([]routertest.Out{{Reasoning: &routertest.Reasoning{}}}, m.Rules[i].Reply...)
	}
	return m
}

// A call id that is too long for other hosts is short on the wire, the same for
// the call and its output and in every turn; the transcript keeps it.
func TestRouterShortensALongCallIDTheSameWayEachTime(t *testing.T) {
	t.Parallel()
	long := "call_" + strings.Repeat("x", 79)
	first := raw("page", `{"bytes":3}`)
	first.Call.CallID = long
	model := routertest.Model{Rules: []routertest.Rule{
		{When: routertest.Match{Turn: routertest.At(0)}, Reply: []routertest.Out{first}},
		{When: routertest.Match{Turn: routertest.At(1)}, Reply: []routertest.Out{raw("page", `{"bytes":4}`)}},
		{Reply: []routertest.Out{routertest.Say("done")}},
	}}
	second := routertest.FailWith(429, "").For(1)
	second.Match.Turn = routertest.At(1)
	b := harness.New(t, harness.Options{Model: &model, Faults: []routertest.Fault{second}})
	b.StartWorker(false)
	run := b.Start("run", "ReaderWorkflow", "Go on.")
	if result := run.Result(); result.Outcome != onceward.OutcomeCompleted {
		t.Fatalf("outcome %s (%s, %v)", result.Outcome, result.Reason, result.Failure)
	}
	ids := map[string]int{}
	for _, r := range b.Pool.Requests() {
		for _, item := range r.Items {
			if (item.Type == "function_call" && bytes.Contains(item.Raw, []byte(`:3}`))) || (item.Type == "function_call_output" && item.Output() == "ppp") {
				ids[item.CallID]++
			}
		}
	}
	for id, n := range ids {
		if len(ids) != 1 || len(id) > 64 || n < 4 {
			t.Errorf("call ids on the wire %v, want one of at most 64 characters for call and output in two answers", ids)
		}
	}
	kept := 0
	for _, item := range run.Transcript() {
		if item.CallID == long {
			kept++
		}
	}
	if kept != 2 {
		t.Errorf("the transcript holds the long id %d times, want in the call and in its output", kept)
	}
}

// The items of an answer go back in the order in which they came, an answer that
// is broken in one call is no answer at all, and every reasoning item keeps its
// follower: the resource would refuse anything else.
func TestRouterKeepsTheOrderOfMixedItemsAndNothingOfABrokenAnswer(t *testing.T) {
	t.Parallel()
	mixed := []routertest.Out{
		{Reasoning: &routertest.Reasoning{Summary: "first"}}, raw("page", `{"bytes":3}`),
		{Reasoning: &routertest.Reasoning{}}, routertest.Say("meanwhile"), raw("empty", `{}`),
	}
	model := calls(mixed...)
	b := harness.New(t, harness.Options{Model: &model, Faults: []routertest.Fault{{Kind: routertest.FaultBrokenArguments, Times: 1}}})
	b.StartWorker(false)
	run := b.Start("run", "ReaderWorkflow", "Go on.")
	if result := run.Result(); result.Outcome != onceward.OutcomeCompleted || result.Use.Attempts != 3 {
		t.Fatalf("outcome %s (%s, %v) after %d attempts, want completed after 3", result.Outcome, result.Reason, result.Failure, result.Use.Attempts)
	}
	if err := harness.CheckTranscript(run.Transcript()); err != nil {
		t.Error(err)
	}
	requests := b.Pool.Requests()
	var types, outputs []string
	for _, item := range requests[len(requests)-1].Items {
		types = append(types, item.Type)
		if item.Type == "function_call_output" {
			outputs = append(outputs, item.Output())
		}
		if item.Type == "reasoning" && !bytes.Contains(item.Raw, []byte(`"summary":[`)) {
			t.Errorf("a reasoning item without its summary: %s", item.Raw)
		}
	}
	if got, want := strings.Join(types, " "), "message reasoning function_call reasoning message function_call function_call_output function_call_output"; got != want {
		t.Errorf("the second turn holds\n%s, want\n%s", got, want)
	}
	if len(outputs) != 2 || outputs[0] != "ppp" || outputs[1] != "" {
		t.Errorf("outputs %q, want ppp and an empty one", outputs)
	}
}
