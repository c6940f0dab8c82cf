package demo

import (
	"fmt"
	"io"
	"math"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/onceward/onceward/cmd/onceward/internal/shape"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
)

// claims is the whole of what the story proves.
func (s *PoolStory) claims() []Claim {
	spike, between, atOnce := 0, 0, 0
	for _, a := range s.Blind.Attempts {
		switch {
		case a.Attempts == s.Resources:
			spike = a.Answered
		case a.Attempts > 1:
			between += a.Answered + a.Unanswered
		}
	}
	for _, a := range s.Onceward.Attempts {
		if a.Attempts == 1 {
			atOnce = a.Answered
		}
	}
	share := map[string]float64{}
	for _, c := range s.Caches {
		share[c.Way] = c.OfSingle
	}
	part := 1 / float64(max(s.Resources, 1))
	return []Claim{
		{"(a) more than half of the requests failed", s.Blind.FailedShare() > 0.5, requests(s.Blind)},
		{
			fmt.Sprintf("(a) every second turn took %d failures, then one success", s.Resources-1), spike == s.Blind.Runs && spike > 0 && between == 0,
			fmt.Sprintf("%d turns with %d attempts, %d with another number above 1", spike, s.Resources, between),
		},
		{"(b) all runs completed", s.Completed == s.Onceward.Runs && s.Completed > 0, fmt.Sprintf("%d of %d", s.Completed, s.Onceward.Runs)},
		{"(b) no request failed, by history and by the pool's own count", s.Onceward.Requests > 0 && s.Onceward.Failed == 0 && s.Refused == 0, fmt.Sprintf("%s; the pool refused %d", requests(s.Onceward), s.Refused)},
		{"(b) every turn took one attempt", atOnce > 0 && atOnce == 2*s.Onceward.Runs && atOnce == s.Onceward.Turns, fmt.Sprintf("%d of %d turns", atOnce, s.Onceward.Turns)},
		{"soft affinity keeps at least 95 % of a single resource's cached tokens", share[wayAffinity] >= 0.95, fmt.Sprintf("%.1f %%", 100*share[wayAffinity])},
		{
			fmt.Sprintf("round robin keeps about 1/%d of them", s.Resources), share[wayRound] > 0 && math.Abs(share[wayRound]-part) <= part/2,
			fmt.Sprintf("%.1f %%", 100*share[wayRound]),
		},
	}
}

func requests(s shape.Shape) string {
	return fmt.Sprintf("%d of %d requests failed, %.1f %%", s.Failed, s.Requests, 100*s.FailedShare())
}

// Print implements Told.
func (s *PoolStory) Print(w io.Writer) error {
	for _, part := range []struct {
		title string
		shape shape.Shape
	}{{"(a) round robin with store=true and blind retries", s.Blind}, {"(b) the same agent through Onceward", s.Onceward}} {
		if _, err := fmt.Fprintf(w, "\n%s\n", part.title); err != nil {
			return err
		}
		if err := part.shape.Print(w); err != nil {
			return err
		}
	}
	t := show.NewTable("prompt cache", "resources", "requests", "input tokens", "cached", "share", "of a single resource's")
	for _, c := range s.Caches {
		t.AppendRow(table.Row{c.Way, c.Resources, c.Requests, c.InputTokens, c.CachedTokens, fmt.Sprintf("%.1f %%", 100*c.Share), fmt.Sprintf("%.1f %%", 100*c.OfSingle)})
	}
	if _, err := fmt.Fprintf(w, "\n%s\n\nUI %s\n\n", show.Render(t), s.UI); err != nil {
		return err
	}
	return s.printClaims(w)
}
