package router

import (
	"time"

	"github.com/onceward/onceward/router/health"
)

// Off returns every resource, and every model on one, that is disabled now. A
// fault of scope egress is of this worker's network only.
func (r *Router) Off() []Change {
	now := r.cfg.Now()
	var out []Change
	seen := map[string]bool{}
	for _, c := range r.all {
		if d := c.Resource.Health.Switch.Off(now); d != nil && !seen[c.Name] {
			out = append(out, Change{Resource: c.Name, Disabled: *d})
		}
		seen[c.Name] = true
		if d := c.Health.Switch.Off(now); d != nil {
			out = append(out, Change{Resource: c.Name, Model: c.Model, Disabled: *d})
		}
	}
	return out
}

// Adopt disables what the pool's own record says is disabled. Unlike Disable it
// tells OnChange nothing, because the record knows it already. An unknown
// resource or model is passed over: the record may be of another release.
func (r *Router) Adopt(resource, model, reason string, since, until time.Time) {
	s, err := r.switchOf(resource, model)
	if err != nil {
		return
	}
	if off := s.Off(r.cfg.Now()); off == nil {
		s.Disable(health.Disabled{Reason: r.secrets.Message(reason), Since: since, Until: until})
	}
}
