package health

import (
	"sync"
	"time"
)

// Group counts an event once for many that share a key: n streams that die
// with one connection are one failure. The zero value is ready. It remembers
// the last 64 keys; keys must be comparable.
type Group struct {
	mu   sync.Mutex
	keys [64]any
	next int
}

// First reports whether key is new.
func (g *Group) First(key any) bool {
	if key == nil {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, k := range g.keys {
		if k == key {
			return false
		}
	}
	g.keys[g.next] = key
	g.next = (g.next + 1) % len(g.keys)
	return true
}

// LocalFaults tells a fault of this machine from a fault of a resource: when
// name resolution fails for every host of the pool, none of them is to blame.
// Make it with NewLocalFaults.
type LocalFaults struct {
	hosts map[string]bool
	keep  time.Duration

	mu     sync.Mutex
	failed map[string]time.Time
	undo   []func()
}

// NewLocalFaults watches the hosts of a pool, by name; a failure is forgotten
// after keep.
func NewLocalFaults(hosts []string, keep time.Duration) *LocalFaults {
	l := &LocalFaults{hosts: map[string]bool{}, keep: keep, failed: map[string]time.Time{}}
	for _, h := range hosts {
		l.hosts[h] = true
	}
	return l
}

// Failed records that host could not be resolved. It returns true when that
// holds for every host of the pool, or when host is none of them, which is the
// proxy; and then undoes the marks that were kept with Keep.
func (l *LocalFaults) Failed(host string, now time.Time) bool {
	if !l.hosts[host] {
		return true
	}
	l.mu.Lock()
	l.failed[host] = now
	for h, at := range l.failed {
		if now.Sub(at) > l.keep {
			delete(l.failed, h)
		}
	}
	local := len(l.failed) == len(l.hosts)
	var undo []func()
	if local {
		undo, l.undo = l.undo, nil
	}
	l.mu.Unlock()
	for _, f := range undo {
		f()
	}
	return local
}

// Keep remembers how to take back a mark that was made before the fault was
// known to be local. At most 64 are kept.
func (l *LocalFaults) Keep(undo func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.undo) < 64 {
		l.undo = append(l.undo, undo)
	}
}

// Worked records that this machine reached a host.
func (l *LocalFaults) Worked() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.failed) > 0 {
		clear(l.failed)
		l.undo = nil
	}
}
