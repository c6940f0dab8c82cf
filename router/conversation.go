package router

import (
	"net/http"

	"github.com/onceward/onceward"
)

// markAppended says of a failure whether the resource may have appended request
// and answer to the run's conversation. A second request would append them twice.
func markAppended(req onceward.ModelRequest, f *onceward.Failure) {
	if f != nil && req.Conversation != "" && mayHaveAppended(f) {
		f.ProviderStateCreated = true
	}
}

// mayHaveAppended holds but where it is known that the resource carried nothing
// out: nothing was sent, or the request was refused as such (4xx), or for now
// (429, 529). Any other 5xx may be a gateway's, which says only that the gateway
// did not wait for the end, and so do texts about a timeout or a broken
// connection, whatever their status.
func mayHaveAppended(f *onceward.Failure) bool {
	switch {
	case f.NotSent || f.Phase == onceward.PhasePrepare:
		return false
	case f.HTTPStatus < 300: // no answer, or a success that was lost, cut or is of no use
		return true
	case f.Class == onceward.ClassTimeout || f.Class == onceward.ClassNetwork || f.Class == onceward.ClassCancelled || f.Class == onceward.ClassDeadlineExceeded:
		return true
	}
	switch f.HTTPStatus {
	case http.StatusRequestTimeout, statusClientClosed:
		return true
	case statusOverloaded:
		return false
	}
	return f.HTTPStatus >= http.StatusInternalServerError
}

// Statuses that net/http has no name for.
const (
	statusClientClosed = 499 // a proxy's: its client went away
	statusOverloaded   = 529
)
