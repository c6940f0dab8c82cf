package activities

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// SendOnce wraps the transport of a write tool's HTTP client so that net/http
// cannot send a request twice. Left alone it re-sends a POST by itself when the
// request carries Idempotency-Key (or X-Idempotency-Key) and a reused keep-alive
// connection breaks: one Do, two payments, below every retry rule. It also looks
// at the clock once more: a process that was stopped wakes up before the timers
// of its contexts do, and would send what its lease no longer covers. Redirects
// are not its concern: set the client's CheckRedirect. A nil transport is
// http.DefaultTransport. It is as safe for concurrent use as the one it wraps.
func SendOnce(transport http.RoundTripper) http.RoundTripper {
	if transport == nil {
		transport = http.DefaultTransport
	}
	return sendOnce{transport}
}

type sendOnce struct{ next http.RoundTripper }

func (s sendOnce) RoundTrip(req *http.Request) (*http.Response, error) {
	if deadline, ok := req.Context().Deadline(); ok && !time.Now().Before(deadline) {
		if req.Body != nil {
			_ = req.Body.Close() // a transport closes it on every path; nothing was read
		}
		return nil, fmt.Errorf("send once: the context ended at %s: %w", deadline.Format(time.RFC3339Nano), context.DeadlineExceeded)
	}
	once := req.Clone(req.Context())
	once.GetBody = nil // without it a body that was read cannot be rewound, so the request is not replayable
	if once.Method != http.MethodGet && once.Method != http.MethodHead && (once.Body == nil || once.Body == http.NoBody) {
		once.Body = io.NopCloser(bytes.NewReader(nil)) // a request without a body counts as replayable
	}
	return s.next.RoundTrip(once)
}
