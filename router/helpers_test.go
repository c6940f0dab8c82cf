package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// server is a resource of one handler that counts the requests of runs.
type server struct {
	*httptest.Server
	requests atomic.Int64
	body     atomic.Value
}

func serve(t testing.TB, handler http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get(HeaderNeutral) == "" { // the router's own come when they come
			s.requests.Add(1)
			s.body.Store(body)
		}
		handler(w, r)
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

func (s *server) sent(t testing.TB) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(s.body.Load().([]byte), &m); err != nil {
		t.Fatalf("the request is not JSON: %v", err)
	}
	return m
}

// reply answers with a status and a body.
func reply(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func stream(events ...string) http.HandlerFunc {
	return reply(200, "text/event-stream", frames(events...))
}

func frames(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "data: %s\n\n", e)
	}
	return b.String()
}

const (
	evCreated = `{"type":"response.created","response":{"id":"resp_1","status":"in_progress"}}`
	evAdded   = `{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1"}}`
	evDone    = `{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"hi"}]}}`
	evEnd     = `{"type":"response.completed","response":{"id":"resp_1","status":"completed","model":"gpt-x","output":[{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"hi"}]}],"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":40},"output_tokens":10,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":110}}}`
)

var price = onceward.Price{Input: 1_250_000, CachedInput: 125_000, Output: 10_000_000}

func capable() onceward.Capability {
	return onceward.Capability{
		Version: "1", MaxInputTokens: 272000, MaxOutputTokens: 32000, ToolCalling: true, ParallelTools: true,
		StrictSchema: true, EncryptedReasoning: true, P95Latency: time.Second,
	}
}

func resource(name, base string) Resource {
	return Resource{
		Name: name, Kind: KindAzure, BaseURL: base, Key: "k-" + Secret(name), Region: "eu", SafetyPolicy: "v1",
		Deployments: []Deployment{{Model: "m", Deployment: "dep-" + name, Price: price, Capability: capable()}},
	}
}

func pool(t testing.TB, cfg Config, resources ...Resource) *Router {
	t.Helper()
	cfg.Resources = append(cfg.Resources, resources...)
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// routed returns a request for one resource, as Select would route it.
func routed(t testing.TB, r *Router, resource string) onceward.ModelRequest {
	t.Helper()
	d := r.Select(onceward.RouteRequest{RunKey: "wf/1", Turn: 1, Attempt: 1, Models: []string{"m"}, Resources: []string{resource},
		Requirements: onceward.Requirements{OutputTokens: 1000}, Bytes: 300})
	if d.Route == nil {
		t.Fatalf("no route to %s: %+v", resource, d.Dropped)
	}
	return request(t, *d.Route)
}

func request(t testing.TB, route onceward.Route) onceward.ModelRequest {
	t.Helper()
	return onceward.ModelRequest{
		Route: route, RunKey: "wf/1", Instructions: "be brief", Items: []onceward.Item{text(t, "user", "hello")},
		Timeouts: onceward.Timeouts{FirstEvent: time.Minute, Idle: time.Minute, Attempt: 100 * time.Second}, // for no test to meet
	}
}

// forced is a route to a resource that Select might not give now.
func forced(resource string) onceward.Route {
	return onceward.Route{Resource: resource, Model: "m", Deployment: "dep-" + resource, Boundary: resource,
		InputTokens: 164, MaxOutputTokens: 1000, Ceiling: price.Ceiling(164, 1000)}
}

func text(t testing.TB, role, s string) onceward.Item {
	t.Helper()
	item, err := onceward.Text(role, s)
	if err != nil {
		t.Fatal(err)
	}
	return item
}

func failed(t testing.TB, err error) *onceward.Failure {
	t.Helper()
	var f *onceward.Failure
	if !errors.As(err, &f) {
		t.Fatalf("want a failure, got %v", err)
	}
	return f
}

func mustCall(t testing.TB, r *Router, req onceward.ModelRequest) onceward.ModelResponse {
	t.Helper()
	res, err := r.Call(context.Background(), req)
	if err != nil {
		t.Fatalf("call: %v", err)
	}
	return res
}

func status(t testing.TB, r *Router, resource string) Status {
	t.Helper()
	for _, s := range r.Health() {
		if s.Resource == resource {
			return s
		}
	}
	t.Fatalf("no resource %s", resource)
	return Status{}
}
