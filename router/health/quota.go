package health

import (
	"sync/atomic"
	"time"
)

const minute = int64(time.Minute)

// Bucket is a quota per minute. The zero value knows no limit and lets
// everything through. It keeps one number: the moment at which all that was
// taken is paid off.
type Bucket struct {
	limit atomic.Int64 // per minute; 0: unknown
	paid  atomic.Int64 // unix nanoseconds
}

// SetLimit declares the limit per minute; zero or less is unknown.
func (b *Bucket) SetLimit(n int) { b.limit.Store(int64(max(n, 0))) }

// Limit returns the limit per minute, 0 when unknown.
func (b *Bucket) Limit() int { return int(b.limit.Load()) }

// Wait returns how long until n fits, 0 when it fits at now. More than the
// whole limit fits when nothing else is taken: it would wait for ever otherwise.
func (b *Bucket) Wait(now, n int64) time.Duration {
	limit := b.limit.Load()
	if limit == 0 || n <= 0 {
		return 0
	}
	debt := max(b.paid.Load()-now, 0)
	if debt == 0 {
		return 0
	}
	return time.Duration(max(debt+min(cost(n, limit), minute)-minute, 0))
}

// Take takes n at now, or nothing and false.
func (b *Bucket) Take(now, n int64) bool {
	limit := b.limit.Load()
	if limit == 0 || n <= 0 {
		return true
	}
	for {
		old := b.paid.Load()
		debt := max(old-now, 0)
		if debt > 0 && debt+cost(n, limit) > minute {
			return false
		}
		if b.paid.CompareAndSwap(old, now+debt+cost(n, limit)) {
			return true
		}
	}
}

// Give returns n that were taken and not used.
func (b *Bucket) Give(n int64) {
	if limit := b.limit.Load(); limit != 0 && n > 0 {
		b.paid.Add(-cost(n, limit))
	}
}

// Observe learns from an answer's headers. Values of zero or less are unknown:
// hosts send 0 and -1 where they have no number. An answer never raises what is
// left, because others may be in flight.
func (b *Bucket) Observe(now int64, limit, remaining int) {
	if limit > 0 {
		b.limit.Store(int64(limit))
	}
	if total := b.limit.Load(); remaining > 0 && total > 0 && int64(remaining) < total {
		raise(&b.paid, now+cost(total-int64(remaining), total))
	}
}

// Left returns what is left at now, -1 when unknown.
func (b *Bucket) Left(now int64) int {
	limit := b.limit.Load()
	if limit == 0 {
		return -1
	}
	debt := min(max(b.paid.Load()-now, 0), minute)
	return int(float64(limit) * float64(minute-debt) / float64(minute))
}

// cost is the time in which n are paid off; n is bounded so that the product
// stays inside 64 bits.
func cost(n, limit int64) int64 { return min(n, 100_000_000) * minute / limit }
