package redact

import (
	"errors"
	"io"
)

// Reader is a body without the credentials. It holds back only bytes that may
// be the beginning of one, so that events come when they come, and reads none
// twice. It belongs to one goroutine.
type Reader struct {
	scan  scan
	in    io.ReadCloser
	held  []byte // read, and not decided: no more than the longest spelling
	clean []byte // the buffer of ready
	ready []byte // clean, and not given away
	err   error  // that ended in
	found func() // may be nil
}

// Reader returns in without the credentials of the set. found is called for
// those that it takes out; nil is allowed.
func (s *Set) Reader(in io.ReadCloser, found func()) *Reader {
	return &Reader{scan: s.scan(), in: in, found: found}
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	for len(r.ready) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if len(p) == 0 {
			return 0, nil
		}
		n, err := r.in.Read(p)
		r.err = r.scan.set.Error(err)
		if n == 0 && r.err == nil {
			return 0, nil
		}
		text, mine := p[:n], len(r.held) > 0
		if mine {
			r.held = append(r.held, text...)
			text = r.held
		}
		clean, consumed, hit := r.scan.over(r.clean[:0], text, r.err != nil)
		if !hit && mine {
			clean = append(clean, text[:consumed]...)
		}
		r.held = append(r.held[:0], text[consumed:]...)
		r.clean, r.ready = clean, clean
		if hit && r.found != nil {
			r.found()
		}
		if !hit && !mine && consumed > 0 { // nearly always: it is in p already
			return consumed, r.err
		}
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// Close implements io.Closer.
func (r *Reader) Close() error { return r.in.Close() }

// Error returns err, or one of the same kind whose text is without the
// credentials: transports quote what they could not read.
func (s *Set) Error(err error) error {
	if s == nil || err == nil || errors.Is(err, io.EOF) {
		return err
	}
	if clean := s.Message(err.Error()); clean != err.Error() {
		return &cleanError{text: clean, err: err}
	}
	return err
}

type cleanError struct {
	text string
	err  error
}

// Error implements error.
func (e *cleanError) Error() string { return e.text }

// Unwrap is for telling what kind of error it is, not for its text.
func (e *cleanError) Unwrap() error { return e.err }
