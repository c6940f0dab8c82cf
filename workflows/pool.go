package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// poolIdle is how long the Pool sleeps when nothing is due.
const poolIdle = 24 * time.Hour

// confirming is the version of a pool from which a report disables nothing before a
// test has confirmed it, and tests of several routes run side by side. An execution
// that began with less goes on as it began: its history holds other commands.
const confirming = 2

// renewing is the version from which the newest test alone says when a route comes
// back, and an enabling of a resource is about its models.
const renewing = 3

// pool is one execution of the Pool workflow.
type pool struct {
	in       onceward.PoolInput
	services []onceward.PoolRoutes // by service
	health   onceward.PoolHealth
	changed  bool
	inbox    inbox
	signals  []poolSignal
	trials   []*trial // in flight
	outdated bool     // a worker of this build has come to an older loop: begin anew
	asked    int      // how often one has
}

// poolSignal is a channel and what takes one of its signals.
type poolSignal struct {
	channel workflow.ReceiveChannel
	take    func(ctx workflow.Context, channel workflow.ReceiveChannel) error
}

// Pool is the workflow that keeps which routes are disabled, why, since when,
// and how their last test went. Workers report to it and read it from its memo;
// operators see and change it. It runs for ever, by continue-as-new.
func Pool(ctx workflow.Context, in onceward.PoolInput) error {
	if in.Version > onceward.PoolVersion { // what is older is read, of whatever version
		return readable("the pool's record", in.Version, 0, onceward.PoolVersion)
	}
	p := &pool{in: in, services: in.Services, health: in.Health}
	p.health.Loop = in.Version
	if err := p.register(ctx); err != nil {
		return err
	}
	p.name()
	p.publish(ctx)
	for {
		p.hear(ctx)
		now := workflow.Now(ctx)
		p.expire(now)
		leaving := p.outdated || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
		if p.inline() && !p.outdated {
			if due := p.due(now); due >= 0 {
				p.testInline(ctx, due)
				continue
			}
		} else if !leaving {
			p.begin(ctx, now)
		}
		if p.changed {
			p.publish(ctx)
		}
		if leaving && p.idle(ctx) {
			p.hear(ctx)
			return workflow.NewContinueAsNewError(ctx, onceward.WorkflowPool, p.next())
		}
		if err := p.sleep(ctx, leaving); err != nil {
			return err
		}
	}
}

// inline reports whether this execution tests in its loop and disables for a report.
func (p *pool) inline() bool { return p.in.Version < confirming }

// renews reports whether this execution lets the newest test alone say when a route
// comes back.
func (p *pool) renews() bool { return p.in.Version >= renewing }

// idle reports whether nothing is under way that the next execution would not know.
func (p *pool) idle(ctx workflow.Context) bool {
	return len(p.trials) == 0 && workflow.AllHandlersFinished(ctx)
}

// next is the input of the next execution. It is of this release only where a worker
// of this release has asked for it: one that only went on from an older loop could
// not be taken by the worker that began it.
func (p *pool) next() onceward.PoolInput {
	version := onceward.PoolVersion
	if !p.outdated {
		version = max(p.in.Version, confirming-1)
	}
	return onceward.PoolInput{Version: version, Pool: p.in.Pool, Services: p.services, Health: p.health}
}

// hear takes all signals that have come: what is unread when the workflow continues
// as new is lost.
func (p *pool) hear(ctx workflow.Context) {
	for _, s := range p.signals {
		for s.channel.Len() > 0 {
			if err := s.take(ctx, s.channel); err != nil {
				p.refuse(s.channel.Name() + ": " + err.Error())
			}
		}
	}
}

// sleep waits for the next thing due, a change or a signal. Who leaves waits for what
// is in flight, and begins nothing.
func (p *pool) sleep(ctx workflow.Context, leaving bool) error {
	now := workflow.Now(ctx)
	pause := poolIdle
	wake := func(at time.Time) { pause = min(pause, max(at.Sub(now), minWait)) }
	for _, d := range p.health.Disabled {
		if !d.Until.IsZero() {
			wake(d.Until)
		}
		if p.inline() && !d.NextTest.IsZero() {
			wake(d.NextTest)
		}
	}
	if !p.inline() {
		p.wakes(leaving, wake)
	}
	_, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout: pause, TimerOptions: workflow.TimerOptions{Summary: "wait for the next test or expiry"},
	}, func() bool { return p.changed || p.called() || leaving && p.idle(ctx) })
	return err
}

// called reports whether a signal is unread.
func (p *pool) called() bool {
	return slices.ContainsFunc(p.signals, func(s poolSignal) bool { return s.channel.Len() > 0 })
}

// expire enables what was disabled until a time that has come, and forgets findings
// that no worker has told for long.
func (p *pool) expire(now time.Time) {
	for i := 0; i < len(p.health.Disabled); i++ {
		if d := p.health.Disabled[i]; !d.Until.IsZero() && !d.Until.After(now) {
			p.enable(i, now, "expiry")
			i--
		}
	}
	p.forget(func(f onceward.PoolFinding) bool { return !f.Heard.Add(findingKept).After(now) })
}

func (p *pool) enable(i int, now time.Time, by string) onceward.Enabled {
	d := p.health.Disabled[i]
	p.health.Disabled = append(p.health.Disabled[:i:i], p.health.Disabled[i+1:]...)
	return p.enabled(onceward.Enabled{Resource: d.Resource, Model: d.Model, Endpoint: d.Endpoint, At: now, By: by})
}

// enabled puts on record that a route was enabled: reports from before do not undo it.
// The newest is the last.
func (p *pool) enabled(entry onceward.Enabled) onceward.Enabled {
	if !p.renews() { // what is disabled again by a report decides what is tested
		entry.Endpoint = ""
	}
	p.touch()
	p.health.Enabled = append(slices.DeleteFunc(p.health.Enabled, func(e onceward.Enabled) bool {
		return e.Resource == entry.Resource && e.Model == entry.Model && e.Endpoint == entry.Endpoint
	}), entry)
	return entry
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
		return d.Resource == resource && d.Model == model && oneAddress(d.Endpoint, endpoint)
	})
}

// oneAddress reports whether two entries are about one address, or one of them about
// every address.
func oneAddress(a, b string) bool { return a == b || a == "" || b == "" }

// publish puts the health into the memo, which workers and operators can read
// while no worker runs, and into the details that the Temporal UI shows.
func (p *pool) publish(ctx workflow.Context) {
	p.changed = false
	p.bound()
	_ = workflow.UpsertMemo(ctx, map[string]any{onceward.MemoHealth: p.health}) // fails only for values that do not encode
	workflow.SetCurrentDetails(ctx, p.details())
}

// details is what the Temporal UI shows of the pool.
func (p *pool) details() string {
	out := "**pool " + cell(p.in.Pool) + "**\n\n"
	var rows []string
	row := func(state, resource, model, why string, since, next time.Time) {
		rows = append(rows, cell(resource)+" | "+cell(model)+" | "+state+" | "+cell(why)+" | "+since.UTC().Format(time.RFC3339)+" | "+timeText(next))
	}
	for _, f := range p.health.Alone {
		row("off at "+cell(f.By)+" alone", f.Resource, f.Model, string(f.Class)+" "+f.Reason, f.At, time.Time{})
	}
	for _, f := range p.health.Reported {
		row("reported by "+cell(f.By), f.Resource, f.Model, string(f.Class)+" "+f.Reason, f.At, f.NextTest)
	}
	for _, d := range p.health.Disabled {
		row("disabled", d.Resource, d.Model, string(d.Class)+" "+d.Reason, d.Since, d.NextTest)
	}
	if len(rows) == 0 {
		return out + "Nothing is disabled.\n"
	}
	return out + tableOf("resource | model | state | why | since | next test", rows, maxDetails-len(out))
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return "none"
	}
	return t.UTC().Format(time.RFC3339)
}

func routeName(resource, model string) string {
	if model == "" {
		return resource
	}
	return resource + "/" + model
}
