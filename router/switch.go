package router

import (
	"fmt"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/health"
)

// Disable takes a resource, or one model on it, out of selection until then; a
// zero until is until Enable. The error says that there is no such resource or
// model.
func (r *Router) Disable(resource, model, reason string, until time.Time) error {
	s, err := r.switchOf(resource, model)
	if err != nil {
		return err
	}
	d := health.Disabled{Reason: r.secrets.Message(reason), Since: r.cfg.Now(), Until: until, Adopted: true}
	if s.Adopt(d) {
		r.changed(Change{Resource: resource, Model: model, Event: EventDisabled, Reason: d.Reason, Disabled: d})
	}
	return nil
}

// Enable puts a resource, or one model on it, back into selection, and forgets what
// was held against it: whoever enables it knows better.
func (r *Router) Enable(resource, model string) error {
	s, err := r.switchOf(resource, model)
	if err != nil {
		return err
	}
	if !s.Enable() {
		return nil
	}
	for _, c := range r.all {
		if c.Name == resource && (model == "" || c.Model == model) {
			c.Health.Suspicion.Forget()
			r.tester.vouch(c)
		}
	}
	r.changed(Change{Resource: resource, Model: model, Event: EventEnabled})
	return nil
}

func (r *Router) switchOf(resource, model string) (*health.Switch, error) {
	for _, c := range r.all {
		if c.Name != resource {
			continue
		}
		if model == "" {
			return &c.Resource.Health.Switch, nil
		}
		if c.Model == model {
			return &c.Health.Switch, nil
		}
	}
	return nil, fmt.Errorf("find resource: no resource %q with model %q in the pool", resource, model)
}

// Status is the health of one model on one resource, for people and metrics.
type Status struct {
	Resource       string             `json:"resource"`
	Account        string             `json:"account"`
	Model          string             `json:"model"`
	Deployment     string             `json:"deployment"`
	State          string             `json:"state"` // clear | suspect | open | off
	Strikes        int                `json:"strikes,omitempty"`
	AvoidedUntil   time.Time          `json:"avoided_until,omitzero"`
	Tested         *onceward.PoolTest `json:"tested,omitempty"` // the last neutral request
	Breaker        string             `json:"breaker"`          // closed | open | half-open
	BreakerAgain   time.Time          `json:"breaker_again,omitzero"`
	ThrottledUntil time.Time          `json:"throttled_until,omitzero"`
	Disabled       *health.Disabled   `json:"disabled,omitempty"`
	InFlight       int                `json:"in_flight"` // of the resource
	RequestsLeft   int                `json:"requests_left"`
	TokensLeft     int                `json:"tokens_left"` // this minute; -1 unknown
	FirstEvent     time.Duration      `json:"first_event_ns"`
	ServedModel    string             `json:"served_model,omitempty"` // as the last answer named itself
}

// Health returns a snapshot in the order of the configuration.
func (r *Router) Health() []Status {
	now := r.cfg.Now()
	at := now.UnixNano()
	list := make([]Status, 0, len(r.all))
	for _, c := range r.all {
		rh, ph := c.Resource.Health, c.Health
		s := Status{
			Resource: c.Name, Account: c.Account, Model: c.Model, Deployment: c.Deployment,
			Breaker: ph.Breaker.State(at), InFlight: int(rh.InFlight.Load()), FirstEvent: ph.FirstEvent(),
			RequestsLeft: least(rh.Requests.Left(at), ph.Requests.Left(at)),
			TokensLeft:   least(rh.Tokens.Left(at), ph.Tokens.Left(at)),
		}
		if ok, again := ph.Breaker.Peek(at); !ok {
			s.BreakerAgain = time.Unix(0, again)
		}
		s.ThrottledUntil = rh.Throttle.Until(at)
		if t := ph.Throttle.Until(at); t.After(s.ThrottledUntil) {
			s.ThrottledUntil = t
		}
		if s.Disabled = rh.Switch.Off(now); s.Disabled == nil {
			s.Disabled = ph.Switch.Off(now)
		}
		look := ph.Suspicion.Look(now)
		s.Strikes, s.State = look.Strikes, "clear"
		if look.Avoided {
			s.AvoidedUntil = look.Until
		}
		switch {
		case s.Disabled != nil:
			s.State = "off"
		case s.Breaker != "closed":
			s.State = "open"
		case look.Suspect:
			s.State = "suspect"
		}
		s.Tested = r.tester.last(c)
		if m := ph.LastModel.Load(); m != nil {
			s.ServedModel = *m
		}
		list = append(list, s)
	}
	return list
}

// least returns the smaller of two counts of which -1 is unknown.
func least(a, b int) int {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}
