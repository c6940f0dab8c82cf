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

// poolSync keeps this process's health and the Pool workflow's record in step: a
// finding of this worker is reported once, when it changes something, and what
// other workers found or an operator decided is adopted. It sends no attempt's
// health, only what lasts.
type poolSync struct {
	client  client.Client
	router  *router.Router
	log     *slog.Logger
	pool    string
	routes  onceward.PoolRoutes
	reports chan onceward.PoolReport
	told    time.Time // when the routes were
	known   bool      // the record has this service's routes
	last    onceward.PoolHealth
	said    string // the last error of reading
}

func newPoolSync(w *Worker) *poolSync {
	s := &poolSync{
		client: w.client, log: w.log, pool: w.cfg.Pool.Name,
		reports: make(chan onceward.PoolReport, poolReports),
		routes:  onceward.PoolRoutes{Service: w.cfg.Temporal.TaskQueue, Retest: onceward.RetestPolicy{First: w.cfg.Pool.Retest.First, Most: w.cfg.Pool.Retest.Most}},
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

// changed is the router's OnChange. It must not block: it is called inside an
// attempt.
func (s *poolSync) changed(c router.Change) {
	if c.Event != router.EventDisabled {
		s.log.Info("resource "+string(c.Event), "resource", c.Resource, "model", c.Model)
		return
	}
	about := []any{"resource", c.Resource, "model", c.Model, "class", c.Disabled.Class, "reason", c.Disabled.Reason}
	if c.Disabled.Until.IsZero() {
		about = append(about, "remedy", "mend it, then wait for its next test or use `onceward pool enable`")
	} else {
		about = append(about, "until", c.Disabled.Until)
	}
	s.log.Warn("resource disabled", about...)
	s.enqueue(c)
}

// enqueue reports a finding that concerns every worker.
func (s *poolSync) enqueue(c router.Change) {
	if c.Disabled.Adopted {
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
			s.tell(ctx)
			s.read(ctx)
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

// adopt brings the router in step with the record.
func (s *poolSync) adopt(record onceward.PoolHealth) {
	type key struct{ resource, model string }
	recorded := map[key]bool{}
	for _, d := range record.Disabled {
		if d.Endpoint != "" && d.Endpoint != s.endpoint(d.Resource) {
			continue // of another configuration: the same name for another address
		}
		recorded[key{d.Resource, d.Model}] = true
		reason := d.Reason
		if d.By != "" {
			reason = "by " + d.By + ": " + reason
		}
		s.router.Adopt(d.Resource, d.Model, health.Disabled{Class: d.Class, Reason: reason, Since: d.Since, Until: d.Until})
	}
	enabled := map[key]time.Time{}
	for _, e := range record.Enabled {
		enabled[key{e.Resource, e.Model}] = e.At
	}
	for _, off := range s.router.Off() {
		k := key{off.Resource, off.Model}
		switch {
		case recorded[k]:
		case off.Disabled.Adopted || enabled[k].After(off.Disabled.Since):
			_ = s.router.Enable(off.Resource, off.Model) // fails only for names the router does not have
		default:
			s.enqueue(off) // the report was lost
		}
	}
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
