package test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/test/harness"
)

// shortSoak is how long the soak lasts where SOAK_FOR does not say.
const shortSoak = 8 * time.Second

// TestSoak starts refund after refund while workers are killed, answers are lost
// and resources fail, all at random moments, and then counts: one refund for each
// order, no run stuck, no request that was not reserved. SOAK_FOR says for how
// long, and SOAK_SEED repeats a sequence of faults.
func TestSoak(t *testing.T) {
	t.Parallel()
	length := shortSoak
	if text := os.Getenv("SOAK_FOR"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatalf("SOAK_FOR: %v", err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("SOAK_SEED"); text != "" {
		if _, err := fmt.Sscan(text, &seed); err != nil {
			t.Fatalf("SOAK_SEED: %v", err)
		}
	}
	t.Logf("SOAK_SEED=%d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	b := harness.New(t, harness.Options{Attempts: 40, Lease: shortLease, Heartbeat: harness.SoonLost})
	b.StartMortals(1 << 16)

	orders := map[string]*harness.Run{}
	tick := time.NewTicker(400 * time.Millisecond) // the pace of the faults, not a wait for anything
	defer tick.Stop()
	for end := time.Now().Add(length); time.Now().Before(end); <-tick.C {
		order := fmt.Sprintf("%s-%d", b.Order(), len(orders))
		orders[order] = b.StartRefund(fmt.Sprint(len(orders)), order)
		switch dice.IntN(6) {
		case 0, 1:
			b.Live().Kill()
		case 2:
			must(t, b.Payments.SetFault(payments.Fault{Kind: payments.CommitThenDrop, Times: 1}))
		case 3:
			must(t, b.Payments.SetFault(payments.Fault{Kind: payments.DropBeforeCommit, Times: 1}))
		case 4:
			must(t, b.Pool.SetFaults(routertest.FailWith(503, "").For(2)))
		case 5:
			must(t, b.Pool.SetFaults(routertest.Fault{Kind: routertest.FaultCutEvents, AfterEvents: 5, Times: 1}))
		}
	}
	must(t, b.Payments.SetFault(payments.Fault{}))
	b.Pool.ClearFaults()

	reserved := 0
	for order, run := range orders {
		if result := run.Result(); result.Outcome != onceward.OutcomeCompleted || receipt(t, result).Status != onceward.StateCommitted {
			t.Errorf("%s: outcome %s (%s), actions %+v; want completed and committed", run.ID, result.Outcome, result.Reason, result.Actions)
		}
		reserved += harness.Reserved(b.Attempts(run.Chain()))
		stats, err := b.Payments.Stats()
		must(t, err)
		if n := stats.ByAction[string(harness.Action(order))]; n != 1 {
			t.Errorf("%d refunds of %s, want 1", n, order)
		}
	}
	if requests := b.Pool.Attempts(); requests > reserved {
		t.Errorf("%d requests at the resources, %d attempts reserved", requests, reserved)
	}
	t.Logf("%d runs, %d workers killed, %d requests, %d attempts reserved", len(orders), b.Deaths(), b.Pool.Attempts(), reserved)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
