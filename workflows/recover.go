package workflows

import (
	"slices"
	"time"

	"github.com/onceward/onceward"
)

// Step is what a run does after a failed attempt.
type Step string

// The steps.
const (
	StepNext   Step = "next"   // select again: another route, or the same where the failure allows it
	StepRepair Step = "repair" // once a turn: the same turn with a changed request
	StepStop   Step = "stop"   // the failure is final
)

// maxNotSent bounds the attempts of a turn that ended before anything was sent.
// They cost no budget, so something else has to end them.
const maxNotSent = 20

// Situation is all that the decision after a failure rests on.
type Situation struct {
	Failure   onceward.Failure
	Committed bool              // the run has committed a side effect
	Pinned    bool              // the run needs state that lives on one resource
	Repairs   []onceward.Repair // already tried in this turn
	NotSent   int               // attempts of this turn that sent nothing, this one included
}

// Decide chooses the step after a failed attempt and says why. It is the one
// owner of retries, and it rests on the Failure alone:
//
//	nothing produced            replay
//	partial text                discarded with the attempt, so replay
//	a read tool before it       its recorded result is in the transcript
//	a write before it           its receipt is in the transcript
//	an unclear write before it  reconciled by its Action before the turn began
//	provider-side state         not portable: stop
func Decide(s Situation) (Step, string) {
	f := s.Failure
	rule := f.Class.Rule()
	switch {
	case f.NotSent && s.NotSent >= maxNotSent:
		return StepStop, "nothing could be sent, again and again"
	case f.NotSent:
		return StepNext, "nothing was sent"
	case s.Pinned && (f.Class == onceward.ClassStaleAnchor || f.Class == onceward.ClassResourceAffinity):
		return StepStop, "not portable: the state the run was started with is gone"
	case f.ProviderStateCreated:
		return StepStop, "the resource may hold this attempt already, and asking again could add it twice"
	case f.Repair != onceward.RepairNone && !tried(s.Repairs, f.Repair):
		return StepRepair, string(f.Repair)
	case f.Class == onceward.ClassUnknown && (s.Committed || s.Pinned):
		return StepStop, "an unknown failure after a committed side effect, or with state on the resource"
	case f.Class == onceward.ClassDeadlineExceeded:
		return StepNext, "the run's own clock decides"
	case f.Class == onceward.ClassIncompleteOutput && s.Pinned:
		return StepStop, "the answer was cut again at a larger limit"
	case f.Class == onceward.ClassIncompleteOutput:
		return StepNext, "cut again at a larger limit: another resource may come to an end"
	case rule.Final:
		return StepStop, "every resource would say the same"
	case f.FallbackEligible:
		return StepNext, "another resource may serve it"
	case f.Retryable:
		return StepNext, "the same resource may serve it later"
	}
	return StepStop, "neither another resource nor a retry can help"
}

// tried reports whether a repair has been made. Reasoning that is left out takes
// every id along.
func tried(repairs []onceward.Repair, repair onceward.Repair) bool {
	return slices.Contains(repairs, repair) || repair == onceward.RepairStripIDs && slices.Contains(repairs, onceward.RepairStripReasoning)
}

// lasting reports whether a repair is about items that stay in the transcript:
// what a resource could not take of them in this turn, it cannot in the next.
func lasting(repair onceward.Repair) bool {
	return repair == onceward.RepairStripReasoning || repair == onceward.RepairStripIDs
}

// stepPrice is the step at which selection drops what the run cannot pay for.
const stepPrice = "price"

// unaffordable returns why a selection that found nothing is the budget's doing:
// a route was there, the run had no money for it, and no other comes back in
// time. That is not a pool without routes, and no degraded end can help.
func unaffordable(d onceward.Decision, deadline time.Time) string {
	if !d.RetryAt.IsZero() && d.RetryAt.Before(deadline) {
		return ""
	}
	for _, c := range d.Dropped {
		if c.Step == stepPrice {
			return "cost_usd: " + c.Resource + "/" + c.Model + " " + c.Reason
		}
	}
	return ""
}

// Windows of the run's own exclusions.
const (
	firstBackoff = 500 * time.Millisecond
	lastBackoff  = 15 * time.Second
	maxWindow    = 5 * time.Minute // a longer Retry-After is probed once after this
)

// Exclude returns how the run passes over the route of a failed attempt. again
// counts this turn's failures of the same resource, this one included. A pinned
// run has nowhere else to go: it asks its owner at ever longer intervals, or its
// attempts would be used up in a minute.
func Exclude(route onceward.Route, f onceward.Failure, turn, again int, pinned bool, now time.Time) (onceward.ExcludedRoute, bool) {
	rule := f.Class.Rule()
	out := onceward.ExcludedRoute{Resource: route.Resource, Model: route.Model, Class: f.Class, Turn: turn}
	if f.NotSent && f.Class != onceward.ClassUnsupportedCapability { // that one would be refused before sending again and again
		return out, false
	}
	if f.Scope == onceward.ScopeResource || f.Scope == onceward.ScopeAccount || f.Scope == onceward.ScopeEgress {
		out.Model = "" // the fault is not the model's: its other deployments share it
	}
	switch rule.Exclude {
	case onceward.ExcludeRun:
		return out, true
	case onceward.ExcludeTurn:
		out.Soft = true
		longest := lastBackoff
		if pinned {
			longest = maxWindow
		}
		pause := min(firstBackoff<<min(again-1, 10), longest)
		if f.StateEffect == onceward.EffectThrottle {
			pause = max(pause, rule.Window)
		}
		out.Until = now.Add(min(max(pause, f.RetryAfter), maxWindow))
		return out, true
	case onceward.ExcludeNever:
		return out, false
	default:
		return out, false
	}
}
