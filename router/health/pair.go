package health

import (
	"math"
	"sync/atomic"
	"time"
)

// Resource is the health of one resource. The zero value is healthy.
type Resource struct {
	Switch   Switch
	Throttle Throttle
	Requests Bucket // declared
	Tokens   Bucket // declared
	InFlight atomic.Int64
}

// Pair is the health of one model on one resource. Make it with NewPair.
type Pair struct {
	Resource  *Resource
	Breaker   *Breaker
	Suspicion Suspicion
	Switch    Switch
	Throttle  Throttle
	Requests  Bucket // as the resource's headers say
	Tokens    Bucket // as the resource's headers say
	LastModel atomic.Pointer[string]
	Wanted    atomic.Int64 // unix nanoseconds at which a selection last passed it over for its breaker

	trial atomic.Bool // the one request of a pair with many strikes is out

	firstEvent atomic.Uint64 // float64 bits, nanoseconds, smoothed
}

// NewPair returns a healthy pair.
func NewPair(r *Resource, set BreakerSettings) *Pair {
	return &Pair{Resource: r, Breaker: NewBreaker(set)}
}

// OnTrial reports whether the one request is out that a pair with many strikes gets.
func (p *Pair) OnTrial() bool { return p.trial.Load() }

// ObserveFirstEvent smooths the time to the first event.
func (p *Pair) ObserveFirstEvent(d time.Duration) {
	for {
		old := p.firstEvent.Load()
		v := float64(d)
		if old != 0 {
			v = 0.8*math.Float64frombits(old) + 0.2*v
		}
		if p.firstEvent.CompareAndSwap(old, math.Float64bits(v)) {
			return
		}
	}
}

// FirstEvent returns the smoothed time to the first event, 0 when unknown.
func (p *Pair) FirstEvent() time.Duration {
	return time.Duration(math.Float64frombits(p.firstEvent.Load()))
}
