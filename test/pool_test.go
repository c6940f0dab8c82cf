package test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/test/harness"
)

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

// A resource that cannot be paid is asked once, by whatever worker comes after,
// until an operator enables it.
func TestDisabledResourceStaysDisabledOverAWorkerRestart(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{Faults: []routertest.Fault{routertest.FailWith(402, "").For(1)}})
	w := b.StartWorker(false)
	refused := disabledResource(t, b)
	w.Kill()
	b.StartWorker(false)
	moreRuns(t, b, "after", 4)
	if n := b.Pool.Resource(refused).Attempts(); n != 1 {
		t.Errorf("%d requests to %s, want only the one that was refused", n, refused)
	}
	pool := onceward.PoolWorkflowID(b.Queue)
	refusedWith(t, b.Update(pool, onceward.UpdateEnable, onceward.PoolChange{Resource: refused}, nil), "by is empty")
	refusedWith(t, b.Update(pool, onceward.UpdateEnable, onceward.PoolChange{Resource: "nowhere", By: "ops"}, nil), "nowhere")
	if err := b.Update(pool, onceward.UpdateEnable, onceward.PoolChange{Resource: refused, By: "ops"}, nil); err != nil {
		t.Fatal(err)
	}
	for i := 0; b.Pool.Resource(refused).Attempts() == 1; i++ { // the change reaches the workers within seconds
		if i == 200 {
			t.Fatalf("%s was enabled and is asked by no run", refused)
		}
		moreRuns(t, b, fmt.Sprintf("enabled-%d", i), 1)
	}
}
