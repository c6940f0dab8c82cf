package judges

import (
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward/router/routertest"
)

// refundPool is a resource that plays the refund, and its address.
func refundPool(t *testing.T) (*routertest.Pool, string) {
	t.Helper()
	pool := routertest.Start(t, routertest.Config{Resources: resources("a"), Model: routertest.RefundModel()})
	return pool, pool.Resource("a").URL()
}

// served checks how many requests came and that all but so many were answered.
func served(t *testing.T, pool *routertest.Pool, attempts, refused int) {
	t.Helper()
	if n := pool.Attempts(); n != attempts {
		t.Errorf("the pool saw %d requests, want %d", n, attempts)
	}
	for _, q := range pool.Requests() {
		if q.Outcome.Status != 200 {
			refused--
			if refused < 0 {
				t.Errorf("request %d was answered %d: %s", q.Seq, q.Outcome.Status, q.Outcome.Error)
			}
		}
	}
}

// toolCall is a call as a client's tool received it.
type toolCall struct {
	Name   string `json:"name"`
	Order  string `json:"order_id"`
	Amount int    `json:"amount_cents"`
}

// refundedTwice checks the calls of a refund that was made whole and streamed.
func refundedTwice(t *testing.T, called []toolCall) {
	t.Helper()
	want := []toolCall{{"get_order", "order-1842", 0}, {"create_refund", "order-1842", 4250}}
	if len(called) != 4 {
		t.Fatalf("tools were called as %+v", called)
	}
	for i, c := range called {
		if c != want[i%2] {
			t.Errorf("call %d was %+v, want %+v", i, c, want[i%2])
		}
	}
}

const refunded = "status committed, reference rf_1"

func TestCorpusOfficialClientRefunds(t *testing.T) {
	t.Parallel()
	installed(t)
	pool, base := refundPool(t)
	type result struct {
		Text   string
		Turns  int
		Status string
		Usage  bool
	}
	var got struct {
		Whole, Streamed result
		Events          map[string]int
		Followed        string
		Fetched         bool
		Held, Given     []string
		Refused         struct {
			Status           int
			Message, Request string
			Known            bool
		}
	}
	script(t, "openai.mjs", base, &got)
	for how, r := range map[string]result{"whole": got.Whole, "streamed": got.Streamed} {
		if !strings.Contains(r.Text, refunded) || r.Turns != 3 || r.Status != "completed" || !r.Usage {
			t.Errorf("%s: %+v", how, r)
		}
	}
	for event, n := range map[string]int{
		"response.created": 3, "response.completed": 3, "response.output_item.done": 6, "response.function_call_arguments.done": 2, "response.output_text.done": 1,
	} {
		if got.Events[event] != n {
			t.Errorf("%d events %s, want %d", got.Events[event], event, n)
		}
	}
	if got.Events["response.output_text.delta"] < 2 {
		t.Errorf("events %v", got.Events)
	}
	if !strings.Contains(got.Followed, "no such order") || !got.Fetched {
		t.Errorf("a stored response was continued as %q, fetched %t", got.Followed, got.Fetched)
	}
	if want := []string{"message", "message", "message", "function_call"}; !slices.Equal(got.Held, want) {
		t.Errorf("its conversation holds %q, want %q", got.Held, want)
	}
	if want := []string{"Please refund order-7.", "It never arrived.", "Do it now."}; !slices.Equal(got.Given, want) {
		t.Errorf("a response lists its input as %q, want %q", got.Given, want)
	}
	if r := got.Refused; r.Status != 400 || !r.Known || r.Request == "" || !strings.Contains(r.Message, "No tool call found") {
		t.Errorf("an output without a call was refused as %+v", r)
	}
	served(t, pool, 10, 1)
}

func TestCorpusOfficialAgentLibraryRefunds(t *testing.T) {
	t.Parallel()
	installed(t)
	pool, base := refundPool(t)
	var got struct {
		Whole, Streamed string
		Called          []toolCall
	}
	script(t, "agents.mjs", base, &got)
	if !strings.Contains(got.Whole, refunded) || !strings.Contains(got.Streamed, refunded) {
		t.Errorf("whole %q, streamed %q", got.Whole, got.Streamed)
	}
	refundedTwice(t, got.Called)
	served(t, pool, 6, 0)
}

func TestCorpusAISDKRefunds(t *testing.T) {
	t.Parallel()
	installed(t)
	pool, base := refundPool(t)
	var got struct {
		Streamed, Whole, Reason string
		Steps                   int
		Usage                   bool
		Parts                   map[string]int
		Called                  []toolCall
	}
	script(t, "aisdk.mjs", base, &got)
	if !strings.Contains(got.Whole, refunded) || !strings.Contains(got.Streamed, refunded) {
		t.Errorf("whole %q, streamed %q", got.Whole, got.Streamed)
	}
	if got.Steps != 3 || got.Reason != "stop" || !got.Usage || got.Parts["tool-call"] != 2 || got.Parts["tool-result"] != 2 || got.Parts["reasoning-start"] == 0 {
		t.Errorf("%+v", got)
	}
	refundedTwice(t, got.Called)
	served(t, pool, 6, 0)
}
