package redact

import (
	"errors"
	"io"
)

// Reader is a body without the credentials. It holds back only bytes that may
// be the beginning of one, so that events come when they come. It belongs to one
// goroutine.
type Reader struct {
	set   *Set
	in    io.ReadCloser
	held  []byte // read, and not decided
	ready []byte // clean, and not given away
	err   error  // that ended in
	found func() // may be nil
}

// Reader returns in without the credentials of the set. found is called for
// those that it takes out; nil is allowed.
func (s *Set) Reader(in io.ReadCloser, found func()) *Reader {
	return &Reader{set: s, in: in, found: found}
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
		err = r.set.Error(err)
		r.err = err
		if n == 0 && err == nil {
			return 0, nil
		}
		if len(r.held) == 0 { // nearly always: nothing to hold back, and nothing found
			if _, consumed, hit := r.set.scan(nil, p[:n], err != nil); !hit && consumed == n {
				return n, err
			}
		}
		r.held = append(r.held, p[:n]...)
		out, consumed, hit := r.set.scan(nil, r.held, err != nil)
		if hit {
			if r.found != nil {
				r.found()
			}
			r.ready = out
		} else {
			r.ready = append([]byte(nil), r.held[:consumed]...)
		}
		r.held = append(r.held[:0], r.held[consumed:]...)
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
