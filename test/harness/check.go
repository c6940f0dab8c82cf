package harness

import (
	"strings"

	"github.com/onceward/onceward"
)

// Want is what a test demands of a run that has ended.
type Want struct {
	Outcome onceward.Outcome
	Refunds int    // of the order, in the database of payments
	Posts   int    // requests to refund that payments received
	Deaths  int    // workers that were killed; it proves that the fault happened
	Text    string // part of the result's text
	// Orders are those that were each refunded once, where a run is about
	// several; Refunds is then their number.
	Orders []string
	Reset  bool // the budget's use is then of the last execution, not of the chain
	// NotSent is how many attempts of the chain ended before anything was sent;
	// -1 allows any number.
	NotSent int
}

// Check waits for the run's end and counts from outside. It returns the result
// and the chain for what a test asks beyond that.
func (b *Bench) Check(run *Run, order string, want Want) (onceward.Result, []History) {
	b.t.Helper()
	result := run.Result()
	chain := run.Chain()
	if result.Outcome != want.Outcome {
		b.t.Errorf("outcome %s (%s, %v), want %s", result.Outcome, result.Reason, result.Failure, want.Outcome)
	}
	if !strings.Contains(result.Text, want.Text) {
		b.t.Errorf("text %q, want %q in it", result.Text, want.Text)
	}
	b.checkEffects(order, want)
	b.checkAttempts(chain, result, want)
	if err := CheckTranscript(run.Transcript()); err != nil {
		b.t.Errorf("transcript: %v", err)
	}
	for _, action := range result.Actions {
		if action.DeniedBy != "" { // it was never started
			continue
		}
		chain = append(chain, b.Chain(action.ActionID.WorkflowID())...)
	}
	for _, h := range chain {
		if h.Holds(Key) {
			b.t.Errorf("history of %s holds a credential", h.WorkflowID)
		}
		if err := h.Replay(); err != nil {
			b.t.Error(err)
		}
	}
	return result, chain
}

// checkEffects counts refunds and requests at payments, and killed workers.
func (b *Bench) checkEffects(order string, want Want) {
	b.t.Helper()
	stats, err := b.Payments.Stats()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, one := range want.Orders {
		if got := stats.ByAction[string(Action(one))]; got != 1 {
			b.t.Errorf("%d refunds of %s, want 1", got, one)
		}
	}
	if got := stats.ByAction[string(Action(order))]; want.Orders == nil && got != want.Refunds {
		b.t.Errorf("%d refunds of %s, want %d", got, order, want.Refunds)
	}
	if stats.Refunds != want.Refunds {
		b.t.Errorf("%d refunds in all, want %d", stats.Refunds, want.Refunds)
	}
	if posts, err := b.Payments.WaitReceived(b.Context(), 0); err != nil || posts != want.Posts {
		b.t.Errorf("payments received %d requests to refund (%v), want %d", posts, err, want.Posts)
	}
	if got := b.Deaths(); got != want.Deaths {
		b.t.Errorf("%d workers were killed, want %d", got, want.Deaths)
	}
}

// checkAttempts compares requests on the wire with reservations in history.
func (b *Bench) checkAttempts(chain []History, result onceward.Result, want Want) {
	b.t.Helper()
	attempts := b.Attempts(chain)
	reserved, requests := Reserved(attempts), b.Pool.Attempts()
	if requests > reserved {
		b.t.Errorf("%d requests at the resources, %d attempts reserved in history", requests, reserved)
	}
	if requests == 0 && reserved > 0 {
		b.t.Errorf("no request reached a resource, %d attempts were reserved", reserved)
	}
	if !want.Reset && result.Use.Attempts != reserved {
		b.t.Errorf("the result says %d attempts, history %d", result.Use.Attempts, reserved)
	}
	if got := len(attempts) - reserved; want.NotSent >= 0 && got != want.NotSent {
		b.t.Errorf("%d attempts were not sent, want %d", got, want.NotSent)
	}
	var cost onceward.MicroUSD
	for _, a := range attempts {
		if a.Input.Route.Resource == "" || a.Input.Route.Reason == "" {
			b.t.Errorf("attempt %d of turn %d has no route or no reason in history", a.Input.Attempt, a.Input.Turn)
		}
		switch {
		case a.Settled != nil:
			cost += a.Settled.Cost
		case !a.NotSent():
			cost += a.Input.Route.Ceiling // lost with its worker: the reservation is what is known
		}
	}
	if !want.Reset && result.Use.Spent != cost {
		b.t.Errorf("the result says %d micro-dollars spent, the attempts in history %d", result.Use.Spent, cost)
	}
}
