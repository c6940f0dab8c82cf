package payments

import (
	"context"
	"sync"
)

// tally counts and lets others wait for a count. The zero value counts from 0. It is safe for concurrent use.
type tally struct {
	mu      sync.Mutex
	n       int
	changed chan struct{}
}

func (t *tally) add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n += n
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

func (t *tally) look() (int, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return t.n, t.changed
}

// wait returns the count once it is at least n, else the context's error.
func (t *tally) wait(ctx context.Context, n int) (int, error) {
	for {
		have, changed := t.look()
		if have >= n {
			return have, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return have, context.Cause(ctx)
		}
	}
}
