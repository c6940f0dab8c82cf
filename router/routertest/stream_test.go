package routertest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward/router/routertest"
)

// compactTypes folds repeats, because how many deltas a text has is no fact.
func compactTypes(types []string) string { return strings.Join(slices.Compact(types), " ") }

func TestStreamHasTheRealEventOrder(t *testing.T) {
	t.Parallel()
	const (
		head    = "response.created response.in_progress "
		item    = "response.output_item.added "
		done    = "response.output_item.done "
		message = item + "response.content_part.added response.output_text.delta response.output_text.done response.content_part.done " + done
		call    = item + "response.function_call_arguments.delta response.function_call_arguments.done " + done
		summary = item + "response.reasoning_summary_part.added response.reasoning_summary_text.delta response.reasoning_summary_text.done response.reasoning_summary_part.done " + done
	)
	for _, c := range []struct {
		name string
		out  []routertest.Out
		want string
	}{
		{"a text", []routertest.Out{routertest.Say("Hello there, this is a text.")}, head + message + "response.completed"},
		{"a call", []routertest.Out{routertest.CallTool("get_order", obj{"order_id": "order-1"})}, head + call + "response.completed"},
		{"two calls", []routertest.Out{routertest.CallTool("a", obj{"x": 1}), routertest.CallTool("b", obj{"x": 2})}, head + call + call + "response.completed"},
		{"reasoning with a summary, then a call", []routertest.Out{{Reasoning: &routertest.Reasoning{Summary: "Thinking about it."}}, routertest.CallTool("a", obj{"x": 1})}, head + summary + call + "response.completed"},
		{"reasoning without a summary, then a text", []routertest.Out{{Reasoning: &routertest.Reasoning{}}, routertest.Say("Hello there")}, head + item + done + message + "response.completed"},
		{"a refusal", []routertest.Out{{Refusal: "I cannot help with that."}}, head + item + "response.content_part.added response.refusal.delta response.refusal.done response.content_part.done " + done + "response.completed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, routertest.Model{Rules: []routertest.Rule{{Reply: c.out}}})
			g := post(t, p.Resource("A"), streamed(ask(user("hi"))))
			if got := compactTypes(g.types()); got != c.want {
				t.Errorf("event types:\n got %s\nwant %s", got, c.want)
			}
			if ct := g.header.Get("Content-Type"); !strings.HasPrefix(ct, "text/event-stream") {
				t.Errorf("content type %q", ct)
			}
			for i, e := range g.events {
				if e["sequence_number"] != float64(i) {
					t.Errorf("event %d has sequence_number %v", i, e["sequence_number"])
				}
			}
			for _, typ := range g.types() {
				if !strings.Contains(g.body, "event: "+typ+"\n") {
					t.Errorf("no event line for %s", typ)
				}
			}
		})
	}
}

func TestDeltasJoinToTheText(t *testing.T) {
	t.Parallel()
	text := "Grüße, 世界! Ein Text mit Zeichen von mehreren Bytes 🙂 <b>&amp;</b>."
	p := start(t, routertest.Model{Rules: []routertest.Rule{{Reply: []routertest.Out{routertest.Say(text)}}}})
	g := post(t, p.Resource("A"), streamed(ask(user("hi"))))
	var joined strings.Builder
	for _, e := range g.events {
		if e["type"] == "response.output_text.delta" {
			joined.WriteString(e["delta"].(string))
		}
	}
	if joined.String() != text {
		t.Errorf("deltas join to %q", joined.String())
	}
	if !strings.Contains(g.body, "<b>&amp;</b>") {
		t.Error("the text is HTML-escaped, which the real API does not do")
	}
	r := g.last(t)["response"].(obj)
	if r["status"] != "completed" || len(r["output"].([]any)) != 1 {
		t.Errorf("terminal response %v", r)
	}
}

func TestUsageCountsWarmPrefixOfThisResourceOnly(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.Model{}, routertest.Resource{Name: "A"}, routertest.Resource{Name: "B"})
	long := strings.Repeat("a long instruction. ", 200)
	one := with(ask(user("first")), "instructions", long)
	two := with(ask(user("first"), obj{"role": "assistant", "content": "ok"}, user("second")), "instructions", long)
	usage := func(g got) (in, cached float64) {
		u := g.json(t)["usage"].(obj)
		return u["input_tokens"].(float64), u["input_tokens_details"].(obj)["cached_tokens"].(float64)
	}
	if _, cached := usage(post(t, p.Resource("A"), one)); cached != 0 {
		t.Errorf("a cold prompt has %v cached tokens", cached)
	}
	in, cached := usage(post(t, p.Resource("A"), two))
	if cached < 0.9*in || cached >= in {
		t.Errorf("warm resource: %v of %v tokens cached", cached, in)
	}
	if _, cached := usage(post(t, p.Resource("B"), two)); cached != 0 {
		t.Errorf("another resource: %v cached tokens", cached)
	}
}

func TestShortMaxOutputTokensEndsIncomplete(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.Model{Rules: []routertest.Rule{{Reply: []routertest.Out{routertest.Say(strings.Repeat("word ", 100))}}}})
	g := post(t, p.Resource("A"), streamed(with(ask(user("hi")), "max_output_tokens", 16)))
	last := g.last(t)
	r := last["response"].(obj)
	if last["type"] != "response.incomplete" || r["incomplete_details"].(obj)["reason"] != "max_output_tokens" {
		t.Errorf("terminal event %v", last)
	}
	if out := r["usage"].(obj)["output_tokens"]; out != float64(16) {
		t.Errorf("output_tokens %v", out)
	}
}

func TestDriftShowsInAnswers(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.RefundModel(), routertest.Resource{Name: "A", Drift: routertest.Drift{
		Model: "m-2026-01-01", Headers: map[string]string{"x-policy": "strict"}, ContentFilters: []byte(`[{"blocked":false}]`),
		RateLimit: routertest.RateLimit{RemainingTokens: 7}, EmptySnapshot: true, ReasoningStatus: true,
	}})
	g := post(t, p.Resource("A"), streamed(with(ask(user("hi")), "include", []string{"reasoning.encrypted_content"})))
	r := g.last(t)["response"].(obj)
	if r["model"] != "m-2026-01-01" || g.header.Get("x-policy") != "strict" || g.header.Get("x-ratelimit-remaining-tokens") != "7" || r["content_filters"] == nil {
		t.Errorf("drift is not seen: %v %v", r["model"], g.header)
	}
	if len(r["output"].([]any)) != 0 {
		t.Errorf("the snapshot is not empty")
	}
	if !strings.Contains(g.body, `"type":"reasoning","status":"completed"`) {
		t.Errorf("reasoning has no status")
	}
	p.Resource("A").SetDrift(routertest.Drift{SealInSnapshotOnly: true})
	g = post(t, p.Resource("A"), streamed(with(ask(user("hi")), "include", []string{"reasoning.encrypted_content"})))
	for _, e := range g.events {
		item, _ := e["item"].(obj)
		if item["encrypted_content"] != nil {
			t.Errorf("%v carries the seal", e["type"])
		}
	}
	first := g.last(t)["response"].(obj)["output"].([]any)[0].(obj)
	if first["encrypted_content"] == nil {
		t.Error("the snapshot has no seal")
	}
}
