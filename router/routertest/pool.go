package routertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Bounds of what a pool keeps. A test that runs for hours must not eat the machine.
const (
	maxBody       = 64 << 20  // bytes of one request body
	maxRecords    = 20000     // requests remembered
	maxRawBytes   = 128 << 20 // bytes of request bodies remembered; older records keep all but the body
	maxStored     = 10000     // stored responses of one resource
	maxStoreBytes = 128 << 20 // bytes of stored conversations of one resource
	maxTalkBytes  = 64 << 20  // bytes of one conversation
	maxPrefixes   = 200000    // prompt prefixes remembered by one resource
	maxLinks      = 200000    // item ids whose required reasoning item is remembered
	closeGrace    = 5 * time.Second
)

// Config describes a pool. The zero value is not usable: at least one resource
// is needed. It is read once, by New.
type Config struct {
	// Resources are started in order. Names must be unique.
	Resources []Resource `json:"resources"`
	// Model answers for every resource that has no model of its own. Its zero
	// value answers every request with the text "ok".
	Model Model `json:"model"`
	// Faults are set before the first request is served.
	Faults []Fault `json:"faults,omitempty"`
	// Control is the address of the control listener, for example
	// "127.0.0.1:0". Empty: no control listener.
	Control string `json:"control,omitempty"`
	// Public allows addresses that are not loopback. The pool has no
	// protection against strangers; leave it off outside of containers.
	Public bool `json:"public,omitempty"`
}

// Load reads a Config from JSON. An unknown key is an error: a fault whose key
// is misspelt would otherwise never fire and the test would pass for nothing.
func Load(r io.Reader) (Config, error) {
	var cfg Config
	data, err := io.ReadAll(io.LimitReader(r, maxBody))
	if err != nil {
		return cfg, fmt.Errorf("read pool configuration: %w", err)
	}
	if err := decodeStrict(data, &cfg); err != nil {
		return cfg, fmt.Errorf("read pool configuration: %w", err)
	}
	return cfg, nil
}

func decodeStrict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// Pool is a running set of scripted resources. It is made by New, ended by
// Close, and safe for concurrent use.
type Pool struct {
	servers []*Server
	byName  map[string]*Server
	rec     *recorder
	faults  *faultSet
	links   *links
	control *http.Server
	ctlURL  string
	done    chan struct{}
	once    sync.Once
	mu      sync.Mutex // held to add to busy, so that nothing is added once Close waits
	closed  bool
	busy    sync.WaitGroup
}

// enter counts a handler; false: the pool is closed.
func (p *Pool) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.busy.Add(1)
	}
	return !p.closed
}

// New checks the configuration, opens every listener and starts serving.
// It returns an error that names the resource or the fault it refuses.
func New(cfg Config) (*Pool, error) {
	p := &Pool{
		byName: map[string]*Server{},
		rec:    newRecorder(maxRecords, maxRawBytes),
		links:  newLinks(),
		done:   make(chan struct{}),
	}
	p.faults = newFaultSet(p)
	if len(cfg.Resources) == 0 {
		return nil, errors.New("start pool: no resources")
	}
	shared, err := compile(cfg.Model)
	if err != nil {
		return nil, fmt.Errorf("start pool: model: %w", err)
	}
	for _, r := range cfg.Resources {
		s, err := newServer(p, r, shared)
		if err != nil {
			return nil, fmt.Errorf("start pool: resource %q: %w", r.Name, err)
		}
		if _, dup := p.byName[r.Name]; dup {
			return nil, fmt.Errorf("start pool: resource %q: the name is used twice", r.Name)
		}
		p.byName[r.Name] = s
		p.servers = append(p.servers, s)
	}
	faults := slices.Clone(cfg.Faults)
	for _, r := range cfg.Resources {
		for _, f := range r.Faults {
			f.Resource = r.Name
			faults = append(faults, f)
		}
	}
	if err := p.SetFaults(faults...); err != nil {
		return nil, fmt.Errorf("start pool: %w", err)
	}
	if err := p.listen(cfg); err != nil {
		p.Close()
		return nil, fmt.Errorf("start pool: %w", err)
	}
	return p, nil
}

func (p *Pool) listen(cfg Config) error {
	for _, s := range p.servers {
		l, err := listenLoopback(s.cfg.Addr, cfg.Public)
		if err != nil {
			return fmt.Errorf("resource %q: %w", s.cfg.Name, err)
		}
		s.serve(l)
	}
	if cfg.Control == "" {
		return nil
	}
	l, err := listenLoopback(cfg.Control, cfg.Public)
	if err != nil {
		return fmt.Errorf("control listener: %w", err)
	}
	p.ctlURL = "http://" + l.Addr().String()
	p.control = &http.Server{Handler: p.ControlHandler(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = p.control.Serve(l) }()
	return nil
}

func listenLoopback(addr string, public bool) (net.Listener, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", addr, err)
	}
	ip := net.ParseIP(host)
	if !public && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("listen on %q: not a loopback address", addr)
	}
	return net.Listen("tcp", addr)
}

// Resource returns the running resource of that name, or nil.
func (p *Pool) Resource(name string) *Server { return p.byName[name] }

// Resources returns the running resources in the order of the configuration.
func (p *Pool) Resources() []*Server { return append([]*Server(nil), p.servers...) }

// ControlURL is the address of the control listener without a trailing slash,
// or "" when there is none.
func (p *Pool) ControlURL() string { return p.ctlURL }

// SetModel replaces the model of one resource, or of every resource when name
// is empty. Requests that are being answered keep the model they began with.
func (p *Pool) SetModel(name string, m Model) error {
	c, err := compile(m)
	if err != nil {
		return fmt.Errorf("set model: %w", err)
	}
	if name != "" && p.byName[name] == nil {
		return fmt.Errorf("set model: no resource %q", name)
	}
	for _, s := range p.servers {
		if name == "" || s.cfg.Name == name {
			s.model.Store(c)
		}
	}
	return nil
}

// Close ends every connection and listener and releases what hangs. It is safe
// to call more than once. It waits a few seconds at most for handlers.
func (p *Pool) Close() {
	p.once.Do(func() {
		close(p.done)
		for _, s := range p.servers {
			s.close()
		}
		if p.control != nil {
			_ = p.control.Close()
		}
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		idle := make(chan struct{})
		go func() { p.busy.Wait(); close(idle) }()
		select {
		case <-idle:
		case <-time.After(closeGrace): // a hook that never returns must not hang the test binary
		}
	})
}

// TB is the part of testing.TB that Start needs. It is declared here so that
// package testing stays out of programs that serve a pool.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Start is New for tests: it ends the test on an error and closes the pool
// when the test ends.
func Start(t TB, cfg Config) *Pool {
	t.Helper()
	p, err := New(cfg)
	if err != nil {
		t.Fatalf("%v", err)
		return nil
	}
	t.Cleanup(p.Close)
	return p
}

// pause waits for d, the client to go, or the pool to close; false means that
// the answer is no longer wanted.
func (p *Pool) pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	case <-p.done:
		return false
	}
}
