package test

import (
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
	b := harness.New(t, harness.Options{})
	var sleeper *harness.Worker
	b.OnRead(first(func() {
		sleeper = b.Live()
		sleeper.Suspend()
		b.StartWorker(false)
	}))
	b.OnAfterCommit(first(func() { sleeper.Continue() }))
	b.StartWorker(false)
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
			b.StartWorker(false)
		},
		want: paid(died),
		check: func(t *testing.T, b *harness.Bench, _ onceward.Result, chain []harness.History) {
			if attempts := b.Attempts(chain); len(attempts) > 4 {
				t.Errorf("%d attempts, want at most 4", len(attempts))
			}
		},
	}.run(t)
}
