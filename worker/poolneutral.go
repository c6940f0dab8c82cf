package worker

import (
	"context"
	"slices"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
)

// neutralsEvery is the least pause between two tellings of the neutral requests that
// were sent.
const neutralsEvery = time.Minute

// neutralCounts is what the Pool was told of them. The zero value is nothing.
type neutralCounts struct {
	at   time.Time
	told map[route]onceward.NeutralCount
}

type route struct{ resource, model string }

// tellNeutrals tells the Pool how many neutral requests this worker has sent since it
// told last, once a minute at most, and at once which of its findings it holds no
// more. What a failed signal has not told is told with the next one.
func (s *poolSync) tellNeutrals(ctx context.Context, leaving bool) {
	acquitted := s.acquitted()
	if !leaving && len(acquitted) == 0 && time.Since(s.counted.at) < neutralsEvery {
		return
	}
	counts := s.router.Neutrals()
	pairs := s.uncounted(counts)
	if len(pairs) > 0 || len(acquitted) > 0 {
		if err := s.signal(ctx, onceward.SignalNeutral, onceward.NeutralReport{By: s.by, Pairs: pairs, Acquitted: acquitted}); err != nil {
			if ctx.Err() == nil {
				s.log.Warn("the count of neutral requests is told to the pool later", "pool", s.pool, "error", err)
			}
			return
		}
	}
	s.counted = neutralCounts{at: time.Now(), told: map[route]onceward.NeutralCount{}}
	for _, c := range counts {
		s.counted.told[route{c.Resource, c.Model}] = c
	}
}

// uncounted is what the Pool does not know of these counts. A pair about which
// nothing was told yet is among them where the record lacks it, so that it lists every
// route, or says otherwise whether neutral requests tell anything of it.
func (s *poolSync) uncounted(counts []onceward.NeutralCount) []onceward.NeutralCount {
	var pairs []onceward.NeutralCount
	for _, c := range counts {
		before, known := s.counted.told[route{c.Resource, c.Model}]
		c.Endpoint = s.endpoint(c.Resource)
		unusable := before.Unusable
		if !known {
			unusable, known = recorded(s.last, c)
		}
		if since := c.Less(before); since.Sent() > 0 || !known || c.Unusable != unusable {
			pairs = append(pairs, since)
		}
	}
	return pairs
}

func recorded(record onceward.PoolHealth, c onceward.NeutralCount) (unusable string, known bool) {
	for _, n := range record.Neutrals {
		if n.Resource == c.Resource && n.Model == c.Model && n.Endpoint == c.Endpoint {
			return n.Unusable, true
		}
	}
	return "", false
}

// acquitted are findings that the record has as this worker's, and that it does not
// hold any more: nobody else can take them back.
func (s *poolSync) acquitted() []onceward.PoolAcquittal {
	var out []onceward.PoolAcquittal
	off := s.router.Off()
	for _, list := range [][]onceward.PoolFinding{s.last.Reported, s.last.Alone} {
		for _, f := range list {
			held := slices.ContainsFunc(off, func(c router.Change) bool {
				return c.Resource == f.Resource && c.Model == f.Model && !c.Disabled.Adopted
			})
			if s.own(f) && !held {
				out = append(out, onceward.PoolAcquittal{Resource: f.Resource, Model: f.Model, Endpoint: f.Endpoint, At: f.At})
			}
		}
	}
	return out
}
