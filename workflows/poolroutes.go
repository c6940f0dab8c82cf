package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// takeRoutes takes over the routes of a service, as its last worker to start has
// them. It forgets what workers have found of routes that the service gives up and no
// other has, and what was counted of them. What an operator has disabled stays: a
// configuration that does not know a route says nothing about a decision. So does what
// was found of a service that the pool has no room for, or has not heard of yet.
func (p *pool) takeRoutes(ctx workflow.Context, routes workflow.ReceiveChannel) error {
	var next onceward.PoolRoutes
	if err := p.inbox.receive(ctx, routes, &next); err != nil {
		return err
	}
	before := p.keepServices(next)
	p.name()
	unknown := func(resource, model, endpoint string) bool {
		return p.serviceOf(resource, model, endpoint) == nil && (!p.renews() || has(before, resource, model, endpoint))
	}
	left := slices.DeleteFunc(slices.Clone(p.health.Disabled), func(d onceward.Disabled) bool {
		return d.By == "" && unknown(d.Resource, d.Model, d.Endpoint)
	})
	if len(left) != len(p.health.Disabled) {
		p.health.Disabled = left
		p.touch()
	}
	p.outdated = p.outdated || next.Version >= onceward.PoolVersion && p.beginsAnew(ctx)
	if p.inline() {
		return nil
	}
	p.forget(func(f onceward.PoolFinding) bool { return unknown(f.Resource, f.Model, f.Endpoint) })
	counted := len(p.health.Neutrals) + len(p.health.Tests)
	p.health.Neutrals = slices.DeleteFunc(p.health.Neutrals, func(n onceward.NeutralCount) bool { return unknown(n.Resource, n.Model, n.Endpoint) })
	p.health.Tests = slices.DeleteFunc(p.health.Tests, func(t onceward.PoolTest) bool { return unknown(t.Resource, t.Model, t.Endpoint) })
	if counted != len(p.health.Neutrals)+len(p.health.Tests) {
		p.touch()
	}
	return nil
}

// beginsAnew reports whether this execution ends for the loop of a worker's build. An
// older worker may have taken that signal and gone on: then its history has no marker
// here, and what follows is what the older loop did.
func (p *pool) beginsAnew(ctx workflow.Context) bool {
	if p.in.Version >= onceward.PoolVersion {
		return false
	}
	p.asked++
	return workflow.GetVersion(ctx, fmt.Sprintf("begin anew %d", p.asked), workflow.DefaultVersion, 1) == 1
}

// name puts the names of the services on record.
func (p *pool) name() {
	var names []string
	for _, s := range p.services {
		names = append(names, s.Service)
	}
	slices.Sort(names)
	if !slices.Equal(names, p.health.Services) {
		p.health.Services = names
		p.touch()
	}
}

// refuse lists a signal that nobody can read. The record travels in a memo, which
// is no place for long texts.
func (p *pool) refuse(why string) {
	if len(p.health.Refused) < maxRefused {
		p.health.Refused = append(p.health.Refused, onceward.Cut(why, 120))
		p.touch()
	}
}

// serviceOf returns the service that told its routes last of those that have one,
// at an address or wherever it is; nil if none has it.
func (p *pool) serviceOf(resource, model, endpoint string) *onceward.PoolRoutes {
	for i := len(p.services) - 1; i >= 0; i-- {
		if has(p.services[i].Routes, resource, model, endpoint) {
			return &p.services[i]
		}
	}
	return nil
}

// has reports whether a route is among these; empty is any endpoint or model.
func has(routes []onceward.PoolRoute, resource, model, endpoint string) bool {
	return slices.ContainsFunc(routes, func(r onceward.PoolRoute) bool {
		return r.Resource == resource && (endpoint == "" || r.Endpoint == endpoint) && (model == "" || slices.Contains(r.Models, model))
	})
}

// known refuses a route that no service's configuration has.
func (p *pool) known(resource, model string) error {
	if p.serviceOf(resource, model, "") != nil {
		return nil
	}
	var names, models []string
	for _, s := range p.services {
		for _, r := range s.Routes {
			if !slices.Contains(names, r.Resource) {
				names = append(names, r.Resource)
			}
			for _, m := range r.Models {
				if r.Resource == resource && !slices.Contains(models, m) {
					models = append(models, m)
				}
			}
		}
	}
	if slices.Contains(names, resource) {
		return fmt.Errorf("pool: resource %s has no model %q; it has %v", resource, model, models)
	}
	return fmt.Errorf("pool: there is no resource %q; there are %v", resource, names)
}
