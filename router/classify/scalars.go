package classify

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// The keys of an error object: what names the error, what describes it, what is a
// code of it, and what may be its status.
var (
	errorKeys   = set("error err exception fault upstream_error errors")
	messageKeys = set(`message msg error_message errormessage error_msg errormsg error_description description title detail details raw
		faultstring originalmessage original_message cause body data status_msg`)
	codeKeys = set(`code error_code errorcode err_code error_type errortype __type limit_source limit_type limittype quota_type quota_metric quotametric
		reasons reason name type event status statuscode status_code http_status`)
	statusKeys = set("status statuscode status_code http_status code error_code errorcode err_code error_type errortype")
)

// onString takes a string value.
func (e *envelope) onString(p place, key, v string, level int) {
	switch p {
	case root, errorObj, detail, meta:
		e.onErrorString(p, key, v, level)
	case headers:
		e.waits.Add(key, v)
	case reasons:
		if key == "reason" {
			e.end = Reason(clip(v, 64))
		}
	case prompt:
		if key == "blockreason" {
			e.end = "blocked_" + lowered(v)
		}
	default:
		e.onAnswerString(p, key, v)
	}
}

func (e *envelope) onErrorString(p place, key, v string, level int) {
	blank := strings.TrimSpace(v) == ""
	e.waits.Add(key, v)
	switch {
	case key == "": // an element of a list of strings, or a body that is one string
		e.emptyObject = e.emptyObject || p == root && blank
		e.addMessage(v, level)
	case errorKeys[key]:
		e.hasError = e.hasError || v != ""
		e.addMessage(v, level)
		e.addCode(v) // {"error":"invalid_client","error_description":"..."}
	case messageKeys[key]:
		e.addMessage(v, level)
	case key == "name" && p != errorObj:
	case codeKeys[key]:
		if n, err := strconv.Atoi(v); err == nil && len(v) == 3 && n >= 400 && n < 600 && statusKeys[key] {
			e.statusInBody = n
		}
		if p == root && key == "type" && !(e.inResponse && e.typ != "") { // an event keeps its own
			e.typ = lowered(v)
		}
		if p == root && key == "status" {
			e.respStatus = strings.Replace(lowered(v), "canceled", "cancelled", 1)
		}
		e.addCode(v)
		if key == "reason" && strings.Contains(v, " ") {
			e.addMessage(v, level)
		}
	}
	switch key {
	case "object":
		if p == root {
			e.object = lowered(v)
		}
	case "param":
		e.param = lowered(v)
	case "quotaid":
		e.addText(v)
	case "request_id", "requestid":
		e.requestID = clip(v, 128)
	case "stop_reason", "stopreason":
		e.end = Reason(clip(v, 64))
	case "output_text", "content":
		e.contentKey, e.sawText = true, e.sawText || !blank
	case "delta":
		e.sawText = e.sawText || !blank
	}
}

// onAnswerString takes a string of an answer. Only whether there is one counts.
func (e *envelope) onAnswerString(p place, key, v string) {
	something := strings.TrimSpace(v) != ""
	e.sawCall = e.sawCall || p == call
	switch {
	case p == filters, p == skip, p == call && key != "arguments":
	case key == "type" && (p == item || p == content):
		t := lowered(v)
		e.sawRefusal = e.sawRefusal || t == "refusal"
		e.sawCall = e.sawCall || strings.HasSuffix(t, "_call") || t == "tool_use"
	case key == "arguments" && p != choice && p != candidate:
		e.checkArguments(v)
	case key == "refusal" && p != choice && p != candidate:
		e.sawRefusal = e.sawRefusal || something
	case key == "finish_reason", key == "finishreason":
		e.end = Reason(clip(v, 64))
	case key == "text", key == "" && (p == item || p == content), key == "content" && p == message:
		e.sawText = e.sawText || something
	}
}

// checkArguments looks at the arguments of a tool call: cut, broken or fine.
// Truncated arguments must never become an action. Blank means {}.
func (e *envelope) checkArguments(v string) {
	e.sawCall = true
	if strings.TrimSpace(v) == "" || json.Valid([]byte(v)) {
		return
	}
	var any json.RawMessage
	err := json.NewDecoder(strings.NewReader(v)).Decode(&any)
	cut := errors.Is(err, io.ErrUnexpectedEOF)
	e.argsCut, e.argsBad = e.argsCut || cut, e.argsBad || !cut
}

func (e *envelope) onNumber(p place, key, v string) {
	if p > headers {
		return
	}
	e.waits.Add(key, v)
	n, err := strconv.ParseFloat(v, 64)
	if p == headers || err != nil || !statusKeys[key] {
		return
	}
	e.addCode(v)
	if n >= 400 && n <= 599 {
		e.statusInBody = int(n)
	}
	// A vendor's own number, zero for success, inside a 200.
	if n >= 1 && (p == root && key == "error_code" || p == errorObj && key == "status_code") {
		e.hasError = true
	}
}

func (e *envelope) onBool(p place, key string, v bool) {
	if v && p == filters && (key == "filtered" || key == "blocked") {
		e.filtered = true
		e.addCode("content_filter")
	}
	e.hasError = e.hasError || p == root && key == "success" && !v
}

func lowered(s string) string { return strings.ToLower(clip(s, 64)) }
