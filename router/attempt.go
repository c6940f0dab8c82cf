package router

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/openai/openai-go/v3/option"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/classify"
	"github.com/onceward/onceward/router/health"
	"github.com/onceward/onceward/router/redact"
	"github.com/onceward/onceward/router/route"
	"github.com/onceward/onceward/router/wire"
)

// attempt is one request and its answer. It belongs to the goroutine of Call;
// only the trace fields are written by others.
type attempt struct {
	router    *Router
	endpoint  *endpoint
	candidate *route.Candidate
	req       onceward.ModelRequest
	permit    *health.Permit
	body      []byte
	limit     int // of output tokens, as it was sent; 0: none was
	ceiling   onceward.MicroUSD
	neutral   bool // a test: nothing of it raises a suspicion

	ctx    context.Context // of the request
	caller context.Context
	cancel context.CancelCauseFunc
	clock  *time.Timer  // first event, then idle, then drain; the attempt's end before each
	silent *time.Timer  // runs while not a byte comes; nil: nobody asked
	late   atomic.Value // the cause of the request's end when the clock runs out
	ends   time.Time    // the attempt, whatever comes
	woken  bool         // bytes have come since the clock was set
	limits onceward.Timeouts

	asked, got atomic.Bool // for a connection
	sentAt     time.Time
	header     http.Header
	headerAt   time.Time
	transport  error       // what the connection reported
	repeated   atomic.Bool // the answer held a credential, which was taken out
	stream     collector
	response   onceward.ModelResponse
	breaches   int // noted so far
}

// run sends the request and reads the answer.
func (a *attempt) run(caller context.Context) *onceward.Failure {
	a.caller = caller
	a.limits = a.timeouts()
	a.ctx, a.cancel = context.WithCancelCause(caller)
	defer a.cancel(errFinished)
	a.ends = time.Now().Add(a.limits.Attempt)
	a.clock = time.AfterFunc(a.within(a.limits.FirstEvent, errFirstEvent), func() {
		cause, _ := a.late.Load().(error)
		a.cancel(cause)
	})
	defer a.clock.Stop()

	a.progress(onceward.PhaseSent)
	res, err := a.send()
	f := a.read(res, err)
	if res != nil {
		_ = res.Body.Close()
	}
	if !a.neutral {
		a.effects(f)
	}
	return f
}

// within says what the clock is to be set to, so that the request ends with cause
// after d, or with the attempt where that ends before.
func (a *attempt) within(d time.Duration, cause error) time.Duration {
	if left := time.Until(a.ends); left < d {
		d, cause = left, errAttempt
	}
	a.late.Store(cause)
	return d
}

// send makes the one HTTP request of the attempt.
func (a *attempt) send() (*http.Response, error) {
	ctx := httptrace.WithClientTrace(withFinder(a.ctx, &a.repeated), &httptrace.ClientTrace{
		GetConn: func(string) { a.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { a.got.Store(true) },
	})
	a.sentAt = time.Now()
	var res *http.Response
	var options []option.RequestOption
	if a.neutral {
		options = neutralHeaders
	}
	err := a.endpoint.client.Post(ctx, a.endpoint.protocol.path(), a.body, &res, options...)
	return res, err
}

// unsent reports that provably nothing was sent: no connection was ever had.
func (a *attempt) unsent() bool { return a.asked.Load() && !a.got.Load() }

func (a *attempt) progress(phase onceward.Phase) {
	if a.req.Progress != nil {
		a.req.Progress(phase, a.stream.Count())
	}
}

// unfinished is a stream that ended without a terminal event.
func (a *attempt) unfinished() *onceward.Failure {
	if a.stream.Begun() {
		return a.failure(onceward.ClassNetwork, onceward.PhaseStream,
			fmt.Sprintf("the stream ended after %d events without a terminal one", a.stream.Count()))
	}
	f := a.failure(onceward.ClassEmptyOutput, onceward.PhaseSent,
		fmt.Sprintf("the stream ended after %d events without output and without a terminal one", a.stream.Count()))
	f.StateEffect = onceward.EffectBreaker // an empty shape of the transport, not of the model
	return f
}

// broken names an error of the connection or of a clock.
func (a *attempt) broken(err error, phase onceward.Phase) *onceward.Failure {
	if a.unsent() {
		phase = onceward.PhasePrepare
	}
	switch cause := context.Cause(a.ctx); {
	case cause == nil:
	case errors.Is(cause, errFirstEvent), errors.Is(cause, errIdle), errors.Is(cause, errSilent), errors.Is(cause, errAttempt):
		f := a.failure(onceward.ClassTimeout, phase, cause.Error())
		f.ModelResult = a.modelResult(phase)
		return f
	default:
		f := callerFailure(a.caller.Err(), phase)
		f.NotSent = phase == onceward.PhasePrepare
		f.ResponseStarted, f.ModelResult = a.stream.Begun(), a.modelResult(phase)
		f.HTTPStatus, f.ProviderRequestID = a.response.HTTPStatus, a.response.ProviderRequestID
		return f
	}
	if errors.Is(err, wire.ErrTooLarge) {
		return a.failure(onceward.ClassInvalidOutput, phase, err.Error())
	}
	a.transport = err
	kind := classify.SSE
	switch {
	case a.response.HTTPStatus == 0:
		kind = classify.Connection
	case phase == onceward.PhaseBody:
		kind = classify.HTTP
	}
	f := a.classify(kind, nil, err)
	f.Phase, f.ModelResult = phase, a.modelResult(phase)
	return f
}

// modelResult says what exists of the model's answer when it breaks off.
func (a *attempt) modelResult(phase onceward.Phase) onceward.ModelResult {
	switch phase {
	case onceward.PhasePrepare:
		return onceward.ModelResultNone
	case onceward.PhaseStream, onceward.PhaseSettled:
		return onceward.ModelResultPartial
	}
	return onceward.ModelResultUnknown
}

// classify asks the classifier and adds what only the attempt knows.
func (a *attempt) classify(kind classify.Transport, body []byte, err error) *onceward.Failure {
	f := classify.Classify(classify.Input{
		Transport: kind, Status: a.response.HTTPStatus, Header: a.header, Body: body, Err: err, Now: a.router.cfg.Now(),
	})
	if f.Class == onceward.ClassCancelled && a.response.HTTPStatus == http.StatusOK && a.caller.Err() == nil {
		// The resource says that the response was cancelled, and nobody here did it.
		own := onceward.NewFailure(onceward.ClassServerError, f.Phase, f.Message)
		own.ProviderRequestID, own.ModelResult = f.ProviderRequestID, f.ModelResult
		f = own
	}
	if kind == classify.SSE {
		f.Phase = a.phase()
		if a.stream.Begun() {
			f.ModelResult = onceward.ModelResultPartial
		}
	}
	f.ResponseStarted = a.stream.Begun()
	if f.ProviderRequestID == "" {
		f.ProviderRequestID = a.response.ProviderRequestID
	}
	f.HTTPStatus = a.response.HTTPStatus
	return f
}

// failure makes a failure that this package itself found.
func (a *attempt) failure(class onceward.Class, phase onceward.Phase, message string) *onceward.Failure {
	f := onceward.NewFailure(class, phase, redact.Shapes(a.router.secrets.Message(message), onceward.MaxFailureMessage))
	f.ResponseStarted = a.stream.Begun() || phase == onceward.PhaseSettled
	if f.ResponseStarted {
		f.ModelResult = onceward.ModelResultPartial
	}
	f.HTTPStatus, f.ProviderRequestID = a.response.HTTPStatus, a.response.ProviderRequestID
	return f
}
