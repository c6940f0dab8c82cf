package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// register sets the operators' handlers, and the channels of what workers tell.
func (p *pool) register(ctx workflow.Context) error {
	listen := func(name, description string, take func(workflow.Context, workflow.ReceiveChannel) error) {
		channel := workflow.GetSignalChannelWithOptions(ctx, name, workflow.SignalChannelOptions{Description: description})
		p.signals = append(p.signals, poolSignal{channel, take})
	}
	// Routes first: a report of a route that nobody has told is passed over.
	listen(onceward.SignalRoutes, "A worker started with these routes.", p.takeRoutes)
	listen(onceward.SignalReport, "A neutral request of a worker's own has convicted a route.", p.takeReport)
	listen(onceward.SignalNeutral, "How many neutral requests a worker has sent.", p.takeNeutrals)
	err := workflow.SetQueryHandlerWithOptions(ctx, onceward.QueryHealth, func() (onceward.PoolHealth, error) { return p.health, nil },
		workflow.QueryHandlerOptions{Description: "Which routes are disabled, why, since when, and how their last test went."})
	if err != nil {
		return fmt.Errorf("register %s: %w", onceward.QueryHealth, err)
	}
	checkEnable := func(c onceward.PoolChange) error {
		if err := c.Validate(); err != nil {
			return err
		}
		if p.off(c) { // also of a route that no configuration has any more
			return nil
		}
		if err := p.known(c.Resource, c.Model); err != nil {
			return err
		}
		if i := p.find(c.Resource, ""); i >= 0 {
			return fmt.Errorf("pool: %s is not disabled by itself: all of %s is, which `enable %s` ends", routeName(c.Resource, c.Model), c.Resource, c.Resource)
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
		p.enableAll(workflow.Now(ctx), c)
		return p.health, nil
	}, workflow.UpdateHandlerOptions{Validator: checkEnable, Description: `Lets attempts go to a route again: {"resource": "", "model": "", "by": "who"}; model empty is the whole resource with every model.`})
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
		p.forget(func(f onceward.PoolFinding) bool { // nobody is asked about it any more
			return f.Resource == c.Resource && (c.Model == "" || f.Model == c.Model)
		})
		p.touch()
		return p.health, nil
	}, workflow.UpdateHandlerOptions{Validator: checkDisable, Description: `Keeps attempts away from a route: {"resource": "", "model": "", "by": "who", "reason": "why", "until": "RFC 3339, optional"}.`})
	if err != nil {
		return fmt.Errorf("register %s: %w", onceward.UpdateDisable, err)
	}
	return p.registerTest(ctx)
}

// registerTest sets the handler of an operator who wants to know now.
func (p *pool) registerTest(ctx workflow.Context) error {
	check := func(c onceward.PoolChange) error {
		if err := c.Validate(); err != nil {
			return err
		}
		return p.known(c.Resource, c.Model)
	}
	err := workflow.SetUpdateHandlerWithOptions(ctx, onceward.UpdateTest, func(ctx workflow.Context, c onceward.PoolChange) (onceward.PoolTest, error) {
		if err := check(c); err != nil {
			return onceward.PoolTest{}, temporal.NewNonRetryableApplicationError(err.Error(), "rejected", nil)
		}
		t, err := p.testNow(ctx, c)
		if err != nil {
			return onceward.PoolTest{}, err
		}
		return t.result, nil
	}, workflow.UpdateHandlerOptions{Validator: check, Description: `Sends one neutral request to a route now and keeps the result: {"resource": "", "model": "", "by": "who"}; model empty is the resource's first. One that passes enables what workers have found.`})
	if err != nil {
		return fmt.Errorf("register %s: %w", onceward.UpdateTest, err)
	}
	return nil
}

// testNow waits for the end of a test of a route: of the one in flight, or of a new
// one, after the pause that there is between two.
func (p *pool) testNow(ctx workflow.Context, c onceward.PoolChange) (*trial, error) {
	var t *trial
	for t == nil {
		a, ok := p.pairOf(c.Resource, c.Model, "")
		if !ok { // its service gave it up while this waited
			return nil, temporal.NewNonRetryableApplicationError(p.known(c.Resource, c.Model).Error(), "rejected", nil)
		}
		if t = p.inFlight(a); t != nil {
			break
		}
		if pause := p.tested(a).Add(testPause).Sub(workflow.Now(ctx)); pause > 0 {
			if err := workflow.NewTimerWithOptions(ctx, pause, workflow.TimerOptions{Summary: "wait between two tests of a route"}).Get(ctx, nil); err != nil {
				return nil, err
			}
			continue
		}
		t = &trial{pair: a, limit: p.limitOf(a)}
		p.start(ctx, t)
	}
	t.asked = onceward.Cut(c.By, 100)
	if err := workflow.Await(ctx, func() bool { return t.done }); err != nil {
		return nil, err
	}
	if t.err != nil {
		return nil, temporal.NewNonRetryableApplicationError(fmt.Sprintf("pool: no worker has tested %s: %v", routeName(t.resource, t.model), t.err), "untested", nil)
	}
	return t, nil
}

// about reports whether a change means a route: one of a whole resource means each of
// its models too, in an execution that confirms.
func (p *pool) about(c onceward.PoolChange, resource, model string) bool {
	return resource == c.Resource && (model == c.Model || c.Model == "" && !p.inline())
}

// off reports whether there is something of a route to enable: disabled for all, or
// found by a worker.
func (p *pool) off(c onceward.PoolChange) bool {
	found := func(f onceward.PoolFinding) bool { return p.about(c, f.Resource, f.Model) }
	return slices.ContainsFunc(p.health.Disabled, func(d onceward.Disabled) bool { return p.about(c, d.Resource, d.Model) }) ||
		slices.ContainsFunc(p.health.Reported, found) || slices.ContainsFunc(p.health.Alone, found)
}

// enableAll enables a route at every address, for an operator. Where another operator
// held the whole resource, that alone is ended: what was found of its models before
// has been found by somebody else.
func (p *pool) enableAll(now time.Time, c onceward.PoolChange) {
	held := c.Model == "" && slices.ContainsFunc(p.health.Disabled, func(d onceward.Disabled) bool {
		return d.By != "" && d.Resource == c.Resource && d.Model == ""
	})
	means := func(resource, model string) bool { return p.about(c, resource, model) && (!held || model == "") }
	p.health.Disabled = slices.DeleteFunc(p.health.Disabled, func(d onceward.Disabled) bool { return means(d.Resource, d.Model) })
	p.forget(func(f onceward.PoolFinding) bool { return means(f.Resource, f.Model) })
	p.enabled(onceward.Enabled{Resource: c.Resource, Model: c.Model, At: now, By: c.By})
}
