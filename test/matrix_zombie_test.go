package test

import (
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/test/harness"
)

// zombie is a worker that is stopped, not killed, with a commit in its hands, and
// goes on when its lease is over.
type zombie struct {
	workflow string // "": the refund sample
	payments payments.Config
	flag     string
	// alone: no other worker takes over meanwhile.
	alone bool
	// wake says when it goes on; nil: when another worker has paid.
	wake func(b *harness.Bench, wake func())
	// decide: the action awaits an operator before the zombie wakes.
	decide bool
	want   harness.Want
	expect func(*testing.T, *harness.Bench, onceward.Result, []harness.History)
}

// whenTheLeaseIsOver wakes at the first read after the end of the zombie's lease,
// which is while the action still waits for Settle to pass. That read finds
// nothing; the next one waits until the zombie has paid, as slow as it may be.
func whenTheLeaseIsOver(b *harness.Bench, wake func()) {
	var mu sync.Mutex
	var begin time.Time
	woken := false
	b.OnRead(func(n int) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case n == 1: // the zombie's own read, which comes after the lease began
			begin = time.Now()
		case woken:
			_, _ = b.Payments.WaitCommitted(b.Context(), 1) // else the count of refunds says it
		case time.Since(begin) > shortLease:
			woken = true
			wake()
		}
	})
}

// A worker is stopped before the guard, or between the guard and the request, and
// wakes up late. Before the guard nothing is sent late. Between guard and request
// nobody can keep the bytes back; what holds then is the product's key or a Settle
// as long as the product may take, and where there is neither, a person decides.
func TestWorkerIsStoppedWithACommitInItsHands(t *testing.T) {
	rows := map[string]zombie{
		"before the guard, and another worker pays: nothing is sent late": {flag: "--stop-at=commit_start", want: paid(),
			expect: expect(onceward.StateCommitted, onceward.VerifiedByResponse, 2)},
		"before the guard, and no other worker is there: it is sent under a new lease": {flag: "--stop-at=commit_start", alone: true, want: paid(),
			expect: expect(onceward.StateCommitted, onceward.VerifiedByResponse, 2)},
		"after the guard, above SendOnce: it looks at the clock and sends nothing late": {flag: "--stop-sending=above", want: paid(),
			expect: expect(onceward.StateCommitted, onceward.VerifiedByResponse, 2)},
		"after the guard, with the bytes on their way: a product with keys pays once": {workflow: "KeyedWorkflow", flag: "--stop-sending=below",
			payments: payments.Config{Dedupe: true}, want: paid(twoPosts)},
		"after the guard, with the bytes on their way: a Settle that covers it finds them": {workflow: "PatientWorkflow", flag: "--stop-sending=below",
			wake: whenTheLeaseIsOver, want: paid(), expect: expect(onceward.StateCommitted, onceward.VerifiedByRead, 1)},
		"after the guard, with the bytes on their way: with neither a person decides": {workflow: "UnsettledWorkflow", flag: "--stop-sending=below",
			decide: true, want: paid(), expect: expect(onceward.StateCommitted, onceward.VerifiedByOperator, 1)},
		// The residual, said plainly: longer asleep than Settle, and no key.
		"after the guard, with the bytes on their way: past a Settle that is too short it is paid twice": {flag: "--stop-sending=below",
			want: paid(twoPosts, func(w *harness.Want) { w.Refunds = 2 })},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := harness.New(t, harness.Options{Lease: shortLease, Heartbeat: harness.SoonLost, Payments: row.payments})
			var sleeper *harness.Worker
			var once sync.Once
			awake := make(chan struct{})
			wake := func() { once.Do(func() { sleeper.Continue(); close(awake) }) }
			switch {
			case row.wake != nil:
				row.wake(b, wake)
			case !row.alone && !row.decide:
				b.OnAfterCommit(first(wake))
			}
			sleeper = b.StartWorker(false, row.flag)
			order := b.Order()
			id := harness.Action(order)
			if row.workflow == "" {
				row.workflow = "RefundWorkflow"
			}
			run := b.Start("run", row.workflow, "Please refund "+order+".")
			b.Scheduled(id.WorkflowID(), commitOf(row.workflow), 1)
			b.AwaitStopped(sleeper) // else a worker that takes over might take the commit itself
			if row.alone {
				over := time.NewTimer(shortLease + harness.Skew)
				<-over.C
				wake()
			} else {
				b.StartWorker(false)
			}
			if row.decide {
				waiting := awaitsOperator(b, id)
				wake()
				if _, err := b.Payments.WaitCommitted(b.Context(), 1); err != nil {
					t.Fatal(err)
				}
				resolve(t, b, id, onceward.Resolve{Status: onceward.StatusCommitted, Ref: "rf-000001", By: "ops", Version: waiting.Version})
			}
			run.Result()
			select {
			case <-awake:
			case <-b.Context().Done():
				t.Fatal("the worker never woke up")
			}
			if !row.alone {
				if err := sleeper.Stop(); err != nil { // returns when its commit has ended, whatever it did
					t.Errorf("the worker that slept ended with %v", err)
				}
			}
			result, chain := b.Check(run, order, row.want)
			if row.expect != nil {
				row.expect(t, b, result, chain)
			}
		})
	}
}

// commitOf is the commit activity of the workflow's agent.
func commitOf(workflow string) string {
	agent := map[string]string{"RefundWorkflow": "refunds", "KeyedWorkflow": "keyed", "PatientWorkflow": "patient", "UnsettledWorkflow": "unsettled"}
	return onceward.CommitActivity(agent[workflow], "create_refund")
}
