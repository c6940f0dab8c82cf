package onceward

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxCaller bounds the tenant and the user of a run in bytes.
const MaxCaller = 200

// Caller is for whom a run works, as its starter has said: Start.Tenant and
// Start.User. Nobody authenticates it here; whoever may start the workflow may say
// anything, so that what starts runs has to know its users. The model never sees a
// caller and cannot choose one. The zero value is a run that works for nobody in
// particular. A Caller is a value, safe to copy.
type Caller struct {
	Tenant string `json:"tenant,omitempty"`
	User   string `json:"user,omitempty"`
	// Slot is the time that a scheduled run is about, in UTC, which may be long
	// before it runs: Start.Slot, else the time that a Temporal schedule or its
	// backfill names. Zero: the run has none. It is the same after a reset.
	Slot time.Time `json:"slot,omitzero"`
}

// Validate refuses a tenant or a user that is no name on one line, and a slot that
// JSON cannot write.
func (c Caller) Validate() error {
	for _, part := range []struct{ key, text string }{{"tenant", c.Tenant}, {"user", c.User}} {
		switch {
		case len(part.text) > MaxCaller:
			return fmt.Errorf("%s has %d bytes, at most %d", part.key, len(part.text), MaxCaller)
		case !utf8.ValidString(part.text):
			return fmt.Errorf("%s is not UTF-8", part.key)
		case strings.ContainsFunc(part.text, func(r rune) bool { return !unicode.IsPrint(r) }):
			return fmt.Errorf("%s %q holds a character that cannot be printed on one line", part.key, part.text)
		}
	}
	if y := c.Slot.Year(); y < 1 || y > 9999 {
		return fmt.Errorf("slot is in the year %d, want 1 to 9999", y)
	}
	return nil
}

type callerKey struct{}

// WithCaller returns a context from which CallerFrom reads c. The library gives one
// to the functions of tools and to Agent.Accept; tests of yours may too.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFrom returns for whom a tool is carried out, and false where the run works
// for nobody in particular. A write finds it in Action.Caller as well.
func CallerFrom(ctx context.Context) (Caller, bool) {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c, c != Caller{}
}
