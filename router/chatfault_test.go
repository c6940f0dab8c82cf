package router

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/wire"
)

func chatResource(name, base string) Resource {
	r := resource(name, base)
	r.API = APIChatCompletions
	r.Deployments[0].Capability.EncryptedReasoning = false
	return r
}

const (
	chRole  = `{"id":"c1","model":"gpt-x","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}`
	chHi    = `{"id":"c1","model":"gpt-x","choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":null}]}`
	chStop  = `{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	chUsage = `{"id":"c1","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110,"prompt_tokens_details":{"cached_tokens":40},"completion_tokens_details":{"reasoning_tokens":2}}}`
)

func TestChatAnswerIsReadAndPriced(t *testing.T) {
	want := onceward.Usage{Known: true, InputTokens: 100, CachedTokens: 40, OutputTokens: 10, ReasoningTokens: 2}
	cut := func(events ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, frames(events...))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	open := func(events ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, frames(events...))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		known   bool
		waits   time.Duration // at most, and no time passes while anything comes
	}{
		"a stream to its mark":                       {stream(chRole, chHi, chStop, chUsage, "[DONE]"), true, 0},
		"without the end mark":                       {stream(chRole, chHi, chStop, chUsage), true, 0},
		"without usage, which is then unknown":       {stream(chRole, chHi, chStop, "[DONE]"), false, 0},
		"cut after the finish reason":                {cut(chRole, chHi, chStop), false, 0},
		"kept open after the mark":                   {open(chRole, chHi, chStop, chUsage, "[DONE]"), true, drainFor},
		"kept open after the finish reason":          {open(chRole, chHi, chStop), false, tailFor},
		"a JSON answer":                              {reply(200, "application/json", `{"id":"c1","model":"gpt-x","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],`+chUsage[strings.Index(chUsage, `"usage"`):]), true, 0},
		"a JSON answer that is labelled as a stream": {reply(200, "text/event-stream", `{"id":"c1","model":"gpt-x","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`), false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				requests := 0
				transport := piped(t, func(w http.ResponseWriter, r *http.Request) {
					requests++
					if r.Header.Get("api-key") != "k-a" || r.URL.Path != "/v1/chat/completions" {
						t.Errorf("request to %s with headers %v", r.URL.Path, r.Header)
					}
					c.handler(w, r)
				})
				r := pool(t, Config{Transport: transport}, chatResource("a", "http://a.example/v1"))
				req := routed(t, r, "a")
				began := time.Now()
				res := mustCall(t, r, req)
				if took := time.Since(began); took > c.waits {
					t.Errorf("a whole answer was waited for %s, want at most %s", took, c.waits)
				}
				if res.Text != "hi" || len(res.Items) != 1 || res.ResponseModel != "gpt-x" || res.Usage.Known != c.known || c.known && (res.Usage != want || res.Cost != price.Cost(want)) {
					t.Errorf("response %+v", res)
				}
				if !c.known && (res.CostBasis != onceward.CostReserved || res.Cost != price.Ceiling(164, 1000)) {
					t.Errorf("unknown usage costs %d, %s", res.Cost, res.CostBasis)
				}
				if st := status(t, r, "a"); st.InFlight != 0 || st.Breaker != "closed" || requests != 1 {
					t.Errorf("status %+v after %d requests", st, requests)
				}
			})
		})
	}
}

func TestUsageIsNotWaitedForAsLongAsAnAnswer(t *testing.T) {
	a := &attempt{stream: chatCompletions{}.collect(), limits: onceward.Timeouts{Idle: time.Minute}}
	before := a.idle()
	if _, err := a.stream.Add(wire.Event{Data: []byte(chStop)}); err != nil {
		t.Fatal(err)
	}
	if after := a.idle(); before != time.Minute || after != tailFor {
		t.Errorf("idle %s, after the finish reason %s", before, after)
	}
}

func TestFailuresOfOneChatRequest(t *testing.T) {
	const (
		length   = `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}],"usage":{"prompt_tokens":3,"completion_tokens":1000}}`
		filtered = `{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}`
		refusal  = `{"choices":[{"index":0,"delta":{"refusal":"no thanks"},"finish_reason":null}]}`
		calls    = `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\": \"unterm"}}]},"finish_reason":"tool_calls"}]}`
		boom     = `{"error":{"message":"The server had an error","type":"server_error"}}`
	)
	ceiling := price.Ceiling(164, 1000)
	spent := price.Cost(onceward.Usage{InputTokens: 3, OutputTokens: 1000})
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		class   onceward.Class
		phase   onceward.Phase
		effect  onceward.StateEffect
		started bool
		cost    onceward.MicroUSD
	}{
		"429 throttles and costs nothing":         {reply(429, "application/json", `{"error":{"message":"Rate limit reached"}}`), onceward.ClassRateLimited, onceward.PhaseSent, onceward.EffectThrottle, false, 0},
		"404 of a host with another path":         {reply(404, "text/plain", "404 page not found"), onceward.ClassEndpointMisconfigured, onceward.PhaseSent, onceward.EffectDisable, false, 0},
		"zero bytes are the transport's fault":    {reply(200, "text/event-stream", ""), onceward.ClassEmptyOutput, onceward.PhaseSent, onceward.EffectBreaker, false, ceiling},
		"the mark alone":                          {stream("[DONE]"), onceward.ClassEmptyOutput, onceward.PhaseSent, onceward.EffectBreaker, false, ceiling},
		"no finish reason before output":          {stream(chRole, "[DONE]"), onceward.ClassEmptyOutput, onceward.PhaseSent, onceward.EffectBreaker, false, ceiling},
		"no finish reason after output":           {stream(chRole, chHi, "[DONE]"), onceward.ClassNetwork, onceward.PhaseStream, onceward.EffectBreaker, true, ceiling},
		"no end at all":                           {stream(chRole, chHi), onceward.ClassNetwork, onceward.PhaseStream, onceward.EffectBreaker, true, ceiling},
		"completed without output does not count": {stream(chRole, chStop, "[DONE]"), onceward.ClassEmptyOutput, onceward.PhaseSettled, onceward.EffectNone, true, ceiling},
		"no choices in a JSON answer":             {reply(200, "application/json", `{"id":"c1","choices":[]}`), onceward.ClassEmptyOutput, "", onceward.EffectNone, false, ceiling},
		"no finish reason in a JSON answer":       {reply(200, "application/json", `{"id":"c1","choices":[{"message":{"role":"assistant","content":"hi"}}]}`), onceward.ClassInvalidOutput, "", onceward.EffectNone, false, ceiling},
		"cut at the limit":                        {stream(chRole, chHi, length, "[DONE]"), onceward.ClassIncompleteOutput, onceward.PhaseSettled, onceward.EffectNone, true, spent},
		"cut at the limit in a JSON answer":       {reply(200, "application/json", `{"choices":[{"message":{"content":"hi"},"finish_reason":"length"}],"usage":{"prompt_tokens":3,"completion_tokens":1000}}`), onceward.ClassIncompleteOutput, "", onceward.EffectNone, false, spent},
		"content filter is never routed around":   {stream(chRole, filtered, "[DONE]"), onceward.ClassContentFiltered, "", onceward.EffectNone, false, ceiling},
		"refusal is an answer":                    {stream(chRole, refusal, chStop, "[DONE]"), onceward.ClassRefusal, onceward.PhaseSettled, onceward.EffectNone, true, ceiling},
		"truncated arguments are never an action": {stream(chRole, calls, "[DONE]"), onceward.ClassInvalidOutput, onceward.PhaseSettled, onceward.EffectNone, true, ceiling},
		"an error before output has not started":  {stream(chRole, boom), onceward.ClassServerError, onceward.PhaseSent, onceward.EffectBreaker, false, ceiling},
		"an error after output has started":       {stream(chRole, chHi, boom), onceward.ClassServerError, onceward.PhaseStream, onceward.EffectBreaker, true, ceiling},
		"an error instead of usage":               {stream(chRole, chHi, chStop, boom), onceward.ClassServerError, onceward.PhaseStream, onceward.EffectBreaker, true, ceiling},
		"an overload as an event":                 {stream(chRole, `{"error":{"message":"Overloaded","code":"server_is_overloaded"}}`), onceward.ClassOverloaded, onceward.PhaseSent, onceward.EffectBreaker, false, ceiling},
		"the model's host gave up":                {stream(chRole, chHi, `{"choices":[{"delta":{},"finish_reason":"error"}]}`), onceward.ClassServerError, onceward.PhaseStream, onceward.EffectBreaker, true, ceiling},
		"a broken event":                          {stream(chRole, chHi, `{"id":"c1","choices":[{"delta":`), onceward.ClassNetwork, onceward.PhaseStream, onceward.EffectBreaker, true, ceiling},
		"an error object inside a 200 body":       {reply(200, "application/json", boom), onceward.ClassServerError, "", onceward.EffectBreaker, false, ceiling},
		"a broken JSON answer":                    {reply(200, "application/json", `{"id":"c1","choices":[{"message":{"content":"h`), onceward.ClassNetwork, "", onceward.EffectBreaker, false, ceiling},
		"a web page is no API":                    {reply(200, "text/html", "<html>ok</html>"), onceward.ClassEndpointMisconfigured, "", onceward.EffectDisable, false, ceiling},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.handler)
			r := pool(t, Config{}, chatResource("a", s.URL))
			res, err := r.Call(context.Background(), routed(t, r, "a"))
			f := failed(t, err)
			if f.Class != c.class || c.phase != "" && f.Phase != c.phase || f.StateEffect != c.effect || f.ResponseStarted != c.started || f.NotSent || res.Cost != c.cost {
				t.Errorf("failure %+v, cost %d, want %+v", *f, res.Cost, c)
			}
			r.Close() // a test has a permit of its own
			if n := s.requests.Load(); n != 1 || status(t, r, "a").InFlight != 0 {
				t.Errorf("%d requests, %d in flight", n, status(t, r, "a").InFlight)
			}
		})
	}
}

func TestClocksOfAChatAttempt(t *testing.T) {
	short := 50 * time.Millisecond
	for name, c := range map[string]struct {
		sent     string
		timeouts onceward.Timeouts
		phase    onceward.Phase
		message  string
	}{
		"comments only":      {": hello\n\n", onceward.Timeouts{FirstEvent: short}, onceward.PhaseSent, "first event"},
		"idle before output": {frames(chRole), onceward.Timeouts{Idle: short}, onceward.PhaseSent, "further event"},
		"idle after output":  {frames(chRole, chHi), onceward.Timeouts{Idle: short}, onceward.PhaseStream, "further event"},
		"the whole attempt":  {frames(chRole), onceward.Timeouts{Attempt: short}, onceward.PhaseSent, "finished"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := pool(t, Config{Transport: piped(t, stream0(c.sent))}, chatResource("a", "http://a.example/v1"))
				req := routed(t, r, "a")
				req.Timeouts = c.timeouts
				_, err := r.Call(context.Background(), req)
				if f := failed(t, err); f.Class != onceward.ClassTimeout || f.Phase != c.phase || f.StateEffect != onceward.EffectBreaker || !strings.Contains(f.Message, c.message) {
					t.Errorf("failure %+v", *f)
				}
			})
		})
	}
}

func TestCallerWhoGoesWhileUsageIsAwaitedHasCancelled(t *testing.T) {
	s := serve(t, stream0(frames(chRole, chHi, chStop)))
	r := pool(t, Config{}, chatResource("a", s.URL))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req := routed(t, r, "a")
	req.Progress = func(_ onceward.Phase, n int) {
		if n == 3 {
			cancel()
		}
	}
	_, err := r.Call(ctx, req)
	if f := failed(t, err); f.Class != onceward.ClassCancelled {
		t.Errorf("failure %+v", *f)
	}
}
