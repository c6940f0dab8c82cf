package router

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

const (
	missingOutput = `{"error":{"message":"No tool output found for function call call_abc.","type":"invalid_request_error","param":"input","code":null}}`
	internal      = `{"error":{"message":"The server had an error processing your request.","type":"server_error","code":"server_error"}}`
)

// poisoned is how many bad requests of one run must leave a resource untouched.
func poisoned() int {
	if testing.Short() {
		return 100
	}
	return 1000
}

func TestClientFaultsNeverChangeHealth(t *testing.T) {
	bad := true
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if bad {
			reply(400, "application/json", missingOutput)(w, r)
			return
		}
		stream(evCreated, evEnd)(w, r)
	})
	r := pool(t, Config{}, resource("a", s.URL))
	req := routed(t, r, "a")
	for i := range poisoned() {
		_, err := r.Call(context.Background(), req)
		if f := failed(t, err); f.Class != onceward.ClassMissingToolOutput || f.StateEffect != onceward.EffectNone {
			t.Fatalf("failure %+v", *f)
		}
		if i%100 == 0 { // another run, pinned to the same resource
			bad = false
			mustCall(t, r, req)
			bad = true
		}
	}
	if st := status(t, r, "a"); st.Breaker != "closed" || st.Disabled != nil || !st.ThrottledUntil.IsZero() || st.InFlight != 0 {
		t.Errorf("status %+v", st)
	}
}

func await(t *testing.T, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !cond(); {
		if time.Now().After(deadline) {
			t.Fatal("the condition never held")
		}
		<-time.After(time.Millisecond)
	}
}

// trip is a RoundTripper of one function.
type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.GetBody != nil {
		return nil, errors.New("a request that could be sent twice")
	}
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	return f(r)
}
