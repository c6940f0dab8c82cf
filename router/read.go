package router

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/classify"
	"github.com/onceward/onceward/router/redact"
	"github.com/onceward/onceward/router/wire"
)

// drainFor is how long the end of a finished stream is waited for, so that its
// connection can be used again.
const drainFor = 50 * time.Millisecond

// tailFor is how long the usage of an answer that is over is waited for. Some
// hosts never send it, and keep the connection open.
const tailFor = 2 * time.Second

// read classifies the answer. The status decides before the error does: the
// SDK's error hides it for bodies that it does not know.
func (a *attempt) read(res *http.Response, err error) *onceward.Failure {
	if res == nil {
		return a.broken(err, onceward.PhaseSent)
	}
	a.router.local.Worked()
	a.header = res.Header
	a.response.HTTPStatus = res.StatusCode
	a.response.ProviderRequestID = requestID(res.Header)
	a.headerAt = a.router.cfg.Now()
	if res.StatusCode < 200 || res.StatusCode >= 300 {
		if err := a.caller.Err(); err != nil { // what came of the error by then may say less than the whole
			return a.broken(err, onceward.PhaseSent)
		}
		body, _ := io.ReadAll(io.LimitReader(res.Body, classify.MaxBody)) // what came of it is enough
		return a.classify(classify.HTTP, body, nil)
	}
	defer a.listen()()
	in := readers.Get().(*bufio.Reader)
	in.Reset(&waking{res.Body, a})
	defer func() {
		in.Reset(nil) // the pool must not hold the answer
		readers.Put(in)
	}()
	events, err := sniff(res.Header.Get("Content-Type"), in)
	if err != nil {
		return a.broken(err, onceward.PhaseSent)
	}
	if events {
		return a.readStream(in)
	}
	a.firstEvent()
	body, err := io.ReadAll(&ticking{in, func() { a.clock.Reset(a.within(a.limits.Idle, errIdle)) }})
	if err != nil {
		return a.broken(err, onceward.PhaseBody)
	}
	return a.readBody(body)
}

// readers keeps the buffers of answers.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 32<<10) }}

// ticking resets a clock with every read that brings something.
type ticking struct {
	in   io.Reader
	tick func()
}

// Read implements io.Reader.
func (t *ticking) Read(p []byte) (int, error) {
	n, err := t.in.Read(p)
	if n > 0 {
		t.tick()
	}
	return n, err
}

func (a *attempt) firstEvent() {
	a.woken = false
	a.clock.Reset(a.within(a.limits.Idle, errIdle))
	if !a.neutral { // so short a request comes sooner than any other
		a.candidate.Health.ObserveFirstEvent(time.Since(a.sentAt))
	}
}

// readStream reads events up to the one that ends the answer.
func (a *attempt) readStream(in io.Reader) *onceward.Failure {
	events := wire.NewDecoder(in)
	for {
		ev, err := events.Next()
		switch {
		case err != nil && a.stream.Ended() && a.caller.Err() == nil:
			return a.readTerminal() // the answer is whole; what did not come is its usage or an end mark
		case errors.Is(err, io.EOF):
			return a.unfinished()
		case err != nil:
			return a.broken(err, a.phase())
		}
		if a.stream.Count() == 0 {
			a.firstEvent()
		}
		before := a.stream.Steps()
		end, err := a.stream.Add(ev)
		if a.woken && a.stream.Steps() > before || a.stream.Ended() {
			a.woken = false
			a.clock.Reset(a.within(a.idle(), errIdle))
		}
		a.progress(a.phase())
		switch {
		case errors.Is(err, wire.ErrTooLarge):
			return a.failure(onceward.ClassInvalidOutput, a.phase(), err.Error())
		case err != nil:
			return a.failure(onceward.ClassNetwork, a.phase(), err.Error()) // bytes were lost or mixed on the way
		}
		if end {
			a.drain(events)
			if !a.stream.Ended() {
				return a.unfinished()
			}
			return a.readTerminal()
		}
	}
}

// idle is how long the next step may take.
func (a *attempt) idle() time.Duration {
	if a.stream.Ended() {
		return min(a.limits.Idle, tailFor)
	}
	return a.limits.Idle
}

// drain reads what follows the terminal event, so that the connection is free
// for the next request. A second terminal event changes nothing and is noted.
func (a *attempt) drain(events *wire.Decoder) {
	a.clock.Reset(a.within(drainFor, errFinished))
	for range 64 {
		ev, err := events.Next()
		if err != nil {
			return
		}
		if wire.IsTerminal(ev) {
			a.notice("a second terminal event was ignored")
		}
	}
}

// phase says how far the attempt is: an answer that failed before its first
// output item has not started.
func (a *attempt) phase() onceward.Phase {
	if a.stream.Begun() {
		return onceward.PhaseStream
	}
	return onceward.PhaseSent
}

// requestID is how the request is found again in the resource's own logs.
func requestID(h http.Header) string {
	for _, name := range [...]string{"X-Request-Id", "Apim-Request-Id", "Request-Id", "Cf-Ray"} {
		if v := h.Get(name); v != "" {
			return redact.Shapes(v, 128)
		}
	}
	return ""
}

// blank reports a body of a success that holds nothing at all.
func blank(body []byte) bool {
	switch string(bytes.TrimSpace(body)) {
	case "", "null", "{}":
		return true
	}
	return false
}
