package routertest_test

import (
	"testing"

	"github.com/onceward/onceward/router/routertest"
)

func numbered() routertest.Model {
	return routertest.Model{Rules: []routertest.Rule{{Reply: []routertest.Out{routertest.Say("answer ${n}")}}}}
}

func TestCachingGatewayAnswersEqualBodies(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		resource routertest.Resource
		path     string
		body     func(string) obj
	}{
		"responses": {routertest.Resource{Name: "A"}, "responses", func(s string) obj { return ask(user(s)) }},
		"streamed":  {routertest.Resource{Name: "A"}, "responses", func(s string) obj { return streamed(ask(user(s))) }},
		"chat":      {routertest.Resource{Name: "A", API: routertest.APIChatCompletions}, "chat/completions", func(s string) obj { return messages(user(s)) }},
		"streamed chat": {routertest.Resource{Name: "A", API: routertest.APIChatCompletions}, "chat/completions",
			func(s string) obj { return streamed(messages(user(s))) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, numbered(), row.resource)
			set(t, p, routertest.Fault{Kind: routertest.FaultCache})
			url := p.Resource("A").URL() + row.path
			first := postTo(t, url, row.body("one"))
			again := postTo(t, url, row.body("one"), "Cache-Control", "no-cache") // which it does not honour
			other := postTo(t, url, row.body("two"))
			if first.status != 200 || again.body != first.body || other.body == first.body || again.header.Get("Content-Type") != first.header.Get("Content-Type") {
				t.Errorf("%q\n%q\n%q", first.body, again.body, other.body)
			}
			set(t, p, routertest.FailWith(500, ""), routertest.Fault{Kind: routertest.FaultCache})
			if g := postTo(t, url, row.body("one")); g.status != 500 {
				t.Errorf("a new gateway remembers: %+v", g)
			}
			want := routertest.Count{Resource: "A", Model: "m", Attempts: 4, CacheHits: 1}
			if got := p.Counts(); len(got) != 1 || got[0] != want || !p.Requests()[1].Outcome.CacheHit {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Whoever tests health through such a gateway must not be told "ok" by it when
// the resource is dead.
func TestCachingGatewayHidesADeadResource(t *testing.T) {
	t.Parallel()
	p := start(t, numbered())
	s := p.Resource("A")
	for _, row := range []struct {
		honours bool
		want    []int // the equal body again, with no-cache, without it, another body
	}{{false, []int{200, 200, 503}}, {true, []int{503, 200, 503}}} {
		set(t, p, routertest.Fault{Kind: routertest.FaultCache, HonourNoCache: row.honours})
		if g := post(t, s, neutralAsk(), neutral...); g.status != 200 {
			t.Fatalf("%+v", g)
		}
		if err := p.AddFaults(routertest.FailWith(503, "")); err != nil {
			t.Fatal(err)
		}
		noCache := append([]string{"Cache-Control", "No-Cache, no-store"}, neutral...)
		got := []int{
			post(t, s, neutralAsk(), noCache...).status,
			post(t, s, neutralAsk(), neutral...).status,
			post(t, s, with(neutralAsk(), "input", "Reply with ok. ffffffff"), noCache...).status,
		}
		for i := range got {
			if got[i] != row.want[i] {
				t.Errorf("honours %v, request %d: %d, want %d", row.honours, i, got[i], row.want[i])
			}
		}
	}
	if got := p.Counts(); len(got) != 1 || got[0].Attempts != 0 || got[0].Neutrals != 8 || got[0].CacheHits != 3 {
		t.Errorf("%+v", got)
	}
}

func TestCachingGatewayKeepsNoFailure(t *testing.T) {
	t.Parallel()
	p := start(t, numbered())
	for _, f := range []routertest.Fault{
		routertest.FailWith(500, ""), routertest.Page(200, ""), {Kind: routertest.FaultFailed}, {Kind: routertest.FaultCutEvents, AfterEvents: 2}, {Kind: routertest.FaultCutBytes, AfterBytes: 10},
	} {
		for _, body := range []obj{ask(user("hi")), streamed(ask(user("hi")))} {
			set(t, p, routertest.Fault{Kind: routertest.FaultCache}, f.For(1))
			post(t, p.Resource("A"), body)
			if g := post(t, p.Resource("A"), body); g.status != 200 || g.err != nil || p.Requests()[len(p.Requests())-1].Outcome.CacheHit {
				t.Errorf("%s was kept: %+v", f.Kind, g)
			}
		}
	}
}
