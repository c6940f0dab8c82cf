package redact

import (
	"io"
	"sync/atomic"
)

// Reader is a body without the credentials. It holds back only bytes that may
// be the beginning of one, so that events come when they come. It belongs to one
// goroutine, but for Found.
type Reader struct {
	set   *Set
	in    io.ReadCloser
	held  []byte // read, and not decided
	ready []byte // clean, and not given away
	err   error  // that ended in
	found atomic.Bool
}

// Reader returns in without the credentials of the set.
func (s *Set) Reader(in io.ReadCloser) *Reader { return &Reader{set: s, in: in} }

// Found reports whether there was a credential in what was read.
func (r *Reader) Found() bool { return r.found.Load() }

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
			r.found.Store(true)
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
