package chaos

import (
	"slices"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/test/agents"
	"github.com/onceward/onceward/test/harness"
)

// judge holds what has happened against the promises. It claims nothing that a
// slow machine could make untrue.
func (w *world) judge() {
	w.t.Helper()
	chains := map[string][]harness.History{}
	for _, id := range w.workflows() {
		if _, err := w.bench.Client.DescribeWorkflow(w.bench.Context(), id, ""); err == nil {
			chains[id] = w.bench.Chain(id)
		}
	}
	truth := map[onceward.ActionID]onceward.ActionReceipt{}
	for _, r := range w.runs {
		if chains[r.action().WorkflowID()] != nil {
			truth[r.action()] = w.bench.Receipt(r.action())
		}
	}
	w.judgeActions(truth, chains)
	asks := map[string]int{} // attempts reserved, by what the runs were asked
	for _, r := range w.runs {
		w.judgeRun(r, truth)
		asks[ask(r.order)] += harness.Reserved(w.bench.Attempts(chains[r.ID]))
	}
	requests := map[string]int{}
	for _, q := range w.bench.Pool.Requests() {
		requests[q.FirstUser()]++
		if q.Outcome.Status == 400 && q.Outcome.Fault == "" {
			w.t.Errorf("request %d was refused: %s", q.Seq, q.Outcome.Error)
		}
	}
	for ask, reserved := range asks {
		if requests[ask] > reserved {
			w.t.Errorf("%q: %d requests at the resources, %d attempts reserved in history", ask, requests[ask], reserved)
		}
	}
	for _, chain := range chains {
		for _, h := range chain {
			if h.Holds(harness.Key) {
				w.t.Errorf("history of %s holds a credential", h.WorkflowID)
			}
			if err := h.Replay(); err != nil {
				w.t.Error(err)
			}
		}
	}
}

// judgeActions counts effects by action: one at most, and the ledger knows.
func (w *world) judgeActions(truth map[onceward.ActionID]onceward.ActionReceipt, chains map[string][]harness.History) {
	w.t.Helper()
	for id, receipt := range truth {
		refunds, posts := w.refunds(id), w.posts(id)
		w.t.Logf("%s: %d refunds by %d requests", status(id, receipt), refunds, len(posts))
		switch {
		case receipt.Status == onceward.StateCommitted && refunds == 0:
			w.t.Errorf("%s, and nothing was paid", status(id, receipt))
		case receipt.Status == onceward.StateRejected && refunds > 0:
			w.t.Errorf("%s, and it was paid", status(id, receipt))
		case !receipt.Status.Final():
			w.t.Errorf("%s, which is no end", status(id, receipt))
		}
		if refunds > 1 && (w.schedule.agent.keyed || w.schedule.agent.timid || !slices.ContainsFunc(posts, late)) {
			w.t.Errorf("%s: %d refunds by %+v", status(id, receipt), refunds, posts)
		}
		if n := w.commits(chains[id.WorkflowID()]); len(posts) > n {
			w.t.Errorf("%s: %d requests to refund, %d commits in history", status(id, receipt), len(posts), n)
		}
		if w.schedule.agent.timid && len(posts) > 1 {
			w.t.Errorf("%s: a tool that never sends again sent %d requests", status(id, receipt), len(posts))
		}
	}
	stats, err := w.bench.Payments.Stats()
	must(w.t, err)
	for id := range stats.ByAction {
		if _, known := truth[onceward.ActionID(id)]; !known {
			w.t.Errorf("%s was paid, and no action is in the ledger", id)
		}
	}
}

// posts are the requests to refund of an action.
func (w *world) posts(id onceward.ActionID) []post {
	w.gateway.mu.Lock()
	defer w.gateway.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.gateway.posts), func(p post) bool { return p.action != string(id) })
}

// late reports that payments may have done a request so long after its lease that
// the tool's Settle does not cover it: docs/guarantees.md calls that what is left.
func late(p post) bool { return p.ended.After(p.lease.Add(agents.Settle - lag)) }

// commits counts the commit activities of an action, those of executions that a
// reset left aside too.
func (w *world) commits(chain []harness.History) int {
	type key struct{ run, activity string }
	seen := map[key]bool{}
	name := onceward.CommitActivity(w.schedule.agent.tools, "create_refund")
	for _, h := range chain {
		for _, e := range h.Events {
			a := e.GetActivityTaskScheduledEventAttributes()
			if a.GetActivityType().GetName() != name {
				continue
			}
			var in onceward.CommitInput
			w.bench.Decode(a.GetInput(), &in)
			seen[key{in.RunID, a.GetActivityId()}] = true
		}
	}
	return len(seen)
}

// judgeRun holds one run's end against what is true of its action.
func (w *world) judgeRun(r *run, truth map[onceward.ActionID]onceward.ActionReceipt) {
	w.t.Helper()
	result := r.Result()
	w.t.Logf("%s: %s %q (%s) after %d attempts", r.ID, result.Outcome, result.Text, result.Reason, result.Use.Attempts)
	ends := map[onceward.Outcome]bool{
		onceward.OutcomeCompleted: true, onceward.OutcomeCancelled: r.cancelled, onceward.OutcomeResultDelayed: w.schedule.agent.delayed,
		// An answer that is cut at the larger limit too, everywhere, ends the run, and so
		// does a page that every resource answers it with; both say so.
		onceward.OutcomeFailed: w.cuts && result.Failure != nil && result.Failure.Class == onceward.ClassIncompleteOutput ||
			w.pages && strings.HasPrefix(result.Reason, "every resource that refused it passed a test of its own"),
		// No words switch a resource off: it takes a key that is really lost.
		onceward.OutcomeUnavailable: w.lost && strings.HasPrefix(result.Reason, "no route is left"),
	}
	if !ends[result.Outcome] {
		w.t.Errorf("%s ended as %s (%s, %v)", r.ID, result.Outcome, result.Reason, result.Failure)
	}
	for _, receipt := range result.Actions {
		if end := truth[receipt.ActionID]; receipt.Status.Final() && receipt.Status != end.Status {
			w.t.Errorf("%s says %s, and %s", r.ID, receipt.Status, status(receipt.ActionID, end))
		}
	}
	if paid := w.refunds(r.action()) > 0; strings.Contains(result.Text, "committed") && !paid {
		w.t.Errorf("%s says %q, and nothing was paid", r.ID, result.Text)
	}
	if err := harness.CheckTranscript(r.Transcript()); err != nil {
		w.t.Errorf("transcript of %s: %v", r.ID, err)
	}
}
