package classify

import (
	"net/http"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/redact"
)

// MaxBody is how many bytes of a body are looked at. The rest is ignored: an
// error that explains itself only after 64 KB explains nothing.
const MaxBody = 64 << 10

// Transport says where the bytes come from.
type Transport string

// The transports.
const (
	HTTP       Transport = "http"       // a complete HTTP body
	SSE        Transport = "sse"        // a stream's event, its frames, or what ended it
	WebSocket  Transport = "websocket"  // a message of a socket, or what ended it
	Connection Transport = "connection" // no answer: Err or Body hold the transport's error text
)

// Input is one failed answer. The zero value is an empty body over HTTP.
// An Input is only read; it may be shared.
type Input struct {
	Transport Transport
	Status    int         // HTTP status; 0 when there was none
	Header    http.Header // any case of the names is accepted
	Body      []byte
	Err       error     // the transport's error, may be nil
	Now       time.Time // for dates in headers and prose; zero means time.Now
}

// Classify names what went wrong. It never returns nil: an answer that no rule
// knows is ClassUnknown. The caller knows more in two cases and overrides: it
// sets Phase for what it had already read of a stream, and it reports its own
// expired deadline or cancellation as ClassDeadlineExceeded or ClassCancelled.
func Classify(in Input) *onceward.Failure {
	return read(in).verdict(in)
}

// Terminal reports the failure that the terminal object of a stream or body
// carries: response.failed, response.incomplete, response.cancelled, an error
// event, or an error object inside a 200. It returns false for an event that
// is no failure, and for one that is no terminal event.
func Terminal(event []byte) (*onceward.Failure, bool) {
	in := Input{Transport: SSE, Status: http.StatusOK, Body: event}
	env := read(in)
	if !env.failedTerminal() {
		return nil, false
	}
	return env.verdict(in), true
}

// verdict applies the table and then fills in what only the bytes know.
func (e *envelope) verdict(in Input) *onceward.Failure {
	r := e.lookAgain(e.decide())
	f := onceward.NewFailure(r.class, onceward.PhaseSent, "")
	f.HTTPStatus = in.Status
	if f.HTTPStatus == 0 {
		f.HTTPStatus = e.statusInBody
	}
	f.Phase = e.phase(f.Class)
	f.ModelResult = e.modelResult(f.Class)
	for _, over := range r.over {
		over(f)
	}
	if f.Class == onceward.ClassContextLength && inputFitsAlone(e.text) {
		f.Repair = onceward.RepairLowerOutput
	}
	f.RetryAfter = e.retryAfter(in, f.Class)
	f.ProviderRequestID = requestID(in.Header, e.requestID)
	f.Message = masked(e.summary(in))
	return f
}

// phase says how far the attempt had come, as far as the bytes show it.
func (e *envelope) phase(c onceward.Class) onceward.Phase {
	switch c {
	case onceward.ClassEmptyOutput, onceward.ClassInvalidOutput, onceward.ClassIncompleteOutput, onceward.ClassRefusal:
		if e.transport == HTTP {
			return onceward.PhaseSettled
		}
	case onceward.ClassNetwork:
		if e.transport == HTTP && e.httpStatus >= 200 && e.httpStatus < 300 {
			return onceward.PhaseBody
		}
	default:
	}
	if e.sawOutputEvent {
		return onceward.PhaseStream
	}
	return onceward.PhaseSent
}

// modelResult says whether the model may have answered: a broken connection
// leaves that open, and it is billed all the same.
func (e *envelope) modelResult(c onceward.Class) onceward.ModelResult {
	switch {
	case e.hasOutput() || e.sawOutputEvent:
		return onceward.ModelResultPartial
	case c == onceward.ClassTimeout, c == onceward.ClassDeadlineExceeded, c == onceward.ClassCancelled,
		c == onceward.ClassNetwork && !e.neverConnected():
		return onceward.ModelResultUnknown
	}
	return onceward.ModelResultNone
}

// requestIDHeaders name the request in the resource's own logs, best first.
var requestIDHeaders = []string{
	"X-Request-Id", "Apim-Request-Id", "Request-Id", "X-Amzn-Requestid", "X-Ms-Request-Id",
	"X-Goog-Request-Id", "X-Generation-Id", "Cf-Ray",
}

func requestID(h http.Header, fromBody string) string {
	for _, name := range requestIDHeaders {
		if v := header(h, name); v != "" {
			return masked(clip(v, 128))
		}
	}
	return masked(fromBody)
}

// header reads a header whatever the case of its stored name: records and
// socket wrappers do not hold canonical names.
func header(h http.Header, name string) string {
	if v := h.Get(name); v != "" || len(h) == 0 {
		return v
	}
	for k, vs := range h {
		if len(vs) > 0 && http.CanonicalHeaderKey(k) == name {
			return vs[0]
		}
	}
	return ""
}

// masked is a text that is safe to store.
func masked(s string) string { return redact.Shapes(s, onceward.MaxFailureMessage) }

// retryAfter is how long the answer asks to be left alone.
func (e *envelope) retryAfter(in Input, c onceward.Class) time.Duration {
	now := in.Now
	if now.IsZero() {
		now = time.Now()
	}
	if t, err := http.ParseTime(header(in.Header, "Date")); err == nil {
		now = t // the resource's clock set the dates below, ours may be off
	}
	text := e.text
	if !e.says(table().waitWords) {
		text = nil
	}
	limited := c == onceward.ClassRateLimited || c == onceward.ClassQuotaExhausted || c == onceward.ClassOverloaded
	return e.waits.Longest(text, now, limited)
}
