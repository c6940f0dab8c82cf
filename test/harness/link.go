package harness

import (
	"maps"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"
)

// Link is a way between a worker and what it talks to, which a test can break:
// it drops connections, refuses them, is slow, or holds back what was sent. What
// it holds back is sent later, as bytes of a process that is gone are. Make it
// with NewLink; it is safe for concurrent use.
type Link struct {
	Name string

	target string
	listen net.Listener
	wait   sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	refuses bool
	delay   time.Duration
	held    chan struct{} // closed when nothing is held back any more; nil: nothing is
	pairs   map[*pair]struct{}
}

// pair is a connection with both its ends.
type pair struct {
	ends [2]net.Conn
	gone chan struct{}
	once sync.Once
}

// end resets both ends: an orderly end would look like an answer that is whole.
func (p *pair) end() {
	p.once.Do(func() {
		close(p.gone)
		for _, c := range p.ends {
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			_ = c.Close()
		}
	})
}

// NewLink makes a link to an address; it is taken down with the test.
func NewLink(t *testing.T, name, target string) *Link {
	t.Helper()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Link{Name: name, target: target, listen: listen, pairs: map[*pair]struct{}{}}
	l.wait.Go(l.accept)
	t.Cleanup(func() {
		l.mu.Lock()
		l.closed = true
		l.mu.Unlock()
		_ = listen.Close()
		l.Drop()
		l.wait.Wait()
	})
	return l
}

// Address is where the link listens.
func (l *Link) Address() string { return l.listen.Addr().String() }

// Through is a URL of the target as it is reached over the link.
func (l *Link) Through(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return target
	}
	u.Host = l.Address()
	return u.String()
}

func (l *Link) accept() {
	for {
		near, err := l.listen.Accept()
		if err != nil {
			return // the listener is closed
		}
		l.wait.Go(func() { l.serve(near) })
	}
}

func (l *Link) serve(near net.Conn) {
	far, err := net.Dial("tcp", l.target)
	if err != nil {
		_ = near.Close()
		return
	}
	p := &pair{ends: [2]net.Conn{near, far}, gone: make(chan struct{})}
	l.mu.Lock()
	refused := l.refuses || l.closed
	if !refused {
		l.pairs[p] = struct{}{}
	}
	l.mu.Unlock()
	if refused {
		p.end()
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.carry(p, near, far) })
	both.Go(func() { l.carry(p, far, near) })
	both.Wait()
	p.end()
	l.mu.Lock()
	delete(l.pairs, p)
	l.mu.Unlock()
}

// carry copies one way until it ends, and tells the other side that it did.
func (l *Link) carry(p *pair, from, to net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !l.pass(p) {
				return
			}
			if _, failed := to.Write(buf[:n]); failed != nil {
				p.end()
				return
			}
		}
		if err != nil {
			if tcp, ok := to.(*net.TCPConn); ok {
				_ = tcp.CloseWrite()
			}
			return
		}
	}
}

// pass waits for as long as the link holds bytes back; false: the connection is
// gone.
func (l *Link) pass(p *pair) bool {
	l.mu.Lock()
	held, delay := l.held, l.delay
	l.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-p.gone:
			return false
		}
	}
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-p.gone:
			return false
		}
	}
	return true
}

// Drop resets every connection.
func (l *Link) Drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.pairs {
		p.end()
	}
}

// Refuse drops every connection and takes no new one until Heal.
func (l *Link) Refuse() {
	l.mu.Lock()
	l.refuses = true
	l.mu.Unlock()
	l.Drop()
}

// Slow delays each piece of what is sent until Heal.
func (l *Link) Slow(delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = delay
}

// Hold keeps back what is sent until Heal, which sends it.
func (l *Link) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(chan struct{})
	}
}

// Heal makes the link whole again.
func (l *Link) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuses, l.delay = false, 0
	if l.held != nil {
		close(l.held)
		l.held = nil
	}
}

// startLinks makes a link to each thing that the workers talk to.
func (b *Bench) startLinks() {
	b.links = map[string]*Link{}
	link := func(name, target string) { b.links[name] = NewLink(b.t, name, target) }
	link("temporal", b.Temporal.Address)
	link("payments", host(b.paymentsURL))
	for _, r := range b.Pool.Resources() {
		link(r.Name(), host(r.URL()))
	}
}

func host(of string) string {
	u, err := url.Parse(of)
	if err != nil {
		return of
	}
	return u.Host
}

// Links are the bench's links by name, in order: temporal, payments and the
// resources. None unless the options ask for them.
func (b *Bench) Links() []*Link {
	var out []*Link
	for _, name := range slices.Sorted(maps.Keys(b.links)) {
		out = append(out, b.links[name])
	}
	return out
}

// through is the URL at which the workers reach something.
func (b *Bench) through(name, target string) string {
	if link := b.links[name]; link != nil {
		return link.Through(target)
	}
	return target
}
