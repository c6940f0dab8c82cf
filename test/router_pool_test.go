package test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/samples/quiz"
	"github.com/onceward/onceward/test/harness"
)

// swap returns a change of a configuration that must find what it replaces.
func swap(t *testing.T, pairs ...string) func(string) string {
	return func(text string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if !strings.Contains(text, pairs[i]) {
				t.Fatalf("the configuration does not hold %q", pairs[i])
			}
			text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
		}
		return text
	}
}

// of changes what a configuration says of one resource.
func of(t *testing.T, resource, old, now string) func(string) string {
	return func(text string) string {
		head, rest, found := strings.Cut(text, "    - name: "+resource+"\n")
		if !found || !strings.Contains(rest, old) {
			t.Fatalf("the configuration has no %q after resource %s", old, resource)
		}
		return head + "    - name: " + resource + "\n" + strings.Replace(rest, old, now, 1)
	}
}

// all applies changes one after another.
func all(changes ...func(string) string) func(string) string {
	return func(text string) string {
		for _, change := range changes {
			text = change(text)
		}
		return text
	}
}

// roomy keeps the quota headers of a resource that drifts as large as the
// harness makes them.
var roomy = routertest.RateLimit{LimitTokens: 1e9, RemainingTokens: 1e9, LimitRequests: 1e6, RemainingRequests: 1e6}

// asked counts the requests of each resource.
func asked(b *harness.Bench) map[string]int {
	out := map[string]int{}
	for _, s := range b.Pool.Resources() {
		out[s.Name()] = s.Attempts()
	}
	return out
}

func readQuiz(t *testing.T, result onceward.Result) quiz.Quiz {
	t.Helper()
	var q quiz.Quiz
	if result.Outcome != onceward.OutcomeCompleted {
		t.Fatalf("outcome %s (%s, %v), want completed", result.Outcome, result.Reason, result.Failure)
	}
	if err := json.Unmarshal([]byte(result.Text), &q); err != nil || len(q.Questions) == 0 {
		t.Fatalf("%q is no quiz with a question (%v)", result.Text, err)
	}
	return q
}

// The first cannot be paid for, the second says nothing, the third says what was
// not asked: each is asked once, the fourth's answer is the result, and the one
// that is not paid for is left alone by the next worker as well.
func TestRouterAsksFourBadResourcesOnceAndKeepsTheUnpaidOneOff(t *testing.T) {
	t.Parallel()
	walk := routertest.Match{FirstUser: "^the walk$"}
	model := routertest.QuizModel(routertest.Quiz{})
	b := harness.New(t, harness.Options{Resources: []string{"a", "b", "c", "d"}, Model: &model, Faults: []routertest.Fault{
		{Kind: routertest.FaultStatus, Status: 402, Times: 1, Match: walk},
		{Kind: routertest.FaultEmpty, Times: 1, Match: walk},
		{Kind: routertest.FaultProse, Times: 1, Match: walk},
	}})
	b.Pool.OnRequest(func(r routertest.Request) { // the first has no money for a neutral request either
		if r.Seq == 1 {
			if err := b.Pool.AddFaults(routertest.FailWith(402, "").On(r.Resource).Of(routertest.Neutrals)); err != nil {
				t.Error(err)
			}
		}
	})
	worker := b.StartWorker(false)
	run := b.Start("walk", "QuizWorkflow", "the walk")
	readQuiz(t, run.Result())
	var classes []onceward.Class
	for _, a := range b.Attempts(run.Chain()) {
		if a.Failure != nil {
			classes = append(classes, a.Failure.Class)
		}
	}
	if want := []onceward.Class{onceward.ClassBilling, onceward.ClassEmptyOutput, onceward.ClassInvalidOutput}; !slices.Equal(classes, want) {
		t.Errorf("failures %v, want %v", classes, want)
	}
	for name, n := range asked(b) {
		if n != 1 {
			t.Errorf("%s was asked %d times, want once", name, n)
		}
	}
	unpaid := b.Pool.Requests()[0].Resource
	health := harness.Until(b, onceward.PoolWorkflowID(b.Queue), onceward.QueryHealth, "one disabled resource", func(h onceward.PoolHealth) bool { return len(h.Disabled) > 0 })
	if len(health.Disabled) != 1 || health.Disabled[0].Resource != unpaid || health.Disabled[0].Reason == "" {
		t.Errorf("disabled %+v, want %s alone with a reason", health.Disabled, unpaid)
	}
	worker.Kill()
	b.StartWorker(false)
	for _, id := range []string{"1", "2", "3", "4", "5", "6"} {
		readQuiz(t, b.Start(id, "QuizWorkflow", "topic "+id).Result())
	}
	if n := b.Pool.Resource(unpaid).Attempts(); n != 1 {
		t.Errorf("%s was asked %d times in all, want once", unpaid, n)
	}
}

// What the agent's own function refuses is a failed attempt: another resource is
// asked in the same turn, and nobody's health is marked.
func TestRouterGoesOnWhenTheAgentRefusesAnAnswer(t *testing.T) {
	t.Parallel()
	model := routertest.QuizModel(routertest.Quiz{})
	model.Rules = append([]routertest.Rule{{Times: 2, Reply: []routertest.Out{routertest.Say(`{"topic":"t","questions":[]}`)}}}, model.Rules...)
	b := harness.New(t, harness.Options{Resources: []string{"a", "b", "c"}, Model: &model})
	b.StartWorker(false, "--config="+b.OtherConfig(swap(t, "failures: 50, consecutive: 50", "failures: 1, consecutive: 1")))
	run := b.Start("run", "QuizWorkflow", "topic tides")
	result := run.Result()
	readQuiz(t, result)
	attempts := b.Attempts(run.Chain())
	if len(attempts) != 3 || result.Turns != 1 {
		t.Fatalf("%d attempts in %d turns, want 3 in 1", len(attempts), result.Turns)
	}
	for i, a := range attempts[:2] {
		if a.Failure == nil || a.Failure.Class != onceward.ClassInvalidOutput || !strings.Contains(a.Failure.Message, "no questions") || a.Failure.StateEffect != onceward.EffectNone {
			t.Errorf("attempt %d failed with %v, want the agent's own words and no health mark", i, a.Failure)
		}
	}
	for name, n := range asked(b) {
		if n != 1 {
			t.Errorf("%s was asked %d times, want once", name, n)
		}
	}
}

// A disabled resource is tested by itself. The result is kept whether it passed
// or not, and a passed test enables the resource.
func TestRouterTestsADisabledResourceAndKeepsTheResult(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{Resources: []string{"a"}, Faults: []routertest.Fault{routertest.FailWith(402, "").Of(routertest.Runs).For(1), routertest.FailWith(402, "").Of(routertest.Neutrals).For(2)}})
	held := newGate(t) // the third test, until the one that disabled was looked at
	b.Pool.OnNeutral(func(r routertest.Request) {
		if r.Seq == 3 {
			held.hold(1)
		}
	})
	b.StartWorker(false, "--config="+b.OtherConfig(swap(t, "retest: {first: 0s}", "retest: {first: 1s, most: 2s}")))
	result := b.Start("first", "ReaderWorkflow", "Say something.").Result()
	if result.Outcome != onceward.OutcomeUnavailable || result.Failure == nil || result.Failure.Class != onceward.ClassBilling {
		t.Errorf("outcome %s with %v, want unavailable for %s", result.Outcome, result.Failure, onceward.ClassBilling)
	}
	pool := onceward.PoolWorkflowID(b.Queue)
	failed := harness.Until(b, pool, onceward.QueryHealth, "a failed test", func(h onceward.PoolHealth) bool { return len(h.Tests) == 1 && len(h.Disabled) == 1 })
	if test := failed.Tests[0]; test.Passed || test.Verdict != onceward.VerdictFailed || test.Resource != "a" || test.Class != onceward.ClassBilling || test.Error == "" || test.At.IsZero() || test.By == "" {
		t.Errorf("after the test that confirmed it the pool has %+v, want it failed and a disabled", failed)
	}
	held.release()
	passed := harness.Until(b, pool, onceward.QueryHealth, "a passed test", func(h onceward.PoolHealth) bool { return len(h.Tests) == 1 && h.Tests[0].Passed })
	if len(passed.Disabled) != 0 || len(passed.Enabled) != 1 || !strings.Contains(passed.Enabled[0].By, "test") {
		t.Errorf("after the next test the pool has %+v, want a enabled by it", passed)
	}
	if runs, tests := b.Pool.Attempts(), len(b.Pool.Neutrals()); runs != 1 || tests != 3 {
		t.Errorf("%d requests of runs and %d tests, want the run's, the worker's test, and the pool's two", runs, tests)
	}
}

// The primary is disabled by an operator before anything is routed: the model
// that may serve instead is asked, and the trail says why. Enabled, it is the
// primary again.
func TestRouterTriesFallbacksWhenThePrimaryIsBlockedBeforeRouting(t *testing.T) {
	t.Parallel()
	model := routertest.Model{Rules: []routertest.Rule{{Reply: []routertest.Out{routertest.Say("fine")}}}}
	b := harness.New(t, harness.Options{Resources: []string{"a", "b", "c"}, Model: &model})
	config := "--config=" + b.OtherConfig(all(
		of(t, "b", "- model: gpt-5.6", "- model: second"), of(t, "c", "- model: gpt-5.6", "- model: third"),
		swap(t, "  long:\n    model: gpt-5.6\n", "  long:\n    model: gpt-5.6\n    fallback_models: [second, third]\n")))
	worker := b.StartWorker(false, config)
	pool := onceward.PoolWorkflowID(b.Queue)
	harness.Until(b, pool, onceward.QueryHealth, "anything", func(onceward.PoolHealth) bool { return true })
	change := func(resource, model, by, reason string) onceward.PoolChange {
		return onceward.PoolChange{Resource: resource, Model: model, By: by, Reason: reason}
	}
	refusedWith(t, b.Update(pool, onceward.UpdateDisable, change("a", "", "ops", ""), nil), "reason is empty")
	refusedWith(t, b.Update(pool, onceward.UpdateDisable, change("a", "", "", "moved"), nil), "by is empty")
	refusedWith(t, b.Update(pool, onceward.UpdateDisable, change("z", "", "ops", "moved"), nil), "z")
	refusedWith(t, b.Update(pool, onceward.UpdateDisable, change("a", "second", "ops", "moved"), nil), "second")
	refusedWith(t, b.Update(pool, onceward.UpdateEnable, change("a", "", "ops", ""), nil), "not disabled")
	for resource, model := range map[string]string{"a": "", "b": "second"} {
		if err := b.Update(pool, onceward.UpdateDisable, change(resource, model, "ops", "maintenance of "+resource), nil); err != nil {
			t.Fatal(err)
		}
	}
	worker.Kill()
	worker = b.StartWorker(false, config)
	run := b.Start("blocked", "ReaderWorkflow", "Say something.")
	if result := run.Result(); result.Outcome != onceward.OutcomeCompleted || result.Text != "fine" {
		t.Fatalf("outcome %s (%s, %v), want completed", result.Outcome, result.Reason, result.Failure)
	}
	if got := asked(b); got["a"] != 0 || got["b"] != 0 || got["c"] != 1 {
		t.Errorf("asked %v, want c alone", got)
	}
	records := harness.Until(b, run.ID, onceward.QueryAttempts, "one attempt", func(list []onceward.AttemptRecord) bool { return len(list) == 1 })
	if route := records[0].Route; route == nil || route.Model != "third" {
		t.Errorf("route %+v, want model third", route)
	}
	for _, resource := range []string{"a", "b"} {
		if !droppedFor(records[0].Dropped, resource, "disabled", "by ops: maintenance of "+resource) {
			t.Errorf("dropped %+v, want %s as disabled by ops", records[0].Dropped, resource)
		}
	}
	if err := b.Update(pool, onceward.UpdateEnable, change("a", "", "ops", ""), nil); err != nil {
		t.Fatal(err)
	}
	worker.Kill()
	b.StartWorker(false, config)
	b.Start("again", "ReaderWorkflow", "Say something.").Result()
	if got := asked(b); got["a"] != 1 || got["c"] != 1 {
		t.Errorf("asked %v after a was enabled, want a once", got)
	}
}

// droppedFor reports whether a candidate was dropped at a step for a reason.
func droppedFor(list []onceward.Dropped, resource, step, reason string) bool {
	return slices.ContainsFunc(list, func(d onceward.Dropped) bool {
		return d.Resource == resource && d.Step == step && strings.Contains(d.Reason, reason)
	})
}

// A deployment that begins to answer as another snapshot is noticed in the
// trail, and priced by the configuration all the same.
func TestRouterNoticesThatADeploymentDrifted(t *testing.T) {
	t.Parallel()
	model := calls(raw("page", `{"bytes":3}`))
	b := harness.New(t, harness.Options{Resources: []string{"a"}, Model: &model})
	b.Pool.OnEvent(func(r routertest.Request, e routertest.Event) {
		if r.Seq == 1 && e.N == 1 { // in the middle of the first answer, which has its name already
			b.Pool.Resource("a").SetDrift(routertest.Drift{Model: "gpt-5.6-2026-07-09", RateLimit: roomy})
		}
	})
	b.StartWorker(false)
	run := b.Start("run", "ReaderWorkflow", "Go on.")
	if result := run.Result(); result.Outcome != onceward.OutcomeCompleted {
		t.Fatalf("outcome %s (%s, %v)", result.Outcome, result.Reason, result.Failure)
	}
	attempts := b.Attempts(run.Chain())
	price := onceward.Price{Input: onceward.FromUSD(1.25), CachedInput: onceward.FromUSD(0.125), Output: onceward.FromUSD(10)}
	for i, a := range attempts {
		if a.Settled == nil || a.Settled.Cost != price.Cost(a.Settled.Usage) || a.Settled.CostBasis != onceward.CostMeasured {
			t.Errorf("attempt %d is settled as %+v, want the price of the configuration", i, a.Settled)
		}
	}
	if len(attempts) != 2 || len(attempts[0].Settled.Notices) != 0 || !strings.Contains(strings.Join(attempts[1].Settled.Notices, ""), "gpt-5.6-2026-07-09") {
		t.Errorf("attempts %+v, want a notice of the new name in the second", attempts)
	}
}

// A walk that takes longer than the run may: the deadline ends the attempt in
// flight, its cost is kept, and nobody calls it the network's fault.
func TestRouterEndsAWalkThatOutlivesTheDeadline(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{Resources: []string{"a", "b", "c"}, Faults: []routertest.Fault{
		{Kind: routertest.FaultStatus, Status: 503, Delay: 1500 * time.Millisecond, Times: 1},
		{Kind: routertest.FaultHangHeaders},
	}})
	b.StartWorker(false, "--config="+b.OtherConfig(swap(t, "deadline: 20m", "deadline: 10s")))
	run := b.Start("run", "ReaderWorkflow", "Say something.")
	result := run.Result()
	if result.Outcome != onceward.OutcomeBudgetExhausted || !strings.Contains(result.Reason, "deadline") || result.Failure == nil || result.Failure.Class != onceward.ClassDeadlineExceeded {
		t.Errorf("outcome %s (%s, %v), want budget_exhausted by the deadline", result.Outcome, result.Reason, result.Failure)
	}
	attempts := b.Attempts(run.Chain())
	if len(attempts) != 2 || b.Pool.Attempts() != 2 {
		t.Fatalf("%d attempts and %d requests, want 2 of each", len(attempts), b.Pool.Attempts())
	}
	late := attempts[1]
	if late.Failure == nil || late.Failure.Class != onceward.ClassDeadlineExceeded || late.Failure.StateEffect != onceward.EffectNone {
		t.Errorf("the late attempt failed with %v, want %s and no health mark", late.Failure, onceward.ClassDeadlineExceeded)
	}
	if late.Settled == nil || late.Settled.CostBasis != onceward.CostReserved || late.Settled.Cost != late.Input.Route.Ceiling || result.Use.Spent != late.Settled.Cost {
		t.Errorf("the late attempt is settled as %+v and the run spent %d, want its reservation in both", late.Settled, result.Use.Spent)
	}
}
