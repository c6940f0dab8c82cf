// Package local runs what an agent needs on this machine: the Temporal dev
// server, a pool of scripted resources, the payments service of the refund
// sample, and the configuration that ties them together.
package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/onceward/onceward/cmd/onceward/internal/devserver"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/worker"
)

// Member is one resource of the pool. Weight 0 counts as 1.
type Member struct {
	Name   string
	Weight int
}

// Members are the pool of a stack that is told nothing else.
var Members = []Member{{Name: "swedencentral"}, {Name: "francecentral"}, {Name: "germanywest"}}

// SampleModel plays the model of all sample agents.
func SampleModel() routertest.Model {
	quiz := routertest.QuizModel(routertest.Quiz{}).Rules
	for i := range quiz {
		quiz[i].When.Instructions = "(?i)quiz"
	}
	return routertest.Model{Rules: append(quiz, routertest.RefundModel().Rules...)}
}

// Config says what Start starts. The zero value is a stack on free ports that
// forgets everything.
type Config struct {
	Temporal     devserver.Config
	Payments     payments.Config // DB is a file of the stack's own when empty
	PaymentsAddr string          // a loopback address; empty: a free port
	PoolAddr     string          // of the pool's control listener; empty: a free port
	Members      []Member        // of the pool; empty: Members
	Model        routertest.Model
	Timing       Timing
}

// Stack is a running stack. It is safe for concurrent use.
type Stack struct {
	Temporal    *devserver.Server
	Pool        *routertest.Pool
	Payments    *payments.Server
	PaymentsURL string
	ConfigFile  string

	dir     string
	members []Member
	timing  Timing
	server  *http.Server
}

// Start starts all parts, or none.
func Start(ctx context.Context, cfg Config) (_ *Stack, err error) {
	s := &Stack{members: cfg.Members, timing: cfg.Timing}
	if len(s.members) == 0 {
		s.members = Members
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "onceward-"); err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	keys, err := writeKeys(s.dir, s.members)
	if err != nil {
		return nil, err
	}
	if err := s.startPool(cfg, keys); err != nil {
		return nil, err
	}
	if err := s.startPayments(cfg); err != nil {
		return nil, err
	}
	cfg.Temporal.Attributes = worker.SearchAttributes()
	if s.Temporal, err = devserver.Start(ctx, cfg.Temporal); err != nil {
		return nil, err
	}
	s.ConfigFile, err = s.write("onceward.yaml", whole)
	return s, err
}

// Configure writes a second configuration: the same Temporal, another task queue
// and pool, and of the resources only those. It returns the file's path.
func (s *Stack) Configure(queue string, resources ...string) (string, error) {
	return s.write(queue+".yaml", view{queue: queue, pool: queue, only: resources})
}

func (s *Stack) write(name string, v view) (string, error) {
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, configuration(s, s.timing, v), 0o600); err != nil {
		return "", fmt.Errorf("write configuration: %w", err)
	}
	return path, nil
}

func (s *Stack) startPool(cfg Config, keys map[string]string) (err error) {
	pool := routertest.Config{Model: cfg.Model, Control: cfg.PoolAddr}
	if pool.Control == "" {
		pool.Control = "127.0.0.1:0"
	}
	for _, m := range s.members {
		pool.Resources = append(pool.Resources, routertest.Resource{Name: m.Name, Key: keys[m.Name], Deployments: []string{Model}})
	}
	s.Pool, err = routertest.New(pool)
	return err
}

func (s *Stack) startPayments(cfg Config) (err error) {
	if cfg.Payments.DB == "" {
		cfg.Payments.DB = filepath.Join(s.dir, "payments.db")
	}
	if cfg.PaymentsAddr == "" {
		cfg.PaymentsAddr = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(cfg.PaymentsAddr)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("start payments: %q is not a loopback address: it pays whoever asks", cfg.PaymentsAddr)
	}
	if s.Payments, err = payments.New(cfg.Payments); err != nil {
		return fmt.Errorf("start payments: %w", err)
	}
	listener, err := net.Listen("tcp", cfg.PaymentsAddr)
	if err != nil {
		return fmt.Errorf("start payments: %w", err)
	}
	s.PaymentsURL = "http://" + listener.Addr().String()
	s.server = &http.Server{Handler: s.Payments.Handler(), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() { _ = s.server.Serve(listener) }() // ends with Close, and Close says what matters
	return nil
}

// Close stops all parts and removes their files. It is safe on a stack that
// started only in part.
func (s *Stack) Close() error {
	if s.Temporal != nil {
		s.Temporal.Stop()
	}
	var err error
	if s.Payments != nil {
		err = s.Payments.Close() // before its server, which waits for what is held back
	}
	if s.server != nil {
		err = errors.Join(err, s.server.Close())
	}
	if s.Pool != nil {
		s.Pool.Close()
	}
	if s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}
