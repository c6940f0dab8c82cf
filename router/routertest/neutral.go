package routertest

import (
	"cmp"
	"context"
	"slices"
)

// NeutralHeader marks, with the value "1", a request by which a router tests
// health. The pool records such requests but counts them apart, asks no model
// for them and remembers nothing of them: each is answered with "ok" unless a
// fault says otherwise. Another value marks nothing, so that a header that is
// written badly shows in the count of attempts.
const NeutralHeader = "X-Onceward-Neutral"

// Sort tells requests of runs from neutral ones. The zero value is both.
type Sort string

// The sorts of requests. A request that is not neutral is of a run.
const (
	Runs     Sort = "runs"
	Neutrals Sort = "neutrals"
)

func (s Sort) holds(neutral bool) bool { return s == "" || (s == Neutrals) == neutral }

// Neutrals returns every neutral request the pool has received, oldest first.
func (p *Pool) Neutrals() []Request {
	return p.rec.list(func(r *Request) bool { return r.Neutral })
}

// Neutrals returns every neutral request this resource has received, oldest
// first.
func (s *Server) Neutrals() []Request {
	return s.pool.rec.list(func(r *Request) bool { return r.Neutral && r.Resource == s.cfg.Name })
}

// Traffic returns the requests of runs and the neutral ones in the order in
// which they came; Request.Order numbers it.
func (p *Pool) Traffic() []Request {
	return p.rec.list(func(*Request) bool { return true })
}

// AwaitNeutral is Await for neutral requests, which Await does not see.
func (p *Pool) AwaitNeutral(ctx context.Context, pred func(Request) bool) (Request, error) {
	return p.await(ctx, Neutrals, pred)
}

// Nth is a condition for Await and AwaitNeutral: the n-th request of a resource,
// or of the pool when resource is empty, has come. Both count their own sort
// from 1 since the pool was started, whatever was forgotten.
func Nth(resource string, n int) func(Request) bool {
	return func(r Request) bool {
		if resource == "" {
			return r.Seq == n
		}
		return r.Resource == resource && r.Nth == n
	}
}

// OnNeutral calls f when a neutral request was received and before it is
// answered; the answer waits for f. Call the returned function to remove the
// hook.
func (p *Pool) OnNeutral(f func(Request)) (remove func()) {
	return addHook(p.rec, p.rec.neutral, f)
}

// Count says how often one model of one resource was asked.
type Count struct {
	Resource string `json:"resource"`
	Model    string `json:"model"`
	// Attempts are requests for a model response that are not neutral.
	Attempts int `json:"attempts"`
	Neutrals int `json:"neutrals"`
	// CacheHits are those of both that FaultCache answered: they are in Attempts
	// and Neutrals, but the resource was not asked.
	CacheHits int `json:"cache_hits"`
}

// Counts returns a count for each resource and model that was asked, by
// resource in the order of the configuration, then by model.
func (p *Pool) Counts() []Count {
	type pair struct{ resource, model string }
	by := map[pair]*Count{}
	for _, r := range p.Traffic() {
		if !r.Neutral && !r.isAttempt() {
			continue
		}
		at := pair{r.Resource, r.Body.Model}
		c := by[at]
		if c == nil {
			c = &Count{Resource: r.Resource, Model: r.Body.Model}
			by[at] = c
		}
		if r.Neutral {
			c.Neutrals++
		} else {
			c.Attempts++
		}
		if r.Outcome.CacheHit {
			c.CacheHits++
		}
	}
	place := map[string]int{}
	for i, s := range p.servers {
		place[s.cfg.Name] = i
	}
	out := []Count{}
	for _, c := range by {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Count) int {
		return cmp.Or(place[a.Resource]-place[b.Resource], cmp.Compare(a.Model, b.Model))
	})
	return out
}
