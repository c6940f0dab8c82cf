package workflows

import (
	"slices"
	"time"

	"github.com/onceward/onceward"
)

// Bounds of what a pool keeps, so that its record fits in a memo and in what
// continue-as-new carries, each of which may have 2 MB.
const (
	// maxServices and maxRoutes bound the services whose routes a pool keeps, and these:
	// the service that told them longest ago is forgotten first, and nothing that was
	// found of its routes.
	maxServices = 50
	maxRoutes   = 2000
	// maxConvicted bounds what tests have disabled; what is found beyond it stays
	// reported, and its worker's own. maxDisabled has an operator's decisions in it.
	maxConvicted = 500
	maxDisabled  = 700
	// maxFindings bounds each list of what workers have found: the oldest goes first.
	maxFindings = 200
	// maxEnabled, maxTests and maxNeutrals bound what is only looked at: the oldest goes
	// first, and before it what no service has any more.
	maxEnabled  = 200
	maxTests    = 400
	maxNeutrals = 400
	// olderNeutrals is maxNeutrals in loops of earlier builds.
	olderNeutrals = 300
	// maxTexts bounds all reasons and errors as they are encoded. Those beyond it are
	// cut to a few words.
	maxTexts = 300 << 10
	fewWords = 20
)

// bound brings the record below its bounds. What keeps attempts away from a route is
// never left out.
func (p *pool) bound() {
	if !p.renews() { // what an earlier build kept decided what it did
		return
	}
	p.health.Enabled = latest(p.health.Enabled, maxEnabled)
	p.health.Tests = keepNewest(p.health.Tests, maxTests, func(t onceward.PoolTest) (bool, time.Time) {
		return p.serviceOf(t.Resource, t.Model, t.Endpoint) != nil, t.At
	})
	p.health.Neutrals = keepNewest(p.health.Neutrals, maxNeutrals, func(n onceward.NeutralCount) (bool, time.Time) {
		return p.serviceOf(n.Resource, n.Model, n.Endpoint) != nil, n.Last
	})
	left := maxTexts
	fit := func(s *string) {
		if onceward.EncodedText(*s) > left {
			*s = onceward.Cut(*s, fewWords)
		}
		left -= onceward.EncodedText(*s)
	}
	for _, operators := range []bool{true, false} {
		for i := range p.health.Disabled {
			if d := &p.health.Disabled[i]; d.By != "" == operators {
				fit(&d.Reason)
			}
		}
	}
	for _, list := range [][]onceward.PoolFinding{p.health.Reported, p.health.Alone} {
		for i := range list {
			fit(&list[i].Reason)
			if list[i].Test != nil {
				fit(&list[i].Test.Error)
			}
		}
	}
	for i := range p.health.Tests {
		fit(&p.health.Tests[i].Error)
	}
	for i := range p.health.Neutrals {
		fit(&p.health.Neutrals[i].Unusable)
	}
}

// keepNewest leaves out of a list what is more than n: first what nobody has, then the
// oldest.
func keepNewest[T any](list []T, n int, of func(T) (had bool, at time.Time)) []T {
	if len(list) <= n {
		return list
	}
	type rank struct {
		i   int
		had bool
		at  time.Time
	}
	var ranks []rank
	for i := range list {
		had, at := of(list[i])
		ranks = append(ranks, rank{i, had, at})
	}
	slices.SortStableFunc(ranks, func(a, b rank) int {
		if a.had != b.had {
			if a.had {
				return -1
			}
			return 1
		}
		return b.at.Compare(a.at)
	})
	ranks = ranks[:n]
	slices.SortFunc(ranks, func(a, b rank) int { return a.i - b.i })
	kept := make([]T, 0, n)
	for _, r := range ranks {
		kept = append(kept, list[r.i])
	}
	return kept
}

// latest is the end of a list, so that it stays bounded.
func latest[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

// full reports whether tests have disabled as much as the record takes.
func (p *pool) full() bool {
	convicted := 0
	for _, d := range p.health.Disabled {
		if d.By == "" {
			convicted++
		}
	}
	return p.renews() && convicted >= maxConvicted
}

// keepServices takes over what a service has told and forgets services that are too
// many, but never this one. It returns what this service had told before.
func (p *pool) keepServices(next onceward.PoolRoutes) (before []onceward.PoolRoute) {
	if i := slices.IndexFunc(p.services, func(s onceward.PoolRoutes) bool { return s.Service == next.Service }); i >= 0 {
		before = p.services[i].Routes
		p.services = slices.Delete(p.services, i, i+1)
	}
	p.services = latest(append(p.services, next), maxServices)
	routes := 0
	for i := len(p.services) - 1; i >= 0 && p.renews(); i-- {
		for _, r := range p.services[i].Routes {
			routes += len(r.Models)
		}
		if routes > maxRoutes && i < len(p.services)-1 {
			p.services = p.services[i+1:]
			break
		}
	}
	return before
}
