package demo

import (
	"fmt"
	"io"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
)

// check counts in the product and in the pool what the run says of itself.
func (s *RefundStory) check() error {
	stats, err := s.stack.Payments.Stats()
	if err != nil {
		return fmt.Errorf("count refunds: %w", err)
	}
	s.Refunds, s.Requests = stats.Refunds, s.stack.Pool.Attempts()
	killed := false
	select {
	case <-s.worker.killed:
		killed = true
	default:
	}
	s.claim(refundClaims(s.Run, s.Refunds, s.Requests, killed))
	return nil
}

// refundClaims is the whole of what the story proves.
func refundClaims(run show.Report, refunds, requests int, killed bool) []Claim {
	cut, operator, receipt := 0, 0, "none"
	for _, a := range run.Attempts {
		if a.Class != nil && a.Phase != nil && *a.Phase == onceward.PhaseStream {
			cut++
		}
	}
	for _, a := range run.Actions {
		if a.ResolvedBy != nil {
			operator++
		}
		receipt = fmt.Sprintf("%s after %d commits and %d reads", a.Status, a.Commits, a.Reconciled)
	}
	used := run.Budget.Attempts.Used
	return []Claim{
		{"the worker was killed between the payment and its answer", killed, fmt.Sprintf("killed: %t", killed)},
		{"a model stream was cut in the middle and its attempt is on record", cut == 1, fmt.Sprintf("%d cut attempts", cut)},
		{"the run completed", completed(run), "outcome " + outcome(run)},
		{"exactly one refund is in the product's database", refunds == 1, fmt.Sprintf("%d refunds", refunds)},
		{"one commit was made, and a read found it", len(run.Actions) == 1 && run.Actions[0].Status == onceward.StateCommitted &&
			run.Actions[0].Commits == 1 && run.Actions[0].Reconciled >= 1, "receipt " + receipt},
		{"no operator was needed", operator == 0, fmt.Sprintf("%d decisions", operator)},
		{"requests to resources are not more than attempts reserved", requests > 0 && requests <= used, fmt.Sprintf("%d requests, %d attempts", requests, used)},
	}
}

// Print implements Told.
func (s *RefundStory) Print(w io.Writer) error {
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	if err := show.Print(w, s.Run); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "\nrefunds in the database %d · requests to the pool %d · UI %s\n\n", s.Refunds, s.Requests, s.UI); err != nil {
		return err
	}
	return s.printClaims(w)
}
