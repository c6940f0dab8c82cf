package router

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
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

func TestThrottleWindowsOfAnswersOutOfOrder(t *testing.T) {
	waits := []string{"5", "40", "2"}
	var n atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", waits[n.Add(1)-1])
		reply(429, "application/json", `{"error":{"message":"Too many requests","code":"rate_limit_exceeded"}}`)(w, r)
	})
	now := time.Now()
	var offset atomic.Int64
	r := pool(t, Config{Now: func() time.Time { return now.Add(time.Duration(offset.Load())) }}, resource("a", s.URL))
	req := routed(t, r, "a")
	var wg sync.WaitGroup
	for range waits { // all in flight before the first answer
		p, refusal := r.all[0].Health.Acquire(now, 1, 0)
		if refusal != nil {
			t.Fatal(refusal)
		}
		defer p.Release()
	}
	for range waits {
		a := &attempt{router: r, candidate: r.all[0], req: req}
		f := onceward.NewFailure(onceward.ClassRateLimited, onceward.PhaseSent, "")
		f.RetryAfter, _ = time.ParseDuration(waits[n.Add(1)-1] + "s")
		wg.Go(func() { a.throttle(f) })
	}
	wg.Wait()
	if got := status(t, r, "a").ThrottledUntil.Sub(now); got != 40*time.Second {
		t.Errorf("left alone for %s, want 40 s", got)
	}
	if d := r.Select(onceward.RouteRequest{Models: []string{"m"}}); d.Route != nil || d.RetryAt.Sub(now) != 40*time.Second {
		t.Errorf("decision %+v", d)
	}
	_, err := r.Call(context.Background(), req)
	if f := failed(t, err); !f.NotSent || f.Class != onceward.ClassRateLimited || f.RetryAfter != 40*time.Second || s.requests.Load() != 0 {
		t.Errorf("failure %+v after %d requests", *f, s.requests.Load())
	}
	offset.Store(int64(41 * time.Second))
	n.Store(0)
	_, err = r.Call(context.Background(), req)
	if f := failed(t, err); f.NotSent || f.StateEffect != onceward.EffectThrottle {
		t.Errorf("failure %+v", *f)
	}
	if st := status(t, r, "a"); st.Breaker != "closed" {
		t.Errorf("a 429 counts against the breaker: %s", st.Breaker)
	}
}

func TestHalfOpenLetsOneRequestThroughOfTwoHundred(t *testing.T) {
	release := make(chan struct{})
	var fail atomic.Bool
	fail.Store(true)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if fail.Load() {
			reply(500, "application/json", internal)(w, r)
			return
		}
		<-release
		stream(evCreated, evEnd)(w, r)
	})
	r := pool(t, Config{Breaker: Breaker{OpenFor: 20 * time.Millisecond}}, resource("a", s.URL))
	req := request(t, forced("a"))
	for range 3 {
		_, _ = r.Call(context.Background(), req)
	}
	if st := status(t, r, "a"); st.Breaker == "closed" {
		t.Fatal("the breaker did not open")
	}
	await(t, func() bool { return status(t, r, "a").Breaker == "half-open" })
	fail.Store(false)
	before := s.requests.Load()
	var refused, served atomic.Int64
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			_, err := r.Call(context.Background(), req)
			var f *onceward.Failure
			switch {
			case err == nil:
				served.Add(1)
			case errors.As(err, &f) && f.NotSent:
				refused.Add(1)
			default:
				t.Errorf("%v", err)
			}
		})
	}
	await(t, func() bool { return refused.Load() == 199 })
	close(release)
	wg.Wait()
	if n := s.requests.Load() - before; n != 1 || served.Load() != 1 {
		t.Errorf("%d requests, %d served", n, served.Load())
	}
	if st := status(t, r, "a"); st.Breaker != "closed" || st.InFlight != 0 {
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

func TestMarksOfAPayloadThatFailsOnTwoResourcesAreTakenBack(t *testing.T) {
	down := reply(500, "application/json", internal)
	a, b := serve(t, down), serve(t, down)
	r := pool(t, Config{Breaker: Breaker{Consecutive: 2, OpenFor: time.Hour}}, resource("a", a.URL), resource("b", b.URL))
	req := request(t, forced("a"))
	for range 2 {
		_, _ = r.Call(context.Background(), req)
	}
	if st := status(t, r, "a"); st.Breaker != "open" {
		t.Fatalf("breaker of a is %s", st.Breaker)
	}
	req.Route = forced("b")
	res, err := r.Call(context.Background(), req)
	if f := failed(t, err); f.StateEffect != onceward.EffectNone || f.Scope != onceward.ScopeRequest || !f.FallbackEligible {
		t.Errorf("failure %+v", *f)
	}
	if len(res.Notices) != 1 || !strings.Contains(res.Notices[0], "two resources") {
		t.Errorf("notices %q", res.Notices)
	}
	for _, name := range []string{"a", "b"} {
		if st := status(t, r, name); st.Breaker != "closed" {
			t.Errorf("breaker of %s is %s", name, st.Breaker)
		}
	}
	req.Items = append(req.Items, text(t, "user", "another payload"))
	for range 2 {
		_, _ = r.Call(context.Background(), req)
	}
	if st := status(t, r, "b"); st.Breaker != "open" {
		t.Errorf("another payload does not count: %s", st.Breaker)
	}
}

func TestResolutionFailingEverywhereIsNoResourcesFault(t *testing.T) {
	broken := func(req *http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "server misbehaving", Name: req.URL.Hostname(), IsTemporary: true}}
	}
	r := pool(t, Config{Transport: trip(broken), Breaker: Breaker{Consecutive: 1, OpenFor: time.Hour}},
		resource("a", "https://a.example/v1"), resource("b", "https://b.example/v1"))
	_, err := r.Call(context.Background(), request(t, forced("a")))
	if f := failed(t, err); f.StateEffect != onceward.EffectBreaker || status(t, r, "a").Breaker != "open" {
		t.Fatalf("one host of two is the host's fault: %+v", *f)
	}
	res, err := r.Call(context.Background(), request(t, forced("b")))
	if f := failed(t, err); f.StateEffect != onceward.EffectNone || f.Scope != onceward.ScopeEgress || len(res.Notices) != 1 {
		t.Errorf("failure %+v, notices %q", *f, res.Notices)
	}
	for _, name := range []string{"a", "b"} {
		if st := status(t, r, name); st.Breaker != "closed" {
			t.Errorf("breaker of %s is %s", name, st.Breaker)
		}
	}
}

func TestMachineWithoutSocketsBlamesNobody(t *testing.T) {
	full := func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}
	}
	r := pool(t, Config{Transport: trip(full), Breaker: Breaker{Consecutive: 1}}, resource("a", "https://a.example/v1"))
	_, err := r.Call(context.Background(), request(t, forced("a")))
	if f := failed(t, err); f.StateEffect != onceward.EffectNone || f.Scope != onceward.ScopeEgress || status(t, r, "a").Breaker != "closed" {
		t.Errorf("failure %+v", *f)
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

func TestStreamsThatDieWithOneConnectionCountOnce(t *testing.T) {
	begun := make(chan struct{}, 8)
	release := make(chan struct{})
	// net/http's own server speaks HTTP/2 only with TLS.
	h2 := h2server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, frames(evCreated, evAdded))
		w.(http.Flusher).Flush()
		begun <- struct{}{}
		<-release
	})
	defer close(release)
	r := pool(t, Config{Transport: h2.Client().Transport, Breaker: Breaker{Consecutive: 2, OpenFor: time.Hour}}, resource("a", h2.URL))
	req := request(t, forced("a"))
	var wg sync.WaitGroup
	var network atomic.Int64
	for range 5 {
		wg.Go(func() {
			_, err := r.Call(context.Background(), req)
			var f *onceward.Failure
			if errors.As(err, &f) && f.Class == onceward.ClassNetwork {
				network.Add(1)
			}
		})
	}
	for range 5 {
		<-begun
	}
	h2.CloseClientConnections()
	wg.Wait()
	if n := network.Load(); n != 5 {
		t.Fatalf("%d of 5 streams died", n)
	}
	if st := status(t, r, "a"); st.Breaker != "closed" {
		t.Errorf("one dead connection opened the breaker: %s", st.Breaker)
	}
}

func TestDisablingReachesAsFarAsItsCause(t *testing.T) {
	pay := serve(t, reply(402, "application/json", `{"error":{"message":"Insufficient credits, please top up"}}`))
	key := serve(t, reply(401, "application/json", `{"error":{"code":"invalid_api_key","message":"Incorrect API key provided"}}`))
	gone := serve(t, reply(404, "application/json", `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`))
	var changes []Change
	cfg := Config{OnChange: func(c Change) { changes = append(changes, c) }}
	a, b, c, d := resource("a", pay.URL), resource("b", pay.URL), resource("c", key.URL), resource("d", gone.URL)
	e := resource("e", key.URL)
	a.Account, b.Account, c.Account, e.Account = "one", "one", "two", "two"
	d.Deployments = append(d.Deployments, Deployment{Model: "n", Price: price, Capability: capable()})
	r := pool(t, cfg, a, b, c, d, e)
	for _, name := range []string{"a", "c", "d"} {
		_, err := r.Call(context.Background(), request(t, forced(name)))
		failed(t, err)
	}
	off := map[string]bool{}
	for _, st := range r.Health() {
		off[st.Resource+"/"+st.Model] = st.Disabled != nil
	}
	want := map[string]bool{"a/m": true, "b/m": true, "c/m": true, "d/m": true, "d/n": false, "e/m": false}
	if fmt.Sprint(off) != fmt.Sprint(want) {
		t.Errorf("disabled %v, want %v", off, want)
	}
	if len(changes) != 4 || changes[3].Model != "m" || changes[3].Disabled.Until.IsZero() || !changes[0].Disabled.Until.IsZero() {
		t.Errorf("changes %+v", changes)
	}
	dec := r.Select(onceward.RouteRequest{Models: []string{"m"}, Resources: []string{"a"}})
	if dec.Route != nil || dec.Dropped[len(dec.Dropped)-1].Step == "" || !strings.Contains(fmt.Sprint(dec.Dropped), "nsufficient credits") {
		t.Errorf("decision %+v", dec)
	}
	_, err := r.Call(context.Background(), request(t, forced("a")))
	if f := failed(t, err); !f.NotSent || f.Class != onceward.ClassBilling || f.StateEffect != onceward.EffectNone || pay.requests.Load() != 1 {
		t.Errorf("failure %+v after %d requests", *f, pay.requests.Load())
	}
	if err := r.Enable("a", ""); err != nil || status(t, r, "a").Disabled != nil {
		t.Errorf("not enabled: %v", err)
	}
	if err := r.Disable("nobody", "", "x", time.Time{}); err == nil {
		t.Error("an unknown resource was disabled")
	}
}

func TestOverloadCountsAndThrottlesThePair(t *testing.T) {
	s := serve(t, reply(503, "application/json", `{"error":{"code":"server_is_overloaded","message":"Our servers are currently overloaded. Please try again later."}}`))
	now := time.Now()
	still := func() time.Time { return now } // the throttle's window is short
	r := pool(t, Config{Now: still, Breaker: Breaker{Consecutive: 1, OpenFor: time.Hour}}, resource("a", s.URL))
	_, err := r.Call(context.Background(), request(t, forced("a")))
	f := failed(t, err)
	if st := status(t, r, "a"); f.Class != onceward.ClassOverloaded || st.Breaker != "open" || st.ThrottledUntil.IsZero() {
		t.Errorf("failure %+v, status %+v", *f, st)
	}
}

func TestOnlyAConnectionThatWasIdleCanBeStale(t *testing.T) {
	for _, c := range []struct {
		idle     time.Duration
		answered bool
		want     bool
	}{{0, false, false}, {time.Second, false, false}, {time.Minute, false, true}, {time.Minute, true, false}} {
		if got := (connection{idle: c.idle}).stale(c.answered); got != c.want {
			t.Errorf("idle %s, answered %v: %v", c.idle, c.answered, got)
		}
	}
}
