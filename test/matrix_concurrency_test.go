package test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/test/harness"
)

// Forty actions want to commit at once and a worker has three slots for them. Some
// wait longer for a slot than their lease lasts; they get another one, and each is
// paid once.
func TestFortyActionsShareThreeSlots(t *testing.T) {
	t.Parallel()
	const n, slots = 40, 3
	b := harness.New(t, harness.Options{
		Lease: shortLease, MaxCommits: slots,
		Payments: payments.Config{Fault: payments.Fault{Kind: payments.CommitThenSlow, Delay: 500 * time.Millisecond}},
	})
	var now, most atomic.Int64
	b.OnBeforeCommit(func(int) {
		for in := now.Add(1); ; {
			if old := most.Load(); in <= old || most.CompareAndSwap(old, in) {
				return
			}
		}
	})
	b.OnAfterCommit(func(int) { now.Add(-1) })
	b.StartWorker(false)
	var runs []*harness.Run
	for i := range n {
		runs = append(runs, b.StartRefund(fmt.Sprint(i), fmt.Sprintf("%s-%d", b.Order(), i)))
	}
	refs := map[string]bool{}
	reserved, lost := 0, 0
	for _, run := range runs {
		result := run.Result()
		got := receipt(t, result)
		attempts := b.Attempts(run.Chain())
		reserved, lost = reserved+harness.Reserved(attempts), lost+harness.Lost(attempts)
		if result.Outcome != onceward.OutcomeCompleted || got.Status != onceward.StateCommitted {
			t.Errorf("%s: outcome %s (%s), receipt %+v; want completed with a receipt", run.ID, result.Outcome, result.Reason, got)
		}
		refs[got.Ref] = true
	}
	stats, err := b.Payments.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if stats.Refunds != n || len(refs) != n || len(b.Keys()) != n {
		t.Errorf("%d refunds, %d refs, %d requests; want %d of each", stats.Refunds, len(refs), len(b.Keys()), n)
	}
	if got := most.Load(); got > slots || got < 1 {
		t.Errorf("%d commits at once, want at most %d", got, slots)
	}
	if got := b.Pool.Attempts(); got > reserved || reserved-lost != 3*n {
		t.Errorf("%d requests to resources, %d attempts reserved, %d of them lost; want %d without those", got, reserved, lost, 3*n)
	}
}

// Two workers share the runs of a queue, and one of them is killed in the middle.
func TestTwoWorkersShareManyRunsAndOneIsKilled(t *testing.T) {
	t.Parallel()
	const n = 12
	b := harness.New(t, harness.Options{Lease: shortLease, Heartbeat: harness.SoonLost})
	var doomed *harness.Worker
	b.OnAfterCommit(func(i int) {
		if i == n/2 {
			doomed.Kill()
		}
	})
	doomed = b.StartWorker(false)
	b.Said(doomed, "worker started")
	b.Said(b.StartWorker(false), "worker started")
	var runs []*harness.Run
	for i := range n {
		runs = append(runs, b.StartRefund(fmt.Sprint(i), fmt.Sprintf("%s-%d", b.Order(), i)))
	}
	reserved := 0
	for _, run := range runs {
		result := run.Result()
		if got := receipt(t, result); result.Outcome != onceward.OutcomeCompleted || got.Status != onceward.StateCommitted {
			t.Errorf("%s: outcome %s (%s), receipt %+v; want completed", run.ID, result.Outcome, result.Reason, got)
		}
		chain := run.Chain()
		reserved += harness.Reserved(b.Attempts(chain))
		if err := harness.CheckTranscript(run.Transcript()); err != nil {
			t.Errorf("%s: %v", run.ID, err)
		}
	}
	stats, err := b.Payments.Stats()
	if err != nil {
		t.Fatal(err)
	}
	for action, refunds := range stats.ByAction {
		if refunds != 1 {
			t.Errorf("%d refunds of %s, want 1", refunds, action)
		}
	}
	if len(stats.ByAction) != n || b.Deaths() != 1 {
		t.Errorf("%d actions were paid and %d workers killed, want %d and 1", len(stats.ByAction), b.Deaths(), n)
	}
	if got := b.Pool.Attempts(); got > reserved {
		t.Errorf("%d requests to resources, %d attempts reserved", got, reserved)
	}
}
