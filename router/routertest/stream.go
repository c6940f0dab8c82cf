package routertest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"
)

// respond answers a request for a model response.
func (x *exchange) respond(raw []byte) {
	req, as := x.request(), sent{x.r.Header, raw}
	slow := x.s.pool.faults.pick(req, as, []FaultKind{FaultSlow})
	if slow != nil {
		x.outcome(func(o *Outcome) { o.Fault = slow.Kind })
		if !x.s.pool.pause(x.ctx(), slow.Delay) {
			x.cut(false)
			return
		}
	}
	if x.cached(req, as) {
		return
	}
	if f := x.s.pool.faults.pick(req, as, edgeFaults); f != nil {
		x.outcome(func(o *Outcome) { o.Fault = f.Kind })
		if !x.s.pool.pause(x.ctx(), f.Delay) {
			x.cut(false)
			return
		}
		if x.edge(f, req) {
			return
		}
	}
	a, req, e := x.answer(as, req)
	if e != nil {
		x.refuse(e)
		return
	}
	f := x.s.pool.faults.pick(req, as, answerFaults)
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
	x.append(a, req, f)
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
func (x *exchange) answer(as sent, req Request) (*answer, Request, *apiError) {
	m, items, e := x.check(as.body, req)
	if e != nil {
		return nil, req, e
	}
	x.items = items
	req = x.s.pool.rec.change(x.rec, func(r *Request) { r.Items = items })
	if limit := x.s.cfg.ContextTokens; limit > 0 && promptTokens(segments(m, items)) > limit {
		return nil, req, tooLong()
	}
	outs, tokens, cached := []Out{Say("ok")}, promptTokens(segments(m, items)), 0
	if !req.Neutral { // which takes no turn of a script and warms no cache
		var ok bool
		if outs, ok = x.s.model.Load().reply(req, as); !ok {
			return nil, req, badRequest("", "no_rule_matches", "The scripted model has no rule for this request (turn %d).", req.Turn())
		}
		tokens, cached = x.s.state.prompt(segments(m, items))
	}
	a := x.newAnswer(m, req, outs, tokens, cached)
	x.outcome(func(o *Outcome) { o.ResponseID, o.InputTokens, o.CachedTokens = a.base.ID, tokens, cached })
	return a, req, nil
}

// check returns the parameters and the conversation of a request, if the real
// API would take it.
func (x *exchange) check(raw []byte, req Request) (map[string]json.RawMessage, []Item, *apiError) {
	if x.s.cfg.API == APIChatCompletions {
		m, e := x.s.checkChat(raw)
		if e == nil { // by these names a prompt is told from others
			m["instructions"], m["text"] = req.Body.Instructions, m["response_format"]
		}
		return m, req.Items, e
	}
	m, e := x.s.checkBody(raw)
	if e != nil {
		return nil, nil, e
	}
	items, fresh, e := x.s.resolveInput(req)
	x.fresh = fresh
	return m, items, e
}

// append adds request and answer to the conversation of the request. It comes
// before the answer is sent: a model goes on when its client is gone, so an
// answer that is cut or lost on its way is in the conversation all the same.
func (x *exchange) append(a *answer, req Request, f *activeFault) {
	if req.Neutral || req.Body.Conversation == "" || !req.Stored() || f.Kind == FaultFailed || f.Kind == FaultErrorEvent {
		return
	}
	x.s.state.extend(req.Body.Conversation, slices.Concat(x.fresh, a.parsed()))
}

// parsed are the items of an answer as a later request is shown them.
func (a *answer) parsed() []Item {
	items := make([]Item, 0, len(a.items))
	for _, it := range a.items {
		item, _ := parseItem(it.done(false)) // made by this package
		items = append(items, item)
	}
	return items
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
		x.page(f)
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
	if a.chat {
		return a.chatPlan(f)
	}
	body, end := a.events(), a.terminal()
	at := f.AfterEvents
	if at == 0 {
		at = 2 // after created and in_progress: before any output
	}
	at = min(at, len(body))
	code, message := f.words()
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
	const contentType = "text/event-stream; charset=utf-8"
	x.w.Header().Set("Content-Type", contentType)
	x.header(200)
	x.flush()
	var gone []byte // what is on its way
	plan := a.plan(f)
	for i, e := range plan {
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
		if f.Kind == FaultCutBytes && len(gone)+len(frame) > f.AfterBytes {
			_, _ = x.w.Write(frame[:f.AfterBytes-len(gone)]) // the connection is cut next
			x.flush()
			x.cut(f.RST)
			return
		}
		gone = append(gone, frame...)
		if i == len(plan)-1 {
			x.cache(f, contentType, gone)
		}
		if _, err := x.w.Write(frame); err != nil || x.ctx().Err() != nil {
			x.cut(false)
			return
		}
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
	body := a.body(f)
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
	x.cache(f, "application/json", body)
	x.json(200, body)
}

// body is the answer as one JSON object, the fault's if it has one.
func (a *answer) body(f *activeFault) []byte {
	switch {
	case f.Kind == FaultErrorEvent, f.Kind == FaultFailed && a.chat:
		return f.errorBody()
	case a.chat:
		return a.chatBody(f)
	case f.Kind == FaultFailed:
		return encode(a.failed(f.words()))
	case f.Kind == FaultNoTerminal:
		return encode(a.base)
	}
	return encode(a.final(a.items))
}

// words are the code and the message of an error that a fault makes.
func (a *activeFault) words() (code, message string) {
	return orElse(a.Code, "server_error"), orElse(a.Message, "The server had an error while processing your request. Sorry about that!")
}

func (a *activeFault) errorBody() []byte {
	code, message := a.words()
	return encode(errorEvent{errorObject{Message: message, Type: code, Code: &code}})
}

// keep stores the response as the real API does: when it is finished.
func (x *exchange) keep(a *answer, f *activeFault) {
	if x.rec.Neutral || !a.base.Store || f.Kind == FaultFailed || f.Kind == FaultNoTerminal || f.Kind == FaultErrorEvent {
		return
	}
	items := slices.Clone(x.items) // not the record's: old records lose theirs
	x.s.state.put(a.base.ID, encode(a.final(a.items)), append(items, a.parsed()...), len(items))
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
