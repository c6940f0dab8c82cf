package route

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/health"
	"github.com/onceward/onceward/router/wire"
)

// The policies for reasoning items of another encryption boundary.
const (
	CrossStrip = "strip" // leave them out, once, and say so
	CrossWait  = "wait"  // wait for a resource of their boundary
	CrossFail  = "fail"  // no route
)

// The steps of a selection, in their order.
const (
	StepSubset       = "subset"
	StepOwner        = "owner"
	StepBoundary     = "boundary"
	StepRequirements = "requirements"
	StepPrice        = "price"
	StepExcluded     = "excluded"
	StepDisabled     = "disabled"
	StepBreaker      = "breaker"
	StepThrottled    = "throttled"
	StepQuota        = "quota"
	StepSuspect      = "suspect"
	StepLoad         = "load"
)

// passed is a candidate that no step dropped, with its price for this request.
type passed struct {
	*Candidate
	ceiling onceward.MicroUSD
	output  int
	strip   bool
	suspect *health.Suspect // nil: none
}

// selection is one run of the steps.
type selection struct {
	req     *onceward.RouteRequest
	now     time.Time // of this process, for health
	runNow  time.Time // of the run, for its own exclusions
	input   int
	soft    bool // candidates that failed in this turn may be used again
	dropped []onceward.Dropped
	again   time.Time
	all     []*Candidate // of the model
	doubts  bool         // a candidate has a past
	doubted bool         // every candidate left is suspect
	spared  int          // candidates that only their soft exclusion dropped
}

// Select chooses a route at now. It takes the candidates of the first model
// that has any left; resources that failed in this turn are asked again only
// when nothing else is left in any model.
func (t *Table) Select(req *onceward.RouteRequest, now time.Time) onceward.Decision {
	s := selection{req: req, now: now, runNow: req.Now}
	if s.runNow.IsZero() {
		s.runNow = now
	}
	s.input = req.Requirements.InputTokens
	if req.Bytes > 0 {
		s.input = max(s.input, wire.EstimateTokens(req.Bytes))
	}
	var room [16]passed
	for _, s.soft = range [...]bool{false, true} {
		if s.soft {
			if s.spared == 0 {
				break
			}
			s.dropped, s.again = nil, time.Time{} // the second pass says it all again
		}
		for _, model := range req.Models {
			all := t.byModel[model]
			if len(all) == 0 {
				s.drop(onceward.Dropped{Model: model, Step: StepRequirements, Reason: "no resource of the pool serves this model", Causes: because(onceward.ClassModelUnavailable)}, time.Time{})
				continue
			}
			s.all = all
			left := room[:0]
			for _, c := range all {
				if p, ok := s.pass(c); ok {
					left = append(left, p)
				}
			}
			left, busy := s.unsuspected(left)
			if best, why := s.best(t.affinity, left); best != nil {
				return onceward.Decision{Route: s.route(best, why), Dropped: s.dropped}
			}
			if busy {
				return onceward.Decision{Dropped: s.dropped, RetryAt: s.again}
			}
		}
	}
	return onceward.Decision{Dropped: s.dropped, RetryAt: s.again}
}

// lookAgain is when a run looks again that was passed over for a suspicion.
const lookAgain = 2 * time.Second

// maxReason bounds a reason in bytes: a decision is part of the run's history.
const maxReason = 200

func (s *selection) drop(d onceward.Dropped, again time.Time) {
	if len(d.Reason) > maxReason {
		d.Reason = strings.ToValidUTF8(d.Reason[:maxReason], "")
	}
	s.dropped = append(s.dropped, d)
	if !again.IsZero() && (s.again.IsZero() || again.Before(s.again)) {
		s.again = again
	}
}

// pass puts one candidate through the steps up to quota.
func (s *selection) pass(c *Candidate) (passed, bool) {
	req := s.req
	no := func(step, reason string, causes ...onceward.Class) (passed, bool) {
		s.drop(onceward.Dropped{Resource: c.Name, Model: c.Model, Step: step, Reason: reason, Causes: causes}, time.Time{})
		return passed{}, false
	}
	if len(req.Resources) > 0 && !slices.Contains(req.Resources, c.Name) {
		return no(StepSubset, "not in the task's resources")
	}
	if req.Owner != "" && req.Owner != c.Name {
		if !slices.ContainsFunc(s.all, func(other *Candidate) bool { return other.Name == req.Owner }) {
			return no(StepOwner, "state lives on "+req.Owner+", and no resource with this model has that name")
		}
		return no(StepOwner, "state lives on "+req.Owner)
	}
	for _, boundary := range req.Sealed {
		if boundary != c.Boundary {
			return no(StepOwner, "a compaction item of "+boundary+" cannot be read here and is never left out", onceward.ClassResourceAffinity)
		}
	}
	p := passed{Candidate: c, output: req.Requirements.OutputTokens}
	if len(req.Boundaries) > 0 {
		inside := slices.Contains(req.Boundaries, c.Boundary)
		p.strip = !inside || len(req.Boundaries) > 1
		if !inside && req.CrossBoundary != CrossStrip && req.CrossBoundary != "" {
			return no(StepBoundary, "reasoning of "+strings.Join(req.Boundaries, ", ")+" cannot be read here and may not be left out", onceward.ClassUndecryptableReasoning)
		}
	}
	if req.Repair == onceward.RepairStripReasoning && len(req.Boundaries) > 0 {
		p.strip = true
	}
	if !met(&req.Requirements, s.input, p.output, &c.Capability, c.Region, c.SafetyPolicy) {
		r := req.Requirements
		r.InputTokens = s.input
		s.drop(unmet(r, c), time.Time{})
		return passed{}, false
	}
	if p.output == 0 {
		p.output = c.Capability.MaxOutputTokens
	}
	p.output = OutputTokens(p.output, req.Repair, c.Capability)
	p.ceiling = c.Price.Ceiling(s.input, p.output)
	if reason := s.tooDear(p.ceiling); reason != "" {
		return no(StepPrice, reason)
	}
	if !s.included(c) || !s.healthy(c, p.output) {
		return passed{}, false
	}
	if c.Health.Suspicion.Active() {
		look := c.Health.Suspicion.Look(s.now)
		p.suspect, s.doubts = &look, true
	}
	return p, true
}

func (s *selection) tooDear(ceiling onceward.MicroUSD) string {
	req := s.req
	switch {
	case req.AttemptCost == 0 && req.Remaining == 0: // the caller keeps no budget
		return ""
	case req.AttemptCost > 0 && ceiling > req.AttemptCost:
		return fmt.Sprintf("may cost %.6f USD, an attempt at most %.6f", ceiling.USD(), req.AttemptCost.USD())
	case ceiling > req.Remaining:
		return fmt.Sprintf("may cost %.6f USD, %.6f left", ceiling.USD(), req.Remaining.USD())
	}
	return ""
}

// included applies the run's own exclusions.
func (s *selection) included(c *Candidate) bool {
	for i := range s.req.Excluded {
		e := &s.req.Excluded[i]
		if e.Resource != c.Name || e.Model != "" && e.Model != c.Model {
			continue
		}
		switch {
		case e.Soft && e.Turn == s.req.Turn && e.Class == onceward.ClassIncompleteOutput: // it runs away, at a larger limit too
			s.drop(excluded(c, e, "in this turn after "+string(e.Class)), time.Time{})
			return false
		case e.Until.After(s.runNow):
			s.drop(excluded(c, e, "by this run after "+string(e.Class)+", until "+clock(e.Until)), e.Until)
			return false
		case e.Soft:
			if e.Turn == s.req.Turn && !s.soft {
				s.spared++
				s.drop(excluded(c, e, "in this turn after "+string(e.Class)), time.Time{})
				return false
			}
		case e.Until.IsZero():
			s.drop(excluded(c, e, "in this run after "+string(e.Class)), time.Time{})
			return false
		}
	}
	return true
}

// healthy applies what this process knows of the resource and the pair.
func (s *selection) healthy(c *Candidate, output int) bool {
	no := func(step, reason string, again time.Time, cause onceward.Class) bool {
		s.drop(onceward.Dropped{Resource: c.Name, Model: c.Model, Step: step, Reason: reason, Causes: because(cause)}, again)
		return false
	}
	rh, ph, at := c.Resource.Health, c.Health, s.now.UnixNano()
	d := rh.Switch.Off(s.now)
	if d == nil {
		d = ph.Switch.Off(s.now)
	}
	if d != nil {
		return no(StepDisabled, "since "+clock(d.Since)+": "+d.Reason, d.Until, d.Class)
	}
	if ok, again := ph.Breaker.Peek(at); !ok {
		ph.Wanted.Store(at)
		return no(StepBreaker, ph.Breaker.State(at)+", again at "+clock(time.Unix(0, again)), time.Unix(0, again), onceward.ClassOverloaded)
	}
	for _, t := range [...]*health.Throttle{&rh.Throttle, &ph.Throttle} {
		if ok, again := t.Peek(at); !ok {
			return no(StepThrottled, "until "+clock(time.Unix(0, again)), time.Unix(0, again), onceward.ClassRateLimited)
		}
	}
	tokens := int64(s.input + output)
	wait := max(rh.Requests.Wait(at, 1), ph.Requests.Wait(at, 1), rh.Tokens.Wait(at, tokens), ph.Tokens.Wait(at, tokens))
	if wait > 0 {
		again := s.now.Add(wait)
		return no(StepQuota, fmt.Sprintf("%d tokens do not fit until %s", tokens, clock(again)), again, onceward.ClassRateLimited)
	}
	if c.MaxInFlight > 0 && rh.InFlight.Load() >= c.MaxInFlight {
		return no(StepLoad, fmt.Sprintf("%d requests in flight, at most %d", rh.InFlight.Load(), c.MaxInFlight), s.now.Add(time.Second), onceward.ClassOverloaded)
	}
	return true
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }

func (s *selection) route(p *passed, why string) *onceward.Route {
	if s.doubted {
		why = "suspect, no other left"
	}
	if s.soft {
		for i := range s.req.Excluded {
			if e := &s.req.Excluded[i]; e.Resource == p.Name && e.Soft && e.Turn == s.req.Turn && (e.Model == "" || e.Model == p.Model) {
				why = "same resource again: no other left"
			}
		}
	}
	if s.req.Last != "" {
		why += ", after " + s.req.Last
	}
	return &onceward.Route{
		Resource: p.Name, Account: p.Account, Model: p.Model, Deployment: p.Deployment, Boundary: p.Boundary,
		Reason: why, InputTokens: s.input, MaxOutputTokens: p.output, Ceiling: p.ceiling, StripReasoning: p.strip, Repair: limitRepair(s.req.Repair),
	}
}
