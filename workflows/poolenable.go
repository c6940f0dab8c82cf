package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// registerEnable sets the handler of an operator who lets attempts go to a route again.
func (p *pool) registerEnable(ctx workflow.Context) error {
	check := func(c onceward.PoolChange) error {
		if err := c.Validate(); err != nil {
			return err
		}
		return p.enables(c)
	}
	err := workflow.SetUpdateHandlerWithOptions(ctx, onceward.UpdateEnable, func(ctx workflow.Context, c onceward.PoolChange) (onceward.PoolEnabled, error) {
		if err := check(c); err != nil {
			return onceward.PoolEnabled{PoolHealth: p.health}, temporal.NewNonRetryableApplicationError(err.Error(), "rejected", nil)
		}
		changed := p.lift(workflow.Now(ctx), c)
		return onceward.PoolEnabled{PoolHealth: p.health, Changed: changed}, nil
	}, workflow.UpdateHandlerOptions{Validator: check, Description: `Lets attempts go to a route again: {"resource": "", "model": "", "by": "who"}; model empty is what an operator has decided about the whole resource, else all models of it that tests have disabled.`})
	if err != nil {
		return fmt.Errorf("register %s: %w", onceward.UpdateEnable, err)
	}
	return nil
}

// operated returns who keeps attempts away from exactly this, or "".
func (p *pool) operated(resource, model string) string {
	for _, d := range p.health.Disabled {
		if d.By != "" && d.Resource == resource && d.Model == model {
			return d.By
		}
	}
	return ""
}

// lifting returns what an enabling is about, of the record's entries: an operator's
// decision, with its name, or what workers have found, without one. What an operator has
// decided about a whole resource is enabled as it was disabled, and alone; else the
// resource's name stands for all that was found of it. In an execution of an earlier
// build a name stands for itself.
func (p *pool) lifting(c onceward.PoolChange) func(resource, model, operator string) bool {
	held := p.operated(c.Resource, "") != ""
	exact := c.Model != "" || !p.renews()
	return func(resource, model, operator string) bool {
		switch {
		case resource != c.Resource:
			return false
		case exact:
			return model == c.Model
		case held:
			return operator != "" && model == ""
		default:
			return operator == ""
		}
	}
}

// enables refuses an enabling that would change nothing.
func (p *pool) enables(c onceward.PoolChange) error {
	held := p.operated(c.Resource, "")
	if p.renews() && c.Model != "" && held != "" {
		return fmt.Errorf("pool: %s keeps attempts away from all of %s: enable %s, without a model", held, c.Resource, c.Resource)
	}
	lifts := p.lifting(c)
	found := func(f onceward.PoolFinding) bool { return lifts(f.Resource, f.Model, "") }
	if slices.ContainsFunc(p.health.Disabled, func(d onceward.Disabled) bool { return lifts(d.Resource, d.Model, d.By) }) ||
		slices.ContainsFunc(p.health.Reported, found) || slices.ContainsFunc(p.health.Alone, found) {
		return nil // also of a route that no configuration has any more
	}
	for _, d := range p.health.Disabled {
		switch {
		case d.Resource != c.Resource:
		case d.Model == "":
			return fmt.Errorf("pool: all of %s is disabled: enable %s, without a model", c.Resource, c.Resource)
		case c.Model == "" && p.renews():
			return fmt.Errorf("pool: no test has disabled anything of %s; %s has disabled %s: enable that", c.Resource, d.By, routeName(d.Resource, d.Model))
		}
	}
	if err := p.known(c.Resource, c.Model); err != nil {
		return err
	}
	return fmt.Errorf("pool: %s is not disabled", routeName(c.Resource, c.Model))
}

// lift enables what an operator wants enabled, at every address, and returns it.
func (p *pool) lift(now time.Time, c onceward.PoolChange) (changed []onceward.Enabled) {
	lifts := p.lifting(c)
	for i := 0; i < len(p.health.Disabled); i++ {
		if d := p.health.Disabled[i]; lifts(d.Resource, d.Model, d.By) {
			changed = append(changed, p.enable(i, now, c.By))
			i--
		}
	}
	for _, f := range slices.Concat(p.health.Reported, p.health.Alone) {
		if !lifts(f.Resource, f.Model, "") {
			continue
		}
		entry := p.enabled(onceward.Enabled{Resource: f.Resource, Model: f.Model, Endpoint: f.Endpoint, At: now, By: c.By})
		if !slices.Contains(changed, entry) { // two workers may have found it
			changed = append(changed, entry)
		}
	}
	p.forget(func(f onceward.PoolFinding) bool { return lifts(f.Resource, f.Model, "") })
	return changed
}
