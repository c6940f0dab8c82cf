package routertest

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"
)

// respond answers POST .../responses.
func (x *exchange) respond(raw []byte) {
	req := x.request()
	slow := x.s.pool.faults.pick(req, edgeFaults, true)
	if slow != nil {
		x.outcome(func(o *Outcome) { o.Fault = slow.Kind })
		if !x.s.pool.pause(x.ctx(), slow.Delay) {
			x.cut(false)
			return
		}
	}
	if f := x.s.pool.faults.pick(req, edgeFaults, false); f != nil {
		x.outcome(func(o *Outcome) { o.Fault = f.Kind })
		if !x.s.pool.pause(x.ctx(), f.Delay) {
			x.cut(false)
			return
		}
		if x.edge(f, req) {
			return
		}
	}
	a, req, e := x.answer(raw, req)
	if e != nil {
		x.refuse(e)
		return
	}
	f := x.s.pool.faults.pick(req, answerFaults, false)
	if f == nil {
		f = &activeFault{}
	} else {
		x.outcome(func(o *Outcome) { o.Fault = f.Kind })
	}
	if !x.s.pool.pause(x.ctx(), f.Delay) {
		x.cut(false)
		return
	}
	a.spoil(f)
	if req.Body.Stream && f.Kind != FaultJSON {
		perEvent := f.EventDelay
		if slow != nil {
			perEvent += slow.EventDelay
		}
		x.stream(a, f, perEvent)
		return
	}
	x.whole(a, f)
}

// answer checks the request and asks the model.
func (x *exchange) answer(raw []byte, req Request) (*answer, Request, *apiError) {
	m, e := x.s.checkBody(raw)
	if e != nil {
		return nil, req, e
	}
	items, e := x.s.resolveInput(req)
	if e != nil {
		return nil, req, e
	}
	x.items = items
	req = x.s.pool.rec.change(x.rec, func(r *Request) { r.Items = items })
	if limit := x.s.cfg.ContextTokens; limit > 0 && promptTokens(segments(m, items)) > limit {
		return nil, req, badRequest("input", "context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again.")
	}
	outs, ok := x.s.model.Load().reply(req)
	if !ok {
		return nil, req, badRequest("", "no_rule_matches", "The scripted model has no rule for this request (turn %d).", req.Turn())
	}
	tokens, cached := x.s.state.prompt(segments(m, items))
	a := x.newAnswer(m, req, outs, tokens, cached)
	x.outcome(func(o *Outcome) { o.ResponseID, o.InputTokens, o.CachedTokens = a.base.ID, tokens, cached })
	return a, req, nil
}

// edge answers by a fault in front of the API; false: the fault was released
// and the request goes on.
func (x *exchange) edge(f *activeFault, req Request) bool {
	for k, v := range f.Header {
		x.w.Header().Set(k, v)
	}
	contentType := "application/json"
	if req.Body.Stream {
		contentType = "text/event-stream; charset=utf-8"
	}
	switch f.Kind {
	case FaultHang, FaultHangHeaders:
		if f.Kind == FaultHangHeaders {
			x.w.Header().Set("Content-Type", contentType)
			x.header(200)
			x.flush()
		}
		if x.s.pool.hang(x, f) {
			return false
		}
		x.cut(false)
	case FaultReset, FaultClose:
		x.cut(f.Kind == FaultReset)
	case FaultEmpty:
		x.send(200, contentType, nil)
	case FaultNull:
		x.send(200, "application/json", []byte("null"))
	case FaultObject:
		x.send(200, "application/json", []byte("{}"))
	case FaultHTML:
		x.send(200, "text/html; charset=utf-8", []byte(orElse(f.Body, "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Sign in to continue.</body></html>")))
	case FaultStatus:
		body := orElse(f.Body, usualBody(f.Status))
		contentType = x.w.Header().Get("Content-Type")
		if contentType == "" && looksLikeJSON(body) {
			contentType = "application/json"
		}
		x.outcome(func(o *Outcome) { o.Error = fmt.Sprintf("status %d", f.Status) })
		x.send(f.Status, contentType, []byte(body))
	}
	return true
}

// spoil applies the faults that change what the model said.
func (a *answer) spoil(f *activeFault) {
	switch f.Kind {
	case FaultProse:
		for i := range a.items {
			if a.items[i].kind == "message" {
				a.items[i].text = orElse(f.Body, "Of course! Let me think about that. I would be glad to help with what you asked for.")
			}
		}
	case FaultBrokenArguments:
		for i := range a.items {
			if a.items[i].kind == "function_call" {
				a.items[i].text = cutRunes(a.items[i].text, len(a.items[i].text)/2)
			}
		}
	case FaultNoUsage:
		a.usage = nil
	case FaultNoOutput:
		a.items = nil
	case FaultIncomplete:
		a.reason = orElse(f.Reason, "max_output_tokens")
		if n := len(a.items); n > 0 && f.AfterEvents == 0 {
			a.items[n-1].incomplete = true
		}
	}
}

// plan lists the events to send, the fault's included.
func (a *answer) plan(f *activeFault) []event {
	body, end := a.events(), a.terminal()
	at := f.AfterEvents
	if at == 0 {
		at = 2 // after created and in_progress: before any output
	}
	at = min(at, len(body))
	code, message := orElse(f.Code, "server_error"), orElse(f.Message, "The server had an error while processing your request. Sorry about that!")
	switch f.Kind {
	case FaultFailed:
		return append(body[:at], newEvent("response.failed", responseField{a.failed(code, message)}))
	case FaultErrorEvent:
		return append(body[:at], errorEventOf(f, code, message))
	case FaultIncomplete:
		if f.AfterEvents == 0 {
			return append(body, end)
		}
		done := 0
		for _, e := range body[:at] {
			if e.typ == "response.output_item.done" {
				done++
			}
		}
		return append(body[:at], newEvent("response.incomplete", responseField{a.final(a.items[:done])}))
	case FaultNoTerminal:
		return body
	case FaultTwoTerminals:
		return append(body, end, end)
	case FaultBrokenEvent:
		broken := event{typ: "response.output_text.delta", fields: []byte(`{"type":"response.output_text.delta","sequence_number":`), broken: true}
		return append(slices.Insert(body, at, broken), end)
	}
	return append(body, end)
}

// stream sends the answer as events.
func (x *exchange) stream(a *answer, f *activeFault, perEvent time.Duration) {
	x.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	x.header(200)
	x.flush()
	sent := 0
	for i, e := range a.plan(f) {
		if !x.s.pool.pause(x.ctx(), perEvent) {
			x.cut(false)
			return
		}
		switch {
		case f.Kind == FaultHangEvents && i == f.AfterEvents && !x.s.pool.hang(x, f):
			x.cut(false)
			return
		case f.Kind == FaultCutEvents && i == f.AfterEvents:
			x.cut(f.RST)
			return
		}
		frame := e.frame(i)
		if f.Kind == FaultCutBytes && sent+len(frame) > f.AfterBytes {
			_, _ = x.w.Write(frame[:f.AfterBytes-sent]) // the connection is cut next
			x.flush()
			x.cut(f.RST)
			return
		}
		if _, err := x.w.Write(frame); err != nil || x.ctx().Err() != nil {
			x.cut(false)
			return
		}
		sent += len(frame)
		if finished(e.typ) {
			x.keep(a, f) // before the client can see the end and ask for the response
		}
		x.flush()
		x.s.pool.rec.flushed(x.rec, e.typ)
	}
	x.ended(!slices.Contains([]FaultKind{FaultFailed, FaultErrorEvent, FaultNoTerminal}, f.Kind))
}

func finished(typ string) bool { return typ == "response.completed" || typ == "response.incomplete" }

// whole sends the answer as one JSON object.
func (x *exchange) whole(a *answer, f *activeFault) {
	r := a.final(a.items)
	code, message := orElse(f.Code, "server_error"), orElse(f.Message, "The server had an error while processing your request. Sorry about that!")
	switch f.Kind {
	case FaultFailed:
		r = a.failed(code, message)
	case FaultNoTerminal:
		r = a.base
	case FaultErrorEvent:
		x.json(200, encode(errorEvent{errorObject{Message: message, Type: code, Code: &code}}))
		return
	}
	body := encode(r)
	switch f.Kind {
	case FaultHangEvents:
		if !x.s.pool.hang(x, f) {
			x.cut(false)
			return
		}
	case FaultBrokenEvent:
		body = body[:len(body)/2]
	case FaultCutEvents, FaultCutBytes:
		n := f.AfterBytes
		if f.Kind == FaultCutEvents {
			n = len(body) / 2
		}
		x.w.Header().Set("Content-Type", "application/json")
		x.w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		x.header(200)
		_, _ = x.w.Write(body[:min(n, len(body)-1)]) // the connection is cut next
		x.flush()
		x.cut(f.RST)
		return
	default:
		x.keep(a, f)
	}
	x.json(200, body)
}

// keep stores the response as the real API does: when it is finished.
func (x *exchange) keep(a *answer, f *activeFault) {
	if !a.base.Store || f.Kind == FaultFailed || f.Kind == FaultNoTerminal {
		return
	}
	items := slices.Clone(x.items) // not the record's: old records lose theirs
	for _, it := range a.items {
		parsed, _ := parseItem(it.done(false)) // made by this package
		items = append(items, parsed)
	}
	x.s.state.put(a.base.ID, encode(a.final(a.items)), items)
}

func (x *exchange) flush() { _ = http.NewResponseController(x.w).Flush() }

// cut ends the connection in the middle of the answer, by RST or FIN. It also
// ends what hangs when the pool closes: a handler that just returned would make
// net/http send an empty 200.
func (x *exchange) cut(rst bool) {
	x.ended(false)
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // net/http's own way to drop a connection; it recovers
	}
	if tcp, ok := conn.(*net.TCPConn); ok && rst {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
