package classify

import (
	"encoding/json"
	"net/http"
	"strings"
)

// readHeaders takes the codes that some resources put into headers only.
func (e *envelope) readHeaders(h http.Header) {
	for _, name := range []string{"X-Amzn-Errortype", "X-Ms-Error-Code", "X-Error-Code"} {
		e.addCode(header(h, name))
	}
	if e.httpStatus == http.StatusForbidden || e.httpStatus == http.StatusUnavailableForLegalReasons {
		if fromOurProxy(h) {
			e.addCode(proxyRefusal)
		}
	}
	switch strings.ToLower(header(h, "Policy-Id")) {
	case "throwexceptionduetotrafficdenied":
		e.addCode("unsupported_region")
	}
}

// checkArguments looks at the arguments of a tool call: cut, broken or fine.
// Truncated arguments must never become an action.
func (e *envelope) checkArguments(raw []byte) {
	e.sawCall = true
	if blank(raw) {
		return // blank means {}
	}
	text := unescape(make([]byte, 0, len(raw)), raw)
	if json.Valid(text) {
		return
	}
	s := scanner{env: &envelope{}, b: text, level: maxLevel}
	s.value(zSkip, unknownKey)
	if s.cut {
		e.argsCut = true
	} else {
		e.argsBad = true
	}
}
