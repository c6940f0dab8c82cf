package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/chat"
	"github.com/onceward/onceward/router/health"
	"github.com/onceward/onceward/router/route"
	"github.com/onceward/onceward/router/wire"
)

// Call makes one attempt: exactly one HTTP request, or none and a failure that
// says not_sent. The error is always a *onceward.Failure with resource and
// deployment; the response then holds what was learned all the same: usage,
// cost, request id.
//
// The end of ctx is the caller's own doing and is reported as cancelled or
// deadline_exceeded; the request's Timeouts are the resource's time and are
// reported as timeout.
func (r *Router) Call(ctx context.Context, req onceward.ModelRequest) (onceward.ModelResponse, error) {
	response, failure := r.call(ctx, req)
	response.ProviderRequestID = r.secrets.Message(response.ProviderRequestID)
	if failure == nil {
		return response, nil
	}
	failure.Message, failure.ProviderRequestID = r.secrets.Message(failure.Message), r.secrets.Message(failure.ProviderRequestID)
	failure.Resource, failure.Deployment = req.Route.Resource, req.Route.Deployment
	return response, failure
}

func (r *Router) call(ctx context.Context, req onceward.ModelRequest) (onceward.ModelResponse, *onceward.Failure) {
	unsent := onceward.ModelResponse{CostBasis: onceward.CostMeasured}
	c := r.table.Find(req.Route.Resource, req.Route.Model)
	if c == nil || c.Deployment != req.Route.Deployment {
		return unsent, onceward.NotSentFailure(onceward.ClassNoRoute, "this worker's pool has no such resource, model or deployment")
	}
	if err := ctx.Err(); err != nil {
		f := callerFailure(err, onceward.PhasePrepare)
		f.NotSent = true
		return unsent, f
	}
	output := req.Route.MaxOutputTokens
	if req.Repair != req.Route.Repair { // a caller that did not tell selection of its repair
		output = route.OutputTokens(output, req.Repair, c.Capability)
	}
	items, linted := wire.Lint(req)
	req.Items = items
	to := r.endpoints[c.Name]
	rendered, err := to.protocol.render(req, wire.Target{
		Resource: c.Name, Deployment: c.Deployment, Boundary: c.Boundary, Capability: c.Capability, MaxOutputTokens: output,
	})
	if err != nil {
		return unsent, unrendered(err)
	}
	input := req.Route.InputTokens
	if input == 0 {
		input = wire.EstimateTokens(len(rendered.Body))
	}
	permit, refusal := c.Health.Acquire(r.cfg.Now(), int64(input+output), c.MaxInFlight)
	if refusal != nil {
		return unsent, r.refused(refusal)
	}
	defer permit.Release() // whatever happens below, a panic of a callback included

	a := &attempt{
		router: r, endpoint: to, stream: to.protocol.collect(), candidate: c, req: req, permit: permit, body: rendered.Body, limit: output,
		ceiling: max(req.Route.Ceiling, c.Price.Ceiling(input, output)),
	}
	a.response.ReasoningStripped, a.response.Notices = rendered.Stripped, linted
	if rendered.Notice != "" {
		a.notice(rendered.Notice)
	}
	f := a.run(ctx)
	markAppended(req, f)
	a.settle(f)
	a.observe()
	return a.response, f
}

// unrendered names why a request could not be written. What this resource's API
// cannot carry, another's may.
func unrendered(err error) *onceward.Failure {
	class := onceward.ClassInvalidRequest
	var cannot *chat.Unsupported
	if errors.As(err, &cannot) {
		class = onceward.ClassUnsupportedCapability
	}
	f := onceward.NewFailure(class, onceward.PhasePrepare, err.Error())
	f.NotSent = true
	return f
}

// refused turns a refused permit into a failure that gives the reservation back.
func (r *Router) refused(refusal *health.Refusal) *onceward.Failure {
	class, reason := onceward.ClassOverloaded, "the breaker is open"
	switch refusal.Step {
	case route.StepDisabled:
		class, reason = refusal.Cause.Class, "disabled: "+refusal.Cause.Reason
		if class == "" {
			class = onceward.ClassNoRoute
		}
	case route.StepThrottled:
		class, reason = onceward.ClassRateLimited, "throttled"
	case route.StepQuota:
		class, reason = onceward.ClassRateLimited, "the quota of this minute is used up"
	case route.StepSuspect:
		reason = "the one request is out that a pair with many strikes gets"
	case route.StepLoad:
		reason = "too many requests in flight"
	}
	f := onceward.NotSentFailure(class, fmt.Sprintf("permit refused: %s", reason))
	if !refusal.Again.IsZero() {
		f.RetryAfter = max(refusal.Again.Sub(r.cfg.Now()), 0)
	}
	return f
}

// callerFailure names the end of the caller's own context.
func callerFailure(err error, phase onceward.Phase) *onceward.Failure {
	if errors.Is(err, context.DeadlineExceeded) {
		return onceward.NewFailure(onceward.ClassDeadlineExceeded, phase, "the caller's deadline passed")
	}
	return onceward.NewFailure(onceward.ClassCancelled, phase, "the caller cancelled")
}

// settle says what the attempt cost, and gives back what it did not use.
func (a *attempt) settle(f *onceward.Failure) {
	usage := a.response.Usage
	switch {
	case usage.Known:
		a.response.Cost, a.response.CostBasis = a.candidate.Price.Cost(usage), onceward.CostMeasured
		a.permit.Used(int64(usage.InputTokens + usage.OutputTokens))
	case f != nil && (f.NotSent || f.HTTPStatus >= 300 || a.unsent()):
		a.response.Cost, a.response.CostBasis = 0, onceward.CostMeasured
	default: // it may have been billed: absent usage is unknown, never 0
		a.response.Cost = max(a.ceiling, a.candidate.Price.Cost(usage))
		a.response.CostBasis = onceward.CostReserved
	}
}

// timeouts fills in what the request leaves open. No attempt may outlast the
// breaker's window and the probe's lease.
func (a *attempt) timeouts() onceward.Timeouts {
	t := a.req.Timeouts
	longest := a.router.cfg.LongestAttempt
	if t.Attempt > longest {
		a.notice("the attempt's timeout was cut to the pool's longest attempt, " + longest.String())
	}
	if t.Attempt <= 0 || t.Attempt > longest {
		t.Attempt = longest
	}
	limit := func(d time.Duration) time.Duration {
		if d <= 0 || d > t.Attempt {
			return t.Attempt + time.Second // the attempt's own clock ends it first
		}
		return d
	}
	t.FirstEvent, t.Idle = limit(t.FirstEvent), limit(t.Idle)
	return t
}

// notice adds a remark for the trail. It may quote names that came in pieces.
func (a *attempt) notice(text string) {
	a.response.Notices = append(a.response.Notices, a.router.secrets.Message(text))
}
