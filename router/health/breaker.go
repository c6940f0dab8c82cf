package health

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// buckets is how many parts the breaker's window has: failures leave it one
// part at a time.
const buckets = 10

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
	Lease       time.Duration // how long a half-open probe may take before another is let through
}

// Breaker is the circuit breaker of one (resource, model) pair. Make it with
// NewBreaker.
//
// It adds three rules to gobreaker, each for a fault that was seen: failures in
// a row count however far apart they are (rolling buckets forget a slow
// series), a probe that never reports loses its place after a lease (it would
// block the half-open state for ever), and a mark can be taken back.
type Breaker struct {
	set BreakerSettings

	mu    sync.Mutex // held around every use of cb, so that its callbacks run under it
	cb    *gobreaker.TwoStepCircuitBreaker[struct{}]
	epoch uint64 // changes with every change of state: older grants say nothing
	row   int    // failures in a row
	marks []mark // newest last, at most Failures + Consecutive
	last  Mark
	probe *Grant

	openUntil  atomic.Int64 // unix nanoseconds, 0 while closed: the mirror that selection reads
	probeUntil atomic.Int64 // unix nanoseconds of the probe's lease, 0 without a probe
}

// Mark names one counted failure of a breaker; the zero Mark names none.
type Mark uint64

type mark struct {
	id Mark
	at time.Time
}

// NewBreaker returns a closed breaker.
func NewBreaker(set BreakerSettings) *Breaker {
	b := &Breaker{set: set}
	b.cb = b.fresh()
	return b
}

func (b *Breaker) fresh() *gobreaker.TwoStepCircuitBreaker[struct{}] {
	return gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests:  1,
		Interval:     b.set.Window,
		BucketPeriod: max(b.set.Window/buckets, 1),
		Timeout:      b.set.OpenFor,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return b.row >= b.set.Consecutive || int(c.TotalFailures) >= b.set.Failures
		},
		IsExcluded: func(err error) bool { return errors.Is(err, errNeutral) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			b.epoch++
			switch to {
			case gobreaker.StateOpen:
				b.openUntil.Store(time.Now().Add(b.set.OpenFor).UnixNano())
			case gobreaker.StateClosed:
				b.row, b.marks = 0, nil
				b.openUntil.Store(0)
			case gobreaker.StateHalfOpen:
			}
		},
	})
}

// Grant is the right to send one request. End it exactly once; later ends are
// ignored.
type Grant struct {
	b     *Breaker
	epoch uint64
	done  func(error)
	ended bool
}

// Allow asks for a grant. It is refused while the breaker is open or its
// half-open probe is out.
func (b *Breaker) Allow() (*Grant, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	done, err := b.cb.Allow()
	if errors.Is(err, gobreaker.ErrTooManyRequests) && b.probe != nil && time.Now().UnixNano() > b.probeUntil.Load() {
		b.probe.end(errNeutral) // its lease is over: it may never report
		done, err = b.cb.Allow()
	}
	if err != nil {
		return nil, false
	}
	g := &Grant{b: b, epoch: b.epoch, done: done}
	if b.openUntil.Load() != 0 { // let through and not closed: this is the probe
		b.probe = g
		b.probeUntil.Store(time.Now().Add(b.set.Lease).UnixNano())
	}
	return g, true
}

// Success reports that the resource served.
func (g *Grant) Success() { g.b.report(g, nil) }

// Neutral reports an end that says nothing of the resource.
func (g *Grant) Neutral() { g.b.report(g, errNeutral) }

// Failure counts against the resource and names the mark, so that it can be
// taken back.
func (g *Grant) Failure() Mark { return g.b.report(g, errFailure) }

func (b *Breaker) report(g *Grant, err error) Mark {
	b.mu.Lock()
	defer b.mu.Unlock()
	return g.end(err)
}

// end is called with the breaker locked.
func (g *Grant) end(err error) Mark {
	b := g.b
	if g.ended {
		return 0
	}
	g.ended = true
	if b.probe == g {
		b.probe = nil
		b.probeUntil.Store(0)
	}
	if g.epoch != b.epoch {
		return 0 // sent before the last change of state: old news
	}
	var id Mark
	switch {
	case err == nil:
		b.row = 0
	case errors.Is(err, errFailure):
		b.row++
		b.last++
		id = b.last
		b.marks = append(b.marks, mark{id, time.Now()})
		if n := len(b.marks) - b.set.Failures - b.set.Consecutive; n > 0 {
			b.marks = slices.Delete(b.marks, 0, n)
		}
	}
	g.done(err)
	return id
}

// TakeBack removes one counted failure, and closes the breaker again when only
// that failure had opened it.
func (b *Breaker) TakeBack(id Mark) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.marks, func(m mark) bool { return m.id == id })
	if i < 0 || id == 0 {
		return
	}
	b.marks = slices.Delete(b.marks, i, i+1)
	b.row = max(b.row-1, 0)
	since := time.Now().Add(-b.set.Window)
	live := slices.DeleteFunc(slices.Clone(b.marks), func(m mark) bool { return m.at.Before(since) })
	if b.row >= b.set.Consecutive || len(live) >= b.set.Failures {
		return // the other failures hold it open by themselves
	}
	// gobreaker cannot forget one failure, so a new one learns the rest.
	b.cb = b.fresh()
	b.epoch++
	b.openUntil.Store(0)
	b.probe = nil
	b.probeUntil.Store(0)
	for range live {
		if done, err := b.cb.Allow(); err == nil {
			done(errFailure)
		}
	}
}

// Peek reports whether Allow may be granted at now, in unix nanoseconds, and if
// not, when to look again. It is a hint: only Allow decides.
func (b *Breaker) Peek(now int64) (ok bool, again int64) {
	until := b.openUntil.Load()
	if until == 0 {
		return true, 0
	}
	if now < until {
		return false, until
	}
	if lease := b.probeUntil.Load(); now < lease {
		return false, lease
	}
	return true, 0
}

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
