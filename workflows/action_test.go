package workflows

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/onceward/onceward"
)

// product plays commit and find of one action in skipped time. Each answers by
// its script, one entry a call and the last one for ever.
type product struct {
	commits, finds   []onceward.Receipt // the zero receipt: an error
	committed, found []time.Time        // when each call came
	reset            bool               // the guard finds that the action was reset
	resetFrom        int                // the read from which on the reads do, not the commit; 0: none
	blank            bool               // somebody completes the commit with a result that says nothing
	before           bool               // the read before the commit says what the commit would
	submitted        time.Duration      // when a model hears that it is submitted; 0: never
	early            []any              // decisions that come right before the operator's
	receipt          onceward.ActionReceipt
}

// patient lets a busy machine stop the test for a while: by itself the SDK takes a
// workflow that was not scheduled for a second for a deadlock.
func patient(env *testsuite.TestWorkflowEnvironment) {
	env.SetTestTimeout(time.Minute)
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute})
}

func script(list []onceward.Receipt, n int) (onceward.Receipt, error) {
	r := list[min(n, len(list)-1)]
	if r.Status == "" {
		if r.Reason != "" { // the product answered, by this failure
			return r, temporal.NewNonRetryableApplicationError("no answer", onceward.ErrorCommitUnclear, nil, r.Reason)
		}
		return r, temporal.NewNonRetryableApplicationError("no answer", onceward.ErrorCommitUnclear, errors.New("reset by peer"))
	}
	return r, nil
}

// play runs the Action workflow and returns its receipt; an operator ends it
// where it asks for one.
func play(t *testing.T, p *product, policy onceward.WritePolicy) onceward.ActionReceipt {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	patient(env)
	env.RegisterWorkflow(Action)
	env.RegisterActivityWithOptions(func(context.Context, onceward.CommitInput) (onceward.CommitResult, error) {
		p.committed = append(p.committed, env.Now())
		if p.reset {
			return onceward.CommitResult{NotSent: onceward.NotSentReset}, nil
		}
		if p.blank {
			return onceward.CommitResult{}, nil
		}
		r, err := script(p.commits, len(p.committed)-1)
		if p.before {
			return onceward.CommitResult{Receipt: r, VerifiedBy: onceward.VerifiedByRead}, err
		}
		return onceward.CommitResult{Receipt: r, VerifiedBy: onceward.VerifiedByResponse, Sent: true}, err
	}, activity.RegisterOptions{Name: onceward.CommitActivity("a", "t")})
	env.RegisterActivityWithOptions(func(context.Context, onceward.CommitInput) (onceward.CommitResult, error) {
		p.found = append(p.found, env.Now())
		r, err := script(p.finds, len(p.found)-1)
		if p.resetFrom > 0 && len(p.found) >= p.resetFrom {
			return onceward.CommitResult{Receipt: r, VerifiedBy: onceward.VerifiedByRead, NotSent: onceward.NotSentReset, Detail: "down"}, nil
		}
		return onceward.CommitResult{Receipt: r, VerifiedBy: onceward.VerifiedByRead}, err
	}, activity.RegisterOptions{Name: onceward.FindActivity("a", "t")})
	if p.submitted > 0 {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(onceward.SignalSubmitted, "run") }, p.submitted)
	}
	var asked onceward.ActionReceipt
	env.RegisterDelayedCallback(func() {
		value, err := env.QueryWorkflow(onceward.QueryReceipt)
		if err != nil || value.Get(&asked) != nil || !awaitsPerson(asked.Status) {
			return
		}
		for _, decision := range p.early {
			env.SignalWorkflow(onceward.UpdateResolve, decision)
		}
		env.SignalWorkflow(onceward.UpdateResolve, onceward.Resolve{Status: onceward.StatusRejected, By: "test", Version: asked.Version})
	}, 60*24*time.Hour)
	env.ExecuteWorkflow(Action, onceward.ActionInput{Act: onceward.ActInput{ActionID: "x/1", Agent: "a", Tool: "t", Digest: "d", Args: []byte(`{}`), Policy: policy}})
	var receipt onceward.ActionReceipt
	if err := env.GetWorkflowResult(&receipt); err != nil {
		t.Fatal(err)
	}
	p.receipt = receipt
	if awaitsPerson(asked.Status) {
		return asked
	}
	return receipt
}

func actionPolicy(change func(*onceward.WritePolicy)) onceward.WritePolicy {
	p := onceward.WritePolicy{Queue: "q", Lease: time.Minute, Heartbeat: time.Minute, Settle: 5 * time.Second, Skew: 2 * time.Second, KeyTTL: 24 * time.Hour, ReadHorizon: 30 * 24 * time.Hour}
	change(&p)
	return p
}

var lost, nothing = onceward.Receipt{}, onceward.Absent()

func TestEachCommitWaitsOutTheLeaseOfTheOneBefore(t *testing.T) {
	p := &product{commits: []onceward.Receipt{lost, lost, onceward.Committed("r3")}, finds: []onceward.Receipt{nothing}}
	policy := actionPolicy(func(*onceward.WritePolicy) {})
	got := play(t, p, policy)
	if got.Status != onceward.StateCommitted || got.Ref != "r3" || got.Commits != 3 {
		t.Errorf("receipt %+v, want committed as r3 after 3 commits", got)
	}
	for i := 1; i < len(p.committed); i++ {
		if gap := p.committed[i].Sub(p.committed[i-1]); gap < policy.Lease+policy.Settle+policy.Skew {
			t.Errorf("commit %d came %s after the one before, whose lease, settling and skew are %s", i+1, gap, policy.Lease+policy.Settle+policy.Skew)
		}
	}
}

func TestEffectOfASecondCommitIsFoundBeforeAThird(t *testing.T) {
	// Nothing is found until well into the second lease, then the effect is.
	finds := []onceward.Receipt{}
	for range 12 {
		finds = append(finds, nothing)
	}
	p := &product{commits: []onceward.Receipt{lost}, finds: append(finds, onceward.Committed("r2"))}
	got := play(t, p, actionPolicy(func(*onceward.WritePolicy) {}))
	if got.Status != onceward.StateCommitted || got.VerifiedBy != onceward.VerifiedByRead || len(p.committed) != 2 {
		t.Errorf("receipt %+v after %d commits, want what the read found after 2", got, len(p.committed))
	}
}

// The execution before the reset may have a commit in flight, so a read that
// finds nothing proves nothing until that one's lease, settling and skew are over.
func TestResetActionReadsUntilNoEarlierCommitCanLand(t *testing.T) {
	policy := actionPolicy(func(*onceward.WritePolicy) {})
	p := &product{reset: true, finds: []onceward.Receipt{nothing}}
	got := play(t, p, policy)
	if got.Status != onceward.StateAwaitingOperator || got.Commits != 0 || len(p.committed) != 1 {
		t.Errorf("receipt %+v after %d tries, want that a person is asked after one", got, len(p.committed))
	}
	if last := p.found[len(p.found)-1].Sub(p.committed[0]); last < policy.Lease+policy.Settle+policy.Skew {
		t.Errorf("the last read came %s after the reset, and a commit can land until %s after it", last, policy.Lease+policy.Settle+policy.Skew)
	}
	p = &product{reset: true, finds: []onceward.Receipt{nothing, nothing, nothing, onceward.Committed("r1")}}
	if got := play(t, p, policy); got.Status != onceward.StateCommitted || got.Ref != "r1" || got.VerifiedBy != onceward.VerifiedByRead {
		t.Errorf("receipt %+v, want what the fourth read found", got)
	}
}

// A reset to after the first commit was recorded replays it; only the reads are
// carried out anew and can tell.
func TestResetThatOnlyTheReadsNoticeIsWaitedOutToo(t *testing.T) {
	policy := actionPolicy(func(*onceward.WritePolicy) {})
	for name, finds := range map[string][]onceward.Receipt{"reads that find nothing": {nothing}, "reads that fail": {lost}} {
		for _, noticed := range []int{1, 5} {
			p := &product{commits: []onceward.Receipt{lost}, resetFrom: noticed, finds: finds}
			got := play(t, p, policy)
			if got.Status != onceward.StateAwaitingOperator || len(p.committed) != 1 {
				t.Errorf("%s: receipt %+v after %d commits, want that a person is asked after one", name, got, len(p.committed))
			}
			if last := p.found[len(p.found)-1].Sub(p.found[noticed-1]); last < policy.Lease+policy.Settle+policy.Skew {
				t.Errorf("%s: the last read came %s after read %d, and a commit can land until %s after it", name, last, noticed, policy.Lease+policy.Settle+policy.Skew)
			}
		}
	}
}

func TestCommitThatSomebodyCompletedWithNothingIsUnclear(t *testing.T) {
	p := &product{blank: true, finds: []onceward.Receipt{nothing, onceward.Committed("r1")}}
	if got := play(t, p, actionPolicy(func(*onceward.WritePolicy) {})); got.Status != onceward.StateCommitted || got.Ref != "r1" || got.Commits != 1 || len(p.committed) != 1 {
		t.Errorf("receipt %+v after %d commits, want what the second read found after one", got, len(p.committed))
	}
}

func TestKeyIsNotUsedWhenTheProductHasForgottenIt(t *testing.T) {
	p := &product{commits: []onceward.Receipt{lost}, finds: []onceward.Receipt{nothing}}
	policy := actionPolicy(func(p *onceward.WritePolicy) { p.Settle, p.Keyed, p.KeyTTL = 0, true, 150*time.Second })
	got := play(t, p, policy)
	if got.Status != onceward.StateAwaitingOperator {
		t.Errorf("receipt %+v, want that a person is asked", got)
	}
	for i, at := range p.committed {
		if age := at.Add(policy.Lease).Sub(p.committed[0]); age > policy.KeyTTL {
			t.Errorf("commit %d may be sent %s after the first, the key is remembered for %s", i+1, age, policy.KeyTTL)
		}
	}
}

func TestAcceptedIsAskedForDaysWithoutFillingTheHistory(t *testing.T) {
	p := &product{commits: []onceward.Receipt{onceward.Accepted("p1")}, finds: []onceward.Receipt{onceward.Accepted("p1")}}
	got := play(t, p, actionPolicy(func(*onceward.WritePolicy) {}))
	if got.Status != onceward.StateAwaitingOperator {
		t.Errorf("receipt %+v, want that a person is asked when the read's horizon has passed", got)
	}
	if n := len(p.found); n > 1500 {
		t.Errorf("%d reads in 30 days: at 11 events each they would fill the history", n)
	}
}

func TestAcceptedIsNoReceiptUntilTheProductSaysSo(t *testing.T) {
	p := &product{commits: []onceward.Receipt{onceward.Accepted("p1")}, finds: []onceward.Receipt{onceward.Accepted("p1"), onceward.Accepted("p1"), onceward.Committed("r1")}}
	got := play(t, p, actionPolicy(func(*onceward.WritePolicy) {}))
	if got.Status != onceward.StateCommitted || got.Ref != "r1" || got.VerifiedBy != onceward.VerifiedByRead || len(p.found) != 3 || len(p.committed) != 1 {
		t.Errorf("receipt %+v after %d reads and %d commits, want r1 by the third read", got, len(p.found), len(p.committed))
	}
}
