package show

import (
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/onceward/onceward"
)

// Execution is one execution of a run's chain and its whole history.
type Execution struct {
	RunID  string
	Events []*historypb.HistoryEvent
}

// attemptKey names an attempt over resets, which copy its events.
type attemptKey struct {
	runID         string // of the execution that scheduled it
	turn, attempt int
	at            int64 // of a selection that found nothing, which carries no run id
}

type attemptEntry struct {
	Attempt
	at    time.Time
	own   bool // the outcome was recorded where the attempt was scheduled
	ended bool
	route onceward.Route
}

// chain folds the executions of a run into one ledger.
type chain struct {
	attempts map[attemptKey]*attemptEntry
	actions  []onceward.ActionID
	receipts map[onceward.ActionID]onceward.ActionReceipt // as the run itself knows them
	plan     *onceward.Plan
	started  time.Time
	waited   time.Duration
	result   *onceward.Result
	closed   string            // how the last execution ended, if it has no result
	timers   map[string]string // pending timers of the last execution and their summaries
	refused  []string          // what executions before the last refused, and how much more
	more     int
	again    again
}

// fold reads the executions, the newest last.
func fold(executions []Execution) (*chain, error) {
	c := &chain{attempts: map[attemptKey]*attemptEntry{}, receipts: map[onceward.ActionID]onceward.ActionReceipt{}}
	for _, x := range executions {
		r := reader{chain: c, execution: x, boundary: resetBoundary(x.Events), calls: map[int64]attemptKey{}, acts: map[int64]bool{}, started: map[int64]time.Time{}}
		c.result, c.closed, c.timers = nil, "", map[string]string{}
		for _, e := range x.Events {
			c.again.event(e)
			if err := r.event(e); err != nil {
				return nil, fmt.Errorf("read history of %s, event %d: %w", x.RunID, e.GetEventId(), err)
			}
		}
	}
	c.leave()
	return c, nil
}

// leave says of an attempt that was in flight when the last execution closed how
// it ended: nobody waited for its answer, and its request was cut. A run of the
// first manifest version, and one that is terminated, records no more of it.
func (c *chain) leave() {
	if c.result == nil && c.closed == "" {
		return
	}
	for _, entry := range c.attempts {
		if !entry.ended {
			class, phase := onceward.ClassCancelled, onceward.PhaseSent
			entry.Class, entry.Phase, entry.message, entry.ended = &class, &phase, "the run ended while the attempt was in flight", true
		}
	}
}

// resetBoundary is the id of the event that a reset wrote after what it copied,
// 0 for an execution that no reset made.
func resetBoundary(events []*historypb.HistoryEvent) int64 {
	for _, e := range slices.Backward(events) {
		if e.GetWorkflowTaskFailedEventAttributes().GetCause() == enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW {
			return e.GetEventId()
		}
	}
	return 0
}

// ActionIDs returns the actions that the executions propose, in order.
func ActionIDs(executions []Execution) ([]onceward.ActionID, error) {
	c, err := fold(executions)
	if err != nil {
		return nil, err
	}
	return c.actions, nil
}

func (c *chain) proposed(id onceward.ActionID) {
	if id != "" && !slices.Contains(c.actions, id) {
		c.actions = append(c.actions, id)
	}
}

func (c *chain) know(receipts ...onceward.ActionReceipt) {
	for _, r := range receipts {
		if r.ActionID == "" {
			continue
		}
		c.proposed(r.ActionID)
		c.receipts[r.ActionID] = r
	}
}

// ordered returns the attempts in order of time.
func (c *chain) ordered() []*attemptEntry {
	list := make([]*attemptEntry, 0, len(c.attempts))
	for _, a := range c.attempts {
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b *attemptEntry) int {
		if d := a.at.Compare(b.at); d != 0 {
			return d
		}
		if a.Turn != b.Turn {
			return a.Turn - b.Turn
		}
		return a.Attempt.Attempt - b.Attempt.Attempt
	})
	return list
}
