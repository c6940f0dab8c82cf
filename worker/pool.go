package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
	"github.com/onceward/onceward/router/health"
	"github.com/onceward/onceward/worker/guard"
)

const (
	// poolEvery is how often a worker reads the pool's record.
	poolEvery = 5 * time.Second
	// poolCall bounds one call to Temporal about the record.
	poolCall = 10 * time.Second
	// poolTold is the pause before the routes are told again to a record that does
	// not have them.
	poolTold = time.Minute
	// poolReports bounds the reports that wait to be sent. What does not fit is
	// told again by the next reading.
	poolReports = 64
)

// poolSync keeps this process's health and the Pool workflow's record in step: what a
// neutral request of this worker has convicted is reported until the record has it,
// and what the Pool has confirmed or an operator decided is adopted. It sends no
// suspicion and no breaker, only what lasts, and how many neutral requests there were.
type poolSync struct {
	client  client.Client
	router  *router.Router
	log     *slog.Logger
	metrics client.MetricsHandler // nil: nothing is counted
	pool    string
	by      string // this worker, as no other process is called
	routes  onceward.PoolRoutes
	reports chan onceward.PoolReport
	told    time.Time // when the routes were
	known   bool      // the record has this service's routes
	last    onceward.PoolHealth
	said    string // the last error of reading
	counted neutralCounts
}

func newPoolSync(w *Worker) *poolSync {
	s := &poolSync{
		client: w.client, log: w.log, metrics: w.metrics, pool: w.cfg.Pool.Name, by: w.identity,
		reports: make(chan onceward.PoolReport, poolReports),
		routes: onceward.PoolRoutes{
			Version: onceward.PoolVersion, Service: w.cfg.Temporal.TaskQueue,
			Retest: onceward.RetestPolicy{First: w.cfg.Pool.Retest.First, Most: w.cfg.Pool.Retest.Most},
		},
	}
	for _, r := range w.cfg.Pool.Resources {
		route := onceward.PoolRoute{Resource: r.Name, Endpoint: r.Endpoint()}
		for _, d := range r.Deployments {
			route.Models = append(route.Models, d.Model)
		}
		s.routes.Routes = append(s.routes.Routes, route)
	}
	return s
}

// enqueue reports what this worker has convicted. Its words are the neutral request's
// answer's, and the Pool disables nothing for them: it has the route tested by another
// worker.
func (s *poolSync) enqueue(c router.Change) {
	if c.Disabled.Adopted {
		return
	}
	report := onceward.PoolReport{
		Resource: c.Resource, Model: c.Model, Endpoint: s.endpoint(c.Resource), Class: c.Disabled.Class, Reason: c.Disabled.Reason,
		At: c.Disabled.Since, Until: c.Disabled.Until, By: s.by, Limit: c.Limit,
	}
	select {
	case s.reports <- report:
	default: // it is told again by the next reading
	}
}

// begin tells the Pool which routes there are and adopts its record, before the
// first run is taken: a resource that another worker found unable to pay is not
// asked again after a restart.
func (s *poolSync) begin(ctx context.Context) {
	s.read(ctx)
	s.tell(ctx)
	s.read(ctx)
}

// tell tells the routes, unless the record has them or was told just now.
func (s *poolSync) tell(ctx context.Context) {
	if s.known || time.Since(s.told) < poolTold {
		return
	}
	switch err := s.signal(ctx, onceward.SignalRoutes, s.routes); {
	case err == nil:
		s.told = time.Now()
	case ctx.Err() == nil:
		s.log.Warn("the pool's record cannot be reached; health is this worker's own until it can", "pool", s.pool, "error", err)
	}
}

// fetch moves a Pool workflow of an older release, which lived on the task queue of
// the worker that started last, to the pool's own, with its record.
func (s *poolSync) fetch(ctx context.Context, health onceward.PoolHealth) error {
	ctx, cancel := context.WithTimeout(ctx, poolCall)
	defer cancel()
	_, err := s.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: onceward.PoolWorkflowID(s.pool), TaskQueue: onceward.PoolQueue(s.pool), StaticSummary: onceward.Summary("pool " + s.pool),
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
	}, onceward.WorkflowPool, onceward.PoolInput{Version: onceward.PoolVersion, Pool: s.pool, Services: []onceward.PoolRoutes{s.routes}, Health: health})
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

// run sends reports and reads the record until ctx is done. Then it tells what it has
// counted since, so that a stopped worker leaves no neutral request untold.
func (s *poolSync) run(ctx context.Context) {
	ticker := time.NewTicker(poolEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			s.tellNeutrals(context.WithoutCancel(ctx), true)
			return
		case report := <-s.reports:
			if err := s.signal(ctx, onceward.SignalReport, report); err != nil && ctx.Err() == nil {
				s.log.Warn("a report to the pool is told again later", "resource", report.Resource, "error", err)
			}
		case <-ticker.C:
			s.tell(ctx)
			s.read(ctx)
			s.tellNeutrals(ctx, false)
		}
	}
}

// signal starts the Pool workflow where there is none, and signals it.
func (s *poolSync) signal(ctx context.Context, name string, arg any) error {
	ctx, cancel := context.WithTimeout(ctx, poolCall)
	defer cancel()
	_, err := s.client.SignalWithStartWorkflow(ctx, onceward.PoolWorkflowID(s.pool), name, arg, client.StartWorkflowOptions{
		ID: onceward.PoolWorkflowID(s.pool), TaskQueue: onceward.PoolQueue(s.pool),
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:         onceward.Summary("pool " + s.pool),
	}, onceward.WorkflowPool, onceward.PoolInput{Version: onceward.PoolVersion, Pool: s.pool, Services: []onceward.PoolRoutes{s.routes}, Health: s.last})
	return err
}

// read adopts the record from the workflow's memo, which needs no worker. A failure
// is told once, until it changes: what the pool knows is not used meanwhile.
func (s *poolSync) read(ctx context.Context) {
	record, err := readPool(ctx, s.client, s.pool)
	if err == nil && record.running && record.queue != onceward.PoolQueue(s.pool) {
		err = s.fetch(ctx, record.health)
	}
	if ctx.Err() != nil {
		return
	}
	said := ""
	if err != nil {
		said = err.Error()
	}
	if said != s.said && err != nil {
		s.log.Warn("the pool's record cannot be read; health is this worker's own until it can", "pool", s.pool, "error", err)
	}
	s.said = said
	if err == nil {
		s.last = record.health
		s.adopt(record.health)
		// It was closed, or another service started it anew: it knows nothing of these routes.
		s.known = record.running && slices.Contains(record.health.Services, s.routes.Service) && !s.told.IsZero()
	}
}

// adopt brings the router in step with the record. What was reported is nobody's
// but the reporter's until the Pool has confirmed it.
func (s *poolSync) adopt(record onceward.PoolHealth) {
	for _, d := range record.Disabled {
		if !s.here(d.Resource, d.Endpoint) {
			continue // of another configuration: the same name for another address
		}
		reason := d.Reason
		if d.By != "" {
			reason = "by " + d.By + ": " + reason
		}
		s.router.Adopt(d.Resource, d.Model, health.Disabled{Class: d.Class, Reason: reason, Since: d.Since, Until: d.Until})
	}
	for _, off := range s.router.Off() {
		recorded := slices.ContainsFunc(record.Disabled, func(d onceward.Disabled) bool {
			return d.Resource == off.Resource && (d.Model == off.Model || d.Model == "" && !off.Disabled.Adopted) && s.here(d.Resource, d.Endpoint)
		})
		switch {
		case recorded:
		case off.Disabled.Adopted || s.enabledSince(record, off):
			_ = s.router.Enable(off.Resource, off.Model) // fails only for names the router does not have
		case !s.heard(record, off):
			s.enqueue(off) // the report was lost, or the record was
		}
	}
}

// here reports whether a record's entry is about the address that this worker has.
func (s *poolSync) here(resource, endpoint string) bool {
	return endpoint == "" || endpoint == s.endpoint(resource)
}

// enabledSince reports whether a route was enabled after this worker convicted it.
func (s *poolSync) enabledSince(record onceward.PoolHealth, off router.Change) bool {
	return slices.ContainsFunc(record.Enabled, func(e onceward.Enabled) bool {
		return e.Resource == off.Resource && s.here(e.Resource, e.Endpoint) && (e.Model == off.Model || e.Model == "") && e.At.After(off.Disabled.Since)
	})
}

// heard reports whether the record has a finding of this worker.
func (s *poolSync) heard(record onceward.PoolHealth, off router.Change) bool {
	has := func(f onceward.PoolFinding) bool {
		return s.own(f) && f.Resource == off.Resource && f.Model == off.Model && !off.Disabled.Since.After(f.At)
	}
	return slices.ContainsFunc(record.Reported, has) || slices.ContainsFunc(record.Alone, has)
}

// own reports whether a finding of the record is this worker's, of the address that it has.
func (s *poolSync) own(f onceward.PoolFinding) bool {
	return f.By == s.by && f.Endpoint == s.endpoint(f.Resource)
}

// ReadPool reads the record of a pool: which routes are disabled, why, since
// when, and how their last test went. It needs no worker, and decodes with the
// client's converter. A pool without a record has nothing disabled.
func ReadPool(ctx context.Context, c client.Client, pool string) (onceward.PoolHealth, error) {
	record, err := readPool(ctx, c, pool)
	return record.health, err
}

// poolRecord is a pool's workflow as Temporal describes it.
type poolRecord struct {
	health  onceward.PoolHealth
	running bool
	queue   string
}

func readPool(ctx context.Context, c client.Client, pool string) (poolRecord, error) {
	ctx, cancel := context.WithTimeout(ctx, poolCall)
	defer cancel()
	id := onceward.PoolWorkflowID(pool)
	described, err := c.DescribeWorkflow(ctx, id, "")
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return poolRecord{}, nil
	}
	if err != nil {
		return poolRecord{}, err
	}
	record := poolRecord{running: described.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, queue: described.TaskQueueName}
	payload := described.Memo.GetFields()[onceward.MemoHealth]
	if payload == nil {
		return record, nil
	}
	if err := guard.OfWorkflow(ctx, c, id).FromPayload(payload, &record.health); err != nil {
		return record, fmt.Errorf("decode the memo of %s: %w", id, err)
	}
	return record, nil
}
