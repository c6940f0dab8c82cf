package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

const (
	// testTimeout bounds the test of a route.
	testTimeout = 30 * time.Second
	// poolIdle is how long the Pool sleeps when nothing is due.
	poolIdle = 24 * time.Hour
	// untested is the pause after a test that no worker took.
	untested = 5 * time.Minute
)

// pool is one execution of the Pool workflow.
type pool struct {
	in       onceward.PoolInput
	services []onceward.PoolRoutes // by service
	health   onceward.PoolHealth
	changed  bool
	inbox    inbox
}

// Pool is the workflow that keeps which routes are disabled, why, since when,
// and how their last test went. Workers report to it and read it from its memo;
// operators see and change it. It runs for ever, by continue-as-new.
func Pool(ctx workflow.Context, in onceward.PoolInput) error {
	if err := readable("the pool's record", in.Version, onceward.PoolVersion); err != nil {
		return err
	}
	p := &pool{in: in, services: in.Services, health: in.Health}
	if err := p.register(ctx); err != nil {
		return err
	}
	p.name()
	p.publish(ctx)
	reports := workflow.GetSignalChannelWithOptions(ctx, onceward.SignalReport, workflow.SignalChannelOptions{
		Description: "A worker has disabled a route.",
	})
	routes := workflow.GetSignalChannelWithOptions(ctx, onceward.SignalRoutes, workflow.SignalChannelOptions{
		Description: "A worker started with these routes.",
	})
	for {
		p.configure(ctx, routes)
		p.drain(ctx, reports)
		p.expire(workflow.Now(ctx))
		if due := p.due(workflow.Now(ctx)); due >= 0 {
			p.test(ctx, due)
			continue
		}
		if p.changed {
			p.publish(ctx)
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() && workflow.AllHandlersFinished(ctx) {
			p.configure(ctx, routes)
			p.drain(ctx, reports)
			next := onceward.PoolInput{Version: onceward.PoolVersion, Pool: p.in.Pool, Services: p.services, Health: p.health}
			return workflow.NewContinueAsNewError(ctx, onceward.WorkflowPool, next)
		}
		if err := p.sleep(ctx, reports, routes); err != nil {
			return err
		}
	}
}

// sleep waits for the next thing due, a change or a report.
func (p *pool) sleep(ctx workflow.Context, reports, routes workflow.ReceiveChannel) error {
	pause := poolIdle
	now := workflow.Now(ctx)
	for _, d := range p.health.Disabled {
		for _, at := range []time.Time{d.Until, d.NextTest} {
			if !at.IsZero() {
				pause = min(pause, max(at.Sub(now), minWait))
			}
		}
	}
	_, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout: pause, TimerOptions: workflow.TimerOptions{Summary: "wait for the next test or expiry"},
	}, func() bool { return p.changed || reports.Len() > 0 || routes.Len() > 0 })
	return err
}

// drain takes all reports that have come: what is unread when the workflow
// continues as new is lost.
func (p *pool) drain(ctx workflow.Context, reports workflow.ReceiveChannel) {
	for reports.Len() > 0 {
		var report onceward.PoolReport
		if err := p.inbox.receive(ctx, reports, &report); err != nil {
			p.refuse(onceward.SignalReport + ": " + err.Error())
			continue
		}
		p.report(workflow.Now(ctx), report)
	}
}

// report takes a worker's report. One that is older than the last enabling of
// its route, or says nothing new, changes nothing.
func (p *pool) report(now time.Time, r onceward.PoolReport) {
	service := p.serviceOf(r.Resource, r.Model, r.Endpoint)
	if service == nil { // of a worker that has not said what it has
		return
	}
	for _, e := range p.health.Enabled {
		if e.Resource == r.Resource && e.Model == r.Model && !r.At.After(e.At) {
			return
		}
	}
	if p.findAt(r.Resource, r.Model, r.Endpoint) >= 0 {
		return
	}
	d := onceward.Disabled{Resource: r.Resource, Model: r.Model, Endpoint: r.Endpoint, Class: r.Class, Reason: cutSummary(r.Reason), Since: r.At, Until: r.Until}
	if service.Retest.First > 0 {
		d.NextTest = now.Add(service.Retest.First)
	}
	p.health.Disabled = append(p.health.Disabled, d)
	p.touch()
}

// expire enables what was disabled until a time that has come.
func (p *pool) expire(now time.Time) {
	for i := 0; i < len(p.health.Disabled); i++ {
		if d := p.health.Disabled[i]; !d.Until.IsZero() && !d.Until.After(now) {
			p.enable(i, now, "expiry")
			i--
		}
	}
}

// due returns the index of a route whose test is due, or -1.
func (p *pool) due(now time.Time) int {
	for i, d := range p.health.Disabled {
		if !d.NextTest.IsZero() && !d.NextTest.After(now) {
			return i
		}
	}
	return -1
}

// test makes one cheap request to a disabled route and keeps the result.
func (p *pool) test(ctx workflow.Context, i int) {
	d := p.health.Disabled[i]
	service := p.serviceOf(d.Resource, d.Model, d.Endpoint)
	if service == nil { // nobody has the route any more who could test it
		p.health.Disabled[i].NextTest = time.Time{}
		p.touch()
		return
	}
	model := d.Model
	if model == "" {
		model = firstModel(*service, d.Resource)
	}
	options := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              service.Service, // its workers know the route
		ScheduleToStartTimeout: scheduleToStart,
		StartToCloseTimeout:    testTimeout,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:                onceward.Summary(fmt.Sprintf("test %s/%s · disabled for %s", d.Resource, model, d.Class)),
	})
	var result onceward.PoolTest
	err := workflow.ExecuteActivity(options, onceward.ActivityTestResource, onceward.TestInput{Resource: d.Resource, Model: model}).Get(ctx, &result)
	now := workflow.Now(ctx)
	// That very entry: a test of what a worker has found says nothing about what an
	// operator has decided meanwhile, or has of another address.
	i = slices.IndexFunc(p.health.Disabled, func(other onceward.Disabled) bool {
		return other.Resource == d.Resource && other.Model == d.Model && other.Endpoint == d.Endpoint && other.By == d.By
	})
	if i < 0 {
		return
	}
	p.touch()
	if err != nil {
		p.health.Disabled[i].NextTest = now.Add(untested)
		return
	}
	result.Resource, result.Model, result.At = d.Resource, d.Model, now
	p.keep(result)
	if result.Passed {
		p.enable(i, now, "a passed test")
		return
	}
	failed := p.health.Disabled[i].Failed + 1
	p.health.Disabled[i].Failed = failed
	p.health.Disabled[i].NextTest = time.Time{} // a service that tests nothing has told its routes since
	if pause := nextTest(service.Retest, failed); pause > 0 {
		p.health.Disabled[i].NextTest = now.Add(pause)
	}
}

// nextTest is the pause after so many failed tests; zero is never.
func nextTest(retest onceward.RetestPolicy, failed int) time.Duration {
	pause := retest.First
	for range min(failed, 16) {
		pause = min(2*pause, retest.Most)
	}
	return pause
}

func (p *pool) keep(test onceward.PoolTest) {
	for i, t := range p.health.Tests {
		if t.Resource == test.Resource && t.Model == test.Model {
			p.health.Tests[i] = test
			return
		}
	}
	p.health.Tests = append(p.health.Tests, test)
}

func (p *pool) enable(i int, now time.Time, by string) {
	d := p.health.Disabled[i]
	p.health.Disabled = append(p.health.Disabled[:i:i], p.health.Disabled[i+1:]...)
	entry := onceward.Enabled{Resource: d.Resource, Model: d.Model, At: now, By: by}
	p.touch()
	for i, e := range p.health.Enabled {
		if e.Resource == d.Resource && e.Model == d.Model {
			p.health.Enabled[i] = entry
			return
		}
	}
	p.health.Enabled = append(p.health.Enabled, entry)
}

func (p *pool) touch() {
	p.health.Version++
	p.changed = true
}

func (p *pool) find(resource, model string) int {
	return slices.IndexFunc(p.health.Disabled, func(d onceward.Disabled) bool { return d.Resource == resource && d.Model == model })
}

// findAt returns the entry of a route at an address: of two services one name may
// be at two.
func (p *pool) findAt(resource, model, endpoint string) int {
	return slices.IndexFunc(p.health.Disabled, func(d onceward.Disabled) bool {
		return d.Resource == resource && d.Model == model && (d.Endpoint == endpoint || d.Endpoint == "" || endpoint == "")
	})
}

// publish puts the health into the memo, which workers and operators can read
// while no worker runs, and into the details that the Temporal UI shows.
func (p *pool) publish(ctx workflow.Context) {
	p.changed = false
	_ = workflow.UpsertMemo(ctx, map[string]any{onceward.MemoHealth: p.health}) // fails only for values that do not encode
	workflow.SetCurrentDetails(ctx, p.details())
}

// details is what the Temporal UI shows of the pool.
func (p *pool) details() string {
	out := "**pool " + cell(p.in.Pool) + "**\n\n"
	if len(p.health.Disabled) == 0 {
		return out + "Nothing is disabled.\n"
	}
	var rows []string
	for _, d := range p.health.Disabled {
		rows = append(rows, cell(d.Resource)+" | "+cell(d.Model)+" | "+cell(string(d.Class)+" "+d.Reason)+" | "+d.Since.UTC().Format(time.RFC3339)+" | "+timeText(d.NextTest))
	}
	return out + tableOf("resource | model | why | since | next test", rows, maxDetails-len(out))
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return "none"
	}
	return t.UTC().Format(time.RFC3339)
}

// register sets the operators' handlers.
func (p *pool) register(ctx workflow.Context) error {
	err := workflow.SetQueryHandlerWithOptions(ctx, onceward.QueryHealth, func() (onceward.PoolHealth, error) { return p.health, nil },
		workflow.QueryHandlerOptions{Description: "Which routes are disabled, why, since when, and how their last test went."})
	if err != nil {
		return fmt.Errorf("register %s: %w", onceward.QueryHealth, err)
	}
	checkEnable := func(c onceward.PoolChange) error {
		if err := c.Validate(); err != nil {
			return err
		}
		if p.find(c.Resource, c.Model) >= 0 { // also of a route that no configuration has any more
			return nil
		}
		if err := p.known(c.Resource, c.Model); err != nil {
			return err
		}
		return fmt.Errorf("pool: %s is not disabled", routeName(c.Resource, c.Model))
	}
	checkDisable := func(c onceward.PoolChange) error {
		if err := c.Validate(); err != nil {
			return err
		}
		if err := p.known(c.Resource, c.Model); err != nil {
			return err
		}
		if c.Reason == "" {
			return fmt.Errorf("pool: reason is empty: say why %s is disabled", routeName(c.Resource, c.Model))
		}
		return nil
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, onceward.UpdateEnable, func(ctx workflow.Context, c onceward.PoolChange) (onceward.PoolHealth, error) {
		if err := checkEnable(c); err != nil {
			return p.health, temporal.NewNonRetryableApplicationError(err.Error(), "rejected", nil)
		}
		for i := p.find(c.Resource, c.Model); i >= 0; i = p.find(c.Resource, c.Model) { // at every address
			p.enable(i, workflow.Now(ctx), c.By)
		}
		return p.health, nil
	}, workflow.UpdateHandlerOptions{Validator: checkEnable, Description: `Lets attempts go to a route again: {"resource": "", "model": "", "by": "who"}; model empty is the whole resource.`})
	if err != nil {
		return fmt.Errorf("register %s: %w", onceward.UpdateEnable, err)
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, onceward.UpdateDisable, func(ctx workflow.Context, c onceward.PoolChange) (onceward.PoolHealth, error) {
		if err := checkDisable(c); err != nil {
			return p.health, temporal.NewNonRetryableApplicationError(err.Error(), "rejected", nil)
		}
		d := onceward.Disabled{Resource: c.Resource, Model: c.Model, Reason: cutSummary(c.Reason), By: c.By, Since: workflow.Now(ctx), Until: c.Until}
		if i := p.find(c.Resource, c.Model); i >= 0 { // it is about every address, and none of them is tested any more
			p.health.Disabled[i] = d
			p.health.Disabled = slices.DeleteFunc(p.health.Disabled, func(other onceward.Disabled) bool {
				return other.By == "" && other.Resource == c.Resource && other.Model == c.Model
			})
		} else {
			p.health.Disabled = append(p.health.Disabled, d)
		}
		p.touch()
		return p.health, nil
	}, workflow.UpdateHandlerOptions{Validator: checkDisable, Description: `Keeps attempts away from a route: {"resource": "", "model": "", "by": "who", "reason": "why", "until": "RFC 3339, optional"}.`})
	if err != nil {
		return fmt.Errorf("register %s: %w", onceward.UpdateDisable, err)
	}
	return nil
}

func routeName(resource, model string) string {
	if model == "" {
		return resource
	}
	return resource + "/" + model
}
