package health

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// longestFloor bounds our own back-off, and how long a resource's word is
	// believed without a test.
	longestFloor = 60 * time.Second
	// remembered is how long after a window its length is.
	remembered = 5 * time.Minute
)

// Throttle is the time window in which a resource asked to be left alone. The
// zero value is no window. Of two windows the longer wins, whatever the order
// in which the answers came.
//
// A window is as long as the longest of what was asked and a floor of our own,
// which doubles with each refusal soon after the last: hosts say 0, or nothing. A
// resource may ask for hours; after a minute a test finds out whether that holds.
type Throttle struct {
	until atomic.Int64 // unix nanoseconds: nobody before
	full  atomic.Int64 // what was asked for: nobody but a test before; 0 where that is no longer

	used atomic.Bool // there was a window

	mu     sync.Mutex
	floor  time.Duration
	opened time.Time // the last window
	passed time.Time // when the last test was sent that ended one
}

// Refused opens a window after a refusal of a request that was sent then: stated
// is what the resource asked for, base the floor, most the longest time that is
// believed at once. tests says that somebody will test what is longer than a
// minute; without, a second refusal is believed up to most. The window returned is
// closed until then, and until tested beyond.
func (t *Throttle) Refused(now, sent time.Time, stated, base, most time.Duration, tests bool) (until time.Time, test bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if sent.Before(t.passed) {
		return t.Until(0), false // a test that was sent later passed: old news
	}
	longest := max(longestFloor, base)
	last := t.Until(0)
	again := !t.opened.IsZero() && now.Sub(last) < remembered
	burst := again && sent.Before(t.opened)
	t.used.Store(true)
	switch {
	case burst: // sent before the window was there: one refusal with many answers
	case again && t.floor > 0:
		t.floor, t.opened = min(2*t.floor, longest), now
	default:
		t.floor, t.opened = base, now
	}
	d := max(stated, t.floor, base)
	closed := min(d, longest)
	if again && !burst && !tests {
		closed = min(d, max(most, longest))
	}
	raise(&t.until, now.Add(closed).UnixNano())
	if tests && d > closed {
		raise(&t.full, now.Add(d).UnixNano())
		return t.Until(0), true
	}
	return t.Until(0), false
}

// Wait opens a window of d that says nothing of the next one.
func (t *Throttle) Wait(now time.Time, d time.Duration) {
	raise(&t.until, now.Add(min(d, longestFloor)).UnixNano())
}

// TestedAgain records that a test was refused too: now the rest of what was asked is
// believed, up to most before the next test.
func (t *Throttle) TestedAgain(now, sent time.Time, stated, base, most time.Duration) (until time.Time) {
	rest := max(time.Unix(0, t.full.Load()).Sub(now), stated)
	t.Refused(now, sent, stated, base, most, true)
	raise(&t.until, now.Add(min(rest, most)).UnixNano())
	return t.Until(0)
}

// Over ends the window after a test that was sent then and passed, unless a newer
// one began meanwhile.
func (t *Throttle) Over(sent time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.opened.After(sent) {
		return
	}
	t.passed = sent
	t.until.Store(0)
	t.full.Store(0)
}

// Untested says that nobody will test what is longer than the closed window for now,
// so that it is not believed.
func (t *Throttle) Untested() { t.full.Store(0) }

// Served records a success of a request that was sent then: the next window is
// half as long.
func (t *Throttle) Served(sent time.Time) {
	if !t.used.Load() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if sent.After(t.opened) {
		t.floor /= 2
	}
}

func raise(a *atomic.Int64, v int64) {
	for {
		old := a.Load()
		if old >= v || a.CompareAndSwap(old, v) {
			return
		}
	}
}

// Peek reports whether a run may pass at now, in unix nanoseconds, and if not, when
// to look again.
func (t *Throttle) Peek(now int64) (ok bool, again int64) {
	if until := t.until.Load(); now < until {
		if now < t.full.Load() {
			return false, until + int64(testGrace) // its test is due then
		}
		return false, until
	}
	if now < t.full.Load() {
		return false, now + int64(testGrace)
	}
	return true, 0
}

// Until returns the end of the closed window if that is after now, in unix
// nanoseconds; else the zero time.
func (t *Throttle) Until(now int64) time.Time {
	if until := t.until.Load(); now < until {
		return time.Unix(0, until)
	}
	return time.Time{}
}

// Asked returns when the resource asked to be left alone until, if that is longer
// than the closed window and after now; else the zero time.
func (t *Throttle) Asked(now int64) time.Time {
	if full := t.full.Load(); now < full && full > t.until.Load() {
		return time.Unix(0, full)
	}
	return time.Time{}
}
