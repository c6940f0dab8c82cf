package route

import (
	"fmt"
	"slices"

	"github.com/onceward/onceward"
)

// unsuspected passes over suspects while another candidate of the same model is
// left that costs the run nothing more: one that cannot read its reasoning is no
// other. Where all are suspect, suspicion is ignored, but for pairs with many strikes,
// which get one request at a time. busy says that nothing is left for that reason: no
// fallback model is asked because of a suspicion.
func (s *selection) unsuspected(left []passed) (rest []passed, busy bool) {
	if s.doubted = false; !s.doubts {
		return left, false
	}
	doubtful := func(p passed) bool { return p.suspect != nil && p.suspect.Avoided || p.busy() }
	if !slices.ContainsFunc(left, doubtful) {
		return left, false
	}
	if slices.ContainsFunc(left, func(p passed) bool { return !p.strip }) {
		left = slices.DeleteFunc(left, func(p passed) bool { return p.strip }) // they would not be taken anyway
	}
	other := slices.ContainsFunc(left, func(p passed) bool { return !doubtful(p) })
	n := len(left)
	rest = slices.DeleteFunc(left, func(p passed) bool {
		if other && doubtful(p) || p.busy() {
			s.suspected(p)
			return true
		}
		return false
	})
	s.doubted = !other && len(rest) > 0
	return rest, n > 0 && len(rest) == 0
}

// busy reports whether the one request is out that a pair with many strikes gets.
func (p passed) busy() bool { return p.suspect != nil && p.suspect.OneOnly && p.Health.OnTrial() }

func (s *selection) suspected(p passed) {
	why := "a failure of another of its resource"
	if p.suspect.Class != "" {
		why = string(p.suspect.Class)
	}
	reason := fmt.Sprintf("after %s, %d strikes", why, p.suspect.Strikes)
	if p.suspect.Verdict != "" {
		reason += ", last test " + p.suspect.Verdict
	}
	again := s.now.Add(lookAgain)
	switch {
	case p.suspect.Until.After(s.now):
		reason += ", avoided until " + clock(p.suspect.Until)
		if p.suspect.Until.Before(again) {
			again = p.suspect.Until
		}
	case p.suspect.Avoided:
		reason += ", its test is in flight"
	default:
		reason += ", its one request is in flight"
	}
	s.drop(onceward.Dropped{Resource: p.Name, Model: p.Model, Step: StepSuspect, Reason: reason, Causes: because(p.suspect.Class)}, again)
}
