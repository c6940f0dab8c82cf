package router

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward"
)

func TestStreamedAnswerIsReadAndPriced(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("api-key") != "k-a" || r.Header.Get("Authorization") != "" || r.URL.Path != "/v1/responses" {
			t.Errorf("request to %s with headers %v", r.URL.Path, r.Header)
		}
		w.Header().Set("x-request-id", "req-9")
		w.Header().Set("x-ratelimit-limit-tokens", "50000")
		w.Header().Set("x-ratelimit-remaining-tokens", "40000")
		stream(evCreated, evAdded, evDone, evEnd)(w, r)
	})
	now := time.Now()
	still := func() time.Time { return now } // tokens come back with time
	r := pool(t, Config{Now: still}, resource("a", s.URL+"/v1"))
	var events int
	req := routed(t, r, "a")
	req.Progress = func(_ onceward.Phase, n int) { events = n }
	res := mustCall(t, r, req)
	want := onceward.Usage{Known: true, InputTokens: 100, CachedTokens: 40, OutputTokens: 10, ReasoningTokens: 2}
	if res.Text != "hi" || len(res.Items) != 1 || res.Usage != want || res.CostBasis != onceward.CostMeasured ||
		res.Cost != price.Cost(want) || res.ProviderRequestID != "req-9" || res.ResponseModel != "gpt-x" || res.HTTPStatus != 200 || events != 4 {
		t.Errorf("response %+v after %d events", res, events)
	}
	if n := s.requests.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
	body := s.sent(t)
	if body["model"] != "dep-a" || body["store"] != false || body["stream"] != true || body["max_output_tokens"] != 1000.0 ||
		body["instructions"] != "be brief" || len(body["prompt_cache_key"].(string)) > 64 || strings.Contains(body["prompt_cache_key"].(string), "wf") {
		t.Errorf("request %v", body)
	}
	if st := status(t, r, "a"); st.TokensLeft != 40000 || st.InFlight != 0 {
		t.Errorf("status %+v", st)
	}
}

func TestFailuresOfOneRequest(t *testing.T) {
	const (
		evCall     = `{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{\"a\": \"unterm"}}`
		evFailed   = `{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":{"code":"server_error","message":"boom"},"usage":null}}`
		evEmpty    = `{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[]}}`
		evBare     = `{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[],"usage":{"input_tokens":0,"output_tokens":0}}}`
		evRefusal  = `{"type":"response.completed","response":{"id":"r","status":"completed","output":[{"type":"message","id":"m","role":"assistant","content":[{"type":"refusal","refusal":"no thanks"}]}],"usage":{"input_tokens":3,"output_tokens":3}}}`
		evFiltered = `{"type":"response.incomplete","response":{"id":"r","status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}}`
		evLength   = `{"type":"response.incomplete","response":{"id":"r","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[],"usage":{"input_tokens":3,"output_tokens":1000}}}`
	)
	ceiling := price.Ceiling(164, 1000)
	cut := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, frames(evCreated, evAdded))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	reset := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		class   onceward.Class
		phase   onceward.Phase
		effect  onceward.StateEffect
		started bool
		cost    onceward.MicroUSD
		basis   onceward.CostBasis
	}{
		"429 throttles and costs nothing": {reply(429, "application/json", `{"error":{"code":"429","message":"Rate limit reached. Please retry after 6 seconds."}}`), onceward.ClassRateLimited, onceward.PhaseSent, onceward.EffectThrottle, false, 0, onceward.CostMeasured},
		"500 counts":                      {reply(500, "application/json", `{"error":{"message":"The server had an error","type":"server_error"}}`), onceward.ClassServerError, onceward.PhaseSent, onceward.EffectBreaker, false, 0, onceward.CostMeasured},
		"402 disables":                    {reply(402, "application/json", `{"error":{"message":"Insufficient credits"}}`), onceward.ClassBilling, onceward.PhaseSent, onceward.EffectDisable, false, 0, onceward.CostMeasured},
		"redirect is not followed": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, onceward.ClassEndpointMisconfigured, onceward.PhaseSent, onceward.EffectDisable, false, 0, onceward.CostMeasured},
		"zero bytes are the transport's fault":        {reply(200, "text/event-stream", ""), onceward.ClassEmptyOutput, onceward.PhaseSent, onceward.EffectBreaker, false, ceiling, onceward.CostReserved},
		"empty json body counts":                      {reply(200, "application/json", "null"), onceward.ClassEmptyOutput, "", onceward.EffectBreaker, false, ceiling, onceward.CostReserved},
		"completed without output does not count":     {stream(evCreated, evEmpty), onceward.ClassEmptyOutput, onceward.PhaseSettled, onceward.EffectNone, true, ceiling, onceward.CostReserved},
		"all-zero usage is unknown":                   {stream(evCreated, evBare), onceward.ClassEmptyOutput, onceward.PhaseSettled, onceward.EffectNone, true, ceiling, onceward.CostReserved},
		"200 then failed has not started":             {stream(evCreated, evFailed), onceward.ClassServerError, onceward.PhaseSent, onceward.EffectBreaker, false, ceiling, onceward.CostReserved},
		"failed after output has started":             {stream(evCreated, evAdded, evFailed), onceward.ClassServerError, onceward.PhaseStream, onceward.EffectBreaker, true, ceiling, onceward.CostReserved},
		"error key inside a delta stops nothing":      {stream(`{"type":"response.output_text.delta","delta":"x","error":null}`, evFailed), onceward.ClassServerError, onceward.PhaseStream, onceward.EffectBreaker, true, ceiling, onceward.CostReserved},
		"no terminal event before output":             {stream(evCreated), onceward.ClassEmptyOutput, onceward.PhaseSent, onceward.EffectBreaker, false, ceiling, onceward.CostReserved},
		"no terminal event after output":              {stream(evCreated, evDone), onceward.ClassNetwork, onceward.PhaseStream, onceward.EffectBreaker, true, ceiling, onceward.CostReserved},
		"[DONE] ends nothing":                         {stream(evCreated, evDone, "[DONE]"), onceward.ClassNetwork, onceward.PhaseStream, onceward.EffectBreaker, true, ceiling, onceward.CostReserved},
		"cut stream":                                  {cut, onceward.ClassNetwork, onceward.PhaseStream, onceward.EffectBreaker, true, ceiling, onceward.CostReserved},
		"reset before headers":                        {reset, onceward.ClassNetwork, onceward.PhaseSent, onceward.EffectBreaker, false, ceiling, onceward.CostReserved},
		"broken event":                                {stream(evCreated, evAdded, `{"type":"response.output_`), onceward.ClassNetwork, onceward.PhaseStream, onceward.EffectBreaker, true, ceiling, onceward.CostReserved},
		"a bare error object ends the stream":         {stream(evCreated, `{"error":{"code":"server_error","message":"boom"}}`), onceward.ClassServerError, onceward.PhaseSent, onceward.EffectBreaker, false, ceiling, onceward.CostReserved},
		"completed that says incomplete":              {stream(`{"type":"response.completed","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}}`), onceward.ClassIncompleteOutput, onceward.PhaseSettled, onceward.EffectNone, false, ceiling, onceward.CostReserved},
		"half a count of tokens is unknown":           {stream(`{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"refusal","refusal":"no"}]}],"usage":{"input_tokens":500,"output_tokens":0}}}`), onceward.ClassRefusal, onceward.PhaseSettled, onceward.EffectNone, true, ceiling, onceward.CostReserved},
		"a broken terminal event":                     {stream(evCreated, evDone, `{"type":"response.completed","resp`+"\n"+`{"type":"error","error":{"message":"x"}}`), onceward.ClassNetwork, onceward.PhaseStream, onceward.EffectBreaker, true, ceiling, onceward.CostReserved},
		"truncated arguments are never an action":     {stream(evCreated, evCall, evEmpty), onceward.ClassInvalidOutput, onceward.PhaseSettled, onceward.EffectNone, true, ceiling, onceward.CostReserved},
		"refusal is an answer with its price":         {stream(evCreated, evRefusal), onceward.ClassRefusal, onceward.PhaseSettled, onceward.EffectNone, true, price.Cost(onceward.Usage{InputTokens: 3, OutputTokens: 3}), onceward.CostMeasured},
		"content filter is never routed around":       {stream(evCreated, evFiltered), onceward.ClassContentFiltered, onceward.PhaseSent, onceward.EffectNone, false, ceiling, onceward.CostReserved},
		"cut at the token limit":                      {stream(evCreated, evAdded, evLength), onceward.ClassIncompleteOutput, onceward.PhaseSettled, onceward.EffectNone, true, price.Cost(onceward.Usage{InputTokens: 3, OutputTokens: 1000}), onceward.CostMeasured},
		"a web page is no API":                        {reply(200, "text/html", "<html>ok</html>"), onceward.ClassEndpointMisconfigured, "", onceward.EffectDisable, false, ceiling, onceward.CostReserved},
		"an error object inside a 200 body is failed": {reply(200, "application/json", `{"error":{"message":"x"}}`), onceward.ClassServerError, "", onceward.EffectBreaker, false, ceiling, onceward.CostReserved},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.handler)
			r := pool(t, Config{}, resource("a", s.URL+"/v1/"))
			res, err := r.Call(context.Background(), routed(t, r, "a"))
			f := failed(t, err)
			if f.Class != c.class || c.phase != "" && f.Phase != c.phase || f.StateEffect != c.effect || f.ResponseStarted != c.started {
				t.Errorf("failure %+v", *f)
			}
			if res.Cost != c.cost || res.CostBasis != c.basis {
				t.Errorf("cost %d %s, want %d %s", res.Cost, res.CostBasis, c.cost, c.basis)
			}
			if f.Resource != "a" || f.Deployment != "dep-a" || f.NotSent {
				t.Errorf("failure %+v", *f)
			}
			if n := s.requests.Load(); n != 1 {
				t.Errorf("%d requests", n)
			}
			r.Close() // a test has a permit of its own
			if st := status(t, r, "a"); st.InFlight != 0 {
				t.Errorf("%d permits left behind", st.InFlight)
			}
		})
	}
}

func TestJSONAnswerToAStreamRequestIsAccepted(t *testing.T) {
	var end struct{ Response json.RawMessage }
	if err := json.Unmarshal([]byte(evEnd), &end); err != nil {
		t.Fatal(err)
	}
	for _, contentType := range []string{"application/json", "text/event-stream", "text/plain"} {
		s := serve(t, reply(200, contentType, string(end.Response)))
		r := pool(t, Config{}, resource("a", s.URL))
		if res := mustCall(t, r, routed(t, r, "a")); res.Text != "hi" || !res.Usage.Known {
			t.Errorf("as %s: %+v", contentType, res)
		}
	}
}

func TestCallsAreBoundToTheirItems(t *testing.T) {
	rs := `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}`
	fc := `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"  "}`
	s := serve(t, stream(evCreated,
		`{"type":"response.output_item.done","output_index":0,"item":`+rs+`}`,
		`{"type":"response.output_item.done","output_index":1,"item":`+fc+`}`,
		`{"type":"response.output_item.done","output_index":1,"item":`+fc+`}`,
		`{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`))
	r := pool(t, Config{}, resource("a", s.URL))
	req := routed(t, r, "a")
	req.Check = func(string) error { return errors.New("a turn with calls is not checked") }
	res := mustCall(t, r, req)
	want := onceward.WireCall{Index: 1, CallID: "call_1", Name: "f", Arguments: "{}"}
	if len(res.Items) != 2 || len(res.Calls) != 1 || res.Calls[0] != want {
		t.Fatalf("response %+v", res)
	}
	if res.Items[0].Boundary != "a" || res.Items[1].Boundary != "" {
		t.Errorf("boundaries %q %q", res.Items[0].Boundary, res.Items[1].Boundary)
	}
	if res.CostBasis != onceward.CostReserved {
		t.Errorf("absent usage is priced as %s", res.CostBasis)
	}
}

func TestCheckDecidesInsideTheAttempt(t *testing.T) {
	message := func(text string) string {
		return `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + text + `"}]}`
	}
	s := serve(t, stream(`{"type":"response.completed","response":{"status":"completed","output":[`+message("good")+`,`+message("noise")+`]}}`))
	r := pool(t, Config{}, resource("a", s.URL))
	req := routed(t, r, "a")
	req.Check = func(text string) error {
		if text != "good" {
			return errors.New("not good")
		}
		return nil
	}
	if res := mustCall(t, r, req); res.Text != "good" {
		t.Errorf("text %q", res.Text)
	}
	req.Check = func(string) error { return errors.New("never") }
	for range 10 {
		_, err := r.Call(context.Background(), req)
		if f := failed(t, err); f.Class != onceward.ClassInvalidOutput || f.Phase != onceward.PhaseSettled || f.StateEffect != onceward.EffectNone {
			t.Fatalf("failure %+v", *f)
		}
	}
	if st := status(t, r, "a"); st.Breaker != "closed" {
		t.Errorf("breaker %s", st.Breaker)
	}
}

func TestClocksAreTheResourcesAndContextsTheCallers(t *testing.T) {
	hang := func(events ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if len(events) > 0 {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, frames(events...))
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
		}
	}
	short := 50 * time.Millisecond
	for name, c := range map[string]struct {
		handler  http.HandlerFunc
		timeouts onceward.Timeouts
		deadline time.Duration
		class    onceward.Class
		phase    onceward.Phase
		message  string
	}{
		"no headers":          {hang(), onceward.Timeouts{FirstEvent: short}, 0, onceward.ClassTimeout, onceward.PhaseSent, "first event"},
		"comments only":       {stream0(": hello\n\n"), onceward.Timeouts{FirstEvent: short}, 0, onceward.ClassTimeout, onceward.PhaseSent, "first event"},
		"idle before output":  {hang(evCreated), onceward.Timeouts{Idle: short}, 0, onceward.ClassTimeout, onceward.PhaseSent, "further event"},
		"idle after output":   {hang(evCreated, evAdded), onceward.Timeouts{Idle: short}, 0, onceward.ClassTimeout, onceward.PhaseStream, "further event"},
		"whole attempt":       {hang(evCreated), onceward.Timeouts{Attempt: short}, 0, onceward.ClassTimeout, onceward.PhaseSent, "finished"},
		"the caller deadline": {hang(evCreated, evAdded), onceward.Timeouts{}, short, onceward.ClassDeadlineExceeded, onceward.PhaseStream, "deadline"},
		"the caller cancels":  {hang(evCreated), onceward.Timeouts{}, -1, onceward.ClassCancelled, onceward.PhaseSent, "cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := pool(t, Config{Transport: piped(t, c.handler)}, resource("a", "http://a.example/v1"))
				req := routed(t, r, "a")
				req.Timeouts = c.timeouts
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if c.deadline > 0 {
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				if c.deadline < 0 {
					req.Progress = func(_ onceward.Phase, n int) {
						if n == 1 {
							cancel()
						}
					}
				}
				res, err := r.Call(ctx, req)
				f := failed(t, err)
				if f.Class != c.class || f.Phase != c.phase || !strings.Contains(f.Message, c.message) || res.CostBasis != onceward.CostReserved {
					t.Errorf("failure %+v, cost basis %s", *f, res.CostBasis)
				}
				if counts := f.StateEffect == onceward.EffectBreaker; counts != (c.class == onceward.ClassTimeout) {
					t.Errorf("effect %s", f.StateEffect)
				}
			})
		})
	}
}

// stream0 sends raw text and hangs.
func stream0(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

func TestNothingIsSentForACallerWhoIsGone(t *testing.T) {
	s := serve(t, stream(evEnd))
	r := pool(t, Config{}, resource("a", s.URL))
	req := routed(t, r, "a")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	res, err := r.Call(ctx, req)
	if f := failed(t, err); f.Class != onceward.ClassCancelled || !f.NotSent || res.Cost != 0 || s.requests.Load() != 0 {
		t.Errorf("failure %+v, %d requests", *f, s.requests.Load())
	}
}

func TestUnreachableResourceCostsNothingAndCounts(t *testing.T) {
	// As from a port where nobody listens. A port that was given back may be
	// another process's before it is dialled.
	refused := &http.Transport{DialContext: func(_ context.Context, network, _ string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}}
	r := pool(t, Config{Transport: refused}, resource("a", "http://127.0.0.1:9/v1"))
	res, err := r.Call(context.Background(), routed(t, r, "a"))
	f := failed(t, err)
	if f.Class != onceward.ClassNetwork || f.Phase != onceward.PhasePrepare || f.NotSent || res.Cost != 0 || f.StateEffect != onceward.EffectBreaker {
		t.Errorf("failure %+v, cost %d", *f, res.Cost)
	}
}

func TestPermitsComeBackAfterAPanic(t *testing.T) {
	s := serve(t, stream(evCreated, evEnd))
	r := pool(t, Config{}, resource("a", s.URL))
	req := routed(t, r, "a")
	req.Check = func(string) error { panic("user code") }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = r.Call(context.Background(), req)
	}()
	if st := status(t, r, "a"); st.InFlight != 0 {
		t.Errorf("%d in flight", st.InFlight)
	}
	req.Check = nil
	mustCall(t, r, req)
}

func TestBoundsOfAnAnswer(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		line := bytes.Repeat([]byte("x"), 1<<20)
		_, _ = io.WriteString(w, "data: ")
		for range 64 {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	})
	r := pool(t, Config{}, resource("a", s.URL))
	_, err := r.Call(context.Background(), routed(t, r, "a"))
	if f := failed(t, err); f.Class != onceward.ClassInvalidOutput || !strings.Contains(f.Message, "too large") {
		t.Errorf("failure %+v", *f)
	}
}

func TestKeyIsNowhere(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(401)
		_, _ = io.WriteString(w, `{"error":{"message":"bad key `+r.Header.Get("api-key")+`"}}`)
	})
	res := resource("a", s.URL)
	res.Key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
	r := pool(t, Config{}, res)
	_, err := r.Call(context.Background(), routed(t, r, "a"))
	dump, _ := json.Marshal([]any{err, r.Health(), res})
	if strings.Contains(string(dump)+err.Error(), "abcdefghij") {
		t.Errorf("the key is in %s", dump)
	}
}

func TestCallerWhoGoesBeforeAConnectionIsThereSentNothing(t *testing.T) {
	dialing := make(chan struct{})
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		close(dialing)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	res := resource("a", "http://a.example/v1")
	res.Quota = Quota{RequestsPerMinute: 10}
	r := pool(t, Config{Transport: transport}, res)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-dialing; cancel() }()
	got, err := r.Call(ctx, request(t, forced("a")))
	if f := failed(t, err); f.Class != onceward.ClassCancelled || !f.NotSent || f.Phase != onceward.PhasePrepare || got.Cost != 0 {
		t.Errorf("failure %+v, cost %d", *f, got.Cost)
	}
	if st := status(t, r, "a"); st.RequestsLeft != 10 {
		t.Errorf("%d requests left of 10", st.RequestsLeft)
	}
}

func TestOutputRepairIsAppliedOnce(t *testing.T) {
	s := serve(t, stream(evCreated, evEnd))
	r := pool(t, Config{}, resource("a", s.URL))
	ask := onceward.RouteRequest{RunKey: "wf/1", Models: []string{"m"}, Requirements: onceward.Requirements{OutputTokens: 1000}, Repair: onceward.RepairRaiseOutput}
	told := request(t, *r.Select(ask).Route)
	ask.Repair = onceward.RepairNone
	untold := request(t, *r.Select(ask).Route)
	for _, req := range []onceward.ModelRequest{told, untold} {
		req.Repair = onceward.RepairRaiseOutput
		mustCall(t, r, req)
		if got := s.sent(t)["max_output_tokens"]; got != 2000.0 {
			t.Errorf("max_output_tokens %v", got)
		}
	}
}
