package health

import (
	"sync/atomic"
	"time"

	"github.com/onceward/onceward"
)

// Disabled says why a resource or a pair is not asked. A value is read-only.
type Disabled struct {
	Class  onceward.Class `json:"class,omitempty"` // empty: an operator did it
	Reason string         `json:"reason"`
	Scope  onceward.Scope `json:"scope,omitempty"`
	Since  time.Time      `json:"since"`
	Until  time.Time      `json:"until,omitzero"` // zero: until it is enabled
	// Adopted says that somebody else decided it, an operator or the pool's record;
	// else a neutral request of this process did.
	Adopted bool `json:"adopted,omitempty"`
}

// Switch turns a resource or a pair off and on. The zero value is on.
type Switch struct{ off atomic.Pointer[Disabled] }

// Off returns why it is off at now, or nil.
func (s *Switch) Off(now time.Time) *Disabled {
	d := s.off.Load()
	if d == nil || !d.Until.IsZero() && !now.Before(d.Until) {
		return nil
	}
	return d
}

// Disable turns it off and reports whether that changed anything. A reason that
// holds for longer stays; Since is when it was turned off first.
func (s *Switch) Disable(d Disabled) bool {
	for {
		old := s.off.Load()
		if old != nil && !expired(old, d.Since) {
			if old.Until.IsZero() || !d.Until.IsZero() && !d.Until.After(old.Until) {
				return false
			}
			d.Since = old.Since
		}
		if s.off.CompareAndSwap(old, &d) {
			return true
		}
	}
}

// Adopt turns it off as somebody else decided, and reports whether that changed
// anything. What this process found itself is replaced.
func (s *Switch) Adopt(d Disabled) bool {
	d.Adopted = true
	old := s.off.Swap(&d)
	return old == nil || *old != d
}

func expired(d *Disabled, now time.Time) bool { return !d.Until.IsZero() && !now.Before(d.Until) }

// Release turns it on if this process turned it off, and reports whether it did.
func (s *Switch) Release() bool {
	old := s.off.Load()
	return old != nil && !old.Adopted && s.off.CompareAndSwap(old, nil)
}

// Enable turns it on and reports whether it was off.
func (s *Switch) Enable() bool { return s.off.Swap(nil) != nil }
