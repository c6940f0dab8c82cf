package workflows

import (
	"slices"
	"time"

	"github.com/onceward/onceward"
)

// suspect remembers a failure with an effect on health: what becomes of it decides
// whether a run that is left without a route was refused for its own words. since is
// when the attempt was reserved.
func (r *Run) suspect(route onceward.Route, f onceward.Failure, since time.Time) {
	switch f.StateEffect {
	case onceward.EffectBreaker, onceward.EffectDisable, onceward.EffectDeploymentDown:
	default:
		return
	}
	if f.NotSent {
		return
	}
	s := onceward.RunSuspect{
		SuspectRoute: onceward.SuspectRoute{Resource: route.Resource, Model: route.Model, Class: f.Class, Limit: route.MaxOutputTokens, Since: since},
		Judged:       onceward.JudgedSuspected, Failure: f,
	}
	i := slices.IndexFunc(r.suspects, func(old onceward.RunSuspect) bool { return old.Resource == s.Resource && old.Model == s.Model })
	if i < 0 {
		r.suspects = append(r.suspects, s)
		return
	}
	s.Failure = r.suspects[i].Failure // the first one says why the run went on
	r.suspects[i] = s
}

// unjudged are the suspects that a selection is asked about.
func (r *Run) unjudged() []onceward.SuspectRoute {
	var out []onceward.SuspectRoute
	for _, s := range r.suspects {
		if s.Judged == onceward.JudgedSuspected {
			out = append(out, s.SuspectRoute)
		}
	}
	return out
}

// judged takes in what a selection knows of the suspects. The run's own exclusions
// stay: a route that was acquitted refuses this run all the same.
func (r *Run) judged(verdicts []onceward.RouteVerdict) {
	for _, v := range verdicts {
		for i := range r.suspects {
			if s := &r.suspects[i]; s.Resource == v.Resource && s.Model == v.Model {
				s.Judged = v.Judged
			}
		}
	}
}

// Steps at which selection passes over a candidate for its health, not for what the
// run is or has done.
var healthSteps = []string{"disabled", "breaker", "throttled", "quota", "suspect", "load"}

// ownFault returns the first failure of a run that nobody but itself is to blame for
// being left without a route: each resource that it was refused by has been acquitted
// since. It returns nil where any candidate is ill, or not judged.
func (r *Run) ownFault(dropped []onceward.Dropped) *onceward.Failure {
	for _, d := range dropped {
		if slices.Contains(healthSteps, d.Step) {
			return nil
		}
	}
	var first *onceward.Failure
	for i := range r.suspects {
		s := &r.suspects[i]
		excluded := slices.ContainsFunc(dropped, func(d onceward.Dropped) bool { return d.Resource == s.Resource && d.Step == "excluded" })
		switch {
		case !excluded:
		case s.Judged != onceward.JudgedAcquitted:
			return nil
		case first == nil:
			first = &s.Failure
		}
	}
	return first
}
