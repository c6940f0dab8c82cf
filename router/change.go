package router

import (
	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/health"
)

// Event names what changed about a resource or pair.
type Event string

// The events. Disabled and enabled are what the pool's record is about; the others
// are this process's own.
const (
	EventSuspected Event = "suspected" // a run failed, and a test begins
	EventAcquitted Event = "acquitted" // a neutral request passed, or a run was served since
	EventConvicted Event = "convicted" // a neutral request failed
	EventOpened    Event = "opened"    // the breaker
	EventClosed    Event = "closed"
	EventDisabled  Event = "disabled" // until a test passes, an operator enables it, or its time is over
	EventEnabled   Event = "enabled"
	EventUnusable  Event = "unusable" // neutral requests tell nothing here
	EventUsable    Event = "usable"
)

// Change is what OnChange is told.
type Change struct {
	Resource string             `json:"resource"`
	Model    string             `json:"model,omitempty"` // empty: the whole resource
	Event    Event              `json:"event"`
	Class    onceward.Class     `json:"class,omitempty"`
	Reason   string             `json:"reason,omitempty"`
	Test     *onceward.PoolTest `json:"test,omitempty"`    // that it rests on
	Disabled health.Disabled    `json:"disabled,omitzero"` // of a disabled one
	Limit    int                `json:"limit,omitempty"`   // of output tokens that the neutral request named, if that mattered
}

func (r *Router) changed(changes ...Change) {
	if r.cfg.OnChange == nil {
		return
	}
	for _, c := range changes {
		r.cfg.OnChange(c)
	}
}
