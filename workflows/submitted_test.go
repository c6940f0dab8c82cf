package workflows

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func TestE37WhatIsRefusedAfterItWasSubmittedIsReversed(t *testing.T) {
	refused := onceward.Rejected("the bank sent it back")
	for name, c := range map[string]struct {
		submitted time.Duration
		last      onceward.Receipt
		want      onceward.ActionState
	}{
		"E37 nobody has heard of it: an ordinary refusal":             {0, refused, onceward.StateRejected},
		"E37 a model has heard submitted: a person decides":           {2 * time.Second, refused, onceward.StateReversed},
		"E37 a model has heard submitted and it is made: all is well": {2 * time.Second, onceward.Committed("r1"), onceward.StateCommitted},
		"E37 a model has heard submitted and it vanishes":             {2 * time.Second, nothing, onceward.StateAwaitingOperator},
	} {
		t.Run(name, func(t *testing.T) {
			p := &product{commits: []onceward.Receipt{onceward.Accepted("p1")}, submitted: c.submitted,
				finds: []onceward.Receipt{onceward.Accepted("p1"), onceward.Accepted("p1"), onceward.Accepted("p1"), onceward.Accepted("p1"), c.last}}
			got := play(t, p, actionPolicy(func(*onceward.WritePolicy) {}))
			if got.Status != c.want || len(p.committed) != 1 {
				t.Errorf("receipt %+v after %d commits, want %s after 1", got, len(p.committed), c.want)
			}
			if reversed := got.Reversal != nil; reversed != (c.want == onceward.StateReversed) || reversed && (got.Ref != "p1" || got.Reversal.Reason != refused.Reason) {
				t.Errorf("receipt %+v with the reversal %+v", got, got.Reversal)
			}
		})
	}
}
