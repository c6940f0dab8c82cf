package demo

import (
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
)

// told is the report of a story that went as it is told.
func told() show.Report {
	outcome, class, phase := onceward.OutcomeCompleted, onceward.ClassNetwork, onceward.PhaseStream
	r := show.Report{
		Outcome:  &outcome,
		Attempts: []show.Attempt{{Turn: 1, Attempt: 1}, {Turn: 2, Attempt: 1}, {Turn: 3, Attempt: 1, Class: &class, Phase: &phase}, {Turn: 3, Attempt: 2}},
		Actions:  []show.Action{{Status: onceward.StateCommitted, Commits: 1, Reconciled: 1}},
	}
	r.Budget.Attempts.Used = 4
	return r
}

func TestEachClaimCanBreak(t *testing.T) {
	t.Parallel()
	failed, dana := onceward.OutcomeFailed, "dana"
	for name, c := range map[string]struct {
		change            func(r *show.Report)
		refunds, requests int
		killed            bool
		broken            int // claims
	}{
		"the story as it is told":         {refunds: 1, requests: 4, killed: true},
		"no kill":                         {refunds: 1, requests: 4, broken: 1},
		"no cut":                          {func(r *show.Report) { r.Attempts = r.Attempts[:2] }, 1, 4, true, 1},
		"another outcome":                 {func(r *show.Report) { r.Outcome = &failed }, 1, 4, true, 1},
		"no outcome":                      {func(r *show.Report) { r.Outcome = nil }, 1, 4, true, 1},
		"two refunds":                     {refunds: 2, requests: 4, killed: true, broken: 1},
		"no refund":                       {requests: 4, killed: true, broken: 1},
		"two commits":                     {func(r *show.Report) { r.Actions[0].Commits = 2 }, 1, 4, true, 1},
		"no read":                         {func(r *show.Report) { r.Actions[0].Reconciled = 0 }, 1, 4, true, 1},
		"an operator":                     {func(r *show.Report) { r.Actions[0].ResolvedBy = &dana }, 1, 4, true, 1},
		"a request that was not reserved": {refunds: 1, requests: 5, killed: true, broken: 1},
		"a pool that nobody has asked":    {refunds: 1, killed: true, broken: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := told()
			if c.change != nil {
				c.change(&r)
			}
			broken := 0
			for _, claim := range refundClaims(r, c.refunds, c.requests, c.killed) {
				if !claim.Holds {
					broken++
				}
			}
			if broken != c.broken {
				t.Errorf("%d claims are broken, want %d", broken, c.broken)
			}
		})
	}
}
