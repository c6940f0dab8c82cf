package show

import (
	historypb "go.temporal.io/api/history/v1"

	"github.com/onceward/onceward"
)

// effect names a commit or a read over resets, which copy its events word for word.
type effect struct {
	runID string // of the execution that scheduled it; a find carries none
	event int64
	at    int64
}

func effectOf(in onceward.CommitInput, scheduled *historypb.HistoryEvent) effect {
	return effect{in.RunID, scheduled.GetEventId(), scheduled.GetEventTime().AsTime().UnixNano()}
}

// effects counts over the executions of an action what each of them knows only of
// itself.
type effects struct {
	commits, reads map[effect]bool
	// What a resolve-only execution was told of those before it.
	carriedCommits, carriedReads int
}

func newEffects() *effects {
	return &effects{commits: map[effect]bool{}, reads: map[effect]bool{}}
}

func (m *effects) carried(in onceward.ActionInput) {
	m.carriedCommits, m.carriedReads = max(m.carriedCommits, in.Commits), max(m.carriedReads, in.Reconciled)
}

// count puts the counts into a receipt. A receipt that knows of more keeps that:
// executions of which it knows may be past their retention.
func (m *effects) count(r onceward.ActionReceipt) onceward.ActionReceipt {
	r.Commits = max(r.Commits, len(m.commits), m.carriedCommits)
	r.Reconciled = max(r.Reconciled, len(m.reads), m.carriedReads)
	return r
}
