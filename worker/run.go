package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	sdk "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/activities"
	"github.com/onceward/onceward/router"
	"github.com/onceward/onceward/worker/config"
	"github.com/onceward/onceward/worker/guard"
	"github.com/onceward/onceward/workflows"
)

// Run polls for work until ctx is done or a worker cannot go on. Then it stops
// polling and lets attempts and commits end for at most worker.drain. It returns
// nil after a stop by ctx. A Worker runs once.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.begin(); err != nil {
		return fmt.Errorf("run worker: %w", err)
	}
	if err := w.look(ctx); err != nil {
		return fmt.Errorf("run worker: %w", err)
	}
	own, release, err := guard.ForWorkers(ctx, w.client)
	if err != nil {
		return fmt.Errorf("run worker: %w", err)
	}
	defer release()
	w.sdk = own
	w.convert = guard.Of(ctx, w.client)
	if err := guard.CheckGrowth(w.convert); err != nil {
		return fmt.Errorf("run worker: %w", err)
	}
	record := newPoolSync(w)
	acts, err := w.activities(record)
	if err != nil {
		return fmt.Errorf("run worker: %w", err)
	}
	defer record.router.Close()
	fatal := make(chan error, 3)
	stopped := func(err error) {
		select {
		case fatal <- err:
		default: // the first one ends the run already
		}
	}
	runs, commits, err := w.workers(acts, stopped)
	if err != nil {
		return fmt.Errorf("run worker: %w", err)
	}
	pool := w.poolWorker(stopped)
	record.begin(ctx)
	// Commits first: a run must not find its actions' queue without a worker.
	all := []sdk.Worker{commits, runs, pool}
	for i, queue := range []string{onceward.ActionsQueue(w.cfg.Temporal.TaskQueue), w.cfg.Temporal.TaskQueue, onceward.PoolQueue(w.cfg.Pool.Name)} {
		if err := all[i].Start(); err != nil {
			stop(all[:i]...)
			return fmt.Errorf("start worker of %s: %w", queue, err)
		}
	}
	w.log.Info("worker started", "namespace", w.cfg.Temporal.Namespace, "task_queue", w.cfg.Temporal.TaskQueue, "agents", w.order, "release", w.cfg.Temporal.Release)
	syncing, stopSync := context.WithCancel(context.WithoutCancel(ctx))
	var synced sync.WaitGroup
	synced.Go(func() { record.run(syncing) }) // attempts that end while the worker drains report too
	synced.Go(func() { w.attributes.watch(syncing, w) })
	defer func() { stopSync(); synced.Wait() }()
	var failed error
	select {
	case <-ctx.Done():
	case failed = <-fatal:
		failed = fmt.Errorf("run worker: %w", failed)
	}
	w.log.Info("worker stops polling; attempts and commits in flight end first", "drain", w.cfg.Worker.Drain)
	stop(all...)
	record.router.Close() // before the last count of its neutral requests is told
	w.log.Info("worker stopped")
	return failed
}

// begin closes registration.
func (w *Worker) begin() error {
	if w == nil || w.client == nil {
		return errors.New("it was not made with New")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.started:
		return errors.New("it runs once, and has")
	case len(w.agents) == 0:
		return errors.New("no agent is registered")
	case len(w.workflows) == 0:
		return errors.New("no workflow is registered")
	}
	w.started = true
	return nil
}

// activities makes router and activities.
func (w *Worker) activities(record *poolSync) (*activities.Activities, error) {
	cfg := w.cfg.RouterConfig()
	for _, r := range cfg.Resources {
		if openKey(r) {
			w.log.Warn("base_url is plain http and not of this machine: the credential can be read on the way", "resource", r.Name)
		}
	}
	cfg.OnChange = record.changed
	r, err := router.New(cfg)
	if err != nil {
		return nil, err
	}
	record.router = r
	return activities.New(activities.Config{Client: w.client, Router: r, Agents: w.agents, Identity: w.identity, Endpoint: record.endpoint, Converter: w.convert, Attributes: w.attributes.there.Load})
}

func openKey(r router.Resource) bool {
	hidden := r.Key != "" || slices.ContainsFunc(r.Headers, func(h router.Header) bool { return h.Secret != "" })
	return hidden && config.PlainHTTP(r.BaseURL)
}

// workers makes the SDK workers and registers everything. The SDK panics about
// registrations and options; here that is an error.
func (w *Worker) workers(acts *activities.Activities, fatal func(error)) (runs, commits sdk.Worker, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("register with the SDK: %v", p)
		}
	}()
	if n := w.cfg.Worker.StickyCache; n > 0 {
		sdk.SetStickyWorkflowCacheSize(n)
	}
	options := w.options(fatal)
	forRuns, forCommits := options, options
	// A cancelled attempt hears of it by the answer to a heartbeat. The SDK would
	// hold those back for most of the heartbeat timeout, and the request would run
	// on and cost all the while. Commits are never cancelled.
	forRuns.MaxHeartbeatThrottleInterval, forRuns.DefaultHeartbeatThrottleInterval = cancelSeen, cancelSeen
	forRuns.MaxConcurrentActivityExecutionSize = w.cfg.Worker.MaxActivities
	forCommits.MaxConcurrentActivityExecutionSize = w.cfg.Worker.MaxCommits
	forCommits.DisableWorkflowWorker = true
	runs = sdk.New(w.sdk, w.cfg.Temporal.TaskQueue, forRuns)
	commits = sdk.New(w.sdk, onceward.ActionsQueue(w.cfg.Temporal.TaskQueue), forCommits)

	runs.RegisterWorkflowWithOptions(workflows.Action, workflow.RegisterOptions{Name: onceward.WorkflowAction})
	runs.RegisterWorkflowWithOptions(workflows.Approval, workflow.RegisterOptions{Name: onceward.WorkflowApproval})
	for _, user := range w.workflows {
		runs.RegisterWorkflowWithOptions(user.fn, workflow.RegisterOptions{Name: user.name})
	}
	registerAs(runs, onceward.ActivityOpen, acts.Open)
	registerAs(runs, onceward.ActivitySelectRoute, acts.SelectRoute)
	registerAs(runs, onceward.ActivityWriteItem, acts.WriteItem)
	registerAs(runs, onceward.ActivityWriteItems, acts.WriteItems)
	registerAs(runs, onceward.ActivityCallModel, acts.CallModel)
	registerAs(runs, onceward.ActivityAct, acts.Act)
	registerAs(runs, onceward.ActivityLookAround, acts.LookAround)
	registerAs(runs, onceward.ActivityWithdraw, acts.Withdraw)
	registerAs(runs, onceward.ActivityTestResource, acts.TestResource)
	for _, agent := range w.order {
		for name, tool := range w.agents[agent].Tools {
			if tool.Tool.Kind == onceward.KindRead {
				registerAs(runs, onceward.ReadActivity(agent, name), activities.ReadFunc(tool))
				continue
			}
			registerAs(commits, onceward.CommitActivity(agent, name), activities.CommitFunc(tool))
			registerAs(commits, onceward.FindActivity(agent, name), activities.FindFunc(tool))
		}
	}
	return runs, commits, nil
}

// cancelSeen bounds how long a cancellation takes to reach an attempt or a read.
const cancelSeen = time.Second

// options are those of every SDK worker.
func (w *Worker) options(fatal func(error)) sdk.Options {
	return sdk.Options{
		WorkerStopTimeout:            w.cfg.Worker.Drain,
		StickyScheduleToStartTimeout: w.cfg.Worker.StickyTimeout,
		DeadlockDetectionTimeout:     w.cfg.Worker.DeadlockTimeout,
		// The guard's comes first, around those of the user's.
		Interceptors: append([]interceptor.WorkerInterceptor{guard.Interceptor()}, w.interceptors...),
		OnFatalError: fatal,
		// Last, after what the client's plugins want of a worker.
		Plugins: []sdk.Plugin{guard.PanicPolicy()},
	}
}

// poolWorker makes the SDK worker of the pool's own queue. Its activities run on
// the services' queues, where the routes are known.
func (w *Worker) poolWorker(fatal func(error)) sdk.Worker {
	options := w.options(fatal)
	options.LocalActivityWorkerOnly = true
	pool := sdk.New(w.sdk, onceward.PoolQueue(w.cfg.Pool.Name), options)
	pool.RegisterWorkflowWithOptions(workflows.Pool, workflow.RegisterOptions{Name: onceward.WorkflowPool})
	return pool
}

func registerAs(w sdk.Worker, name string, fn any) {
	w.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
}

// stop ends both workers at the same time, so that the drain time counts once.
func stop(workers ...sdk.Worker) {
	var all sync.WaitGroup
	for _, one := range workers {
		all.Go(one.Stop)
	}
	all.Wait()
}
