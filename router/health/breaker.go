package health

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// buckets is how many parts the breaker's window has: failures leave it one
// part at a time.
const buckets = 10

// testGrace is how long after an open breaker's time its test may take before a
// run looks again.
const testGrace = time.Second

var (
	errFailure = errors.New("counts against health")
	errNeutral = errors.New("says nothing of health")
)

// BreakerSettings are the rules of every breaker of a pool. All are required.
type BreakerSettings struct {
	Failures    int           // in the window
	Consecutive int           // in a row, however far apart
	Window      time.Duration // at least the longest attempt
	OpenFor     time.Duration
}

// Breaker is the circuit breaker of one (resource, model) pair. Make it with
// NewBreaker.
//
// What opens it are failed neutral requests, and only the router's tests take its
// half-open grant: no user's request is a guinea pig. Where neutral requests tell
// nothing, ByRuns makes it an ordinary breaker that the failures of runs open.
//
// It adds one rule to gobreaker: failures in a row count however far apart they
// are, because rolling buckets forget a slow series.
type Breaker struct {
	set BreakerSettings

	mu     sync.Mutex // held around every use of cb, so that its callbacks run under it
	cb     *gobreaker.TwoStepCircuitBreaker[struct{}]
	epoch  uint64 // changes with every change of state: older grants say nothing
	row    int    // failures in a row
	struck bool   // the failure being counted is of a pair with many strikes: it is enough

	openUntil atomic.Int64 // unix nanoseconds, 0 while closed: the mirror that selection reads
	out       atomic.Bool  // the half-open grant is
	byRuns    atomic.Bool
}

// NewBreaker returns a closed breaker.
func NewBreaker(set BreakerSettings) *Breaker {
	b := &Breaker{set: set}
	b.cb = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests:  1,
		Interval:     set.Window,
		BucketPeriod: max(set.Window/buckets, 1),
		Timeout:      set.OpenFor,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return b.struck || b.row >= set.Consecutive || int(c.TotalFailures) >= set.Failures
		},
		IsExcluded: func(err error) bool { return errors.Is(err, errNeutral) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			b.epoch++
			switch to {
			case gobreaker.StateOpen:
				b.openUntil.Store(time.Now().Add(set.OpenFor).UnixNano())
			case gobreaker.StateClosed:
				b.row = 0
				b.openUntil.Store(0)
			case gobreaker.StateHalfOpen:
			}
		},
	})
	return b
}

// ByRuns says whether runs open the breaker and take its half-open grant, because
// no test can.
func (b *Breaker) ByRuns(yes bool) { b.byRuns.Store(yes) }

// IsByRuns reports whether runs do.
func (b *Breaker) IsByRuns() bool { return b.byRuns.Load() }

// Grant is the right to send one request. End it exactly once, on every path: a
// half-open grant that never reports blocks gobreaker for ever. Later ends are
// ignored.
type Grant struct {
	b     *Breaker
	epoch uint64
	half  bool
	done  func(error)
	ended bool
}

// Allow asks for a run's grant. It is refused while the breaker is not closed.
func (b *Breaker) Allow() (*Grant, bool) {
	if b.openUntil.Load() != 0 && !b.byRuns.Load() {
		return nil, false
	}
	return b.Test()
}

// Test asks for a test's grant. It is refused until the breaker's time is over, and
// while another one is out that was given since.
func (b *Breaker) Test() (*Grant, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	done, err := b.cb.Allow()
	if err != nil {
		return nil, false
	}
	g := &Grant{b: b, epoch: b.epoch, done: done, half: b.openUntil.Load() != 0}
	if g.half {
		b.out.Store(true)
	}
	return g, true
}

// Success reports that the resource served.
func (g *Grant) Success() { g.end(nil, false) }

// Neutral reports an end that says nothing of the resource.
func (g *Grant) Neutral() { g.end(errNeutral, false) }

// Failure counts against the resource. Of a pair with many strikes, one is enough.
func (g *Grant) Failure(struck bool) { g.end(errFailure, struck) }

func (g *Grant) end(err error, struck bool) {
	b := g.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if g.ended {
		return
	}
	g.ended = true
	if g.half {
		b.out.Store(false)
	}
	if g.epoch != b.epoch {
		return // sent before the last change of state: old news
	}
	switch {
	case err == nil:
		b.row = 0
	case errors.Is(err, errFailure):
		b.row++
	}
	b.struck = struck
	g.done(err)
	b.struck = false
}

// Peek reports whether a run may pass at now, in unix nanoseconds, and if not, when
// to look again: when the test that is due then has answered. It is a hint: only
// Allow decides.
func (b *Breaker) Peek(now int64) (ok bool, again int64) {
	until := b.openUntil.Load()
	switch {
	case until == 0:
		return true, 0
	case now >= until && b.byRuns.Load() && !b.out.Load():
		return true, 0
	}
	return false, max(until, now) + int64(testGrace)
}

// Due returns when an open breaker may be tested; zero while it is closed.
func (b *Breaker) Due() time.Time { return stamp(b.openUntil.Load()) }

// State returns closed, open or half-open for people.
func (b *Breaker) State(now int64) string {
	switch until := b.openUntil.Load(); {
	case until == 0:
		return "closed"
	case now < until:
		return "open"
	}
	return "half-open"
}
