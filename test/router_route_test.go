package test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/test/agents"
	"github.com/onceward/onceward/test/harness"
)

// unfitting are resources that each lack one thing that the task requires, and
// the words that must stand in the trail.
var unfitting = map[string]struct{ old, now, reason string }{
	"small":    {"max_input_tokens: 8000000", "max_input_tokens: 3000", "max_input_tokens: need"},
	"blind":    {"image_input: true, ", "", "image_input"},
	"loose":    {"strict_schema: true, ", "", "strict_schema"},
	"abroad":   {"region: eu-west", "region: us-east", "region: need one of [eu-west], have \"us-east\""},
	"failed":   {"{v8: 0.99}", "{v8: 0.96}", "minimum_pass_rate: need 0.970 on v8, have 0.960"},
	"untested": {"{v8: 0.99}", "{v7: 0.99}", "eval_profile: v8 was never run"},
}

// The primary is lost, and of what is left only one resource may serve the task,
// or none: the others are never sent anything, and the trail names what each
// lacks.
func TestRouterNeverSendsToAResourceThatLacksWhatTheTaskNeeds(t *testing.T) {
	for name, good := range map[string]bool{"one is left that may serve: it does": true, "none is left that may serve: unavailable": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			names := []string{"primary", "small", "blind", "loose", "abroad", "failed", "untested"}
			if good {
				names = append(names, "good")
			}
			b := harness.New(t, harness.Options{Resources: names, Model: speaks("fine"), Faults: []routertest.Fault{routertest.FailWith(401, "").On("primary")}})
			changes := []func(string) string{
				swap(t, "kind: openai\n", "kind: openai\n      region: eu-west\n",
					"strict_schema: true, ", "strict_schema: true, image_input: true, eval_profiles: {v8: 0.99}, ",
					"  long:\n    model: gpt-5.6\n", "  long:\n    model: gpt-5.6\n    requires: {strict_schema: true, image_input: true, region: [eu-west], eval_profile: v8, minimum_pass_rate: 0.97}\n"),
				of(t, "primary", "kind: openai\n", "kind: openai\n      weight: 1000000\n"),
			}
			for resource, lack := range unfitting {
				changes = append(changes, of(t, resource, lack.old, lack.now))
			}
			b.StartWorker(false, "--config="+b.OtherConfig(all(changes...)))
			run := b.Start("run", "ReaderWorkflow", "Say something about "+strings.Repeat("this ", 6000))
			result := run.Result()
			want, requests := onceward.OutcomeUnavailable, map[string]int{"primary": 1}
			if good {
				want, requests["good"] = onceward.OutcomeCompleted, 1
			}
			if result.Outcome != want {
				t.Errorf("outcome %s (%s, %v), want %s", result.Outcome, result.Reason, result.Failure, want)
			}
			for resource, n := range asked(b) {
				if n != requests[resource] {
					t.Errorf("%s was asked %d times, want %d", resource, n, requests[resource])
				}
			}
			records := harness.Until(b, run.ID, onceward.QueryAttempts, "two selections", func(list []onceward.AttemptRecord) bool { return len(list) == 2 })
			for resource, lack := range unfitting {
				for i, r := range records {
					if !droppedFor(r.Dropped, resource, "requirements", lack.reason) {
						t.Errorf("selection %d: %s was not dropped for %q: %+v", i, resource, lack.reason, r.Dropped)
					}
				}
			}
			if (records[1].Route != nil) != good {
				t.Errorf("the second selection found %+v", records[1].Route)
			}
		})
	}
}

// Every route is gone before anything was paid. The run ends as its task says:
// an outcome, no error, no loop. A person may still complete it.
func TestRouterEndsDegradedAsTheTaskSays(t *testing.T) {
	for _, degraded := range []onceward.Outcome{
		onceward.OutcomeUnavailable, onceward.OutcomeReadOnlyFallback, onceward.OutcomeResultDelayed, onceward.OutcomeManualCompletion,
	} {
		t.Run(string(degraded), func(t *testing.T) {
			t.Parallel()
			b := harness.New(t, harness.Options{Degraded: string(degraded), Faults: []routertest.Fault{routertest.FailWith(401, "")}})
			b.StartWorker(false)
			order := b.Order()
			run := b.StartRefund("run", order)
			want := harness.Want{Outcome: degraded}
			person := degraded == onceward.OutcomeManualCompletion
			if person {
				if waiting := waitsForPerson(b, run, degraded); !strings.HasPrefix(waiting.Waiting, "a person to complete it: no route is left: ") {
					t.Errorf("the run waits for %q", waiting.Waiting)
				}
				if err := b.Update(run.ID, onceward.UpdateComplete, onceward.Complete{By: "ops", Text: "We refund by hand."}, nil); err != nil {
					t.Fatal(err)
				}
				want = harness.Want{Outcome: onceward.OutcomeCompleted, Text: "We refund by hand."}
			}
			result, _ := b.Check(run, order, want)
			if n := b.Pool.Attempts(); n != 2 {
				t.Errorf("%d requests, want one at each resource", n)
			}
			for _, form := range [][]string{{"show", run.ID}, {"show", run.ID, "--json"}} { // what is off has no end: no date is made of that
				if out, errs, err := b.Command(form...); err != nil || strings.Contains(out, "0001-") || !strings.Contains(out, "excluded") {
					t.Errorf("%v: %v %s\n%s", form, err, errs, out)
				}
			}
			if person && (result.CompletedBy != "ops" || result.Failure != nil) {
				t.Errorf("result %+v, want completed by ops without a failure", result)
			}
			if !person && (result.Failure == nil || result.Failure.Class != onceward.ClassAuthentication || result.Reason == "" || result.Text != "") {
				t.Errorf("result %+v, want no text, a reason, and the failure that was the last", result)
			}
			if person {
				return
			}
			again := b.StartRefund("again", order).Result()
			if n := b.Pool.Attempts(); again.Outcome != degraded || again.Use.Attempts != 0 || n != 2 {
				t.Errorf("the next run: outcome %s after %d attempts, %d requests in all; want %s with nothing sent", again.Outcome, again.Use.Attempts, n, degraded)
			}
		})
	}
}

// A walk over three resources that are all overloaded asks each once before it
// asks any of them again, and not at once.
func TestRouterAsksEachOfThreeOnceBeforeAnyAgain(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{Resources: []string{"a", "b", "c"}, Model: speaks("fine"), Faults: []routertest.Fault{routertest.FailWith(503, "").For(3)}})
	b.StartWorker(false)
	result := b.Start("run", "ReaderWorkflow", "Say something.").Result()
	requests := b.Pool.Requests()
	if result.Outcome != onceward.OutcomeCompleted || len(requests) != 4 {
		t.Fatalf("outcome %s (%s, %v) after %d requests, want completed after 4", result.Outcome, result.Reason, result.Failure, len(requests))
	}
	seen := map[string]bool{}
	for _, r := range requests[:3] {
		seen[r.Resource] = true
	}
	if len(seen) != 3 {
		t.Errorf("the first three requests went to %v, want three resources", seen)
	}
	for i, gap := range []time.Duration{requests[1].Time.Sub(requests[0].Time), requests[2].Time.Sub(requests[1].Time)} {
		if gap > time.Minute {
			t.Errorf("request %d came %s after the one before, want no wait before another resource", i+2, gap)
		}
	}
	if gap := requests[3].Time.Sub(requests[0].Time); gap < time.Second {
		t.Errorf("%s was asked again after %s, want not before its window is over", requests[3].Resource, gap)
	}
}

// Resources that ask for a wait of a day, and a run that has minutes: it ends at
// once, with what they said.
func TestRouterDoesNotWaitForAWindowBeyondTheDeadline(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{Model: speaks("fine"), Faults: []routertest.Fault{
		{Kind: routertest.FaultStatus, Status: 429, Header: map[string]string{"Retry-After": "86400"}}}})
	b.StartWorker(false, "--config="+b.OtherConfig(swap(t, "deadline: 20m", "deadline: 3m")))
	begin := time.Now()
	result := b.Start("run", "ReaderWorkflow", "Say something.").Result()
	if result.Outcome != onceward.OutcomeUnavailable || result.Failure == nil || result.Failure.Class != onceward.ClassRateLimited || result.Failure.RetryAfter != 24*time.Hour {
		t.Errorf("outcome %s (%s, %+v), want unavailable with the day that was asked for", result.Outcome, result.Reason, result.Failure)
	}
	if took := time.Since(begin); took >= 3*time.Minute || b.Pool.Attempts() != 2 {
		t.Errorf("%d requests in %s, want 2 at once", b.Pool.Attempts(), took)
	}
}

// What a resource does not report is not free: an attempt without usage keeps
// its reservation, and the budget still ends the run.
func TestRouterCountsAttemptsWithoutUsageAsTheirReservation(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{Model: speaks("on and on"), Faults: []routertest.Fault{{Kind: routertest.FaultNoUsage}}})
	b.StartWorker(false, "--config="+b.OtherConfig(swap(t, "cost_usd: 500, attempt_cost_usd: 5", "cost_usd: 0.20, attempt_cost_usd: 0.10", "max_output_tokens: 60000", "max_output_tokens: 4000")))
	run := b.Start("run", "TalkWorkflow", "Talk.")
	result := run.Result()
	if result.Outcome != onceward.OutcomeBudgetExhausted || result.Turns >= agents.TalkTurns {
		t.Errorf("outcome %s (%s) after %d turns, want budget_exhausted before %d", result.Outcome, result.Reason, result.Turns, agents.TalkTurns)
	}
	var sum onceward.MicroUSD
	for i, a := range b.Attempts(run.Chain()) {
		if a.Settled == nil || a.Settled.Usage.Known || a.Settled.CostBasis != onceward.CostReserved || a.Settled.Cost < a.Input.Route.Ceiling {
			t.Fatalf("attempt %d is settled as %+v, want its reservation of %d", i, a.Settled, a.Input.Route.Ceiling)
		}
		sum += a.Settled.Cost
	}
	if result.Use.Spent != sum || sum == 0 || result.Use.Reserved != 0 {
		t.Errorf("use %+v, want %d spent", result.Use, sum)
	}
	if got := fmt.Sprint(b.Pool.Attempts()); got != fmt.Sprint(result.Use.Attempts) {
		t.Errorf("%s requests for %d attempts", got, result.Use.Attempts)
	}
}
