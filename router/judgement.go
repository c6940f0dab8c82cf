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
	fresh := c.Health.Suspicion.Fail(now, run, f.Class)
	if wait := leaveFor(f); wait > 0 {
		c.Health.Suspicion.Hold(now.Add(wait)) // avoided, not closed: these are a run's words
		if c.Health.Breaker.IsByRuns() {
			window(c, f.Scope).Wait(now, wait)
		}
	}
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

// leaveFor is how long a resource that is in trouble wants to be left alone, as far as it
// is believed without a further test.
func leaveFor(f *onceward.Failure) time.Duration {
	if f.StateEffect != onceward.EffectBreaker {
		return 0
	}
	return min(max(f.RetryAfter, f.Class.Rule().Window), longestMark)
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
		t.schedule(tr, time.Now().Add(until.Sub(now)))
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
func (t *tester) judge(tr *trial, permit *health.Permit, found finding) ([]Change, time.Time) {
	news := tr.found.Verdict != onceward.VerdictFailed || tr.found.Class != found.Class
	tr.record(found)
	if found.Verdict == onceward.VerdictFailed && found.started.Before(tr.vouched) {
		return nil, time.Now() // of before an operator enabled it: a fresh one says more
	}
	j := judgement{tester: t, tr: tr, permit: permit, found: found, news: news}
	if found.Verdict != onceward.VerdictUnclear {
		if tr.unclear >= unusable {
			tr.count.Unusable = ""
			j.tell(EventUsable, "a neutral request told something again")
		}
		tr.unclear = 0
	}
	tr.c.Health.Breaker.ByRuns(tr.unclear >= unusable)
	var next time.Time
	switch found.Verdict {
	case onceward.VerdictPassed:
		j.passed()
	case onceward.VerdictFailed:
		next = j.failed()
	case onceward.VerdictThrottled:
		cfg := t.r.cfg
		until := window(tr.c, found.failure.Scope).TestedAgain(found.At, found.started, found.RetryAfter, max(cfg.Throttle.Floor, found.Class.Rule().Window), cfg.Throttle.Cap)
		next = time.Now().Add(until.Sub(found.At))
	case onceward.VerdictUnclear:
		j.unclear()
		next = time.Now().Add(doubled(firstUnclear, longestPause, max(tr.unclear, 1)))
	}
	return j.changes, next
}

// judgement is what follows from one finding.
type judgement struct {
	*tester
	tr      *trial
	permit  *health.Permit
	found   finding
	news    bool // the test before did not say the same
	changes []Change
}

func (j *judgement) tell(event Event, reason string) {
	j.changes = append(j.changes, Change{Resource: j.tr.c.Name, Model: j.tr.c.Model, Event: event, Class: j.found.Class, Reason: reason, Test: &j.found.PoolTest})
}

func (j *judgement) passed() {
	wasOpen := !j.tr.c.Health.Breaker.Due().IsZero()
	j.permit.Success()
	if j.acquit(j.tr, j.found) {
		j.tell(EventAcquitted, "a passed test")
	}
	if j.tr.c.Health.Switch.Release() {
		j.tell(EventEnabled, "a passed test")
	}
	if wasOpen && j.tr.c.Health.Breaker.Due().IsZero() {
		j.tell(EventClosed, "a passed test")
	}
}

// failed marks the pair or switches it off, and returns when to test it again.
func (j *judgement) failed() time.Time {
	h, now := j.tr.c.Health, time.Now()
	j.tell(EventConvicted, j.found.Error)
	if j.news { // others are not tested again each time that this one is
		j.doubt(j.tr.c, j.found)
	}
	if switches(j.found.failure.StateEffect) {
		if disabled, changed := j.off(j.tr, j.found); changed {
			j.changes = append(j.changes, disabled)
		}
	}
	if h.Switch.Off(j.found.At) != nil {
		return now.Add(retests[min(j.tr.failed, len(retests))-1])
	}
	if wait := leaveFor(j.found.failure); wait > 0 {
		window(j.tr.c, j.found.failure.Scope).Wait(j.found.At, wait)
	}
	wasOpen := !h.Breaker.Due().IsZero()
	j.permit.Failure()
	due := h.Breaker.Due()
	if due.IsZero() {
		wait := doubled(firstMark, longestMark, j.tr.failed)
		h.Suspicion.Hold(j.found.At.Add(wait))
		return now.Add(wait)
	}
	if !wasOpen {
		j.tell(EventOpened, j.found.Error)
	}
	return due
}

// unclear counts what tells nothing of the resource. This machine's own fault says
// nothing of the neutral request either.
func (j *judgement) unclear() {
	if j.found.own {
		return
	}
	j.over(j.tr.c, j.found.started)
	if j.tr.unclear++; j.tr.unclear == unusable {
		j.tr.count.Unusable = "unclear: " + onceward.Cut(j.found.String()+" "+j.found.Error, 200)
		j.tr.c.Health.Breaker.ByRuns(true)
		j.tell(EventUnusable, j.found.Error)
	}
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
