package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
)

const (
	// poolEvery is how often a worker reads the pool's record.
	poolEvery = 5 * time.Second
	// poolCall bounds one call to Temporal about the record.
	poolCall = 10 * time.Second
	// poolReports bounds the reports that wait to be sent. What does not fit is
	// told again by the next reading.
	poolReports = 64
)

// poolSync keeps this process's health and the Pool workflow's record in step: a
// finding of this worker is reported once, when it changes something, and what
// other workers found or an operator decided is adopted. It sends no attempt's
// health, only what lasts.
type poolSync struct {
	client  client.Client
	router  *router.Router
	log     *slog.Logger
	pool    string
	queue   string
	routes  onceward.PoolRoutes
	reports chan onceward.PoolReport
}

func newPoolSync(w *Worker) *poolSync {
	s := &poolSync{
		client: w.client, log: w.log, pool: w.cfg.Pool.Name, queue: w.cfg.Temporal.TaskQueue,
		reports: make(chan onceward.PoolReport, poolReports),
		routes:  onceward.PoolRoutes{Retest: onceward.RetestPolicy{First: w.cfg.Pool.Retest.First, Most: w.cfg.Pool.Retest.Most}},
	}
	for _, r := range w.cfg.Pool.Resources {
		route := onceward.PoolRoute{Resource: r.Name, Endpoint: onceward.EndpointDigest(r.BaseURL)}
		for _, d := range r.Deployments {
			route.Models = append(route.Models, d.Model)
		}
		s.routes.Routes = append(s.routes.Routes, route)
	}
	return s
}

// changed is the router's OnChange. It must not block: it is called inside an
// attempt.
func (s *poolSync) changed(c router.Change) {
	if c.Enabled {
		s.log.Info("resource enabled", "resource", c.Resource, "model", c.Model)
		return
	}
	about := []any{"resource", c.Resource, "model", c.Model, "reason", c.Disabled.Reason}
	if !c.Disabled.Until.IsZero() { // else it is disabled until a test passes or somebody enables it
		about = append(about, "until", c.Disabled.Until)
	}
	s.log.Warn("resource disabled", about...)
	s.enqueue(c)
}

// enqueue reports a finding that concerns every worker.
func (s *poolSync) enqueue(c router.Change) {
	if c.Disabled.Scope == onceward.ScopeEgress || c.Disabled.Class == "" {
		return
	}
	report := onceward.PoolReport{
		Resource: c.Resource, Model: c.Model, Endpoint: s.endpoint(c.Resource), Class: c.Disabled.Class, Reason: c.Disabled.Reason, At: c.Disabled.Since, Until: c.Disabled.Until,
	}
	select {
	case s.reports <- report:
	default:
	}
}

// begin tells the Pool which routes there are and adopts its record, before the
// first run is taken: a resource that another worker found unable to pay is not
// asked again after a restart.
//
// The Pool workflow lives on the task queue of the deployment that started last:
// on the queue of one that is gone nobody would carry it out.
func (s *poolSync) begin(ctx context.Context) {
	if err := s.fetch(ctx); err != nil {
		s.log.Warn("the pool's record cannot be moved to this task queue", "pool", s.pool, "task_queue", s.queue, "error", err)
	}
	if err := s.signal(ctx, onceward.SignalRoutes, s.routes); err != nil {
		s.log.Warn("the pool's record cannot be reached; health is this worker's own until it can", "pool", s.pool, "error", err)
	}
	s.read(ctx)
}

// fetch moves a Pool workflow that lives on another task queue to this one, with
// its record.
func (s *poolSync) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, poolCall)
	defer cancel()
	described, err := s.client.DescribeWorkflow(ctx, onceward.PoolWorkflowID(s.pool), "")
	var missing *serviceerror.NotFound
	switch {
	case errors.As(err, &missing):
		return nil
	case err != nil:
		return err
	case described.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING || described.TaskQueueName == s.queue:
		return nil
	}
	health, err := ReadPool(ctx, s.client, s.pool)
	if err != nil {
		return err
	}
	_, err = s.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: onceward.PoolWorkflowID(s.pool), TaskQueue: s.queue, StaticSummary: onceward.Summary("pool " + s.pool),
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
	}, onceward.WorkflowPool, onceward.PoolInput{Pool: s.pool, Routes: s.routes.Routes, Retest: s.routes.Retest, Health: health})
	return err
}

func (s *poolSync) endpoint(resource string) string {
	for _, r := range s.routes.Routes {
		if r.Resource == resource {
			return r.Endpoint
		}
	}
	return ""
}

// run sends reports and reads the record until ctx is done.
func (s *poolSync) run(ctx context.Context) {
	ticker := time.NewTicker(poolEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case report := <-s.reports:
			if err := s.signal(ctx, onceward.SignalReport, report); err != nil && ctx.Err() == nil {
				s.log.Warn("a report to the pool is told again later", "resource", report.Resource, "error", err)
			}
		case <-ticker.C:
			s.read(ctx)
		}
	}
}

// signal starts the Pool workflow where there is none, and signals it.
func (s *poolSync) signal(ctx context.Context, name string, arg any) error {
	ctx, cancel := context.WithTimeout(ctx, poolCall)
	defer cancel()
	_, err := s.client.SignalWithStartWorkflow(ctx, onceward.PoolWorkflowID(s.pool), name, arg, client.StartWorkflowOptions{
		ID: onceward.PoolWorkflowID(s.pool), TaskQueue: s.queue,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:         onceward.Summary("pool " + s.pool),
	}, onceward.WorkflowPool, onceward.PoolInput{Pool: s.pool, Routes: s.routes.Routes, Retest: s.routes.Retest})
	return err
}

// read adopts the record from the workflow's memo, which needs no worker.
func (s *poolSync) read(ctx context.Context) {
	health, err := ReadPool(ctx, s.client, s.pool)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Debug("read pool", "pool", s.pool, "error", err)
		}
		return
	}
	s.adopt(health)
}

// adopt brings the router in step with the record.
func (s *poolSync) adopt(health onceward.PoolHealth) {
	type key struct{ resource, model string }
	recorded := map[key]bool{}
	for _, d := range health.Disabled {
		if d.Endpoint != "" && d.Endpoint != s.endpoint(d.Resource) {
			continue // of another configuration: the same name for another address
		}
		recorded[key{d.Resource, d.Model}] = true
		reason := d.Reason
		if d.By != "" {
			reason = "by " + d.By + ": " + reason
		}
		s.router.Adopt(d.Resource, d.Model, reason, d.Since, d.Until)
	}
	enabled := map[key]time.Time{}
	for _, e := range health.Enabled {
		enabled[key{e.Resource, e.Model}] = e.At
	}
	for _, off := range s.router.Off() {
		k := key{off.Resource, off.Model}
		switch {
		case recorded[k] || off.Disabled.Scope == onceward.ScopeEgress:
		case off.Disabled.Class == "" || enabled[k].After(off.Disabled.Since):
			_ = s.router.Enable(off.Resource, off.Model) // fails only for names the router does not have
		default:
			s.enqueue(off) // the report was lost
		}
	}
}

// ReadPool reads the record of a pool: which routes are disabled, why, since
// when, and how their last test went. It needs no worker. A pool without a
// record has nothing disabled.
func ReadPool(ctx context.Context, c client.Client, pool string) (onceward.PoolHealth, error) {
	ctx, cancel := context.WithTimeout(ctx, poolCall)
	defer cancel()
	var health onceward.PoolHealth
	described, err := c.DescribeWorkflow(ctx, onceward.PoolWorkflowID(pool), "")
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return health, nil
	}
	if err != nil {
		return health, err
	}
	payload := described.Memo.GetFields()[onceward.MemoHealth]
	if payload == nil {
		return health, nil
	}
	return health, converter.GetDefaultDataConverter().FromPayload(payload, &health)
}
