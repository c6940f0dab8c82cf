package router

import (
	"context"
	"fmt"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/health"
	"github.com/onceward/onceward/router/route"
)

const (
	// settleFor is how long a run that is left without a route waits for tests.
	settleFor = 5 * time.Second
	// clockSkew is how far this machine's clock may be behind the run's.
	clockSkew = 2 * time.Second
)

// Test makes one neutral request to a resource, or to one model on it, whatever its
// state, and waits for the permits that it needs until ctx ends. limit is the output
// limit to name, in tokens; 0 is the resource's own. A pass clears what this process
// itself holds against the pair, but for a breaker whose time is not over: that is
// tested when it is. Nothing else follows from it here. The error says
// that there is no such resource or model.
func (r *Router) Test(ctx context.Context, resource, model string, limit int) (onceward.PoolTest, error) {
	for _, c := range r.all {
		if c.Name == resource && (model == "" || c.Model == model) {
			return r.tester.ordered(ctx, c, limit).PoolTest, nil
		}
	}
	return onceward.PoolTest{}, fmt.Errorf("test resource: no resource %q with model %q in the pool", resource, model)
}

// Neutrals returns how many neutral requests this process has sent to each pair, in
// the order of the configuration, and which of them tell nothing.
func (r *Router) Neutrals() []onceward.NeutralCount {
	r.tester.mu.Lock()
	defer r.tester.mu.Unlock()
	counts := make([]onceward.NeutralCount, 0, len(r.all))
	for _, c := range r.all {
		counts = append(counts, r.tester.trials[c].count)
	}
	return counts
}

// Verdicts says what became of the suspicions of a run. With wait, which a run asks
// for that has no route left, it waits a few seconds for tests in flight, and has
// tested what another process's attempt made suspect.
func (r *Router) Verdicts(ctx context.Context, suspects []onceward.SuspectRoute, wait bool) []onceward.RouteVerdict {
	ctx, cancel := context.WithTimeout(ctx, settleFor)
	defer cancel()
	var out []onceward.RouteVerdict
	for _, s := range suspects {
		c := r.table.Find(s.Resource, s.Model)
		if c == nil {
			continue
		}
		v := r.tester.verdict(c, s)
		for wait && v.Judged == onceward.JudgedSuspected && r.tester.await(ctx, c, s) {
			v = r.tester.verdict(c, s)
		}
		out = append(out, v)
	}
	return out
}

// verdict says what is known of a suspicion. It never repeats the run's own failure.
func (t *tester) verdict(c *route.Candidate, s onceward.SuspectRoute) onceward.RouteVerdict {
	v := onceward.RouteVerdict{Resource: c.Name, Model: c.Model, Judged: onceward.JudgedSuspected}
	now := t.r.cfg.Now()
	d := c.Health.Switch.Off(now)
	if d == nil {
		d = c.Resource.Health.Switch.Off(now)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	tr := t.trials[c]
	found := tr.found
	news := !found.At.Before(s.Since.Add(-clockSkew))
	switch {
	case d != nil:
		v.Judged, v.Class, v.Reason = onceward.JudgedConvicted, d.Class, d.Reason
	case !c.Health.Breaker.Due().IsZero(), news && found.Verdict == onceward.VerdictFailed:
		v.Judged, v.Class, v.Reason = onceward.JudgedConvicted, found.Class, found.Error
	case found.Verdict == onceward.VerdictPassed && (news || time.Since(tr.passed) < min(tr.pause, time.Minute)):
		v.Judged = onceward.JudgedAcquitted // it passed so lately that it is not tested again
	}
	v.Reason = onceward.Cut(v.Reason, 200)
	return v
}

// await waits for the end of the pair's test, which it begins where none is due. It
// returns false when none will come in time.
func (t *tester) await(ctx context.Context, c *route.Candidate, s onceward.SuspectRoute) bool {
	t.mu.Lock()
	tr := t.trials[c]
	if tr.due.IsZero() && !tr.running && !tr.queued && tr.found.At.Before(s.Since.Add(-clockSkew)) {
		if !c.Health.Suspicion.Look(t.r.cfg.Now()).Suspect {
			c.Health.Suspicion.Doubt(t.r.cfg.Now(), s.Class) // the attempt was another process's
		}
		tr.limit = max(tr.limit, s.Limit)
		t.want(tr, time.Now())
	}
	deadline, _ := ctx.Deadline()
	coming := tr.running || tr.queued || !tr.due.IsZero() && tr.due.Before(deadline)
	ended := tr.ended
	t.mu.Unlock()
	if !coming {
		return false
	}
	select {
	case <-ended:
		return true
	case <-ctx.Done():
		return false
	case <-t.ctx.Done():
		return false
	}
}

// wanted has a pair tested that only a test brings back, and for which none is due:
// nobody had asked for it in a while, or it was switched off when its test was due.
func (t *tester) wanted(c *route.Candidate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.makeUp(t.trials[c])
}

// resume gives a pair back to its own tests after an ordered one. It is called with
// the tester locked.
func (t *tester) resume(tr *trial) {
	tr.queued = false
	t.makeUp(tr)
}

// makeUp has a pair tested whose test is needed and was never due, or came due when it
// could not be made. It is called with the tester locked.
func (t *tester) makeUp(tr *trial) {
	now := time.Now()
	if tr.running || tr.queued || tr.due.After(now) {
		return
	}
	tr.due = time.Time{}
	if t.needed(tr) {
		t.schedule(tr, latest(now, tr.c.Health.Breaker.Due()))
	}
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// ordered makes the test that somebody asked for. It waits for one in flight, because
// two at once tell no more.
func (t *tester) ordered(ctx context.Context, c *route.Candidate, limit int) finding {
	tr := t.trials[c]
	for ctx.Err() == nil {
		t.mu.Lock()
		if tr.running || tr.queued {
			ended := tr.ended
			t.mu.Unlock()
			select {
			case <-ended:
			case <-ctx.Done():
			}
			continue
		}
		tr.queued = true // nobody else begins one
		tr.limit = max(tr.limit, limit)
		t.mu.Unlock()
		body, named, permit, refusal := t.prepare(tr, true)
		if refusal == nil {
			found := t.r.neutral(ctx, c, permit, body, named, tr.neutral.Timeout)
			changes := t.told(tr, permit, found)
			permit.Release()
			t.r.changed(changes...)
			return found
		}
		t.mu.Lock()
		t.resume(tr)
		t.mu.Unlock()
		pause := time.NewTimer(patience(refusal.Again.Sub(t.r.cfg.Now())))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
	return finding{own: true, PoolTest: onceward.PoolTest{
		Resource: c.Name, Model: c.Model, At: t.r.cfg.Now(), Verdict: onceward.VerdictUnclear,
		Error: "no permit in time: too many requests in flight, or the quota is used up",
	}}
}

// told records an ordered test. Only a pass has consequences in this process.
func (t *tester) told(tr *trial, permit *health.Permit, found finding) []Change {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.resume(tr)
	close(tr.ended)
	tr.ended = make(chan struct{})
	tr.record(found)
	j := judgement{tester: t, tr: tr, permit: permit, found: found}
	if found.Verdict == onceward.VerdictPassed {
		j.passed()
	}
	return j.changes
}

// vouch takes in that an operator enabled a pair: a test that is in flight convicts
// nobody any more.
func (t *tester) vouch(c *route.Candidate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trials[c].vouched = t.r.cfg.Now()
}

// last returns the last finding about a pair; nil before the first.
func (t *tester) last(c *route.Candidate) *onceward.PoolTest {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found := t.trials[c].found; found.Verdict != "" {
		return &found.PoolTest
	}
	return nil
}

func (t *tester) limit(c *route.Candidate) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.trials[c].limit
}
