package router

import (
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/health"
	"github.com/onceward/onceward/router/route"
)

const (
	// firstPause and longestPause are how long after a passed test a pair is not
	// tested again. It doubles while runs are served in between: then what fails is
	// theirs.
	firstPause   = 10 * time.Second
	longestPause = 5 * time.Minute
	// firstMark is the pause after a failed test; it doubles until the breaker opens.
	firstMark   = 2 * time.Second
	longestMark = time.Minute
	// firstUnclear is the pause after a test that told nothing; it doubles up to
	// longestPause.
	firstUnclear = 10 * time.Second
	// unusable is how many unclear tests in a row make a pair's neutral request unusable.
	unusable = 2
)

// retests are the pauses between tests of what this process has switched off, until
// the pool's record takes it over.
var retests = [...]time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute}

// doubled returns the nth pause of a series that doubles up to a longest one, n from 1.
func doubled(first, longest time.Duration, n int) time.Duration {
	return min(first<<min(max(n-1, 0), 16), longest)
}

// failed takes in a run's failure that has an effect on health.
func (t *tester) failed(c *route.Candidate, f *onceward.Failure, run string, limit int) {
	now := t.r.cfg.Now()
	if wait := max(f.RetryAfter, f.Class.Rule().Window); wait > 0 && f.StateEffect == onceward.EffectBreaker {
		window(c, f.Scope).Wait(now, wait)
	}
	fresh := c.Health.Suspicion.Fail(now, run, f.Class)
	t.mu.Lock()
	tr := t.trials[c]
	if f.Class == onceward.ClassBilling || f.Class == onceward.ClassQuotaExhausted {
		tr.limit = max(tr.limit, limit) // there may be money for a shorter answer
	}
	t.want(tr, time.Now())
	t.mu.Unlock()
	if fresh {
		t.r.changed(Change{Resource: c.Name, Model: c.Model, Event: EventSuspected, Class: f.Class})
	}
}

// refused takes in that a run was asked to wait. What is asked for beyond a minute is
// tested then.
func (t *tester) refused(c *route.Candidate, f *onceward.Failure, sent time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tr, cfg := t.trials[c], t.r.cfg
	now := cfg.Now()
	until, test := window(c, f.Scope).Refused(now, sent, f.RetryAfter, max(cfg.Throttle.Floor, f.Class.Rule().Window), cfg.Throttle.Cap, !c.Health.Breaker.IsByRuns())
	if test {
		t.want(tr, time.Now().Add(until.Sub(now)))
	}
}

// served takes in a run's success.
func (t *tester) served(c *route.Candidate, sent time.Time) {
	c.Health.Throttle.Served(sent)
	c.Resource.Health.Throttle.Served(sent)
	if !c.Health.Suspicion.Active() {
		return
	}
	acquitted := c.Health.Suspicion.Served(t.r.cfg.Now(), sent)
	t.mu.Lock()
	t.trials[c].served = true
	t.mu.Unlock()
	if acquitted {
		t.r.changed(Change{Resource: c.Name, Model: c.Model, Event: EventAcquitted, Reason: "a run was served"})
	}
}

// judge does what follows from a finding, and returns when to test again; zero is
// when the next run fails. It is called with the tester locked.
func (t *tester) judge(tr *trial, permit *health.Permit, found finding) (changes []Change, next time.Time) {
	wasOpen := !tr.c.Health.Breaker.Due().IsZero()
	tr.record(found)
	tell := func(event Event, reason string) {
		changes = append(changes, Change{Resource: tr.c.Name, Model: tr.c.Model, Event: event, Class: found.Class, Reason: reason, Test: &found.PoolTest})
	}
	if found.Verdict != onceward.VerdictUnclear {
		if tr.unclear >= unusable {
			tr.count.Unusable = ""
			tell(EventUsable, "a neutral request told something again")
		}
		tr.unclear = 0
	}
	tr.c.Health.Breaker.ByRuns(tr.unclear >= unusable)
	switch found.Verdict {
	case onceward.VerdictPassed:
		permit.Success()
		if t.acquit(tr, found) {
			tell(EventAcquitted, "")
		}
		if tr.c.Health.Switch.Release() {
			tell(EventEnabled, "a passed test")
		}
		if wasOpen && tr.c.Health.Breaker.Due().IsZero() {
			tell(EventClosed, "")
		}
	case onceward.VerdictFailed:
		tell(EventConvicted, found.Error)
		t.doubt(tr.c, found)
		if switches(found.failure.StateEffect) {
			disabled, off := t.off(tr, found)
			if off {
				changes = append(changes, disabled)
			}
			return changes, time.Now().Add(retests[min(tr.failed, len(retests))-1])
		}
		permit.Failure()
		due := tr.c.Health.Breaker.Due()
		if due.IsZero() {
			wait := doubled(firstMark, longestMark, tr.failed)
			tr.c.Health.Suspicion.Hold(t.r.cfg.Now().Add(wait))
			return changes, time.Now().Add(wait)
		}
		if !wasOpen {
			tell(EventOpened, found.Error)
		}
		return changes, due
	case onceward.VerdictThrottled:
		cfg := t.r.cfg
		until := window(tr.c, found.failure.Scope).TestedAgain(found.At, found.started, found.RetryAfter, max(cfg.Throttle.Floor, found.Class.Rule().Window), cfg.Throttle.Cap)
		return changes, time.Now().Add(until.Sub(found.At))
	case onceward.VerdictUnclear:
		if !found.own {
			t.over(tr.c, found.started)
			if tr.unclear++; tr.unclear == unusable {
				tr.count.Unusable = "unclear: " + onceward.Cut(found.String()+" "+found.Error, 200)
				tr.c.Health.Breaker.ByRuns(true)
				tell(EventUnusable, found.Error)
			}
		}
		return changes, time.Now().Add(doubled(firstUnclear, longestPause, max(tr.unclear, 1)))
	}
	return changes, time.Time{}
}

// record keeps and counts a finding.
func (tr *trial) record(found finding) {
	tr.found = found
	if found.Verdict == onceward.VerdictFailed {
		tr.failed++
	} else if found.Verdict == onceward.VerdictPassed {
		tr.failed = 0
	}
	if !found.sent {
		return
	}
	tr.sent = append(tr.sent, time.Now())
	n := &tr.count
	switch found.Verdict {
	case onceward.VerdictPassed:
		n.Passed++
	case onceward.VerdictFailed:
		n.Failed++
	case onceward.VerdictThrottled:
		n.Throttled++
	case onceward.VerdictUnclear:
		n.Unclear++
	}
	n.InputTokens += found.InputTokens
	n.OutputTokens += found.OutputTokens
	n.Last = found.At
}

// acquit clears a pair whose test has passed, and reports whether it was suspect.
func (t *tester) acquit(tr *trial, found finding) bool {
	now := time.Now()
	if tr.served && now.Sub(tr.passed) < 2*longestPause {
		tr.pause = min(2*max(tr.pause, firstPause/2), longestPause)
	} else {
		tr.pause = firstPause
	}
	tr.passed, tr.served, tr.limit = now, false, 0
	t.over(tr.c, found.started)
	return tr.c.Health.Suspicion.Acquit(found.At)
}

// over ends the windows of a pair that were there when a test was sent.
func (t *tester) over(c *route.Candidate, sent time.Time) {
	c.Health.Throttle.Over(sent)
	c.Resource.Health.Throttle.Over(sent)
}

// off switches a convicted pair off, in this process. Class, reason and wait are
// those of the neutral request: no caller's word is in them.
func (t *tester) off(tr *trial, found finding) (Change, bool) {
	d := health.Disabled{Class: found.Class, Reason: found.Error, Scope: found.failure.Scope, Since: found.At}
	if wait := max(found.RetryAfter, found.Class.Rule().Window); wait > 0 {
		d.Until = found.At.Add(wait)
	}
	if d.Reason == "" {
		d.Reason = string(found.Class)
	}
	tr.c.Health.Suspicion.Forget()
	if !tr.c.Health.Switch.Disable(d) {
		return Change{}, false
	}
	return Change{Resource: tr.c.Name, Model: tr.c.Model, Event: EventDisabled, Class: d.Class, Reason: d.Reason, Test: &found.PoolTest, Disabled: d, Limit: tr.limit}, true
}

// doubt makes the other pairs suspect that share what was found wrong. They are
// tested themselves: none is convicted unasked.
func (t *tester) doubt(convicted *route.Candidate, found finding) {
	now := t.r.cfg.Now()
	for _, c := range t.r.all {
		resource := c.Name == convicted.Name && found.failure.Scope != onceward.ScopeDeployment
		account := c.Account == convicted.Account && found.failure.Scope == onceward.ScopeAccount
		h := c.Health
		if c == convicted || !resource && !account || h.Switch.Off(now) != nil || !h.Breaker.Due().IsZero() || h.Suspicion.Look(now).Suspect {
			continue // what is suspect is tested already
		}
		h.Suspicion.Doubt(now, found.Class)
		t.trials[c].limit = max(t.trials[c].limit, t.trials[convicted].limit)
		t.want(t.trials[c], time.Now())
	}
}
