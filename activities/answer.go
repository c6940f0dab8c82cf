package activities

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/onceward/onceward"
)

// CommitAnswer is what a product answered to a commit over HTTP; Receipt says what
// that means for the effect. It is for commits: a read that answers 404 has found
// nothing, and was refused nothing. The zero value is no answer. It is a value,
// safe to copy.
type CommitAnswer struct {
	Status int
	Header http.Header // nil where the client does not show it
	Ref    string      // the product's own name for the effect, of a success
	Code   string      // the product's own error code or type, of a failure
	Reason string      // the product's own words, of a failure
	// Pending: the product says in its answer that it has not finished, as 202 does.
	Pending bool
	// Replayed: the product says that this is its stored answer to an earlier
	// request. Header tells it too, in the usual spellings.
	Replayed bool
}

// Receipt is cautious: to take an unclear answer for a refusal closes an action
// whose effect may exist, while the other mistake costs a read.
//
//	2xx with Ref                          Committed; Accepted if Pending or 202
//	2xx without Ref or with Code, 207     an error: nobody knows
//	an error that is stored under the key Conflict: asking again brings up the same
//	4xx: the key has other content        Conflict
//	4xx: the key is at work or was used   an error: the read tells
//	401, 407, 408, 409, 421, 423, 425, 429 an error
//	4xx that has Retry-After, or Code says throttled: an error, it may be taken later
//	4xx of no registered meaning, as 499  an error: proxies say so of what they gave up
//	other 4xx with Code or Reason         Rejected
//	other 4xx                             an error: it is not the product that spoke
//	all else                              an error
//
// The words for keys are those of published APIs and of the IETF draft
// draft-ietf-httpapi-idempotency-key-header.
func (a CommitAnswer) Receipt() (onceward.Receipt, error) {
	a.Code, a.Reason = strings.ToValidUTF8(a.Code, "\uFFFD"), strings.ToValidUTF8(a.Reason, "\uFFFD") // else the refusal itself would be refused
	success := a.Status >= 200 && a.Status <= 299 && a.Code == ""
	switch {
	case success && a.Status != http.StatusMultiStatus && a.Ref != "" && (a.Pending || a.Status == http.StatusAccepted):
		return onceward.Accepted(a.Ref), nil
	case success && a.Status != http.StatusMultiStatus && a.Ref != "":
		return onceward.Committed(a.Ref), nil
	case a.Status < 400 || a.Status > 599:
		return onceward.Receipt{}, &unclear{a}
	case a.Replayed || replayed(a.Header):
		return onceward.Conflict(fmt.Sprintf("the product has stored this answer under the key: %s", &unclear{a})), nil
	case a.Status >= 500 || http.StatusText(a.Status) == "" || a.later():
		return onceward.Receipt{}, &unclear{a}
	}
	switch aboutKey(a.Code + " " + a.Reason) {
	case keyMismatch:
		return onceward.Conflict(fmt.Sprintf("the product says that the key was used otherwise: %s", &unclear{a})), nil
	case keyAtWork:
		return onceward.Receipt{}, &unclear{a}
	case keyNothing:
	}
	switch a.Status {
	case http.StatusUnauthorized, http.StatusProxyAuthRequired, http.StatusMisdirectedRequest, // about us, not about the effect
		http.StatusRequestTimeout, http.StatusConflict, http.StatusLocked, http.StatusTooEarly, http.StatusTooManyRequests: // an earlier request may be at work
		return onceward.Receipt{}, &unclear{a}
	}
	if reason := strings.TrimSpace(a.Reason); reason != "" {
		return onceward.Rejected(reason), nil
	}
	if code := strings.TrimSpace(a.Code); code != "" {
		return onceward.Rejected(code), nil
	}
	return onceward.Receipt{}, &unclear{a}
}

// later reports that the product asks to come again, which refuses nothing.
func (a CommitAnswer) later() bool {
	code := letters(a.Code)
	busy := slices.ContainsFunc([]string{"throttl", "ratelimit", "toomanyrequests", "slowdown", "timeout"}, func(word string) bool { return strings.Contains(code, word) })
	return busy || len(valuesOf(a.Header, "Retry-After")) > 0 || flagged(a.Header, "Transient-Error") || flagged(a.Header, "Stripe-Should-Retry")
}

// unclear is the error of an answer after which nobody knows whether the effect
// exists.
type unclear struct{ answer CommitAnswer }

func (u *unclear) Error() string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s %s", u.answer.Status, u.answer.Code, u.answer.Reason))
}

// passing reports that the next answer to the same request may be another.
func (u *unclear) passing() bool {
	switch u.answer.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusLocked, http.StatusTooEarly, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return u.answer.Status < 500 && u.answer.later() // a 500 with Retry-After may be stored all the same
}

// lasting names the failure by which a product answered a commit, where it may have
// stored it under the key; it is empty for what passes by itself and where there was
// no answer. Texts are not compared where there is a status: they hold request ids.
func lasting(err error) string {
	var answered *unclear
	switch {
	case errors.As(err, &answered) && answered.passing():
		return ""
	case errors.As(err, &answered):
		return onceward.Cut(fmt.Sprintf("status %d %s", answered.answer.Status, answered.answer.Code), maxFailureName)
	case unanswered(err):
		return ""
	}
	return onceward.Cut(err.Error(), maxFailureName)
}

// maxFailureName bounds what rides in the details of a commit's error.
const maxFailureName = 200

// unanswered reports that an error is of the network or of the caller's own clock:
// nobody answered.
func unanswered(err error) bool {
	return network(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func network(err error) bool {
	var address *url.Error
	var network net.Error
	var op *net.OpError
	return errors.As(err, &address) || errors.As(err, &network) || errors.As(err, &op)
}

// replayed reads the header by which products mark a stored answer. There is no
// standard: Idempotent-Replayed, Idempotency-Replay and others are in use.
func replayed(header http.Header) bool {
	for name := range header {
		if word := letters(name); strings.Contains(word, "idempoten") && strings.Contains(word, "replay") && flagged(header, name) {
			return true
		}
	}
	return false
}

func flagged(header http.Header, name string) bool {
	return slices.ContainsFunc(valuesOf(header, name), func(value string) bool {
		switch strings.ToLower(strings.TrimSpace(value)) {
		case "true", "1", "yes":
			return true
		}
		return false
	})
}

// valuesOf are the values of a header in whatever letters a client has put its name.
func valuesOf(header http.Header, name string) []string {
	var values []string
	for key, list := range header {
		if strings.EqualFold(key, name) {
			values = append(values, list...)
		}
	}
	return values
}

// What an error says about the idempotency key.
type keyWord int

const (
	keyNothing  keyWord = iota
	keyMismatch         // it bears other content, or something is wrong with it
	keyAtWork           // a request with it is under way, or was carried out
)

// aboutKey reads the words of products about keys, spelled in any way: codes like
// idempotency_key_in_use and sentences like "already processed or in progress".
func aboutKey(text string) keyWord {
	said := letters(text)
	has := func(words ...string) bool {
		for _, word := range words {
			if strings.Contains(said, word) {
				return true
			}
		}
		return false
	}
	key := has("idempoten")
	named := key || has("requestid", "requesttoken", "clienttoken", "transactiontoken") // names of keys that other texts hold too
	switch {
	case named && has("used") && has("differ"), key && has("differ", "mismatch", "notmatch", "reuse", "another", "otherbody", "otherrequest"):
		return keyMismatch
	case has("inprogress", "alreadyprocessed", "beingprocessed", "duplicaterequest", "duplicatedrequest", "duplicatetransaction", "duplicatepayment", "rejectedduplicate"),
		named && has("alreadyused", "alreadyexist"),
		key && has("inuse", "progress", "processing", "beingprocessed", "outstanding", "concurrent", "already", "pending", "lock"):
		return keyAtWork
	case key:
		return keyMismatch
	}
	return keyNothing
}

// letters is a text without what spellings differ in.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}
