package devserver

import (
	"strings"
	"sync"
)

const maxOutput = 16 << 10

// Tail is a writer that keeps the end of what a child prints, for the error when
// it fails. The zero value is ready. It is safe for concurrent use.
type Tail struct {
	mu  sync.Mutex
	buf []byte
}

// Write implements io.Writer; it never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - maxOutput; over > 0 {
		t.buf = t.buf[over:]
	}
	return len(p), nil
}

// String returns what is kept, without white space around it.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}

// greeting is a Tail that tells when the child has said something.
type greeting struct {
	*Tail
	once  sync.Once
	heard chan struct{} // closed then
}

func (g *greeting) Write(p []byte) (int, error) {
	if len(p) > 0 {
		g.once.Do(func() { close(g.heard) })
	}
	return g.Tail.Write(p)
}

func note(t *Tail) string {
	said := t.String()
	if said == "" {
		return ""
	}
	return "; it said: " + strings.ReplaceAll(said, "\n", " | ")
}
