package test

import (
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/test/harness"
)

// fault is one row: what goes wrong, and what is counted from outside when the
// run has ended. Every row is a whole run of the refund agent.
type fault struct {
	options harness.Options
	worker  []string             // flags of the first worker
	arm     func(*harness.Bench) // before the first worker is started
	want    harness.Want
	check   func(*testing.T, *harness.Bench, onceward.Result, []harness.History)
}

func (f fault) run(t *testing.T) {
	t.Parallel()
	b := harness.New(t, f.options)
	if f.arm != nil {
		f.arm(b)
	}
	b.StartWorker(true, f.worker...)
	order := b.Order()
	result, chain := b.Check(b.StartRefund("run", order), order, f.want)
	if f.check != nil {
		f.check(t, b, result, chain)
	}
}

// killOnCommit kills the worker while payments holds its n-th request back.
func killBeforeCommit(b *harness.Bench) {
	b.OnBeforeCommit(func(n int) {
		if n == 1 {
			b.Live().Kill()
		}
	})
}

func killAfterCommit(b *harness.Bench) {
	b.OnAfterCommit(func(n int) {
		if n == 1 {
			b.Live().Kill()
		}
	})
}

var once = harness.Want{Outcome: onceward.OutcomeCompleted, Refunds: 1, Posts: 1, Text: "status committed"}

func with(want harness.Want, change func(*harness.Want)) harness.Want {
	change(&want)
	return want
}

func TestRefundIsPaidOnce(t *testing.T) {
	died := with(once, func(w *harness.Want) { w.Deaths = 1 })
	for name, f := range map[string]fault{
		"without a fault": {want: once},
		"worker killed while the commit is at the product": {arm: killBeforeCommit, want: died},
		"worker killed when the product has paid":          {arm: killAfterCommit, want: died},
	} {
		t.Run(name, f.run)
	}
}
