package onceward

import (
	"fmt"
	"slices"
	"strings"
)

// Dropped is a candidate that selection passed over.
type Dropped struct {
	Resource string `json:"resource"`
	Model    string `json:"model,omitempty"`
	Step     string `json:"step"`
	Reason   string `json:"reason"`
	// Causes are the classes of failure that it was dropped for, each enough by
	// itself. Empty: there is no class for it, or an older release wrote it down.
	Causes []Class `json:"causes,omitempty"`
	// Needed and Available are input tokens, where these are a cause.
	Needed    int `json:"needed,omitempty"`
	Available int `json:"available,omitempty"`
}

// Steps at which selection passes over what the run could never have used.
const (
	stepSubset = "subset"
	stepOwner  = "owner"
)

// aside reports what is no candidate of the run: a resource outside its task's, or
// that does not own its state, and a model that nobody serves.
func (d Dropped) aside() bool {
	return len(d.Causes) == 0 && (d.Step == stepSubset || d.Step == stepOwner) || d.Resource == ""
}

// NoRoute returns the failure of a selection that dropped these and found nothing.
// Its class is the cause that all candidates have in common; without one it is
// no_route, and the message says what there was. It is a pure function of what was
// recorded, so that a run says the same of itself on every replay.
func NoRoute(dropped []Dropped) *Failure {
	candidates := slices.DeleteFunc(slices.Clone(dropped), Dropped.aside)
	if len(candidates) == 0 { // nobody serves the models, or none of the task's resources does
		candidates = slices.DeleteFunc(slices.Clone(dropped), func(d Dropped) bool { return d.Resource != "" })
	}
	class := shared(candidates)
	needed, available := tokens(candidates)
	why := "no candidate passed selection"
	switch {
	case class == ClassContextLength && needed > 0:
		why = fmt.Sprintf("needs %d input tokens, and no candidate takes more than %d", needed, available)
	case class != ClassNoRoute:
		first := candidates[0]
		why = fmt.Sprintf("every candidate was dropped for it, first %s/%s: %s", first.Resource, first.Model, first.Reason)
	case len(candidates) > 0:
		why += ": " + summary(candidates)
	}
	f := NewFailure(class, PhasePrepare, why)
	f.NotSent, f.Retryable, f.FallbackEligible = true, false, false // there is nobody else to ask
	f.Scope, f.StateEffect, f.Repair = ScopeFleet, EffectNone, RepairNone
	if class == ClassContextLength {
		f.Needed, f.Available = needed, available
	}
	return f
}

// shared returns the first cause that all candidates have.
func shared(candidates []Dropped) Class {
	if len(candidates) == 0 {
		return ClassNoRoute
	}
	for _, class := range candidates[0].Causes {
		if !slices.ContainsFunc(candidates, func(d Dropped) bool { return !slices.Contains(d.Causes, class) }) {
			return class
		}
	}
	return ClassNoRoute
}

// tokens returns how many input tokens the request needs, and the most that a
// candidate takes which takes too few.
func tokens(candidates []Dropped) (needed, available int) {
	for _, d := range candidates {
		needed, available = max(needed, d.Needed), max(available, d.Available)
	}
	return needed, available
}

// summary counts candidates by their causes, in the order in which these came.
func summary(candidates []Dropped) string {
	var names []string
	count := map[string]int{}
	for _, d := range candidates {
		name := d.Step
		if len(d.Causes) > 0 {
			name = string(d.Causes[0])
		}
		if count[name]++; count[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", count[name], name)
	}
	return strings.Join(names, ", ")
}
