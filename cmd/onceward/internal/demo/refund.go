package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/cmd/onceward/internal/local"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/samples/refund"
	"github.com/onceward/onceward/samples/refund/payments"
)

const (
	order = "order-1842"
	// cutAfter events the next answer breaks off: created, in progress, the
	// reasoning item, and some pieces of its text.
	cutAfter = 9
)

// RefundStory is what happened to a refund.
type RefundStory struct {
	Head
	WorkflowID string      `json:"workflow_id"`
	Seconds    float64     `json:"seconds"`  // of the run
	Refunds    int         `json:"refunds"`  // counted in the product's database
	Requests   int         `json:"requests"` // counted by the pool, neutral ones left out
	Run        show.Report `json:"run"`
}

// Look implements Told.
func (s *RefundStory) Look() (ui, address, run string) { return s.UI, s.Address, s.WorkflowID }

// Refund tells the story of a refund whose answer is lost.
func Refund(ctx context.Context, cfg Config) (Told, error) {
	s := &RefundStory{Head: begin("refund", cfg), WorkflowID: "refund-" + order}
	err := s.start(ctx, local.Config{
		Model: routertest.RefundModel(),
		Payments: payments.Config{
			Dedupe: false, Fault: payments.Fault{Kind: payments.CommitThenDrop, Times: 1},
			AfterCommit: s.worker.killOnce, // paid and on disk, not yet answered
		},
	})
	if err != nil {
		return s, err
	}
	s.cfg.Say("a pool of %d resources; payments that pays every request and loses the first answer", len(local.Members))
	if err := s.fault(); err != nil {
		return s, err
	}
	if err := s.tell(ctx); err != nil {
		return s, errors.Join(err, s.worker.said())
	}
	return s, s.check()
}

// fault breaks off the first answer that comes after the refund's receipt.
func (s *RefundStory) fault() error {
	s.stack.Pool.OnDone(func(r routertest.Request) {
		if r.Outcome.Fault == "" {
			s.cfg.Say("%s answers", r.Resource)
		} else {
			s.cfg.Say("%s breaks off after %d events, in the middle of its text", r.Resource, r.Outcome.Events)
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
func (s *RefundStory) tell(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storyLimit)
	defer cancel()
	if err := s.worker.start(s.stack.ConfigFile, s.stack.PaymentsURL); err != nil {
		return err
	}
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	begun := time.Now()
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: s.WorkflowID, TaskQueue: "onceward", StaticSummary: "refund of " + order},
		refund.RefundWorkflow, onceward.Ask("A customer asks for a refund of "+order+". Refund it if it may be refunded."))
	if err != nil {
		return fmt.Errorf("start run: %w", err)
	}
	s.cfg.Say("run %s is started", s.WorkflowID)
	ended := make(chan error, 1)
	go func() { ended <- run.Get(ctx, nil) }()
	select {
	case err = <-ended: // without the story's fault: the claims will say so
	case <-s.worker.killed:
		if err := s.worker.start(s.stack.ConfigFile, s.stack.PaymentsURL); err != nil {
			return err
		}
		s.cfg.Say("the worker is started again; the action's lost heartbeat is noticed within %s", s.cfg.Timing.Heartbeat)
		err = <-ended
	}
	s.Seconds = time.Since(begun).Round(10 * time.Millisecond).Seconds()
	if ctx.Err() != nil {
		return fmt.Errorf("wait for the run: it has no end after %s: %w", storyLimit, ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("wait for the run: %w", err)
	}
	s.cfg.Say("the run has ended after %.1f s", s.Seconds)
	s.Run, err = show.Read(ctx, c, s.WorkflowID)
	return err
}
