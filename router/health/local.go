package health

import (
	"sync"
	"time"
)

// LocalFaults tells a fault of this machine from a fault of a resource: when
// name resolution fails for every host of the pool, none of them is to blame.
// Make it with NewLocalFaults.
type LocalFaults struct {
	hosts map[string]bool
	keep  time.Duration

	mu     sync.Mutex
	failed map[string]time.Time
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
// proxy.
func (l *LocalFaults) Failed(host string, now time.Time) bool {
	if !l.hosts[host] {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed[host] = now
	for h := range l.hosts {
		if at, failed := l.failed[h]; !failed || now.Sub(at) > l.keep {
			return false
		}
	}
	return true
}

// Worked records that something answered, so that this machine is well.
func (l *LocalFaults) Worked() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.failed)
}
