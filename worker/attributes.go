package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/onceward/onceward"
)

// attributesEvery is how often a worker asks again for search attributes that
// were missing, or that it was not told of.
const attributesEvery = 15 * time.Second

// attributes knows whether the namespace has the search attributes of runs. A
// worker that is started before them would else leave its runs out of every list
// for as long as they live. It is safe for concurrent use.
type attributes struct {
	there atomic.Bool
	said  string // the last reason; of the one goroutine that asks
}

// watch asks until the attributes are there, or ctx ends.
func (a *attributes) watch(ctx context.Context, w *Worker) {
	ticker := time.NewTicker(attributesEvery)
	defer ticker.Stop()
	for !a.there.Load() {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			a.ask(ctx, w)
		}
	}
}

// ask sets there only when every attribute exists with its type: a run that sets
// one the namespace does not know hangs for ever. What is missing is logged once.
func (a *attributes) ask(ctx context.Context, w *Worker) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	why := ""
	answer, err := w.client.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: w.cfg.Temporal.Namespace})
	if err != nil { // not everybody may list them; whoever may list runs can ask for one by them
		why = w.countByAttributes(ctx, err)
	} else if missing := missingAttributes(answer.GetCustomAttributes()); len(missing) > 0 {
		why = "missing: " + strings.Join(missing, ", ")
	}
	switch {
	case ctx.Err() != nil && why != "":
	case why == "":
		if a.there.Store(true); a.said != "" {
			w.log.Info("search attributes are there now; runs set them from their next attempt on", "namespace", w.cfg.Temporal.Namespace)
		}
	case why != a.said:
		w.log.Warn("search attributes are missing or cannot be asked for; runs go on without them until they are there; onceward setup registers them",
			"namespace", w.cfg.Temporal.Namespace, "why", why)
	}
	a.said = why
}

// countByAttributes reports why no run can be asked for by every attribute, or "".
func (w *Worker) countByAttributes(ctx context.Context, denied error) string {
	_, err := w.client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: w.cfg.Temporal.Namespace, Query: fmt.Sprintf(
		"%s = 'none' AND %s = 'none' AND %s = 'none' AND %s = 'none' AND %s = 1 AND %s = 0.5 AND %s = 'none'",
		onceward.AttributeAgent, onceward.AttributeStatus, onceward.AttributeOutcome, onceward.AttributeResource,
		onceward.AttributeAttempts, onceward.AttributeCostUSD, onceward.AttributePendingActions)})
	var unknown *serviceerror.InvalidArgument
	switch {
	case err == nil:
		return ""
	case errors.As(err, &unknown):
		return unknown.Error()
	}
	return denied.Error()
}
