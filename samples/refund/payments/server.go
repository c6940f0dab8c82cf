package payments

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Config says where refunds are kept and how payments misbehaves. The zero value keeps them in memory, pays every
// request and has no faults. It is read once by New.
type Config struct {
	DB        string // path of the SQLite file, created when missing; "": in memory, gone after Close
	Dedupe    bool   // a repeated Idempotency-Key answers the first refund instead of paying again
	Fault     Fault  // hits POST /refunds
	ReadFault Fault  // hits GET /refunds

	// BeforeCommit runs after the fault and just before the write, AfterCommit once the refund is on disk and before
	// the answer or the reset; a replay of a known key runs only the first. Both run on the request's goroutine and
	// hold its answer back while they block; they may run concurrently. Nil: not called.
	BeforeCommit func(RefundRequest)
	AfterCommit  func(Refund)
}

// Stats is what was paid. The zero value says nothing was. The map is the receiver's own.
type Stats struct {
	Refunds  int            `json:"refunds"`
	ByAction map[string]int `json:"by_action"`
}

var errStopping = errors.New("payments is stopping")

// Server is the product. The zero value is not usable: call New. It is safe for concurrent use.
type Server struct {
	store        *store
	dedupe       bool
	beforeCommit func(RefundRequest)
	afterCommit  func(Refund)
	now          func() time.Time

	writeFault, readFault faultPlan
	received, committed   tally
	stored                sync.Map // statuses that StoredStatus answers, by key

	mu       sync.Mutex
	closed   bool
	stopping chan struct{}
	inflight sync.WaitGroup
}

// New opens the database and refuses a fault that cannot be acted out.
func New(cfg Config) (*Server, error) {
	if err := cfg.Fault.checkWrite(); err != nil {
		return nil, err
	}
	if err := cfg.ReadFault.checkRead(); err != nil {
		return nil, err
	}
	st, err := openStore(cfg.DB)
	if err != nil {
		return nil, err
	}
	s := &Server{
		store: st, dedupe: cfg.Dedupe,
		beforeCommit: cfg.BeforeCommit, afterCommit: cfg.AfterCommit,
		now: time.Now, stopping: make(chan struct{}),
	}
	s.writeFault.set(cfg.Fault)
	s.readFault.set(cfg.ReadFault)
	// The count goes on from what the file holds, so that waiting for N refunds and /stats mean the same refunds.
	stats, err := st.stats()
	if err != nil {
		return nil, errors.Join(err, st.close())
	}
	s.committed.add(stats.Refunds)
	return s, nil
}

// Handler serves the product's HTTP contract. It needs a server that can hand out its connection (HTTP/1.1) to reset
// it; on any other it aborts the response instead. After Close it answers 503.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id...}", s.getOrder)
	mux.HandleFunc("POST /refunds", s.postRefund)
	mux.HandleFunc("GET /refunds", s.getRefunds)
	mux.HandleFunc("GET /stats", s.getStats)
	mux.HandleFunc("GET /healthz", s.getHealth)
	mux.HandleFunc("POST /_control/fault", s.postFault)
	mux.HandleFunc("GET /_control/wait", s.getWait)
	// A web page open on the same machine could otherwise post refunds and faults to the loopback port.
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.enter() {
			answerReason(w, http.StatusServiceUnavailable, errStopping.Error())
			return
		}
		defer s.inflight.Done()
		mux.ServeHTTP(w, r)
	}))
}

// enter keeps the database open while a request runs; false after Close.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.inflight.Add(1)
	return true
}

// Close ends pauses and waits, lets requests in flight finish, and closes the database. A refund that was still
// waiting in a slow fault is not paid. The second call does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.stopping)
	s.mu.Unlock()
	s.inflight.Wait()
	if err := s.store.close(); err != nil {
		return fmt.Errorf("close database: %w", err)
	}
	return nil
}

// SetFault replaces the fault of POST /refunds; the zero Fault lifts it.
func (s *Server) SetFault(f Fault) error {
	if err := f.checkWrite(); err != nil {
		return err
	}
	s.writeFault.set(f)
	return nil
}

// SetReadFault replaces the fault of GET /refunds; the zero Fault lifts it.
func (s *Server) SetReadFault(f Fault) error {
	if err := f.checkRead(); err != nil {
		return err
	}
	s.readFault.set(f)
	return nil
}

// Stats counts what was paid, read faults or not.
func (s *Server) Stats() (Stats, error) {
	if !s.enter() {
		return Stats{}, errStopping
	}
	defer s.inflight.Done()
	return s.store.stats()
}

// WaitCommitted returns the number of refunds once it is at least n, counting those the database held before.
func (s *Server) WaitCommitted(ctx context.Context, n int) (int, error) {
	return s.wait(ctx, &s.committed, n)
}

// WaitReceived returns the number of valid POST /refunds this process got, whatever a fault did to them, once it is
// at least n.
func (s *Server) WaitReceived(ctx context.Context, n int) (int, error) {
	return s.wait(ctx, &s.received, n)
}

func (s *Server) wait(ctx context.Context, t *tally, n int) (int, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-s.stopping:
			cancel(errStopping)
		case <-ctx.Done():
		}
	}()
	return t.wait(ctx, n)
}

// pause waits out d and says whether it did; Close and the end of ctx cut it short.
func (s *Server) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.stopping:
		return false
	case <-ctx.Done():
		return false
	}
}

func (s *Server) getStats(w http.ResponseWriter, _ *http.Request) {
	stats, err := s.store.stats()
	if err != nil {
		answerError(w, err)
		return
	}
	answer(w, http.StatusOK, stats)
}

func (s *Server) getHealth(w http.ResponseWriter, r *http.Request) {
	if err := s.store.db.PingContext(r.Context()); err != nil {
		answerError(w, fmt.Errorf("ping database: %w", err))
		return
	}
	answer(w, http.StatusOK, map[string]string{"status": "ok"})
}
