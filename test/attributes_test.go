package test

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/test/harness"
)

// An operator finds runs by what they are, how they ended and what they cost.
func TestRunsAreFoundByTheirSearchAttributes(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{})
	held := newGate(t)
	b.OnBeforeCommit(held.hold)
	b.StartWorker(false)
	order := b.Order()
	run := b.StartRefund("run", order)
	held.await(t, b)
	harness.Until(b, run.ID, onceward.QueryStatus, "a pending action", func(s onceward.Status) bool { return len(s.Actions) == 1 })
	held.release()
	result := run.Result()
	got := b.Attributes(run.ID)
	for name, want := range map[string]string{
		onceward.AttributeAgent: `"refunds"`, onceward.AttributeStatus: `"closed"`, onceward.AttributeOutcome: `"completed"`, onceward.AttributeAttempts: `3`,
	} {
		if got[name] != want {
			t.Errorf("%s is %s, want %s", name, got[name], want)
		}
	}
	if got[onceward.AttributeResource] == "" || got[onceward.AttributeCostUSD] == "" || got[onceward.AttributeCostUSD] == "0" {
		t.Errorf("resource %s and cost %s, want both", got[onceward.AttributeResource], got[onceward.AttributeCostUSD])
	}
	if pending := got[onceward.AttributePendingActions]; strings.Contains(pending, order) {
		t.Errorf("a closed run lists %s as pending (%+v)", pending, result.Actions)
	}
}

// A namespace that nobody set up has no such attributes. Runs go on without.
func TestRunsGoOnInANamespaceWithoutSearchAttributes(t *testing.T) {
	t.Parallel()
	server, err := harness.Server{NoAttributes: true}.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	b := harness.New(t, harness.Options{Server: server})
	w := b.StartWorker(false)
	b.Said(w, "search attributes are missing")
	order := b.Order()
	b.Check(b.StartRefund("run", order), order, paid())
}
