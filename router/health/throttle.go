package health

import (
	"sync/atomic"
	"time"
)

// Throttle is the time window in which a resource asked to be left alone. The
// zero value is no window. Of two windows the longer wins, whatever the order
// in which the answers came.
//
// A resource may ask for hours. The window is capped, and between the cap and
// what was asked one probe at a time is let through.
type Throttle struct {
	until atomic.Int64 // unix nanoseconds: nobody before
	full  atomic.Int64 // what was asked for: one probe at a time before
	probe atomic.Int64 // end of the probe's lease
}

// Extend opens a window of d from now, but at least floor; beyond limit only
// probes pass.
func (t *Throttle) Extend(now time.Time, d, floor, limit time.Duration) {
	d = max(d, floor)
	raise(&t.until, now.Add(min(d, limit)).UnixNano())
	raise(&t.full, now.Add(d).UnixNano())
}

func raise(a *atomic.Int64, v int64) {
	for {
		old := a.Load()
		if old >= v || a.CompareAndSwap(old, v) {
			return
		}
	}
}

// Peek reports whether a request may pass at now, in unix nanoseconds, and if
// not, when to look again.
func (t *Throttle) Peek(now int64) (ok bool, again int64) {
	if until := t.until.Load(); now < until {
		return false, until
	}
	if now < t.full.Load() {
		if lease := t.probe.Load(); now < lease {
			return false, lease
		}
	}
	return true, 0
}

// Take asks to pass. probe reports that the caller is the probe and must call
// EndProbe.
func (t *Throttle) Take(now int64, lease time.Duration) (ok, probe bool) {
	if now < t.until.Load() {
		return false, false
	}
	if now >= t.full.Load() {
		return true, false
	}
	old := t.probe.Load()
	if now < old || !t.probe.CompareAndSwap(old, now+int64(lease)) {
		return false, false
	}
	return true, true
}

// EndProbe ends a probe; a success ends the window too, unless a newer one began.
func (t *Throttle) EndProbe(now int64, success bool) {
	if full := t.full.Load(); success && now >= t.until.Load() {
		t.full.CompareAndSwap(full, 0)
	}
	t.probe.Store(0)
}

// Until returns the end of the closed part of the window; zero when there is none.
func (t *Throttle) Until(now int64) time.Time {
	if until := t.until.Load(); now < until {
		return time.Unix(0, until)
	}
	return time.Time{}
}
