package test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/test/harness"
)

// unpaid has one resource refuse the first run, and all refuse what looks into that:
// the one that was asked is convicted, and nobody asks the others.
func unpaid() []routertest.Fault {
	run, neutral := routertest.FailWith(402, "").For(1), routertest.FailWith(402, "")
	run.Only, neutral.Only = routertest.Runs, routertest.Neutrals
	return []routertest.Fault{run, neutral}
}

// disabledResource starts a run in which one resource says that it is not paid
// for, and waits until the Pool has that on record.
func disabledResource(t *testing.T, b *harness.Bench) string {
	t.Helper()
	if result := b.StartRefund("first", b.Order()+"-0").Result(); result.Outcome != onceward.OutcomeCompleted {
		t.Fatalf("outcome %s (%s)", result.Outcome, result.Reason)
	}
	refused := b.Pool.Requests()[0].Resource
	health := harness.Until(b, onceward.PoolWorkflowID(b.Queue), onceward.QueryHealth, "one disabled resource", func(h onceward.PoolHealth) bool {
		return len(h.Disabled) == 1
	})
	got := health.Disabled[0]
	if got.Resource != refused || got.Class != onceward.ClassBilling || got.Reason == "" || strings.Contains(got.Reason, harness.Key) {
		t.Errorf("the pool has %+v on record, want %s with %s and a reason", got, refused, onceward.ClassBilling)
	}
	if test := health.Tests[0]; test.Verdict != onceward.VerdictFailed || test.By == "" || test.Error != got.Reason || len(health.Reported)+len(health.Alone) != 0 {
		t.Errorf("the record is %+v, want the failed test that it rests on, and no report left", health)
	}
	return refused
}

// moreRuns makes runs that would meet a resource by chance, one after another.
func moreRuns(t *testing.T, b *harness.Bench, name string, n int) {
	t.Helper()
	for i := range n {
		id := fmt.Sprintf("%s-%d", name, i)
		if result := b.StartRefund(id, b.Order()+"-"+id).Result(); result.Outcome != onceward.OutcomeCompleted {
			t.Errorf("%s: outcome %s (%s)", id, result.Outcome, result.Reason)
		}
	}
}

// A resource that cannot be paid is asked by one run and by the tests that follow
// from it, by whatever worker comes after, until a test passes that an operator asked for.
func TestDisabledResourceStaysDisabledOverAWorkerRestart(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{Faults: unpaid()})
	w := b.StartWorker(false)
	refused := disabledResource(t, b)
	w.Kill()
	b.StartWorker(false)
	moreRuns(t, b, "after", 4)
	if n := b.Pool.Resource(refused).Attempts(); n != 1 {
		t.Errorf("%d requests to %s, want only the one that was refused", n, refused)
	}
	if n := len(b.Pool.Resource(refused).Neutrals()); n > 3 { // the worker's own, the Pool's, and one before that was known
		t.Errorf("%d neutral requests to %s", n, refused)
	}
	pool := onceward.PoolWorkflowID(b.Queue)
	refusedWith(t, b.Update(pool, onceward.UpdateEnable, onceward.PoolChange{Resource: refused}, nil), "by is empty")
	refusedWith(t, b.Update(pool, onceward.UpdateEnable, onceward.PoolChange{Resource: "nowhere", By: "ops"}, nil), "nowhere")
	refusedWith(t, b.Update(pool, onceward.UpdateTest, onceward.PoolChange{Resource: "nowhere", By: "ops"}, nil), "there are [a b]")
	if out, said, err := b.Command("pool", "test", refused, "--by", "ops", "--pool", b.Queue); err == nil || !strings.Contains(said, "failed billing") || !strings.Contains(out, "failed") {
		t.Errorf("the test of %s says %v\n%s%s", refused, err, out, said)
	}
	if err := b.Pool.SetFaults(); err != nil {
		t.Fatal(err)
	}
	if out, said, err := b.Command("pool", "test", refused+"/gpt-5.6", "--by", "ops", "--pool", b.Queue); err != nil || !strings.Contains(out, "passed") {
		t.Errorf("the test of %s says %v\n%s%s", refused, err, out, said)
	}
	for i := 0; b.Pool.Resource(refused).Attempts() == 1; i++ { // the change reaches the workers within seconds
		if i == 200 {
			t.Fatalf("%s was enabled and is asked by no run", refused)
		}
		moreRuns(t, b, fmt.Sprintf("enabled-%d", i), 1)
	}
	h := b.History(pool, "")
	if err := h.Replay(); err != nil {
		t.Error(err)
	}
	record(t, "pool-renewed", h)
}

// found reports a route as a worker does that is none of the bench's.
func found(t *testing.T, b *harness.Bench, resource string) {
	t.Helper()
	report := onceward.PoolReport{
		Resource: resource, Model: "gpt-5.6", Endpoint: onceward.EndpointDigest(b.Pool.Resource(resource).URL()),
		Class: onceward.ClassBilling, Reason: "not paid for", At: time.Now(), By: "elsewhere",
	}
	if err := b.Client.SignalWorkflow(b.Context(), onceward.PoolWorkflowID(b.Queue), "", onceward.SignalReport, report); err != nil {
		t.Fatal(err)
	}
}

// What one worker finds and another does not is that worker's alone: nobody else
// stays away, and whoever looks is told so.
func TestWhatNoOtherWorkerConfirmsIsNotShared(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{})
	pool := onceward.PoolWorkflowID(b.Queue)
	w := b.StartWorker(false)
	b.Said(w, "worker started")
	found(t, b, "a")
	found(t, b, "b")
	health := harness.Until(b, pool, onceward.QueryHealth, "two findings that stand alone", func(h onceward.PoolHealth) bool { return len(h.Alone) == 2 })
	if len(health.Disabled)+len(health.Reported) != 0 || health.Alone[0].By != "elsewhere" || health.Alone[0].Test == nil || !health.Alone[0].Test.Passed {
		t.Errorf("the record is %+v, want who found it, and the test that passed", health)
	}
	moreRuns(t, b, "run", 2)
	if n := len(b.Pool.Neutrals()); n != 2 || b.Pool.Attempts() == 0 {
		t.Errorf("%d neutral requests and %d others, want one neutral a report", n, b.Pool.Attempts())
	}
	counted := harness.Until(b, pool, onceward.QueryHealth, "both routes", func(h onceward.PoolHealth) bool { return len(h.Neutrals) == 2 })
	if n := counted.Neutrals[0]; n.Endpoint == "" || n.Unusable != "" {
		t.Errorf("counted %+v", n)
	}
	if err := w.Stop(); err != nil { // it tells what it has counted before it goes
		t.Error(err)
	}
	b.StartWorker(false)
	counted = harness.Until(b, pool, onceward.QueryHealth, "the neutral requests of the first worker", func(h onceward.PoolHealth) bool {
		return len(h.Neutrals) == 2 && h.Neutrals[0].Passed > 0 && h.Neutrals[1].Passed > 0
	})
	for _, n := range counted.Neutrals {
		if n.Sent() != len(b.Pool.Resource(n.Resource).Neutrals()) || n.InputTokens == 0 {
			t.Errorf("%s: %d are counted with %d tokens, %d were sent", n.Resource, n.Sent(), n.InputTokens, len(b.Pool.Resource(n.Resource).Neutrals()))
		}
	}
	if out, said, err := b.Command("pool", "show", "--pool", b.Queue); err != nil || !strings.Contains(out, "alone at elsewhere") || !strings.Contains(out, "nothing is disabled") {
		t.Errorf("pool show: %v\n%s%s", err, out, said)
	}
	if err := b.History(pool, "").Replay(); err != nil {
		t.Error(err)
	}
}

// A test that nobody can take is said within seconds.
func TestPoolTestWithoutAWorkerIsAnError(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{})
	w := b.StartWorker(false)
	harness.Until(b, onceward.PoolWorkflowID(b.Queue), onceward.QueryHealth, "a pool", func(onceward.PoolHealth) bool { return true })
	w.Kill()
	if out, said, err := b.Command("pool", "test", "a", "--by", "ops", "--pool", b.Queue); err == nil || !strings.Contains(said, "no worker took it within") {
		t.Errorf("%v\n%s%s", err, out, said)
	}
}
