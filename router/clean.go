package router

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/redact"
	"github.com/onceward/onceward/router/wire"
)

// clean takes the credentials out of an answer that was put together from
// events: the gate sees one after the other, and a key can be in two of them.
func (a *attempt) clean(answer *wire.Answer) {
	secrets := a.router.secrets
	text := func(s *string) {
		if clean := secrets.Text(*s); clean != *s {
			*s = clean
			a.repeated.Store(true)
		}
	}
	raw := func(b *json.RawMessage) {
		clean, found := secrets.Bytes(*b)
		if found {
			*b = clean
			a.repeated.Store(true)
		}
	}
	text(&answer.Model)
	text(&answer.Refusal)
	raw(&answer.Filters)
	for i := range answer.Items {
		raw(&answer.Items[i])
	}
	for i := range answer.Messages {
		text(&answer.Messages[i])
	}
	for i := range answer.Calls {
		text(&answer.Calls[i].CallID)
		text(&answer.Calls[i].Name)
		text(&answer.Calls[i].Arguments)
	}
}

// uncleanCall refuses an answer that calls a tool with what was a credential:
// without it the call would be another one than the model made. In an answer's
// text the gap is remarked.
func (a *attempt) uncleanCall(answer wire.Answer) error {
	if !a.repeated.Load() {
		return nil
	}
	a.notice("the answer repeated a credential of the pool, which was taken out")
	for _, call := range answer.Calls {
		if holdsMarker(call) {
			return errors.New("a call repeats a credential of the pool, and is not carried out without it")
		}
	}
	return nil
}

func holdsMarker(call onceward.WireCall) bool {
	return strings.Contains(call.Arguments, redact.Marker) || strings.Contains(call.Name, redact.Marker) || strings.Contains(call.CallID, redact.Marker)
}
