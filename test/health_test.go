package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/test/harness"
)

// neutrals counts the neutral requests to a resource.
func neutrals(b *harness.Bench, resource string) (n int) {
	for _, c := range b.Pool.Counts() {
		if c.Resource == resource {
			n += c.Neutrals
		}
	}
	return n
}

// poolHealth reads the pool's record, and waits until it says something.
func poolHealth(b *harness.Bench, what string, ok func(onceward.PoolHealth) bool) onceward.PoolHealth {
	return harness.Until(b, onceward.PoolWorkflowID(b.Queue), onceward.QueryHealth, what, ok)
}

// judged returns what the trail of a run says became of its suspicions at last, by
// resource.
func judged(b *harness.Bench, run *harness.Run) map[string]onceward.Judged {
	out := map[string]onceward.Judged{}
	for _, record := range harness.Until(b, run.ID, onceward.QueryAttempts, "the attempts", func(list []onceward.AttemptRecord) bool { return len(list) > 0 }) {
		for _, v := range record.Verdicts {
			out[v.Resource] = v.Judged
		}
	}
	return out
}

// replaysWhole checks that the history of a run, markers of its verdicts included, replays.
func replaysWhole(t *testing.T, run *harness.Run) {
	t.Helper()
	for _, h := range run.Chain() {
		if err := h.Replay(); err != nil {
			t.Errorf("replay %s: %v", run.ID, err)
		}
	}
}

// plainly is a model that says one thing.
var plainly = routertest.Model{Rules: []routertest.Rule{{Reply: []routertest.Out{routertest.Say("fine")}}}}

// E01: a web firewall in front of both resources refuses one prompt. That run fails, and
// says why; everybody else is served, and it cost one neutral request a resource.
func TestE01FirewallThatRefusesOnePromptCostsNobodyElse(t *testing.T) {
	t.Parallel()
	model := plainly
	b := harness.New(t, harness.Options{Model: &model, Faults: []routertest.Fault{routertest.Page(403, "").Where(routertest.Match{Marker: "DROP TABLE"})}})
	b.StartWorker(false)
	run := b.Start("the topic", "ReaderWorkflow", "What does DROP TABLE do?")
	result := run.Result()
	if result.Outcome != onceward.OutcomeFailed || result.Failure == nil || result.Failure.Class != onceward.ClassPermission || result.Use.Attempts != 2 {
		t.Errorf("outcome %s (%s, %v) after %d attempts, want failed by itself after asking both", result.Outcome, result.Reason, result.Failure, result.Use.Attempts)
	}
	for i := range 20 {
		if other := b.Start(fmt.Sprint("other-", i), "ReaderWorkflow", "Say something.").Result(); other.Outcome != onceward.OutcomeCompleted || other.Use.Attempts != 1 {
			t.Errorf("another run: outcome %s (%s) after %d attempts", other.Outcome, other.Reason, other.Use.Attempts)
		}
	}
	if n, m := neutrals(b, "a"), neutrals(b, "b"); n != 1 || m != 1 {
		t.Errorf("%d and %d neutral requests, want one a resource", n, m)
	}
	if h := poolHealth(b, "its routes", func(h onceward.PoolHealth) bool { return len(h.Services) == 1 }); len(h.Disabled)+len(h.Reported)+len(h.Alone) != 0 {
		t.Errorf("the pool has %+v on record", h)
	}
	if got := judged(b, run); got["a"] != onceward.JudgedAcquitted || got["b"] != onceward.JudgedAcquitted {
		t.Errorf("the trail says %v", got)
	}
	replaysWhole(t, run)
}

// E02: a page of a proxy says nothing about the request: the walk goes on.
func TestE02PageOfAProxyEndsNoRun(t *testing.T) {
	t.Parallel()
	model := plainly
	b := harness.New(t, harness.Options{Model: &model})
	b.StartWorker(false)
	for i, status := range []int{400, 405, 409, 411, 412, 415, 416, 421, 422} {
		if err := b.Pool.SetFaults(routertest.Page(status, "").Of(routertest.Runs).For(1)); err != nil {
			t.Fatal(err)
		}
		run := b.Start(fmt.Sprint("page-", i), "ReaderWorkflow", "Say something.")
		result := run.Result()
		if result.Outcome != onceward.OutcomeCompleted || result.Use.Attempts != 2 {
			t.Errorf("E02 %d: outcome %s (%s, %v) after %d attempts", status, result.Outcome, result.Reason, result.Failure, result.Use.Attempts)
		}
		if f := b.Attempts(run.Chain())[0].Failure; f == nil || f.Class != onceward.ClassEndpointMisconfigured {
			t.Errorf("E02 %d: %v", status, f)
		}
	}
	if h := poolHealth(b, "its routes", func(h onceward.PoolHealth) bool { return len(h.Services) == 1 }); len(h.Disabled) != 0 {
		t.Errorf("disabled %+v", h.Disabled)
	}
}

// E04: three resources that only say 429 are left alone for longer each time, so that
// twelve attempts last for more than a minute.
func TestE04RunOfTwelveAttemptsOutlivesAMinuteOfThrottles(t *testing.T) {
	t.Parallel()
	model := plainly
	b := harness.New(t, harness.Options{Resources: []string{"a", "b", "c"}, Model: &model, Faults: []routertest.Fault{routertest.Throttle(map[string]string{"retry-after-ms": "0"}).Of(routertest.Runs)}})
	b.StartWorker(false, "--config="+b.OtherConfig(swap(t, "attempts: 400", "attempts: 12")))
	begun := time.Now()
	result := b.Start("run", "ReaderWorkflow", "Say something.").Result()
	if took := time.Since(begun); result.Outcome != onceward.OutcomeBudgetExhausted || result.Use.Attempts != 12 || took < time.Minute {
		t.Errorf("outcome %s (%s) after %d attempts in %s", result.Outcome, result.Reason, result.Use.Attempts, took)
	}
	for _, r := range []string{"a", "b", "c"} {
		if n := b.Pool.Resource(r).Attempts(); n != 4 || neutrals(b, r) != 0 {
			t.Errorf("%s was asked %d times and tested %d times", r, n, neutrals(b, r))
		}
	}
}

// E05: one resource that runs away, also at the larger limit, is left aside, and the
// walk goes on.
func TestE05RunawayOfOneResourceIsNotTheRequests(t *testing.T) {
	t.Parallel()
	model := plainly
	b := harness.New(t, harness.Options{Model: &model})
	b.Pool.OnRequest(func(r routertest.Request) {
		if r.Seq == 1 {
			if err := b.Pool.AddFaults(routertest.Fault{Kind: routertest.FaultIncomplete, Resource: r.Resource}); err != nil {
				t.Error(err)
			}
		}
	})
	b.StartWorker(false)
	run := b.Start("run", "ReaderWorkflow", "Say something.")
	if result := run.Result(); result.Outcome != onceward.OutcomeCompleted || result.Use.Attempts != 3 {
		t.Fatalf("E05: outcome %s (%s, %v) after %d attempts", result.Outcome, result.Reason, result.Failure, result.Use.Attempts)
	}
	list := b.Pool.Requests()
	if len(list) != 3 || list[0].Resource != list[1].Resource || list[2].Resource == list[0].Resource {
		t.Errorf("E05: asked %v", asked(b))
	}
	// All of them: one more request each, and then it is the request's.
	if err := b.Pool.SetFaults(routertest.Fault{Kind: routertest.FaultIncomplete}); err != nil {
		t.Fatal(err)
	}
	result := b.Start("all", "ReaderWorkflow", "Say more.").Result()
	if result.Outcome != onceward.OutcomeFailed || result.Failure == nil || result.Failure.Class != onceward.ClassIncompleteOutput || result.Use.Attempts != 3 {
		t.Errorf("E05 all: outcome %s (%s, %v) after %d attempts", result.Outcome, result.Reason, result.Failure, result.Use.Attempts)
	}
}

// A resource that refuses one worker only, as an address filter does, is avoided by that
// worker and by nobody else.
func TestResourceThatRefusesOneWorkerIsDisabledForNobodyElse(t *testing.T) {
	t.Parallel()
	model := plainly
	b := harness.New(t, harness.Options{Model: &model, Faults: []routertest.Fault{routertest.FailWith(401, "").On("a").Where(routertest.Match{Header: map[string]string{"X-Worker": "1"}})}})
	// A secret header, so that all of them name the same address.
	config := func(worker string) string {
		secret := filepath.Join(t.TempDir(), "worker")
		if err := os.WriteFile(secret, []byte(worker), 0o600); err != nil {
			t.Fatal(err)
		}
		path := b.OtherConfig(func(text string) string {
			return strings.ReplaceAll(text, "      encryption_boundary: one\n", "      encryption_boundary: one\n      headers: [{name: X-Worker, value_file: "+secret+"}]\n")
		})
		own := secret + ".yaml"
		if err := os.Rename(path, own); err != nil {
			t.Fatal(err)
		}
		return "--config=" + own
	}
	for _, worker := range []string{"1", "2", "3"} {
		b.StartWorker(false, config(worker))
	}
	ask := func(i int) {
		if result := b.Start(fmt.Sprint("run-", i), "ReaderWorkflow", "Say something.").Result(); result.Outcome != onceward.OutcomeCompleted {
			t.Errorf("run %d: outcome %s (%s)", i, result.Outcome, result.Reason)
		}
	}
	n := 0
	for ; neutrals(b, "a") == 0; n++ { // until the marked worker has asked a
		if n == 200 {
			t.Fatal("no run met the refusal")
		}
		ask(n)
	}
	h := poolHealth(b, "what one worker found alone", func(h onceward.PoolHealth) bool { return len(h.Alone) == 1 })
	if len(h.Disabled) != 0 || h.Alone[0].Resource != "a" || h.Alone[0].By == "" {
		t.Errorf("the pool has %+v on record", h)
	}
	refused := func() (refused, served int) {
		for _, r := range b.Pool.Requests() {
			switch {
			case r.Resource != "a":
			case r.Header.Get("X-Worker") == "1":
				refused++
			default:
				served++
			}
		}
		return refused, served
	}
	before, _ := refused()
	for end := n + 30; n < end; n++ {
		ask(n)
	}
	after, served := refused()
	if after != before || served == 0 {
		t.Errorf("the worker that is refused asked %d times more, and others %d times in all", after-before, served)
	}
}

// With Temporal away a worker's own finding holds, and it is on record once when
// Temporal is back.
func TestFindingOfAWorkerWithoutTemporalIsRecordedOnce(t *testing.T) {
	t.Parallel()
	model := plainly
	b := harness.New(t, harness.Options{Model: &model, Links: true, Faults: []routertest.Fault{routertest.FailWith(402, "").Of(routertest.Runs).For(1)}})
	var temporal *harness.Link
	for _, l := range b.Links() {
		if l.Name == "temporal" {
			temporal = l
		}
	}
	b.Pool.OnRequest(func(r routertest.Request) {
		if r.Seq == 1 {
			temporal.Refuse()
			if err := b.Pool.AddFaults(routertest.FailWith(402, "").On(r.Resource).Of(routertest.Neutrals)); err != nil {
				t.Error(err)
			}
		}
	})
	b.StartWorker(false)
	run := b.Start("run", "ReaderWorkflow", "Say something.")
	first, err := b.Pool.AwaitNeutral(b.Context(), func(r routertest.Request) bool { return r.Seq == 1 })
	if err != nil {
		t.Fatal(err)
	}
	temporal.Heal()
	if result := run.Result(); result.Outcome != onceward.OutcomeCompleted {
		t.Errorf("outcome %s (%s)", result.Outcome, result.Reason)
	}
	h := poolHealth(b, "one disabled route", func(h onceward.PoolHealth) bool { return len(h.Disabled) > 0 })
	if len(h.Disabled) != 1 || h.Disabled[0].Resource != first.Resource || h.Disabled[0].Class != onceward.ClassBilling || len(h.Reported)+len(h.Alone) != 0 {
		t.Errorf("the pool has %+v on record", h)
	}
}

// Twenty workers, and five resources lose their keys at once: each worker that saw a
// failure sends one neutral request to a pair, and the pool one more.
func TestTwentyWorkersTestEachPairOnceAndThePoolOnceMore(t *testing.T) {
	t.Parallel()
	model := plainly
	names := []string{"a", "b", "c", "d", "e"}
	b := harness.New(t, harness.Options{Resources: names, Model: &model})
	const workers = 20
	for range workers {
		b.StartWorker(false)
	}
	if result := b.Start("before", "ReaderWorkflow", "Say something.").Result(); result.Outcome != onceward.OutcomeCompleted {
		t.Fatalf("outcome %s (%s)", result.Outcome, result.Reason)
	}
	if err := b.Pool.AddFaults(routertest.FailWith(401, "")); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 2 * workers {
		run := b.Start(fmt.Sprint("run-", i), "ReaderWorkflow", "Say something.")
		all.Go(func() {
			if result := run.Result(); result.Outcome != onceward.OutcomeUnavailable || result.Failure == nil || result.Failure.Class != onceward.ClassAuthentication {
				t.Errorf("outcome %s (%s, %v)", result.Outcome, result.Reason, result.Failure)
			}
		})
	}
	all.Wait()
	h := poolHealth(b, "five disabled routes", func(h onceward.PoolHealth) bool { return len(h.Disabled) == len(names) && len(h.Reported) == 0 })
	for _, name := range names {
		if n := neutrals(b, name); n < 2 || n > workers+1 {
			t.Errorf("%d neutral requests to %s, want at most %d", n, name, workers+1)
		}
	}
	for _, d := range h.Disabled {
		if d.Class != onceward.ClassAuthentication || d.Model == "" {
			t.Errorf("disabled %+v", d)
		}
	}
}
