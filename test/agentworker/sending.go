package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/onceward/onceward/activities"
	"github.com/onceward/onceward/test/agents"
)

// sending makes the transport of payments. It stops the process with the first
// refund in hand: above SendOnce, or below it, where the request can no longer be
// held back, as bytes that are in the kernel cannot.
func sending(stop string) (http.RoundTripper, error) {
	switch stop {
	case "":
		return activities.SendOnce(leased{http.DefaultTransport}), nil
	case "above":
		return &stopping{next: activities.SendOnce(nil)}, nil
	case "below":
		return activities.SendOnce(&stopping{next: http.DefaultTransport, release: true}), nil
	}
	return nil, fmt.Errorf("stop-sending %q: it is above or below", stop)
}

// leased tells payments under which lease a request was sent, so that a test
// knows one that came after its end.
type leased struct{ next http.RoundTripper }

func (l leased) RoundTrip(req *http.Request) (*http.Response, error) {
	if end, ok := req.Context().Deadline(); ok && req.Method == http.MethodPost {
		req = req.Clone(req.Context())
		req.Header.Set(agents.LeaseHeader, end.UTC().Format(time.RFC3339Nano))
	}
	return l.next.RoundTrip(req)
}

// stopping stops the process before it hands on its first POST.
type stopping struct {
	next    http.RoundTripper
	release bool // from its context, too
	once    sync.Once
}

func (s *stopping) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPost {
		s.once.Do(halt)
		if s.release {
			req = req.WithContext(context.WithoutCancel(req.Context()))
		}
	}
	return s.next.RoundTrip(req)
}
