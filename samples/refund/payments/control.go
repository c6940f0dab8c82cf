package payments

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"
)

const maxWait = 60 * time.Second

// control is both the request and the answer of POST /_control/fault. What a request leaves out stays as it is.
type control struct {
	Fault     *string `json:"fault"`
	Times     *int    `json:"times"`
	ReadFault *string `json:"read_fault"`
	ReadTimes *int    `json:"read_times"`
}

// postFault checks both faults before it sets either, and answers what is in force with the times that are left.
// The defaults are those of the flags: times 1, read_times 0 (every read).
func (s *Server) postFault(w http.ResponseWriter, r *http.Request) {
	var in control
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields() // a misspelt name would leave a fault in force that the test believes lifted
	if err := decoder.Decode(&in); err != nil {
		answerReason(w, http.StatusBadRequest, "the body is not a fault in JSON: "+err.Error())
		return
	}
	if in.Fault == nil && in.Times != nil || in.ReadFault == nil && in.ReadTimes != nil {
		answerReason(w, http.StatusBadRequest, "times without its fault")
		return
	}
	write, read := s.writeFault.get(), s.readFault.get()
	var err error
	if in.Fault != nil {
		write, err = ParseWriteFault(*in.Fault, or(in.Times, 1))
	}
	if err == nil && in.ReadFault != nil {
		read, err = ParseReadFault(*in.ReadFault, or(in.ReadTimes, 0))
	}
	if err != nil {
		answerReason(w, http.StatusBadRequest, err.Error())
		return
	}
	if in.Fault != nil {
		s.writeFault.set(write)
	}
	if in.ReadFault != nil {
		s.readFault.set(read)
	}
	answer(w, http.StatusOK, map[string]any{
		"fault": write.String(), "times": write.Times, "read_fault": read.String(), "read_times": read.Times,
	})
}

func or(p *int, otherwise int) int {
	if p == nil {
		return otherwise
	}
	return *p
}

// getWait is a long poll. It answers 504 after 60 s, so that a test asks again instead of hanging on a dead socket.
func (s *Server) getWait(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	event := query.Get("event")
	var t *tally
	switch event {
	case "committed":
		t = &s.committed
	case "received":
		t = &s.received
	default:
		answerReason(w, http.StatusBadRequest, "event is not committed or received")
		return
	}
	n, err := strconv.Atoi(query.Get("after"))
	if err != nil || n < 0 {
		answerReason(w, http.StatusBadRequest, "after is not a number of 0 or more")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxWait)
	defer cancel()
	count, err := s.wait(ctx, t, n)
	switch {
	case err == nil:
		answer(w, http.StatusOK, map[string]any{"event": event, "count": count})
	case errors.Is(err, errStopping):
		answerReason(w, http.StatusServiceUnavailable, err.Error())
	default:
		answerReason(w, http.StatusGatewayTimeout, "it has not happened yet")
	}
}
