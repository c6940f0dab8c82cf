package classify

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// maxText bounds the message text that the rules look at; maxSummary bounds
// what is kept of the first message for people.
const (
	maxText    = 8 << 10
	maxSummary = 1 << 10
)

// envelope is a body brought to the fields that the rules look at. It is
// pooled, because classification runs on every failed attempt of a storm.
type envelope struct {
	transport    Transport
	httpStatus   int
	status       int // the status that counts: HTTP's, or the body's where HTTP says 200 or nothing
	statusInBody int

	codeHits  ruleSet // rules that name a code that was there
	codeCount int     // how many codes were there at all, known or not
	phrases   bits    // numbers of the phrases that were there
	textHits  ruleSet // rules that name one of them
	all       bits    // in a second look: the phrases of the first, which still veto
	again     bool    // this is a second look
	text      []byte
	first     []byte // the first message, as it was written
	param     string
	idLocated bool // a validator names an id of the history as what it refuses
	requestID string
	delays    []delay
	resetsAt  float64 // an epoch in seconds

	jsonBody, html, plain bool // what the body is made of
	empty                 bool // nothing but white space
	sse                   bool
	broken, cut           bool
	readErr               bool // our own reading of the answer failed
	filtered              bool // a content filter says that it took something out

	typ, object, respStatus, reason string
	inResponse                      bool
	hasError, nullError, emptyError bool
	nullBody, emptyObject           bool

	// what an answer holds
	outputKey, contentKey, choicesKey bool
	items, choices                    int
	usage, sawText, sawCall           bool
	sawReasoning, sawRefusal          bool
	argsCut, argsBad                  bool
	sawOutputEvent, sawTerminal       bool
	frames                            int

	scratch []byte
}

var envelopes = sync.Pool{New: func() any {
	return &envelope{text: make([]byte, 0, 2048), first: make([]byte, 0, maxSummary), scratch: make([]byte, 0, 2048)}
}}

func getEnvelope() *envelope { return envelopes.Get().(*envelope) }

func putEnvelope(e *envelope) {
	if cap(e.text) > 4*maxText || cap(e.scratch) > 4*maxText {
		return // a giant's buffers do not stay
	}
	*e = envelope{text: e.text[:0], first: e.first[:0], scratch: e.scratch[:0], delays: e.delays[:0]}
	envelopes.Put(e)
}

// read fills the envelope from the input.
func (e *envelope) read(in Input) {
	e.transport = in.Transport
	if e.transport == "" {
		e.transport = HTTP
	}
	e.httpStatus = in.Status
	body := clipBytes(in.Body, MaxBody)
	trimmed := bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	e.readBody(trimmed, in.Header)
	if in.Err != nil {
		e.plain, e.readErr = true, true
		e.addText([]byte(clip(in.Err.Error(), maxText)))
	}
	if len(in.Header) > 0 {
		e.readHeaders(in.Header)
	}
	e.settleStatus()
}

func (e *envelope) readBody(b []byte, h http.Header) {
	switch {
	case len(b) == 0:
		e.empty = true
	case b[0] == '<' && looksHTML(b):
		e.html = true
		e.addHTML(b)
	case isSSE(b):
		e.sse = true
		e.readFrames(b)
	case b[0] == '{' || b[0] == '[' || b[0] == '"' || string(b) == "null":
		e.jsonBody = true
		e.scan(b, 0, zRoot)
		e.idLocated = locatesID(b)
	default:
		e.plain = true
		e.addMessage(b, false, 0)
	}
	if e.html || e.transport == Connection {
		return
	}
	if ct := header(h, "Content-Type"); len(ct) > 8 && strings.EqualFold(ct[:9], "text/html") && !e.jsonBody {
		e.html = true
	}
}

// scan walks one JSON text, or several in a row.
func (e *envelope) scan(b []byte, level int, z zone) {
	s := scanner{env: e, b: b, level: level}
	s.value(z, "")
	if level == 0 {
		e.broken, e.cut = e.broken || s.broken, e.cut || s.cut
	}
}

// isSSE reports whether b is made of server-sent-event frames.
func isSSE(b []byte) bool {
	for _, p := range []string{"data:", "event:", "id:", "retry:", ": ", ":\n"} {
		if bytes.HasPrefix(b, []byte(p)) {
			return true
		}
	}
	return false
}

// readFrames reads the data of every frame. A frame is judged by itself: the
// facts of an answer add up, the last type wins.
func (e *envelope) readFrames(b []byte) {
	event := ""
	for len(b) > 0 {
		var line []byte
		line, b, _ = bytes.Cut(b, []byte("\n"))
		line = bytes.TrimRight(line, "\r")
		switch {
		case bytes.HasPrefix(line, []byte("event:")):
			event = string(clipBytes(bytes.TrimSpace(line[6:]), 64))
		case bytes.HasPrefix(line, []byte("data:")):
			e.readFrame(event, bytes.TrimSpace(line[5:]))
		case len(line) == 0:
			event = ""
		}
	}
}

func (e *envelope) readFrame(event string, data []byte) {
	if len(data) == 0 {
		return
	}
	if string(data) == "[DONE]" {
		e.sawTerminal = true
		return
	}
	e.frames++
	e.typ = event
	if data[0] != '{' && data[0] != '[' {
		if event == "error" {
			e.hasError = true
		}
		e.addMessage(data, false, 0)
		return
	}
	e.jsonBody = true
	e.scan(data, 0, zRoot)
	if event == "error" || e.typ == "error" {
		e.hasError = true
	}
	switch {
	case strings.HasSuffix(e.typ, ".delta"), strings.HasPrefix(e.typ, "response.output_item"), strings.HasPrefix(e.typ, "content_block"):
		e.sawOutputEvent = true
	case e.typ == "response.completed", e.typ == "message_stop":
		e.sawTerminal = true
	}
}

// onString takes a string value.
func (e *envelope) onString(s *scanner, z zone, key string, raw []byte, escaped bool) {
	switch z {
	case zRoot, zError, zDetail, zMeta:
		e.onErrorString(s, z, key, raw, escaped)
	case zHeaders:
		e.onHeaderString(key, raw)
	case zReasons:
		if key == "reason" {
			e.reason = reasonOf(raw)
		}
	case zPrompt:
		if key == "blockreason" {
			e.reason = "blocked_" + lowered(raw)
		}
	default:
		e.onAnswerString(z, key, raw)
	}
}

func (e *envelope) onErrorString(s *scanner, z zone, key string, raw []byte, escaped bool) {
	switch key {
	case "":
		// An element of a list of strings, or a body that is one string.
		e.emptyObject = e.emptyObject || z == zRoot && blank(raw)
		e.addMessage(raw, escaped, s.level)
	case "error", "err", "exception", "fault", "upstream_error", "errors":
		if len(raw) > 0 {
			e.hasError = true
		}
		e.addMessage(raw, escaped, s.level)
		e.addCodeBytes(raw) // {"error":"invalid_client","error_description":"..."}
	case "message", "msg", "error_message", "errormessage", "error_msg", "errormsg", "error_description", "description", "title",
		"detail", "details", "raw", "faultstring", "originalmessage", "original_message", "cause", "body", "data", "status_msg":
		e.addMessage(raw, escaped, s.level)
	case "code", "error_code", "errorcode", "err_code", "error_type", "errortype", "__type", "limit_source", "reasons":
		e.addCodeBytes(raw)
		e.statusFromText(raw)
	case "reason":
		e.addCodeBytes(raw)
		if bytes.IndexByte(raw, ' ') >= 0 {
			e.addMessage(raw, escaped, s.level)
		}
	case "name":
		if z == zError {
			e.addCodeBytes(raw)
		}
	case "type", "event":
		if z == zRoot && key == "type" && !e.inResponseOnly() {
			e.typ = lowered(raw)
		}
		e.addCodeBytes(raw)
	case "object":
		if z == zRoot {
			e.object = lowered(raw)
		}
	case "status", "statuscode", "status_code", "http_status":
		if z == zRoot && key == "status" {
			e.respStatus = lowered(raw)
		}
		e.addCodeBytes(raw)
		e.statusFromText(raw)
	case "param":
		e.param = lowered(raw)
	case "quotaid":
		e.addText(raw)
	case "retrydelay", "retry_after":
		e.addDelay(raw)
	case "request_id", "requestid":
		e.requestID = string(clipBytes(raw, 128))
	case "stop_reason", "stopreason":
		e.reason = "stop_" + reasonOf(raw)
	case "output_text", "content":
		e.contentKey = true
		e.sawText = e.sawText || !blank(raw)
	case "delta":
		e.sawText = e.sawText || !blank(raw)
	}
}

// inResponseOnly keeps the type of an event from being replaced by a key of
// the response object inside it.
func (e *envelope) inResponseOnly() bool { return e.inResponse && e.typ != "" }

func (e *envelope) onAnswerString(z zone, key string, raw []byte) {
	switch z {
	case zItem, zContent:
		switch key {
		case "type":
			switch t := lowered(raw); {
			case t == "reasoning":
				e.sawReasoning = true
			case t == "refusal":
				e.sawRefusal = true
			case strings.HasSuffix(t, "_call"), t == "tool_use":
				e.sawCall = true
			}
		case "text", "":
			e.sawText = e.sawText || !blank(raw)
		case "refusal":
			e.sawRefusal = e.sawRefusal || !blank(raw)
		case "arguments":
			e.checkArguments(raw)
		}
	case zChoice, zCand:
		switch key {
		case "finish_reason", "finishreason":
			e.reason = "finish_" + reasonOf(raw)
		case "text":
			e.sawText = e.sawText || !blank(raw)
		}
	case zMessage:
		switch key {
		case "content", "text":
			e.sawText = e.sawText || !blank(raw)
		case "refusal":
			e.sawRefusal = e.sawRefusal || !blank(raw)
		}
	case zCall:
		e.sawCall = true
		if key == "arguments" {
			e.checkArguments(raw)
		}
	default:
	}
}

func (e *envelope) onHeaderString(key string, raw []byte) {
	switch key {
	case "retry-after":
		e.addDelay(raw)
	case "retry-after-ms":
		if n, err := strconv.ParseFloat(string(clipBytes(raw, 24)), 64); err == nil {
			e.addMillis(n)
		}
	}
}

func (e *envelope) onNumber(z zone, key string, n float64, raw []byte) {
	if z != zRoot && z != zError && z != zDetail && z != zMeta {
		return
	}
	switch key {
	case "status", "statuscode", "status_code", "http_status", "code", "error_code", "errorcode":
		e.addCodeBytes(raw)
		if n >= 400 && n <= 599 {
			e.statusInBody = int(n)
		}
		// A vendor's own number, zero for success, inside a 200.
		if n >= 1 && (z == zRoot && key == "error_code" || z == zError && key == "status_code") {
			e.hasError = true
		}
	case "resets_at":
		e.resetsAt = n
	case "retry_after", "retry_after_seconds", "resets_in_seconds":
		e.addMillis(n * 1000)
	case "retry_after_ms":
		e.addMillis(n)
	}
}

// statusFromText reads a status that was written as a string ("429").
func (e *envelope) statusFromText(raw []byte) {
	if len(raw) == 3 && (raw[0] == '4' || raw[0] == '5') {
		if n, err := strconv.Atoi(string(raw)); err == nil {
			e.statusInBody = n
		}
	}
}

// settleStatus decides which status counts. A body inside a 200, or with no
// status at all, is judged by the status that it names.
func (e *envelope) settleStatus() {
	e.status = e.httpStatus
	if e.status == 0 || e.status < 300 {
		if e.statusInBody == 0 && e.plain {
			e.statusInBody = statusInProse(e.text)
		}
		if e.statusInBody != 0 && (e.hasError || e.object == "error" || !e.hasOutput()) {
			e.status = e.statusInBody
		}
	}
	if e.object == "error" || e.typ == "error" {
		e.hasError = true
	}
}

func (e *envelope) hasOutput() bool { return e.sawText || e.sawCall || e.sawRefusal }

// errorText reports whether the text is an error's: an error object, or text
// outside of anything that looks like an answer.
func (e *envelope) errorText() bool {
	return e.hasError || e.status >= 300 || e.transport == Connection ||
		(len(e.text) > 0 && !e.outputKey && !e.choicesKey && !e.contentKey)
}

func lowered(raw []byte) string { return strings.ToLower(string(clipBytes(raw, 64))) }

func reasonOf(raw []byte) string { return Reason(string(clipBytes(raw, 64))) }

func blank(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case ' ', '\t', '\n', '\r':
		case '\\':
			if i+1 < len(raw) && (raw[i+1] == 'n' || raw[i+1] == 't' || raw[i+1] == 'r') {
				i++
				continue
			}
			return false
		default:
			return false
		}
	}
	return true
}
