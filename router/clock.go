package router

import (
	"errors"
	"io"
	"time"
)

// The clocks of an attempt, as causes of its context's end.
var (
	errFirstEvent = errors.New("no first event in time")
	errIdle       = errors.New("no further event in time that brings the answer on")
	errSilent     = errors.New("not a byte in time: the connection is silent")
	errAttempt    = errors.New("not finished in time")
	errFinished   = errors.New("finished")
)

// listen starts the clock of a connection that brings nothing at all. It begins
// with the headers: before them hosts that answer in one piece are silent too. It
// is the attempt's own where the caller has set none, because a host without
// keepalives says nothing while its model thinks.
func (a *attempt) listen() (stop func() bool) {
	if a.limits.Silence <= 0 {
		return func() bool { return true }
	}
	a.silent = time.AfterFunc(a.limits.Silence, func() { a.cancel(errSilent) })
	return a.silent.Stop
}

// waking notes that something came. Any byte shows that the connection lives, be it
// of a comment; the events of one read share a setting of the progress clock, which
// costs as much as reading a small event.
type waking struct {
	in io.Reader
	a  *attempt
}

// Read implements io.Reader.
func (w *waking) Read(p []byte) (int, error) {
	n, err := w.in.Read(p)
	w.a.woken = true
	if n > 0 && w.a.silent != nil {
		w.a.silent.Reset(w.a.limits.Silence)
	}
	return n, err
}
