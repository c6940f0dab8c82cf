package workflows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.temporal.io/sdk/temporal"

	"github.com/onceward/onceward"
)

// E29: a codec or a worker that stands still for longer than a local activity may
// take fails the workflow task. It is no reason to end a run.
func TestLocalActivityThatFailsDoesNotEndTheRun(t *testing.T) {
	late := temporal.NewNonRetryableApplicationError("drawn", "encode", nil)
	for name, c := range map[string]struct {
		activity string
		err      error
		ends     bool
	}{
		"E29 the manifest cannot be made now":        {onceward.ActivityOpen, late, false},
		"E29 a route cannot be selected now":         {onceward.ActivitySelectRoute, late, false},
		"an argument that no run can work on is one": {onceward.ActivityOpen, temporal.NewNonRetryableApplicationError("drawn", onceward.ErrorInvalidStart, nil), true},
	} {
		t.Run(name, func(t *testing.T) {
			instead := any(func(context.Context, onceward.OpenRequest) (onceward.Opened, error) { return onceward.Opened{}, c.err })
			if c.activity == onceward.ActivitySelectRoute {
				instead = func(context.Context, onceward.RouteRequest) (onceward.Decision, error) {
					return onceward.Decision{}, c.err
				}
			}
			env := (&world{instead: map[string]any{c.activity: instead}}).environment()
			env.ExecuteWorkflow(runWorld, onceward.Ask("go on"))
			var panicked *temporal.PanicError // what fails a workflow task, where there is a server
			if err := env.GetWorkflowError(); err == nil || errors.As(err, &panicked) == c.ends || !strings.Contains(err.Error(), "drawn") {
				t.Errorf("%v, want the run to end: %v", err, c.ends)
			}
		})
	}
}

// E34: the server refuses a search attribute of more than 2 KB for ever, and a model
// may hear of two thousand actions that they are submitted.
func TestPendingActionsFitASearchAttribute(t *testing.T) {
	for name, c := range map[string]struct {
		id   string // of each, before its number
		n    int
		want int
	}{
		"E34 few are all there":                            {"refund/order-", 20, 20},
		"E34 of two thousand the newest":                   {"refund/order-", 2000, 102},
		"E34 ids of the greatest length":                   {strings.Repeat("x", onceward.MaxActionID-4), 12, 10},
		"E34 ids of characters that JSON writes as six":    {strings.Repeat("<", onceward.MaxActionID-4), 12, 1},
		"E34 those that have a receipt make room for none": {"", 0, 0},
	} {
		r := &Run{}
		for i := range c.n {
			r.actions = append(r.actions, onceward.ActionReceipt{ActionID: onceward.ActionID(fmt.Sprintf("%s%04d", c.id, i)), Status: onceward.StateAccepted},
				onceward.ActionReceipt{ActionID: onceward.ActionID(fmt.Sprintf("done/%d", i)), Status: onceward.StateCommitted})
		}
		got := r.pending()
		raw, err := json.Marshal(got)
		if err != nil || len(got) != c.want || len(raw) > maxAttribute {
			t.Errorf("%s: %d of %d in %d bytes (%v), want %d", name, len(got), c.n, len(raw), err, c.want)
		}
		if n := len(got); n > 0 && got[n-1] != fmt.Sprintf("%s%04d", c.id, c.n-1) {
			t.Errorf("%s: the last is %s", name, got[n-1])
		}
	}
}
