package routertest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Event is one stream event that was flushed to a client.
type Event struct {
	// N counts the events of the request from 1.
	N int
	// Type is the event's type, for example "response.output_text.delta".
	Type string
}

type waiter struct {
	pred  func(Request) bool
	found chan Request
}

// recorder keeps the requests of a pool and tells waiters and hooks of changes.
type recorder struct {
	mu       sync.Mutex
	reqs     []*Request
	order    int            // of the newest request
	nth      map[string]int // by sort, and by sort and resource
	keep     int            // records
	keepRaw  int            // bytes of bodies
	rawBytes int
	oldest   int // index of the oldest record that still has its body
	waiters  map[*waiter]struct{}
	hookID   int
	received map[int]func(Request)
	events   map[int]func(Request, Event)
	finished map[int]func(Request)
	neutral  map[int]func(Request) // received neutral requests
}

func newRecorder(keep, keepRaw int) *recorder {
	return &recorder{
		keep:     keep,
		keepRaw:  keepRaw,
		nth:      map[string]int{},
		waiters:  map[*waiter]struct{}{},
		received: map[int]func(Request){},
		events:   map[int]func(Request, Event){},
		finished: map[int]func(Request){},
		neutral:  map[int]func(Request){},
	}
}

// add numbers the request, keeps it and runs the hooks before it is answered.
func (c *recorder) add(r Request) *Request {
	c.mu.Lock()
	c.order++
	sort := Runs
	if r.Neutral {
		sort = Neutrals
	}
	of := string(sort)
	c.nth[of]++
	c.nth[of+"/"+r.Resource]++
	r.Order, r.Seq, r.Nth = c.order, c.nth[of], c.nth[of+"/"+r.Resource]
	rec := &r
	c.reqs = append(c.reqs, rec)
	c.rawBytes += len(r.Raw)
	for c.rawBytes > c.keepRaw && c.oldest < len(c.reqs)-1 {
		old := c.reqs[c.oldest]
		c.rawBytes -= len(old.Raw)
		old.Raw, old.Items, old.Body.Input, old.Body.Instructions = nil, nil, nil, nil
		c.oldest++
	}
	if len(c.reqs) > c.keep {
		c.rawBytes -= len(c.reqs[0].Raw)
		c.reqs[0] = nil
		c.reqs = c.reqs[1:]
		c.oldest = max(0, c.oldest-1)
	}
	hooks := values(c.received)
	if r.Neutral {
		hooks = values(c.neutral)
	}
	snap := *rec
	c.tell(snap)
	c.mu.Unlock()
	for _, h := range hooks {
		h(snap)
	}
	return rec
}

// change applies f to the record and tells the waiters.
func (c *recorder) change(rec *Request, f func(*Request)) Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(rec)
	c.tell(*rec)
	return *rec
}

func (c *recorder) tell(snap Request) {
	for w := range c.waiters {
		if w.pred(snap) {
			w.found <- snap // room for one; the waiter is gone after the first
			delete(c.waiters, w)
		}
	}
}

func (c *recorder) flushed(rec *Request, typ string) {
	snap := c.change(rec, func(r *Request) { r.Outcome.Events++ })
	if snap.Neutral {
		return
	}
	c.mu.Lock()
	hooks := values(c.events)
	c.mu.Unlock()
	for _, h := range hooks {
		h(snap, Event{N: snap.Outcome.Events, Type: typ})
	}
}

func (c *recorder) finish(rec *Request) {
	snap := c.change(rec, func(r *Request) { r.Outcome.Done = true })
	if snap.Neutral {
		return
	}
	c.mu.Lock()
	hooks := values(c.finished)
	c.mu.Unlock()
	for _, h := range hooks {
		h(snap)
	}
}

// values returns hooks in the order in which they were set.
func values[V any](m map[int]V) []V {
	out := make([]V, 0, len(m))
	for _, id := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[id])
	}
	return out
}

func (c *recorder) list(keep func(*Request) bool) []Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := []Request{}
	for _, r := range c.reqs {
		if keep(r) {
			out = append(out, *r)
		}
	}
	return out
}

// Requests returns every request the pool has received but the neutral ones,
// oldest first.
func (p *Pool) Requests() []Request {
	return p.rec.list(func(r *Request) bool { return !r.Neutral })
}

// Requests returns every request this resource has received but the neutral
// ones, oldest first.
func (s *Server) Requests() []Request {
	return s.pool.rec.list(func(r *Request) bool { return !r.Neutral && r.Resource == s.cfg.Name })
}

// Attempts counts the requests for a model response (POST .../responses or
// .../chat/completions) that this resource has received, neutral ones left out.
func (s *Server) Attempts() int {
	return len(s.pool.rec.list(func(r *Request) bool {
		return r.Resource == s.cfg.Name && r.isAttempt()
	}))
}

// Attempts counts the requests for a model response over all resources, neutral
// ones left out.
func (p *Pool) Attempts() int {
	return len(p.rec.list((*Request).isAttempt))
}

func (r *Request) isAttempt() bool {
	return !r.Neutral && r.Method == "POST" && (hasSuffixPath(r.Path, "responses") || hasSuffixPath(r.Path, "chat/completions"))
}

// ForgetRequests drops what was recorded; sequence numbers go on.
func (p *Pool) ForgetRequests() {
	p.rec.mu.Lock()
	defer p.rec.mu.Unlock()
	p.rec.reqs, p.rec.rawBytes, p.rec.oldest = nil, 0, 0
}

// Await returns the first request, already recorded or still to come, for
// which pred is true; neutral requests are passed over. pred sees a request when it arrives, after each event
// that was flushed, and when it is done; it must be quick and must not call
// the pool. The error is the context's, or says that the pool was closed.
func (p *Pool) Await(ctx context.Context, pred func(Request) bool) (Request, error) {
	return p.await(ctx, Runs, pred)
}

func (p *Pool) await(ctx context.Context, of Sort, want func(Request) bool) (Request, error) {
	pred := func(r Request) bool { return of.holds(r.Neutral) && want(r) }
	w := &waiter{pred: pred, found: make(chan Request, 1)}
	p.rec.mu.Lock()
	for _, r := range p.rec.reqs {
		if pred(*r) {
			snap := *r
			p.rec.mu.Unlock()
			return snap, nil
		}
	}
	p.rec.waiters[w] = struct{}{}
	p.rec.mu.Unlock()
	defer func() {
		p.rec.mu.Lock()
		delete(p.rec.waiters, w)
		p.rec.mu.Unlock()
	}()
	select {
	case r := <-w.found:
		return r, nil
	case <-ctx.Done():
		return Request{}, fmt.Errorf("await request: %w", ctx.Err())
	case <-p.done:
		return Request{}, fmt.Errorf("await request: %w", errClosed)
	}
}

// OnRequest calls f when a request was received and before it is answered: the
// answer waits for f, so a test can stop the client at that moment. No hook but
// OnNeutral is called for neutral requests. Call the returned function to remove
// the hook.
func (p *Pool) OnRequest(f func(Request)) (remove func()) {
	return addHook(p.rec, p.rec.received, f)
}

// OnEvent calls f after each stream event that was flushed to the client; the
// next event waits for f. Call the returned function to remove the hook.
func (p *Pool) OnEvent(f func(Request, Event)) (remove func()) {
	return addHook(p.rec, p.rec.events, f)
}

// OnDone calls f when a resource is finished with a request. Call the returned
// function to remove the hook.
func (p *Pool) OnDone(f func(Request)) (remove func()) {
	return addHook(p.rec, p.rec.finished, f)
}

func addHook[F any](c *recorder, hooks map[int]F, f F) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hookID++
	id := c.hookID
	hooks[id] = f
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(hooks, id)
	}
}
