package routertest_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward/router/routertest"
)

var twelveWords = routertest.Model{Rules: []routertest.Rule{{Reply: []routertest.Out{
	routertest.Say("one two three four five six seven eight nine ten eleven twelve"),
}}}}

func TestFaultsOfStatusAndShape(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		fault  routertest.Fault
		stream bool
		check  func(*testing.T, got)
	}{
		{"status with the usual body", routertest.FailWith(503, ""), true, func(t *testing.T, g got) {
			if g.status != 503 || g.json(t)["error"].(obj)["code"] != "server_is_overloaded" {
				t.Errorf("%d %s", g.status, g.body)
			}
		}},
		{"status with body and header", routertest.Fault{Kind: routertest.FaultStatus, Status: 429, Body: "slow down", Header: map[string]string{"Retry-After": "7"}}, true, func(t *testing.T, g got) {
			if g.status != 429 || g.body != "slow down" || g.header.Get("Retry-After") != "7" {
				t.Errorf("%d %s %v", g.status, g.body, g.header)
			}
		}},
		{"empty 200", routertest.Fault{Kind: routertest.FaultEmpty}, true, func(t *testing.T, g got) {
			if g.status != 200 || g.body != "" || g.err != nil {
				t.Errorf("%+v", g)
			}
		}},
		{"null", routertest.Fault{Kind: routertest.FaultNull}, false, wantBody("null")},
		{"empty object", routertest.Fault{Kind: routertest.FaultObject}, false, wantBody("{}")},
		{"html", routertest.Fault{Kind: routertest.FaultHTML}, true, func(t *testing.T, g got) {
			if g.status != 200 || !strings.HasPrefix(g.header.Get("Content-Type"), "text/html") || !strings.Contains(g.body, "<html>") {
				t.Errorf("%+v", g)
			}
		}},
		{"prose", routertest.Fault{Kind: routertest.FaultProse, Body: "Here you go!"}, false, func(t *testing.T, g got) {
			if !strings.Contains(g.body, `"text":"Here you go!"`) {
				t.Errorf("%s", g.body)
			}
		}},
		{"failed in the stream before output", routertest.Fault{Kind: routertest.FaultFailed, Code: "rate_limit_exceeded", Message: "m"}, true, func(t *testing.T, g got) {
			r := g.last(t)["response"].(obj)
			if len(g.events) != 3 || g.last(t)["type"] != "response.failed" || r["error"].(obj)["code"] != "rate_limit_exceeded" || r["usage"] != nil {
				t.Errorf("%v", g.last(t))
			}
		}},
		{"failed as JSON", routertest.Fault{Kind: routertest.FaultFailed}, false, func(t *testing.T, g got) {
			if g.status != 200 || g.json(t)["status"] != "failed" {
				t.Errorf("%s", g.body)
			}
		}},
		{"failed after output", routertest.Fault{Kind: routertest.FaultFailed, AfterEvents: 6}, true, wantLast("response.failed", 7)},
		{"incomplete with a reason", routertest.Fault{Kind: routertest.FaultIncomplete, Reason: "content_filter"}, true, func(t *testing.T, g got) {
			r := g.last(t)["response"].(obj)
			if g.last(t)["type"] != "response.incomplete" || r["incomplete_details"].(obj)["reason"] != "content_filter" {
				t.Errorf("%v", g.last(t))
			}
		}},
		{"incomplete in the middle", routertest.Fault{Kind: routertest.FaultIncomplete, AfterEvents: 5}, true, wantLast("response.incomplete", 6)},
		{"error event before output", routertest.Fault{Kind: routertest.FaultErrorEvent, Code: "insufficient_quota"}, true, func(t *testing.T, g got) {
			wantLast("error", 3)(t, g)
			if g.last(t)["error"].(obj)["code"] != "insufficient_quota" {
				t.Errorf("%v", g.last(t))
			}
		}},
		{"flat error event after output", routertest.Fault{Kind: routertest.FaultErrorEvent, AfterEvents: 5, Flat: true}, true, func(t *testing.T, g got) {
			wantLast("error", 6)(t, g)
			if g.last(t)["code"] != "server_error" || g.last(t)["error"] != nil {
				t.Errorf("%v", g.last(t))
			}
		}},
		{"no terminal event", routertest.Fault{Kind: routertest.FaultNoTerminal}, true, func(t *testing.T, g got) {
			if g.err != nil || g.last(t)["type"] != "response.output_item.done" {
				t.Errorf("%v %v", g.err, g.last(t))
			}
		}},
		{"two terminal events", routertest.Fault{Kind: routertest.FaultTwoTerminals}, true, func(t *testing.T, g got) {
			if n := strings.Count(g.body, "event: response.completed\n"); n != 2 {
				t.Errorf("%d terminal events", n)
			}
		}},
		{"broken event", routertest.Fault{Kind: routertest.FaultBrokenEvent, AfterEvents: 4}, true, func(t *testing.T, g got) {
			if !strings.Contains(g.body, "\"sequence_number\":\n\n") || g.last(t)["type"] != "response.completed" {
				t.Errorf("%s", g.body)
			}
		}},
		{"broken JSON", routertest.Fault{Kind: routertest.FaultBrokenEvent}, false, func(t *testing.T, g got) {
			if g.status != 200 || json.Valid([]byte(g.body)) || g.err != nil {
				t.Errorf("%+v", g)
			}
		}},
		{"JSON to a stream request", routertest.Fault{Kind: routertest.FaultJSON}, true, func(t *testing.T, g got) {
			if g.header.Get("Content-Type") != "application/json" || g.json(t)["status"] != "completed" {
				t.Errorf("%+v", g)
			}
		}},
		{"no usage", routertest.Fault{Kind: routertest.FaultNoUsage}, false, func(t *testing.T, g got) {
			if u, ok := g.json(t)["usage"]; !ok || u != nil {
				t.Errorf("usage %v", u)
			}
		}},
		{"no output", routertest.Fault{Kind: routertest.FaultNoOutput}, true, wantLast("response.completed", 3)},
		{"cut after n events", routertest.Fault{Kind: routertest.FaultCutEvents, AfterEvents: 5}, true, func(t *testing.T, g got) {
			if len(g.events) != 5 || !errors.Is(g.err, io.ErrUnexpectedEOF) {
				t.Errorf("%d events, %v", len(g.events), g.err)
			}
		}},
		{"cut after n events by reset", routertest.Fault{Kind: routertest.FaultCutEvents, AfterEvents: 5, RST: true}, true, func(t *testing.T, g got) {
			// A reset may overtake what was sent before it.
			if len(g.events) > 5 || !errors.Is(g.err, syscall.ECONNRESET) {
				t.Errorf("%d events, %v", len(g.events), g.err)
			}
		}},
		{"cut after n bytes of a stream", routertest.Fault{Kind: routertest.FaultCutBytes, AfterBytes: 1700}, true, func(t *testing.T, g got) {
			if len(g.body) != 1700 || !errors.Is(g.err, io.ErrUnexpectedEOF) {
				t.Errorf("%d bytes, %v", len(g.body), g.err)
			}
		}},
		{"cut after n bytes of JSON", routertest.Fault{Kind: routertest.FaultCutBytes, AfterBytes: 100}, false, func(t *testing.T, g got) {
			if len(g.body) != 100 || !errors.Is(g.err, io.ErrUnexpectedEOF) {
				t.Errorf("%d bytes, %v", len(g.body), g.err)
			}
		}},
		{"reset", routertest.Fault{Kind: routertest.FaultReset}, true, func(t *testing.T, g got) {
			if !errors.Is(g.err, syscall.ECONNRESET) {
				t.Errorf("%v", g.err)
			}
		}},
		{"close", routertest.Fault{Kind: routertest.FaultClose}, true, func(t *testing.T, g got) {
			if !errors.Is(g.err, io.EOF) {
				t.Errorf("%v", g.err)
			}
		}},
		{"slow", routertest.Fault{Kind: routertest.FaultSlow, Delay: 30 * time.Millisecond, EventDelay: time.Millisecond}, true, func(t *testing.T, g got) {
			if g.last(t)["type"] != "response.completed" {
				t.Errorf("%v", g.last(t))
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, twelveWords)
			if err := p.SetFaults(c.fault.For(1)); err != nil {
				t.Fatal(err)
			}
			body := ask(user("hi"))
			if c.stream {
				body = streamed(body)
			}
			began := time.Now()
			c.check(t, post(t, p.Resource("A"), body))
			if took := time.Since(began); took < c.fault.Delay {
				t.Errorf("answered after %s, wanted a delay of %s", took, c.fault.Delay)
			}
			r := p.Requests()[0]
			if r.Outcome.Fault != c.fault.Kind {
				t.Errorf("recorded fault %q", r.Outcome.Fault)
			}
			if c.fault.Kind == routertest.FaultCutEvents && r.Outcome.Events != c.fault.AfterEvents {
				t.Errorf("%d events were sent, want %d", r.Outcome.Events, c.fault.AfterEvents)
			}
			if g := post(t, p.Resource("A"), body); g.status != 200 || !strings.Contains(g.body, "twelve") || g.err != nil {
				t.Errorf("after the fault: %+v", g)
			}
			if n := p.Resource("A").Attempts(); n != 2 {
				t.Errorf("%d attempts", n)
			}
		})
	}
}

func wantBody(want string) func(*testing.T, got) {
	return func(t *testing.T, g got) {
		t.Helper()
		if g.status != 200 || g.body != want {
			t.Errorf("%d %q", g.status, g.body)
		}
	}
}

func wantLast(typ string, events int) func(*testing.T, got) {
	return func(t *testing.T, g got) {
		t.Helper()
		if g.last(t)["type"] != typ || len(g.events) != events || g.err != nil {
			t.Errorf("%d events, last %v, err %v", len(g.events), g.last(t)["type"], g.err)
		}
	}
}

func TestBrokenArgumentsAreNoJSON(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.Model{Rules: []routertest.Rule{{Reply: []routertest.Out{routertest.CallTool("a", obj{"key": "value"})}}}})
	if err := p.SetFaults(routertest.Fault{Kind: routertest.FaultBrokenArguments}); err != nil {
		t.Fatal(err)
	}
	g := post(t, p.Resource("A"), ask(user("hi")))
	if args := g.json(t)["output"].([]any)[0].(obj)["arguments"].(string); args == "" || json.Valid([]byte(args)) {
		t.Errorf("arguments %q", args)
	}
}

func TestHangEndsByReleaseOrWhenTheClientGoes(t *testing.T) {
	t.Parallel()
	for _, f := range []routertest.Fault{
		{Kind: routertest.FaultHang}, {Kind: routertest.FaultHangHeaders}, {Kind: routertest.FaultHangEvents, AfterEvents: 4},
	} {
		t.Run(string(f.Kind), func(t *testing.T) {
			t.Parallel()
			p := start(t, twelveWords)
			f.ID = "h"
			if err := p.SetFaults(f); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(within(t))
			gone := make(chan got, 1)
			go func() {
				gone <- do(t, ctx, http.MethodPost, p.Resource("A").URL()+"responses", streamed(ask(user("hi"))))
			}()
			hanging := func(seq int) func(routertest.Request) bool {
				return func(r routertest.Request) bool {
					return r.Seq == seq && r.Outcome.Fault == f.Kind && r.Outcome.Events == f.AfterEvents
				}
			}
			if _, err := p.Await(within(t), hanging(1)); err != nil {
				t.Fatal(err)
			}
			cancel()
			if g := <-gone; g.err == nil {
				t.Error("the client got an answer")
			}
			r, err := p.Await(within(t), func(r routertest.Request) bool { return r.Outcome.Done })
			if err != nil || !r.Outcome.ClientGone || r.Outcome.Complete {
				t.Errorf("%+v %v", r.Outcome, err)
			}
			go func() { gone <- post(t, p.Resource("A"), streamed(ask(user("hi")))) }()
			if _, err := p.Await(within(t), hanging(2)); err != nil {
				t.Fatal(err)
			}
			if !p.Release("h") {
				t.Error("nothing was released")
			}
			if g := <-gone; g.last(t)["type"] != "response.completed" {
				t.Errorf("after the release: %+v", g)
			}
		})
	}
}

func TestFaultChoosesItsRequests(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.RefundModel(), routertest.Resource{Name: "A"}, routertest.Resource{Name: "B"})
	get := func(name string, body obj) int { return post(t, p.Resource(name), body).status }
	refund := ask(user("refund order-1"))
	first := ask(user("refund order-1"), fcall("c1", "get_order", `{}`), foutput("c1", `{"amount_cents":5}`))
	for _, c := range []struct {
		name  string
		fault routertest.Fault
		want  []int // statuses of: A, B, A with one output, A
	}{
		{"one resource", routertest.FailWith(500, "").On("A"), []int{500, 200, 500, 500}},
		{"the second request of A", routertest.FailWith(500, "").On("A").OnNth(2), []int{200, 200, 500, 200}},
		{"twice, then well", routertest.FailWith(500, "").For(2), []int{500, 500, 200, 200}},
		{"turn 1", routertest.Fault{Kind: routertest.FaultStatus, Status: 500, Match: routertest.Match{Turn: routertest.At(1)}}, []int{200, 200, 500, 200}},
		{"a predicate", routertest.Fault{Kind: routertest.FaultStatus, Status: 500, When: func(r routertest.Request) bool { return r.Resource == "B" }}, []int{200, 500, 200, 200}},
	} {
		if err := p.SetFaults(c.fault); err != nil {
			t.Fatal(err)
		}
		if got := []int{get("A", refund), get("B", refund), get("A", first), get("A", refund)}; !slices.Equal(got, c.want) {
			t.Errorf("%s: statuses %v, want %v", c.name, got, c.want)
		}
	}
}

func TestWrongFaultsAreRefused(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.Model{})
	for name, f := range map[string]routertest.Fault{
		"unknown kind":     {Kind: "explode"},
		"unknown resource": {Kind: routertest.FaultEmpty, Resource: "Z"},
		"no status":        {Kind: routertest.FaultStatus},
		"bad expression":   {Kind: routertest.FaultEmpty, Match: routertest.Match{LastUser: "("}},
		"negative count":   {Kind: routertest.FaultEmpty, Times: -1},
	} {
		if err := p.AddFaults(f); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	var f routertest.Fault
	if err := json.Unmarshal([]byte(`{"kind":"empty","tims":1}`), &f); err == nil {
		t.Error("a misspelt key was accepted")
	}
}

func TestFaultKeepsItsMeaningThroughJSON(t *testing.T) {
	t.Parallel()
	in := routertest.Fault{ID: "x", Kind: routertest.FaultSlow, Delay: 1500 * time.Millisecond, EventDelay: 20 * time.Millisecond, Match: routertest.Match{Turn: routertest.At(0), Marker: "m", Header: map[string]string{"X-Worker": "1"}, Key: "k", BytesAbove: 1, OutputAbove: 2, OutputBelow: 3},
		Only: routertest.Neutrals, Share: routertest.Share{Fail: 2, Of: 5}, HonourNoCache: true}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out routertest.Fault
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(in, out) {
		t.Errorf("%s became %+v", data, out)
	}
}
