package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/onceward/onceward/activities"
)

// sending makes the transport of payments. It stops the process with the first
// refund in hand: above SendOnce, or below it, where the request can no longer be
// held back, as bytes that are in the kernel cannot.
func sending(stop string) (http.RoundTripper, error) {
	switch stop {
	case "":
		return activities.SendOnce(nil), nil
	case "above":
		return &stopping{next: activities.SendOnce(nil)}, nil
	case "below":
		return activities.SendOnce(&stopping{next: http.DefaultTransport, release: true}), nil
	}
	return nil, fmt.Errorf("stop-sending %q: it is above or below", stop)
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
