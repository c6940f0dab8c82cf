// Package demo tells stories of faults with real parts and real processes, and
// checks what it claims about them.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/cmd/onceward/internal/devserver"
	"github.com/onceward/onceward/cmd/onceward/internal/local"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/samples/refund"
	"github.com/onceward/onceward/samples/refund/payments"
)

const (
	order      = "order-1842"
	storyLimit = 2 * time.Minute
	stopGrace  = 10 * time.Second
	// cutAfter events the next answer breaks off: created, in progress, the
	// reasoning item, and some pieces of its text.
	cutAfter = 9
)

// Config is what a story needs. Executable and Timing are required.
type Config struct {
	Temporal   devserver.Config
	Executable string // this program: the worker is a process of its own
	Timing     local.Timing
	Say        func(format string, args ...any) // progress, from several goroutines; nil: silence
}

// Story is what happened, and what it proves. Close it.
type Story struct {
	Story      string      `json:"story"`
	Holds      bool        `json:"holds"`
	Claims     []Claim     `json:"claims"`
	WorkflowID string      `json:"workflow_id"`
	Seconds    float64     `json:"seconds"`  // of the run
	Refunds    int         `json:"refunds"`  // counted in the product's database
	Requests   int         `json:"requests"` // counted by the pool
	UI         string      `json:"ui"`
	Address    string      `json:"address"` // of Temporal
	Run        show.Report `json:"run"`

	stack  *local.Stack
	worker *workers
}

// Claim is one sentence about the story that was checked.
type Claim struct {
	Claim string `json:"claim"`
	Holds bool   `json:"holds"`
	Found string `json:"found"`
}

// Refund tells the story of a refund. A claim that does not hold is no error:
// the story says so. The story is not nil once something has to be closed.
func Refund(ctx context.Context, cfg Config) (*Story, error) {
	if cfg.Say == nil {
		cfg.Say = func(string, ...any) {}
	}
	var say sync.Mutex
	speak := cfg.Say
	cfg.Say = func(format string, args ...any) {
		say.Lock()
		defer say.Unlock()
		speak(format, args...)
	}
	s := &Story{Story: "refund", WorkflowID: "refund-" + order, worker: &workers{cfg: cfg, killed: make(chan struct{})}}
	var err error
	s.stack, err = local.Start(ctx, local.Config{
		Temporal: cfg.Temporal, Model: routertest.RefundModel(), Timing: cfg.Timing,
		Payments: payments.Config{
			Dedupe: false, Fault: payments.Fault{Kind: payments.CommitThenDrop, Times: 1},
			AfterCommit: s.worker.killOnce, // paid and on disk, not yet answered
		},
	})
	if err != nil {
		return s, fmt.Errorf("start the story: %w", err)
	}
	s.UI, s.Address = s.stack.Temporal.UI, s.stack.Temporal.Address
	cfg.Say("Temporal %s, UI %s", s.Address, s.UI)
	cfg.Say("a pool of %d resources; payments that pays every request and loses the first answer", len(local.Members))
	if err := s.fault(cfg); err != nil {
		return s, err
	}
	if err := s.tell(ctx, cfg); err != nil {
		return s, errors.Join(err, s.worker.said())
	}
	return s, s.check(ctx)
}

// fault breaks off the first answer that comes after the refund's receipt.
func (s *Story) fault(cfg Config) error {
	s.stack.Pool.OnDone(func(r routertest.Request) {
		if r.Outcome.Complete {
			cfg.Say("%s answers", r.Resource)
		} else {
			cfg.Say("%s breaks off after %d events, in the middle of its text", r.Resource, r.Outcome.Events)
		}
	})
	err := s.stack.Pool.SetFaults(routertest.Fault{
		ID: "cut", Kind: routertest.FaultCutEvents, AfterEvents: cutAfter, Times: 1,
		When: func(r routertest.Request) bool { _, after := r.OutputOf("create_refund"); return after },
	})
	if err != nil {
		return fmt.Errorf("set the story's faults: %w", err)
	}
	return nil
}

// tell starts worker and run, starts the worker again after its death, and waits
// for the run's end.
func (s *Story) tell(ctx context.Context, cfg Config) error {
	ctx, cancel := context.WithTimeout(ctx, storyLimit)
	defer cancel()
	if err := s.worker.start(s.stack); err != nil {
		return err
	}
	c, err := client.DialContext(ctx, client.Options{HostPort: s.Address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		return fmt.Errorf("connect to Temporal: %w", err)
	}
	defer c.Close()
	begun := time.Now()
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: s.WorkflowID, TaskQueue: "onceward", StaticSummary: "refund of " + order},
		refund.RefundWorkflow, onceward.Ask("A customer asks for a refund of "+order+". Refund it if it may be refunded."))
	if err != nil {
		return fmt.Errorf("start run: %w", err)
	}
	cfg.Say("run %s is started", s.WorkflowID)
	ended := make(chan error, 1)
	go func() { ended <- run.Get(ctx, nil) }()
	select {
	case err = <-ended: // without the story's fault: the claims will say so
	case <-s.worker.killed:
		if err := s.worker.start(s.stack); err != nil {
			return err
		}
		cfg.Say("the worker is started again; the action's lost heartbeat is noticed within %s", cfg.Timing.Heartbeat)
		err = <-ended
	}
	s.Seconds = time.Since(begun).Round(10 * time.Millisecond).Seconds()
	if ctx.Err() != nil {
		return fmt.Errorf("wait for the run: it has no end after %s: %w", storyLimit, ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("wait for the run: %w", err)
	}
	cfg.Say("the run has ended after %.1f s", s.Seconds)
	s.Run, err = show.Read(ctx, c, s.WorkflowID)
	return err
}

// Close stops everything. It is safe on a story that began only in part.
func (s *Story) Close() {
	s.worker.stop()
	if s.stack != nil {
		_ = s.stack.Close() // nothing of it is needed any more
	}
}

// workers is the worker's process and the one that replaces it.
type workers struct {
	cfg    Config
	output devserver.Tail
	once   sync.Once
	killed chan struct{}

	mu      sync.Mutex
	child   *devserver.Child
	stopped bool
}

func (w *workers) start(stack *local.Stack) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	cmd := exec.Command(w.cfg.Executable, "worker", "--config", stack.ConfigFile, "--payments", stack.PaymentsURL)
	cmd.Stdout, cmd.Stderr = io.Discard, &w.output
	// Variables meant for another Temporal must not lead the worker away from this one.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ONCEWARD_") })
	child, err := devserver.StartChild(cmd)
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	w.child = child
	w.cfg.Say("worker %d is started", child.PID())
	return nil
}

// killOnce kills the worker before payments answers the refund that was paid.
func (w *workers) killOnce(r payments.Refund) {
	w.once.Do(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.child == nil || w.stopped {
			return
		}
		pid := w.child.PID()
		if err := w.child.Kill(); err != nil {
			w.cfg.Say("worker %d cannot be killed: %v", pid, err)
			return
		}
		w.cfg.Say("refund %s is paid; worker %d gets SIGKILL before it hears of it; the answer is dropped", r.RefundID, pid)
		close(w.killed)
	})
}

func (w *workers) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.child != nil {
		w.child.Stop(stopGrace)
	}
}

// said is what the workers logged, for the error of a story that went wrong.
func (w *workers) said() error {
	if text := w.output.String(); text != "" {
		return fmt.Errorf("the workers said:\n%s", text)
	}
	return nil
}
