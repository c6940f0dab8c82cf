package router

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
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

// What is this machine's fault makes nobody suspect, and its tests tell nothing.
func TestThisMachinesFaultsMakeNobodySuspect(t *testing.T) {
	dns := func(req *http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "server misbehaving", Name: req.URL.Hostname(), IsTemporary: true}}
	}
	full := func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}
	}
	for name, c := range map[string]struct {
		fault   trip
		calls   []string
		suspect map[string]bool
	}{
		"no sockets are left":                     {full, []string{"a", "b", "a"}, nil},
		"names resolve for nobody":                {dns, []string{"a", "b"}, map[string]bool{"a": true}}, // until the second it may be the host's
		"one host of two does not resolve at all": {dns, []string{"a"}, map[string]bool{"a": true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := pool(t, Config{Transport: c.fault}, resource("a", "https://a.example/v1"), resource("b", "https://b.example/v1"))
				for i, where := range c.calls {
					req := request(t, forced(where))
					req.RunKey = fmt.Sprint("run ", i)
					_, err := r.Call(context.Background(), req)
					f := failed(t, err)
					own := f.StateEffect == onceward.EffectNone && f.Scope == onceward.ScopeEgress
					if last := i == len(c.calls)-1; own != (len(c.suspect) == 0 || last && len(c.calls) == 2) {
						t.Errorf("call %d: %+v", i, *f)
					}
					synctest.Wait()
				}
				for _, st := range r.Health() {
					if st.Breaker != "closed" || st.Disabled != nil || (st.Strikes > 0) != c.suspect[st.Resource] {
						t.Errorf("%+v", st)
					}
				}
				<-time.After(time.Hour)
				for _, n := range r.Neutrals() {
					if n.Unusable != "" {
						t.Errorf("this machine's fault makes neutral requests unusable: %+v", n)
					}
				}
			})
		})
	}
}
