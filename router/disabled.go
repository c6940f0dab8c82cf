package router

import (
	"github.com/onceward/onceward/router/health"
)

// Off returns every resource, and every model on one, that is disabled now.
// Disabled.Adopted tells what others decided from what this process convicted.
func (r *Router) Off() []Change {
	now := r.cfg.Now()
	var out []Change
	seen := map[string]bool{}
	for _, c := range r.all {
		if d := c.Resource.Health.Switch.Off(now); d != nil && !seen[c.Name] {
			out = append(out, Change{Resource: c.Name, Event: EventDisabled, Class: d.Class, Reason: d.Reason, Disabled: *d})
		}
		seen[c.Name] = true
		if d := c.Health.Switch.Off(now); d != nil {
			out = append(out, Change{Resource: c.Name, Model: c.Model, Event: EventDisabled, Class: d.Class, Reason: d.Reason, Disabled: *d, Limit: r.tester.limit(c)})
		}
	}
	return out
}

// Adopt disables what the pool's own record says is disabled, in place of what this
// process found itself. Unlike Disable it tells OnChange nothing, because the record
// knows it already. An unknown resource or model is passed over: the record may be of
// another release.
func (r *Router) Adopt(resource, model string, d health.Disabled) {
	s, err := r.switchOf(resource, model)
	if err != nil {
		return
	}
	d.Reason = r.secrets.Message(d.Reason)
	s.Adopt(d)
}
