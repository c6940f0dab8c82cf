package classify

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/onceward/onceward/router/page"
	"github.com/onceward/onceward/router/waits"
)

// maxText bounds the message text that the rules look at, maxSummary what is
// kept of the first message for people.
const (
	maxText    = 8 << 10
	maxSummary = 1 << 10
)

// envelope is an answer brought to the fields that the rules look at.
type envelope struct {
	transport    Transport
	httpStatus   int
	status       int // the status that counts: HTTP's, or the body's where HTTP says 200 or nothing
	statusInBody int

	coded     []bool // by number of a rule: one of its codes was there
	said      []bool // by number of a phrase: it was there
	codeCount int    // how many codes were there at all, known or not
	named     bool   // one of them is more than the number or the name of a status
	text      []byte // what the messages say, folded, each ended by a line break
	first     string // the first message, as it was written
	param     string
	idLocated bool // a validator names an id of the history as what it refuses
	requestID string
	waits     waits.Fields // what headers and body say of waits

	jsonBody, page, plain bool // what the body is made of
	markup                bool // a page, or XML
	empty                 bool // nothing but white space
	sse                   bool
	broken, cut           bool
	readErr               bool // our own reading of the answer failed
	filtered              bool // a content filter says that it took something out

	typ, object, respStatus, end string
	inResponse                   bool
	hasError, nullError          bool
	nullBody, emptyObject        bool

	// what an answer holds
	outputKey, contentKey, choicesKey bool
	usage, sawText, sawCall           bool
	sawRefusal, argsCut, argsBad      bool
	sawOutputEvent, sawTerminal       bool
	frames                            int
}

// read brings the input to the fields of an envelope.
func read(in Input) *envelope {
	t := table()
	e := &envelope{transport: in.Transport, httpStatus: in.Status, coded: make([]bool, len(t.rules)), said: make([]bool, len(t.phrases))}
	if e.transport == "" {
		e.transport = HTTP
	}
	body := page.UTF8(clipBytes(in.Body, MaxBody))
	e.readBody(bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(body), []byte("\xef\xbb\xbf"))))
	if in.Err != nil {
		e.plain, e.readErr = true, true
		e.addText(in.Err.Error())
	}
	if ct := strings.ToLower(header(in.Header, "Content-Type")); strings.Contains(ct, "html") && !e.jsonBody && !e.sse && e.transport != Connection {
		e.page = true
	}
	for _, name := range []string{"X-Amzn-Errortype", "X-Ms-Error-Code", "X-Error-Code"} { // some say it there only
		e.addCode(header(in.Header, name))
	}
	if refused := e.httpStatus == http.StatusForbidden || e.httpStatus == http.StatusUnavailableForLegalReasons; refused {
		if header(in.Header, "Proxy-Authenticate") != "" || header(in.Header, "X-Squid-Error") != "" {
			e.addCode(proxyRefusal)
		}
	}
	if strings.EqualFold(header(in.Header, "Policy-Id"), "ThrowExceptionDueToTrafficDenied") {
		e.addCode("unsupported_region")
	}
	for name, values := range in.Header {
		for _, v := range values {
			e.waits.Add(name, v)
		}
	}
	e.settleStatus()
	return e
}

func (e *envelope) readBody(b []byte) {
	switch {
	case len(b) == 0:
		e.empty = true
	case b[0] == '<':
		e.markup, e.page = true, page.Begins(b) || isPage(string(b))
		if !e.page {
			e.plain = true
			e.addElements(b)
		}
		e.addText(page.Words(string(b)))
	case isSSE(b):
		e.sse = true
		e.readFrames(b)
	case b[0] == '{' || b[0] == '[' || b[0] == '"' || string(b) == "null":
		e.jsonBody = true
		e.walkJSON(b, 0)
		e.idLocated = locatesID(b)
	case e.transport != Connection && page.Opaque(b):
		e.plain, e.page = true, true
	default:
		e.plain = true
		e.addMessage(string(b), 0)
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
	for line := range bytes.Lines(b) {
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case bytes.HasPrefix(line, []byte("event:")):
			event = clip(string(bytes.TrimSpace(line[6:])), 64)
		case bytes.HasPrefix(line, []byte("data:")):
			e.readFrame(event, bytes.TrimSpace(line[5:]))
		case len(line) == 0:
			event = ""
		}
	}
}

func (e *envelope) readFrame(event string, data []byte) {
	switch {
	case len(data) == 0:
		return
	case string(data) == "[DONE]":
		e.sawTerminal = true
		return
	}
	e.frames++
	e.typ = event
	if data[0] == '{' || data[0] == '[' {
		e.jsonBody = true
		e.walkJSON(data, 0)
	} else {
		e.page = e.page || page.Begins(data) || isPage(string(data))
		e.addMessage(page.Words(string(data)), 0)
	}
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

// settleStatus decides which status counts. A body inside a 200, or with no
// status at all, is judged by the status that it names.
func (e *envelope) settleStatus() {
	e.status = e.httpStatus
	if e.status < 300 {
		if e.statusInBody == 0 && e.plain {
			e.statusInBody = statusInProse(e.text)
		}
		if e.statusInBody != 0 && (e.hasError || e.object == "error" || !e.hasOutput()) {
			e.status = e.statusInBody
		}
	}
	e.hasError = e.hasError || e.object == "error" || e.typ == "error"
}

func (e *envelope) hasOutput() bool { return e.sawText || e.sawCall || e.sawRefusal }

// answerKeys reports whether the body has the keys of an answer.
func (e *envelope) answerKeys() bool { return e.outputKey || e.choicesKey || e.contentKey }

// errorText reports whether the text is an error's: an error object, or text
// outside of anything that looks like an answer.
func (e *envelope) errorText() bool {
	return e.hasError || e.status >= 300 || e.transport == Connection || len(e.text) > 0 && !e.answerKeys()
}

// summary is the message for people: what the error said, else what it was.
func (e *envelope) summary(in Input) string {
	switch {
	case e.first != "":
		return strings.ToValidUTF8(e.first, "?")
	case e.empty:
		return "empty body"
	case e.nullBody:
		return "null"
	case e.end != "":
		return "the answer ended with " + e.end
	}
	return strings.ToValidUTF8(string(clipBytes(bytes.TrimSpace(in.Body), 200)), "?")
}
