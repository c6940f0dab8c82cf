package chaos

import (
	"sync"
	"time"
)

// signal is something that is seen from outside of the product.
type signal string

// The signals.
const (
	asked    signal = "request at a resource"
	streamed signal = "event of a stream"
	posted   signal = "request to refund"
	paid     signal = "refund"
	read     signal = "read of refunds"
	recorded signal = "event of a history"
)

// signals are those at which a fault can strike, and how many of each a run about
// gives: a step waits for the first of so many.
var signals = []struct {
	signal signal
	often  int
}{{asked, 3}, {streamed, 20}, {posted, 1}, {paid, 1}, {read, 2}, {recorded, 30}}

// Bounds of waiting, on a machine that may be slow: a held signal goes on, and a
// step whose signal does not come is taken when nothing at all happens.
const (
	longestHold = 10 * time.Second
	standstill  = 2 * time.Second
)

// board counts signals and lets one step wait for one of them. The zero value is
// not usable. It is safe for concurrent use.
type board struct {
	mu      sync.Mutex
	counts  map[signal]int
	last    time.Time // of any signal
	armed   *step
	at      int
	reached chan struct{} // closed when the armed step's signal is there
	struck  chan struct{} // closed when its fault has struck
}

func newBoard() *board { return &board{counts: map[signal]int{}} }

// hit counts a signal. It returns when the step that waited for it has struck, if
// the step holds what gave the signal.
func (b *board) hit(s signal) {
	b.mu.Lock()
	b.counts[s]++
	b.last = time.Now()
	if b.armed == nil || b.armed.on != s || b.counts[s] < b.at {
		b.mu.Unlock()
		return
	}
	holds, struck := b.armed.holds, b.struck
	b.armed = nil
	close(b.reached)
	b.mu.Unlock()
	if !holds {
		return
	}
	bound := time.NewTimer(longestHold)
	defer bound.Stop()
	select {
	case <-struck:
	case <-bound.C:
	}
}

// arm makes a step the one that waits.
func (b *board) arm(s step) (reached <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.armed, b.at = &s, b.counts[s.on]+s.nth
	b.reached, b.struck = make(chan struct{}), make(chan struct{})
	return b.reached
}

// let ends a step: what it held goes on, and nothing waits for its signal.
func (b *board) let() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.armed = nil
	close(b.struck)
}

// still reports that nothing happens, although something has.
func (b *board) still() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts[asked] > 0 && time.Since(b.last) > standstill
}
