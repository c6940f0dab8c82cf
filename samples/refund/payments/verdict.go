package payments

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

const maxShownReason = 500

// Refused is a business no: payments understood the request, paid nothing, and would say the same again.
// The zero value is not an answer of payments. It is not changed after it is returned, so it may be shared.
type Refused struct {
	Status   int    // 4xx
	Reason   string // payments' own words, at most 500 bytes
	Replayed bool   // it is payments' stored answer to an earlier request with this key
}

func (e *Refused) Error() string {
	return fmt.Sprintf("payments refused with %d: %s", e.Status, e.Reason)
}

// Unclear says that the outcome is not known: a refund may have been paid. Status is 0 when there was no answer, Err
// says more where there is more. The zero value is an unknown outcome too. It is not changed after it is returned.
type Unclear struct {
	Status   int
	Err      error
	Replayed bool // it is payments' stored answer to an earlier request with this key
}

func (e *Unclear) Error() string {
	switch {
	case e.Status == 0 && e.Err == nil:
		return "outcome unclear: no answer"
	case e.Status == 0:
		return fmt.Sprintf("outcome unclear: no answer: %v", e.Err)
	case e.Err == nil:
		return fmt.Sprintf("outcome unclear: status %d", e.Status)
	default:
		return fmt.Sprintf("outcome unclear: status %d: %v", e.Status, e.Err)
	}
}

// Unwrap gives the transport's or the decoder's error.
func (e *Unclear) Unwrap() error { return e.Err }

// replayed marks an answer that payments had stored.
func replayed(err error, yes bool) error {
	switch answer := err.(type) {
	case *Refused:
		answer.Replayed = yes
	case *Unclear:
		answer.Replayed = yes
	}
	return err
}

// classify is cautious: taking an unclear answer for a refusal would close an action that may have been paid, while
// the other mistake only costs a read.
func classify(status int, body []byte) error {
	if status < 400 || status > 499 {
		return &Unclear{Status: status}
	}
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusLocked, http.StatusTooEarly, http.StatusTooManyRequests:
		return &Unclear{Status: status} // an earlier request may still be at work
	case http.StatusUnauthorized, http.StatusProxyAuthRequired:
		return &Unclear{Status: status} // says something about us, nothing about the refund
	}
	// Without a reason it is not payments that spoke: a proxy, or another service at a mistyped address.
	var said struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(body, &said) != nil || said.Reason == "" {
		return &Unclear{Status: status}
	}
	if len(said.Reason) > maxShownReason {
		said.Reason = strings.ToValidUTF8(said.Reason[:maxShownReason], "")
	}
	return &Refused{Status: status, Reason: said.Reason}
}
