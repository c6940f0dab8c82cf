package activities

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func TestRepetitionIsToldWithItsTimeByTheRunThatMadeIt(t *testing.T) {
	at := time.Date(2026, 11, 29, 22, 23, 34, 5e8, time.FixedZone("", 3600))
	made := onceward.ActionReceipt{Status: onceward.StateCommitted, Ref: "r1", Run: "w", RunID: "one", At: at}
	change := func(f func(*onceward.ActionReceipt)) onceward.ActionReceipt {
		r := made
		f(&r)
		return r
	}
	const when = "2026-11-29T21:23:34Z"
	for name, c := range map[string]struct {
		receipt onceward.ActionReceipt
		in      onceward.ActInput
		want    told
	}{
		"E38 the run that made it":                                {made, onceward.ActInput{Run: "w", RunID: "one"}, told{Status: "committed", Ref: "r1"}},
		"E38 the same run again":                                  {made, onceward.ActInput{Run: "w", RunID: "one", Repeated: true}, told{Status: "already_committed", Ref: "r1", At: when}},
		"E38 a later run with the same workflow id":               {made, onceward.ActInput{Run: "w", RunID: "two"}, told{Status: "already_committed", Ref: "r1", At: when}},
		"E38 another run":                                         {made, onceward.ActInput{Run: "v", RunID: "three"}, told{Status: "already_committed", Ref: "r1", At: when}},
		"E38 a receipt of an earlier build, the same workflow id": {change(func(r *onceward.ActionReceipt) { r.RunID = "" }), onceward.ActInput{Run: "w", RunID: "two"}, told{Status: "committed", Ref: "r1"}},
		"E38 a proposal of an earlier build":                      {made, onceward.ActInput{Run: "w"}, told{Status: "committed", Ref: "r1"}},
		"E38 a refusal is told as it was":                         {change(func(r *onceward.ActionReceipt) { r.Status, r.Ref, r.Reason = onceward.StateRejected, "", "no" }), onceward.ActInput{Run: "w", RunID: "two"}, told{Status: "rejected", Reason: "no"}},
		"E37 what the product has accepted is submitted":          {change(func(r *onceward.ActionReceipt) { r.Status = onceward.StateAccepted }), onceward.ActInput{Run: "w", RunID: "one"}, told{Status: "submitted", Ref: "r1", Reason: "the product has taken it and has not finished; it goes on by itself"}},
	} {
		if got := tell(c.receipt, c.in); got != c.want {
			t.Errorf("%s: told %+v, want %+v", name, got, c.want)
		}
	}
}
