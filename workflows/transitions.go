package workflows

import (
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

// Transition is one arrow of an action's state machine.
type Transition struct {
	From, To onceward.ActionState
	When     string
}

// Transitions is the whole state machine of an action; docs/states.md is drawn
// from it.
var Transitions = []Transition{
	{onceward.StateProposed, onceward.StateCommitting, "the first commit is scheduled"},
	{onceward.StateCommitting, onceward.StateCommitting, "nothing was sent: the guard or the read before it stopped the commit, or no worker took it"},
	{onceward.StateCommitting, onceward.StateCommitted, "the product said so, or the read before the commit found it"},
	{onceward.StateCommitting, onceward.StateRejected, "the product refused it"},
	{onceward.StateCommitting, onceward.StateAccepted, "the product took it and has not finished"},
	{onceward.StateCommitting, onceward.StateReconciling, "the commit may have been sent and nobody knows, or the action was reset"},
	{onceward.StateCommitting, onceward.StateAwaitingOperator, "the answer is a conflict, its read keeps failing, a person has to approve it and nobody was asked, or the product has forgotten the key; in histories made before version reset-reads-first also when the action was reset"},
	{onceward.StateReconciling, onceward.StateCommitted, "the read found it"},
	{onceward.StateReconciling, onceward.StateRejected, "the read found the refusal"},
	{onceward.StateReconciling, onceward.StateAccepted, "the read found it pending"},
	{onceward.StateReconciling, onceward.StateCommitting, "absent is authoritative and the tool allows another commit"},
	{onceward.StateReconciling, onceward.StateAwaitingOperator, "the read cannot tell or finds a conflict, or finds nothing and the action was reset, the key is forgotten or holds a failure"},
	{onceward.StateAccepted, onceward.StateCommitted, "the read found it"},
	{onceward.StateAccepted, onceward.StateRejected, "the read found the refusal"},
	{onceward.StateAccepted, onceward.StateReversed, "the read finds the refusal, and a model has heard that it is submitted"},
	{onceward.StateAccepted, onceward.StateAwaitingOperator, "the read no longer finds it or finds a conflict, or its horizon passed"},
	{onceward.StateAwaitingOperator, onceward.StateCommitting, "people approved what nobody was asked about, and of which nothing was sent"},
	{onceward.StateAwaitingOperator, onceward.StateCommitted, "an operator decided"},
	{onceward.StateAwaitingOperator, onceward.StateRejected, "an operator decided"},
	{onceward.StateReversed, onceward.StateCommitted, "an operator decided"},
	{onceward.StateReversed, onceward.StateRejected, "an operator decided"},
	{onceward.StateProposed, onceward.StateReversed, "a run that only records that a committed effect failed after all"},
	{onceward.StateProposed, onceward.StateCommitted, "a resolve-only run records an operator's decision"},
	{onceward.StateProposed, onceward.StateRejected, "a resolve-only run records an operator's decision"},
}

// Allowed reports whether the machine has an arrow from one state to another.
func Allowed(from, to onceward.ActionState) bool {
	for _, t := range Transitions {
		if t.From == from && t.To == to {
			return true
		}
	}
	return false
}

const (
	// maxCommits bounds how often an action is committed again after a read that
	// found nothing: a product that keeps losing commits needs a person.
	maxCommits = 5
	// maxReadFailures bounds how long a failing read is asked before a person is.
	maxReadFailures = 5
	// maxPreReads bounds the reads before a commit that fail in a row.
	maxPreReads = 8
	// lastRead bounds the back-off between two reads.
	lastRead = 30 * time.Second
	// slowestCommit bounds the back-off between two commits of which nothing was sent.
	slowestCommit = 5 * time.Minute
)

// Facts is what the decision after a reconciliation read rests on.
type Facts struct {
	Policy      onceward.WritePolicy
	State       onceward.ActionState // reconciling or accepted
	ReadAt      time.Time            // when the read began
	NotAfter    time.Time            // end of the last commit's lease
	FirstCommit time.Time            // when the first commit was scheduled
	Commits     int
	Reads       int    // of this reconciliation, this one included
	FailedReads int    // in a row, this one included
	Reset       bool   // the action was reset: it never commits again
	Submitted   bool   // a model has heard that it is submitted
	Stored      bool   // the last two commits were answered by one and the same failure
	Conflict    string // of a read of this reconciliation; "": none
}

// absentFrom is when a read that finds nothing begins to mean that there is
// nothing: no earlier commit can still be running or be on its way to the read.
func (f Facts) absentFrom() time.Time {
	return f.NotAfter.Add(f.Policy.Settle + f.Policy.Skew)
}

// forgotten reports that a commit may not be sent again by its key when the first
// one is of this age: one that is scheduled now may still be sent when its lease
// ends by a slow clock, and the product must know the key then. Settle changes
// nothing about it: it is a promise about reads, and the key is there for when a
// read or a request is later than anybody declared.
func forgotten(p onceward.WritePolicy, age time.Duration) bool {
	return p.Keyed && age+p.Lease+p.Skew > p.KeyTTL
}

// conflicts is why a person is asked about a conflict.
func conflicts(reason string) string { return "neither made nor refused: " + reason }

// AfterRead decides what an action does after a reconciliation read: its next
// state, why, and how long to wait before the next read if it stays. failed
// means that the read itself failed.
func AfterRead(f Facts, status onceward.ReceiptStatus, failed bool) (onceward.ActionState, string, time.Duration) {
	age := f.ReadAt.Sub(f.FirstCommit)
	pause := min(firstAsk<<min(max(f.Reads-1, 0), 10), lastRead)
	settled := !f.ReadAt.Before(f.absentFrom())
	switch {
	case failed && settled && f.FailedReads >= maxReadFailures:
		return onceward.StateAwaitingOperator, fmt.Sprintf("the reconciliation read failed %d times in a row", f.FailedReads), 0
	case failed:
		return f.State, "the reconciliation read failed", pause
	case f.Conflict != "" && settled: // whatever later reads say: it may be of other content
		return onceward.StateAwaitingOperator, f.Conflict, 0
	case f.Conflict != "": // an earlier commit may still land, and overtake whoever decides now
		return f.State, f.Conflict, min(pause, f.absentFrom().Sub(f.ReadAt))
	case status == onceward.StatusCommitted:
		return onceward.StateCommitted, "", 0
	case status == onceward.StatusRejected && f.State == onceward.StateAccepted && f.Submitted:
		return onceward.StateReversed, "", 0
	case status == onceward.StatusRejected:
		return onceward.StateRejected, "", 0
	case age > f.Policy.ReadHorizon && settled:
		return onceward.StateAwaitingOperator, fmt.Sprintf("the read sees back %s and the commit is %s old", f.Policy.ReadHorizon, age.Round(time.Second)), 0
	case status == onceward.StatusAccepted: // for days, perhaps: the pauses grow, or reads would fill the history
		return onceward.StateAccepted, "", stretched(pause, age)
	case status != onceward.StatusAbsent && settled:
		return onceward.StateAwaitingOperator, fmt.Sprintf("the read answered %q", status), 0
	case !settled:
		return f.State, "nothing found yet", min(pause, f.absentFrom().Sub(f.ReadAt))
	case f.Reset:
		return onceward.StateAwaitingOperator, "the action was reset: it never commits again, and its read found nothing", 0
	case f.State == onceward.StateAccepted:
		return onceward.StateAwaitingOperator, "the product had accepted it and the read no longer finds it", 0
	case f.Policy.Settle <= 0 && !f.Policy.Keyed:
		return onceward.StateAwaitingOperator, "the read finds nothing, and the tool declares neither Settle nor Keyed, so that proves nothing", 0
	case forgotten(f.Policy, age):
		return onceward.StateAwaitingOperator, fmt.Sprintf("the product remembers a key for %s and the commit is %s old", f.Policy.KeyTTL, age.Round(time.Second)), 0
	case f.Policy.Keyed && f.Stored:
		return onceward.StateAwaitingOperator, "two commits under one key were answered by the same failure, which the product may have stored under it", 0
	case f.Commits >= maxCommits:
		return onceward.StateAwaitingOperator, fmt.Sprintf("%d commits left no trace", f.Commits), 0
	}
	return onceward.StateCommitting, "the read is authoritative and finds nothing", 0
}
