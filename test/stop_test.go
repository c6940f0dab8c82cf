package test

import (
	"fmt"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/test/harness"
)

// A worker that was suspended between its read and its commit wakes up when its
// lease is over and another worker has paid. It holds a truthful "absent" that is
// no longer true, so only the guard keeps it from paying again.
func TestWorkerThatSleptThroughItsLeaseNeverPays(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{Lease: shortLease, Heartbeat: harness.SoonLost})
	sleeper := b.StartWorker(false)
	b.OnRead(first(func() {
		b.Suspend(sleeper)
		b.StartWorker(false)
	}))
	b.OnAfterCommit(first(func() { sleeper.Continue() }))
	order := b.Order()
	run := b.StartRefund("run", order)
	if got := receipt(t, run.Result()); got.Status != onceward.StateCommitted {
		t.Errorf("receipt %+v, want committed", got)
	}
	if err := sleeper.Stop(); err != nil { // returns when its commit has ended, whatever it did
		t.Errorf("the worker that slept ended with %v", err)
	}
	b.Check(run, order, paid())
}

// A graceful stop waits for the commit and the stream in flight: nothing is lost
// and nothing has to be reconciled.
func TestGracefulStopCutsNothing(t *testing.T) {
	table(t, map[string]fault{
		"with a commit at the product: it ends and is recorded": {
			arm: func(b *harness.Bench) {
				b.OnBeforeCommit(first(func() { stopLive(b) }))
			},
			want: paid(), check: expect(onceward.StateCommitted, onceward.VerifiedByResponse, 1)},
		"in the middle of a stream: the answer is used": {
			arm: func(b *harness.Bench) {
				b.Pool.OnEvent(func(r routertest.Request, e routertest.Event) {
					if r.Seq == 2 && e.N == 5 {
						stopLive(b)
					}
				})
			},
			want: paid(),
			check: func(t *testing.T, b *harness.Bench, _ onceward.Result, _ []harness.History) {
				if n := b.Pool.Attempts(); n != 3 {
					t.Errorf("%d requests, want 3: the stream was cut and asked again", n)
				}
			}},
	})
}

// stopLive asks the worker to stop, and goes on when it has stopped polling: the
// next worker has then taken over.
func stopLive(b *harness.Bench) {
	old := b.Live()
	b.StartWorker(false)
	old.Terminate()
	b.Said(old, "worker stops polling")
}

// Two workers find the same lost attempt: one of them goes on.
func TestTwoWorkersRecoverOneRun(t *testing.T) {
	fault{
		worker: []string{"--kill-at=call_done:2"},
		during: func(_ *testing.T, b *harness.Bench, _ *harness.Run, _ string) {
			b.AwaitDeath() // the supervisor starts one worker, and here is another
			b.StartWorker(false)
		},
		want: paid(died),
		check: func(t *testing.T, b *harness.Bench, _ onceward.Result, chain []harness.History) {
			if attempts := b.Attempts(chain); len(attempts)-harness.Lost(attempts) != 3 {
				t.Errorf("%d attempts and %d of them lost, want 3 without those", len(attempts), harness.Lost(attempts))
			}
		},
	}.run(t)
}

// A worker that slept through a model attempt wakes up when another worker has
// asked again. Its request was reserved, so it may be sent; nothing else may.
func TestWorkerThatSleptThroughAnAttemptStaysWithinTheBudget(t *testing.T) {
	t.Parallel()
	// Short, because a commit may be given to a poll of the worker that sleeps.
	b := harness.New(t, harness.Options{Lease: shortLease, Heartbeat: harness.SoonLost})
	sleeper := b.StartWorker(false, "--stop-at=call_start:2")
	order := b.Order()
	run := b.StartRefund("run", order)
	b.AwaitStopped(sleeper)
	b.StartWorker(false)
	result := run.Result()
	sleeper.Continue()
	if err := sleeper.Stop(); err != nil {
		t.Errorf("the worker that slept ended with %v", err)
	}
	_, chain := b.Check(run, order, paid())
	if lost := harness.Lost(b.Attempts(chain)); lost < 1 || result.Use.Attempts != 3+lost {
		t.Errorf("%d attempts and %d lost, want three turns and what was lost, one at least", result.Use.Attempts, lost)
	}
}

// With room for one run in memory every task of another run throws it out. What
// a run has used and what it knows must not depend on that.
func TestRunsThatAreEvictedAllTheTimeKeepTheirBudgetAndLedger(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{StickyCache: 1})
	b.StartWorker(false)
	const n = 8
	var runs []*harness.Run
	for i := range n {
		runs = append(runs, b.StartRefund(fmt.Sprint(i), fmt.Sprintf("%s-%d", b.Order(), i)))
	}
	for _, run := range runs {
		result := run.Result()
		if result.Outcome != onceward.OutcomeCompleted || result.Use.Attempts != 3 || result.Use.Reserved != 0 || receipt(t, result).Commits != 1 {
			t.Errorf("%s: outcome %s, use %+v, actions %+v; want completed with 3 attempts and 1 commit", run.ID, result.Outcome, result.Use, result.Actions)
		}
		for _, h := range run.Chain() {
			if err := h.Replay(); err != nil {
				t.Error(err)
			}
		}
	}
	if got := b.Pool.Attempts(); got != 3*n {
		t.Errorf("%d requests, want %d", got, 3*n)
	}
}
