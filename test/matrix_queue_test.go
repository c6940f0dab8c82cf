package test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/test/harness"
)

// A worker is asked to stop while two runs are in a stream, two commits are at
// payments, two in the read before the commit, and all of them wait in Act.
func TestGracefulStopUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	const each = 2
	b := harness.New(t, harness.Options{})
	streams, commits, reads := newCrowd(t, each), newCrowd(t, each), newCrowd(t, each)
	b.OnBeforeCommit(func(n int) {
		if n <= each {
			commits.hold()
		}
	})
	b.StartWorker(false)
	old := b.Live()
	var runs []*harness.Run
	start := func() {
		for range each {
			runs = append(runs, b.StartRefund(fmt.Sprint(len(runs)), fmt.Sprintf("%s-%d", b.Order(), len(runs))))
		}
	}
	start()
	commits.await(t, b) // these are in Act, with their commits at payments
	b.SetOnRead(func(int) { reads.hold() })
	start()
	reads.await(t, b)
	b.SetOnRead(nil)
	b.Pool.OnEvent(func(_ routertest.Request, e routertest.Event) {
		if e.N == 3 {
			streams.hold()
		}
	})
	start()
	streams.await(t, b)

	b.StartWorker(false)
	old.Terminate()
	b.Said(old, "worker stops polling")
	for _, c := range []*crowd{streams, reads, commits} {
		c.release()
	}
	if err := old.Stop(); err != nil {
		t.Errorf("the worker ended with %v", err)
	}
	total := 0
	for _, run := range runs {
		result := run.Result()
		got := receipt(t, result)
		if result.Outcome != onceward.OutcomeCompleted || got.Status != onceward.StateCommitted || got.Commits != 1 || got.VerifiedBy != onceward.VerifiedByResponse {
			t.Errorf("%s: outcome %s (%s), receipt %+v; want completed with one commit, by the response", run.ID, result.Outcome, result.Reason, got)
		}
		attempts := b.Attempts(run.Chain())
		for _, a := range attempts {
			if a.Lost || a.Failure != nil && !a.Failure.NotSent {
				t.Errorf("%s: turn %d, attempt %d ended with %v, lost %v; want nothing cut", run.ID, a.Input.Turn, a.Input.Attempt, a.Failure, a.Lost)
			}
		}
		if n := harness.Reserved(attempts); n != 3 || result.Use.Attempts != n {
			t.Errorf("%s: %d attempts in history, %d in the result, want 3: what was not sent does not count", run.ID, n, result.Use.Attempts)
		}
		total += harness.Reserved(attempts)
	}
	if n := b.Pool.Attempts(); n != total {
		t.Errorf("%d requests at the resources, %d attempts reserved", n, total)
	}
	if posts := len(b.Keys()); posts != len(runs) {
		t.Errorf("%d requests to refund, want %d", posts, len(runs))
	}
}

// crowd holds so many back until the test lets them go, and later ones not at all.
type crowd struct {
	mu      sync.Mutex
	missing int
	full    chan struct{}
	open    chan struct{}
	once    sync.Once
}

func newCrowd(t *testing.T, n int) *crowd {
	c := &crowd{missing: n, full: make(chan struct{}), open: make(chan struct{})}
	t.Cleanup(c.release)
	return c
}

func (c *crowd) hold() {
	c.mu.Lock()
	c.missing--
	left := c.missing
	c.mu.Unlock()
	if left < 0 {
		return
	}
	if left == 0 {
		close(c.full)
	}
	<-c.open
}

func (c *crowd) release() { c.once.Do(func() { close(c.open) }) }

func (c *crowd) await(t *testing.T, b *harness.Bench) {
	t.Helper()
	select {
	case <-c.full:
	case <-b.Context().Done():
		t.Fatal("not all came that should")
	}
}

// What a worker lacks is waited for: the run says so where it can, nothing is
// lost, and the worker that has it goes on.
func TestWhatNoWorkerHasIsWaitedFor(t *testing.T) {
	rows := map[string]struct {
		flags []string
		waits func(*testing.T, *harness.Bench, *harness.Run, onceward.ActionID)
	}{
		"the workflow": {flags: []string{"--without=workflow"}, waits: func(t *testing.T, b *harness.Bench, run *harness.Run, _ onceward.ActionID) {
			b.Said(b.Live(), "unable to find workflow type: RefundWorkflow")
		}},
		"the agent": {flags: []string{"--without=agent"}, waits: func(t *testing.T, b *harness.Bench, run *harness.Run, _ onceward.ActionID) {
			harness.Until(b, run.ID, onceward.QueryStatus, "waits for the agent", func(s onceward.Status) bool {
				return strings.Contains(s.Waiting, `a worker that has the agent "refunds"`)
			})
		}},
		"the queue of the actions": {flags: []string{"--deaf=-actions"}, waits: func(t *testing.T, b *harness.Bench, run *harness.Run, id onceward.ActionID) {
			harness.Until(b, id.WorkflowID(), onceward.QueryReceipt, "that nobody polls", func(r onceward.ActionReceipt) bool {
				return strings.Contains(r.Reason, "is a worker polling the actions queue?") && r.Status == onceward.StateCommitting && r.Commits == 0
			})
			harness.Until(b, run.ID, onceward.QueryStatus, "waits for the receipt", func(s onceward.Status) bool {
				return strings.HasPrefix(s.Waiting, "the receipt of "+string(id)) && s.Status == onceward.StatusRunning
			})
		}},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := harness.New(t, harness.Options{Lease: shortLease})
			lacking := b.StartWorker(false, row.flags...)
			order := b.Order()
			run := b.StartRefund("run", order)
			row.waits(t, b, run, harness.Action(order))
			b.StartWorker(false)
			if err := lacking.Stop(); err != nil {
				t.Errorf("the worker ended with %v", err)
			}
			result, _ := b.Check(run, order, paid())
			expect(onceward.StateCommitted, onceward.VerifiedByResponse, 1)(t, b, result, nil)
		})
	}
}

// In the middle of a deploy the one worker that is left does not have the agent of
// a run in flight. What it takes is not sent and not counted, and the run goes on
// with the first worker that has the agent, though the other one stays.
func TestRunMeetsAWorkerWithoutItsAgent(t *testing.T) {
	rows := map[string]struct {
		hold  func(*harness.Bench, *gate)
		waits func(*harness.Bench, *harness.Run, onceward.ActionID)
	}{
		"before a read": {
			hold: func(b *harness.Bench, g *gate) { b.Pool.OnRequest(func(r harness.Request) { g.hold(r.Seq) }) },
			waits: func(b *harness.Bench, run *harness.Run, _ onceward.ActionID) {
				harness.Until(b, run.ID, onceward.QueryStatus, "waits for the tool", func(s onceward.Status) bool {
					return strings.Contains(s.Waiting, "a worker that has the tool get_order")
				})
			}},
		"before a commit": {
			hold: func(b *harness.Bench, g *gate) { b.Pool.OnRequest(func(r harness.Request) { g.hold(r.Seq - 1) }) },
			waits: func(b *harness.Bench, _ *harness.Run, id onceward.ActionID) {
				harness.Until(b, id.WorkflowID(), onceward.QueryReceipt, "that the tool is missing", func(r onceward.ActionReceipt) bool {
					return strings.Contains(r.Reason, "the worker does not have the tool") && r.Commits == 0
				})
			}},
		"before an attempt": {
			hold: func(b *harness.Bench, g *gate) { b.OnBeforeCommit(g.hold) },
			waits: func(b *harness.Bench, run *harness.Run, _ onceward.ActionID) {
				harness.Until(b, run.ID, onceward.QueryAttempts, "an attempt that was not sent", func(list []onceward.AttemptRecord) bool {
					return slices.ContainsFunc(list, func(a onceward.AttemptRecord) bool { return a.Failure != nil && a.Failure.NotSent })
				})
			}},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := harness.New(t, harness.Options{})
			held := newGate(t)
			row.hold(b, held)
			old := b.StartWorker(false)
			order := b.Order()
			run := b.StartRefund("run", order)
			held.await(t, b)
			b.Said(b.StartWorker(false, "--without=agent"), "worker started")
			old.Terminate()
			b.Said(old, "worker stops polling")
			held.release()
			row.waits(b, run, harness.Action(order))
			b.StartWorker(false)
			result, _ := b.Check(run, order, paid(func(w *harness.Want) { w.NotSent = -1 }))
			expect(onceward.StateCommitted, onceward.VerifiedByResponse, 1)(t, b, result, nil)
			if result.Use.Attempts != 3 {
				t.Errorf("%d attempts used, want 3: what was not sent does not count", result.Use.Attempts)
			}
		})
	}
}

// A release with other instructions, another budget and another price takes over
// a run in flight. The run keeps what it was opened with, and each attempt names
// it by digest.
func TestRunKeepsItsManifestOverARelease(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{})
	held := newGate(t)
	b.Pool.OnRequest(func(r harness.Request) {
		if r.Seq == 2 {
			held.hold(1)
		}
	})
	old := b.StartWorker(false)
	order := b.Order()
	run := b.StartRefund("run", order)
	held.await(t, b)
	next := b.OtherConfig(func(text string) string {
		return strings.NewReplacer("release: test", "release: next", "attempts: 12", "attempts: 1", "lease: 1m0s", "lease: 50s").Replace(text)
	})
	const others = "Never refund anything."
	flags := []string{"--config=" + next, "--instructions=" + others}
	b.Said(b.StartWorker(false, flags...), "worker started")
	old.Terminate()
	b.Said(old, "worker stops polling")
	held.release()
	if err := old.Stop(); err != nil {
		t.Errorf("the worker ended with %v", err)
	}
	_, chain := b.Check(run, order, paid(func(w *harness.Want) { w.NotSent = -1 }))
	manifest := run.Transcript()[0]
	for _, want := range []string{`"release":"test"`, `"attempts":12`} {
		if !strings.Contains(string(manifest.Raw), want) {
			t.Errorf("the manifest does not hold %s", want)
		}
	}
	for _, a := range b.Attempts(chain) {
		if a.Input.Manifest != manifest.Digest {
			t.Errorf("turn %d, attempt %d names the manifest %s, want %s", a.Input.Turn, a.Input.Attempt, a.Input.Manifest, manifest.Digest)
		}
	}
	requests := b.Pool.Requests()
	if last := requests[len(requests)-1]; strings.Contains(string(last.Raw), others) {
		t.Error("a run in flight was told the instructions of the next release")
	}
	var input onceward.ActionInput
	b.Input(harness.Action(order).WorkflowID(), &input)
	if input.Act.Policy.Lease != harness.Lease {
		t.Errorf("the action has a lease of %s, want that of the manifest, %s", input.Act.Policy.Lease, harness.Lease)
	}
	// A run that begins now gets what is new, which shows that the release is another.
	fresh := b.StartRefund("fresh", order+"-2")
	if result := fresh.Result(); result.Outcome != onceward.OutcomeBudgetExhausted {
		t.Errorf("a new run ended as %s (%s), want budget_exhausted after its one attempt", result.Outcome, result.Reason)
	}
	requests = b.Pool.Requests()
	if last := requests[len(requests)-1]; !strings.Contains(string(last.Raw), others) {
		t.Error("a new run was not told the new instructions")
	}
}
