package router

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/health"
	"github.com/onceward/onceward/router/route"
)

const (
	maxTests    = 4               // in flight in one process
	maxHourly   = 60              // of one pair
	stillWanted = 5 * time.Minute // an open pair is tested while a selection wanted it so lately
)

// tester looks into suspicions with neutral requests. It alone takes the half-open
// grant of breakers, and only what it finds convicts.
type tester struct {
	r      *Router
	ctx    context.Context
	cancel context.CancelFunc
	tests  sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	running int
	queue   []*trial
	trials  map[*route.Candidate]*trial
}

// trial is what the tester knows of a pair. The tester's mutex guards it.
type trial struct {
	c       *route.Candidate
	neutral Neutral
	off     string // why it gets no neutral requests; empty: it does

	timer   *time.Timer
	due     time.Time // of the next test; zero: none
	queued  bool
	running bool
	ended   chan struct{} // closed when the next test has ended

	sent    []time.Time   // within the last hour
	pause   time.Duration // after the last pass
	passed  time.Time     // the last pass
	served  bool          // a run was since
	failed  int           // failed tests in a row
	unclear int           // unclear ones in a row
	limit   int           // of output tokens, for what may depend on it
	vouched time.Time     // when an operator enabled it
	found   finding       // the last
	count   onceward.NeutralCount
}

func newTester(r *Router) *tester {
	t := &tester{r: r, trials: map[*route.Candidate]*trial{}}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	for _, res := range r.cfg.Resources {
		for _, d := range res.Deployments {
			c := r.table.Find(res.Name, d.Model)
			tr := &trial{c: c, neutral: res.Neutral, off: res.withoutNeutral(d, r.cfg.NeutralCost), ended: make(chan struct{})}
			tr.count = onceward.NeutralCount{Resource: res.Name, Model: d.Model, Unusable: tr.off}
			c.Health.Breaker.ByRuns(tr.off != "")
			t.trials[c] = tr
		}
	}
	return t
}

// withoutNeutral says why a deployment gets no neutral requests, or "".
func (r Resource) withoutNeutral(d Deployment, most onceward.MicroUSD) string {
	cost := d.Price.Ceiling(neutralInput, r.Neutral.MaxOutputTokens)
	switch {
	case r.Neutral.Off:
		return "neutral: off"
	case cost > most:
		return fmt.Sprintf("too dear: one may cost %.6f USD, neutral_cost_usd is %.6f", cost.USD(), most.USD())
	}
	return ""
}

// close ends the tests in flight and waits for them.
func (t *tester) close() {
	t.mu.Lock()
	t.closed = true
	for _, tr := range t.trials {
		if tr.timer != nil {
			tr.timer.Stop()
		}
	}
	t.mu.Unlock()
	t.cancel()
	t.tests.Wait()
}

// want has the pair tested at a time, or as soon as its last pass allows. It is
// called with the tester locked.
func (t *tester) want(tr *trial, at time.Time) {
	pause := tr.pause
	if pause > firstPause && tr.c.Health.Suspicion.Look(t.r.cfg.Now()).Unserved {
		pause = firstPause // nobody is served any more: an outage is not some run's own
	}
	if free := tr.passed.Add(pause); at.Before(free) {
		at = free
	}
	t.schedule(tr, at)
}

// schedule has the pair tested at a time, however lately it passed: a resource stays
// closed until then. It is called with the tester locked.
func (t *tester) schedule(tr *trial, at time.Time) {
	if t.closed || tr.off != "" || tr.running || tr.queued {
		return // a test that is running finds out what to do next
	}
	if !tr.due.IsZero() && !at.Before(tr.due) {
		return
	}
	t.arm(tr, at)
}

func (t *tester) arm(tr *trial, at time.Time) {
	tr.due = at
	if tr.timer != nil {
		tr.timer.Stop()
	}
	if wait := time.Until(at); wait > 0 {
		tr.timer = time.AfterFunc(wait, func() { t.fire(tr) })
		return
	}
	t.begin(tr)
}

// fire is called by the timer of a pair.
func (t *tester) fire(tr *trial) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tr.due.IsZero() || tr.running || tr.queued || time.Now().Before(tr.due) {
		return
	}
	t.begin(tr)
}

// begin starts a test that is due, if anything still asks for it, or says when to
// look again. It is called with the tester locked.
func (t *tester) begin(tr *trial) {
	tr.due = time.Time{}
	if t.closed {
		return
	}
	now := time.Now()
	free := tr.free(now)
	bound := free.After(now)
	tr.c.Health.Breaker.ByRuns(bound && tr.failed > 0 || tr.unclear >= unusable) // where nobody else finds out
	if !t.needed(tr) {
		return
	}
	if bound {
		tr.c.Health.Throttle.Untested()
		tr.c.Resource.Health.Throttle.Untested()
		t.arm(tr, free)
		return
	}
	if t.running >= maxTests {
		tr.queued = true
		t.queue = append(t.queue, tr)
		return
	}
	t.start(tr)
}

// free returns when the pair may be tested by its hourly bound.
func (tr *trial) free(now time.Time) time.Time {
	for len(tr.sent) > 0 && now.Sub(tr.sent[0]) >= time.Hour {
		tr.sent = tr.sent[1:]
	}
	if len(tr.sent) < maxHourly {
		return now
	}
	return tr.sent[0].Add(time.Hour)
}

// needed reports whether a test would tell anything: the pair is suspect, its
// breaker is open and somebody wanted it, this process has switched it off, or its
// window is longer than is believed.
func (t *tester) needed(tr *trial) bool {
	h, now := tr.c.Health, t.r.cfg.Now()
	if d := tr.c.Resource.Health.Switch.Off(now); d != nil {
		return false // an operator knows why
	}
	if d := h.Switch.Off(now); d != nil {
		return !d.Adopted // else the pool tests it
	}
	if !h.Breaker.Due().IsZero() {
		return now.UnixNano()-h.Wanted.Load() < int64(stillWanted) // both by the clock of selections
	}
	at := now.UnixNano()
	return h.Suspicion.Look(now).Suspect || !h.Throttle.Asked(at).IsZero() || !tr.c.Resource.Health.Throttle.Asked(at).IsZero()
}

func (t *tester) start(tr *trial) {
	t.running++
	tr.running = true
	t.tests.Add(1)
	go func() {
		defer t.tests.Done()
		t.r.changed(t.test(tr)...)
	}()
}

// test makes one neutral request, unless a permit is wanting, and says what changed.
func (t *tester) test(tr *trial) []Change {
	h := tr.c.Health
	body, limit, permit, refusal := t.prepare(tr, h.Switch.Off(t.r.cfg.Now()) != nil)
	if refusal != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.finish(tr)
		t.schedule(tr, time.Now().Add(patience(refusal.Again.Sub(t.r.cfg.Now()))))
		return nil
	}
	defer permit.Release()
	h.Suspicion.Testing(true, "")
	found := t.r.neutral(t.ctx, tr.c, permit, body, limit, tr.neutral.Timeout)
	h.Suspicion.Testing(false, found.String())
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finish(tr)
	changes, next := t.judge(tr, permit, found)
	if !next.IsZero() && !t.closed {
		t.arm(tr, next)
	}
	return changes
}

// patience is how long a test waits for a permit before it asks again.
func patience(stated time.Duration) time.Duration {
	if stated <= 0 {
		return time.Second
	}
	return min(max(stated, 50*time.Millisecond), time.Minute)
}

// prepare takes the permits of a neutral request.
func (t *tester) prepare(tr *trial, ordered bool) (body []byte, limit int, permit *health.Permit, refusal *health.Refusal) {
	t.mu.Lock()
	limit = max(tr.neutral.MaxOutputTokens, tr.limit)
	t.mu.Unlock()
	body, err := t.r.renderNeutral(tr.c, limit)
	if err != nil { // a neutral request has nothing that could not be rendered
		return nil, 0, nil, &health.Refusal{}
	}
	permit, refusal = tr.c.Health.AcquireTest(t.r.cfg.Now(), int64(neutralInput+limit), tr.c.MaxInFlight, ordered)
	return body, limit, permit, refusal
}

// finish frees the place of a test and gives it to the next. It is called with the
// tester locked.
func (t *tester) finish(tr *trial) {
	t.running--
	tr.running = false
	close(tr.ended)
	tr.ended = make(chan struct{})
	for len(t.queue) > 0 && t.running < maxTests {
		next := t.queue[0]
		t.queue = t.queue[1:]
		next.queued = false
		t.begin(next)
	}
}
