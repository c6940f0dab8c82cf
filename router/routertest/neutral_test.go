package routertest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward/router/routertest"
)

// neutral is the header of a test of health.
var neutral = []string{routertest.NeutralHeader, "1"}

func neutralAsk() obj {
	return with(ask(user("Reply with ok. 0a1b2c3d")), "max_output_tokens", 16)
}

func set(t *testing.T, p *routertest.Pool, faults ...routertest.Fault) {
	t.Helper()
	if err := p.SetFaults(faults...); err != nil {
		t.Fatal(err)
	}
}

// statuses posts so many times and returns what came.
func statuses(t *testing.T, s *routertest.Server, n int, header ...string) []int {
	t.Helper()
	var out []int
	for range n {
		out = append(out, post(t, s, neutralAsk(), header...).status)
	}
	return out
}

func TestNeutralRequestIsAnsweredBesideEveryScript(t *testing.T) {
	t.Parallel()
	script := routertest.Model{Rules: []routertest.Rule{{Times: 1, Reply: []routertest.Out{routertest.Say("once")}}}}
	for name, row := range map[string]struct {
		resource routertest.Resource
		path     string
		body     obj
		want     string
		usage    string
	}{
		"responses":           {routertest.Resource{Name: "A"}, "responses", neutralAsk(), `"text":"ok"`, `"output_tokens":1,`},
		"responses, streamed": {routertest.Resource{Name: "A"}, "responses", streamed(neutralAsk()), `"text":"ok"`, `"output_tokens":1,`},
		"chat": {routertest.Resource{Name: "A", API: routertest.APIChatCompletions}, "chat/completions",
			with(messages(user("Reply with ok.")), "max_completion_tokens", 16), `"content":"ok"`, `"completion_tokens":1,`},
		"chat of an older host, streamed": {routertest.Resource{Name: "A", API: routertest.APIChatCompletions, Dialect: routertest.DialectCompatible}, "chat/completions",
			with(with(streamed(messages(user("Reply with ok."))), "max_tokens", 16), "stream_options", obj{"include_usage": true}), `"content":"ok"`, `"completion_tokens":1,`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, script, row.resource).Resource("A")
			url := s.URL() + row.path
			for range 2 {
				if g := postTo(t, url, row.body, neutral...); g.status != 200 || !strings.Contains(g.body, row.want) || !strings.Contains(g.body, row.usage) {
					t.Fatalf("%d %s", g.status, g.body)
				}
			}
			if g := postTo(t, url, row.body); g.status != 200 || strings.Contains(g.body, row.want) {
				t.Errorf("a neutral took the script's turn: %d %s", g.status, g.body)
			}
			if s.Attempts() != 1 || len(s.Neutrals()) != 2 || len(s.Requests()) != 1 || s.Requests()[0].Nth != 1 {
				t.Errorf("%d attempts, %d neutrals, %d requests", s.Attempts(), len(s.Neutrals()), len(s.Requests()))
			}
		})
	}
}

func TestNeutralRequestIsCheckedAsAnyOther(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.Model{}, routertest.Resource{Name: "A", Key: "k", Deployments: []string{"m"}})
	s := p.Resource("A")
	for name, row := range map[string]struct {
		body   obj
		key    string
		status int
	}{
		"another key":          {neutralAsk(), "x", 401},
		"another model":        {with(neutralAsk(), "model", "n"), "k", 404},
		"an unknown parameter": {with(neutralAsk(), "neutral", true), "k", 400},
		"too small a limit":    {with(neutralAsk(), "max_output_tokens", 15), "k", 400},
		"well formed":          {neutralAsk(), "k", 200},
	} {
		if g := post(t, s, row.body, routertest.NeutralHeader, "1", "Authorization", "Bearer "+row.key); g.status != row.status {
			t.Errorf("%s: %d %s", name, g.status, g.body)
		}
	}
	if p.Attempts() != 0 || len(p.Neutrals()) != 5 {
		t.Errorf("%d attempts, %d neutrals", p.Attempts(), len(p.Neutrals()))
	}
}

func TestNeutralRequestLeavesNoState(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.Model{}, routertest.Resource{Name: "A", Conversations: []string{"conv_1"}})
	s := p.Resource("A")
	body := with(with(neutralAsk(), "store", true), "conversation", "conv_1")
	g := post(t, s, body, neutral...)
	if g.status != 200 || len(s.Conversation("conv_1")) != 0 {
		t.Errorf("%d, the conversation holds %d items", g.status, len(s.Conversation("conv_1")))
	}
	if id := g.json(t)["id"].(string); do(t, within(t), "GET", s.URL()+"responses/"+id, nil).status != 404 {
		t.Error("the answer to a neutral request was stored")
	}
	post(t, s, neutralAsk(), neutral...)
	post(t, s, neutralAsk())
	if o := p.Requests()[1].Outcome; o.CachedTokens != 0 || o.InputTokens == 0 {
		t.Errorf("%+v: a neutral warmed the cache of a run", o)
	}
}

func TestNeutralRequestsAreCountedAndShownApart(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.Model{}, routertest.Resource{Name: "B"}, routertest.Resource{Name: "A"})
	var runs, neutrals, events []int
	p.OnRequest(func(r routertest.Request) { runs = append(runs, r.Seq) })
	p.OnDone(func(r routertest.Request) {
		if r.Neutral {
			t.Error("OnDone was called for a neutral request")
		}
	})
	p.OnEvent(func(r routertest.Request, _ routertest.Event) { events = append(events, r.Seq) })
	p.OnNeutral(func(r routertest.Request) { neutrals = append(neutrals, r.Seq) })
	a, b := p.Resource("A"), p.Resource("B")
	post(t, a, streamed(neutralAsk()), neutral...)
	post(t, a, ask(user("one")))
	post(t, b, with(neutralAsk(), "model", "n"), neutral...)
	post(t, b, ask(user("two")), routertest.NeutralHeader, "true") // marks nothing
	post(t, a, neutralAsk(), neutral...)
	if !slices.Equal(runs, []int{1, 2}) || !slices.Equal(neutrals, []int{1, 2, 3}) || len(events) != 0 {
		t.Errorf("hooks saw runs %v, neutrals %v, events of %v", runs, neutrals, events)
	}
	var order []string
	for i, r := range p.Traffic() {
		sort := "run"
		if r.Neutral {
			sort = "neutral"
		}
		order = append(order, r.Resource+" "+sort)
		if r.Order != i+1 || r.Time.IsZero() {
			t.Errorf("request %d: order %d at %s", i+1, r.Order, r.Time)
		}
	}
	if got := strings.Join(order, ", "); got != "A neutral, A run, B neutral, B run, A neutral" {
		t.Error(got)
	}
	want := []routertest.Count{{Resource: "B", Model: "m", Attempts: 1}, {Resource: "B", Model: "n", Neutrals: 1}, {Resource: "A", Model: "m", Attempts: 1, Neutrals: 2}}
	if got := p.Counts(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	r, err := p.AwaitNeutral(within(t), routertest.Nth("A", 2))
	if err != nil || r.Order != 5 || r.Header.Get(routertest.NeutralHeader) != "1" || !strings.Contains(string(r.Raw), "0a1b2c3d") || r.Body.MaxOutputTokens != 16 {
		t.Errorf("%+v %v", r, err)
	}
	if r, err := p.Await(within(t), routertest.Nth("", 2)); err != nil || r.Resource != "B" || r.Neutral {
		t.Errorf("%+v %v", r, err)
	}
}

func TestNeutralsDoNotUseUpWhatIsMeantForRuns(t *testing.T) {
	t.Parallel()
	fail := routertest.FailWith(500, "").On("A")
	for name, row := range map[string]struct {
		fault  routertest.Fault
		before []int // neutrals that come first
		runs   []int
		after  []int // neutrals that come last
	}{
		"always":           {fail, []int{500, 500}, []int{500, 500, 500}, []int{500, 500, 500}},
		"once":             {fail.For(1), []int{500, 200}, []int{500, 200, 200}, []int{200, 200, 200}},
		"once, by a run":   {fail.For(1), nil, []int{500, 200}, []int{200, 200}},
		"twice":            {fail.For(2), []int{500, 500}, []int{500, 500, 200}, []int{200, 200, 200}},
		"the second":       {fail.OnNth(2), []int{200, 200}, []int{200, 500, 200}, []int{200, 200, 200}},
		"a third of each":  {fail.ShareOf(1, 3), []int{200, 200}, []int{200, 200, 500}, []int{500, 200, 200}},
		"runs only":        {fail.Of(routertest.Runs), []int{200, 200}, []int{500, 500, 500}, []int{200, 200, 200}},
		"neutrals only":    {fail.Of(routertest.Neutrals), []int{500, 500}, []int{200, 200, 200}, []int{500, 500, 500}},
		"three neutrals":   {fail.Of(routertest.Neutrals).For(3), []int{500, 500}, []int{200, 200, 200}, []int{500, 200, 200}},
		"the 4th neutral":  {fail.Of(routertest.Neutrals).OnNth(4), []int{200, 200}, []int{200, 200, 200}, []int{200, 500, 200}},
		"another resource": {fail.On("B"), []int{200, 200}, []int{200, 200, 200}, []int{200, 200, 200}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, routertest.Model{}, routertest.Resource{Name: "A"}, routertest.Resource{Name: "B"})
			set(t, p, row.fault)
			a := p.Resource("A")
			for i, step := range []struct {
				header []string
				want   []int
			}{{neutral, row.before}, {nil, row.runs}, {neutral, row.after}} {
				if got := statuses(t, a, len(step.want), step.header...); !slices.Equal(got, step.want) {
					t.Errorf("step %d: %v, want %v", i, got, step.want)
				}
			}
		})
	}
}

// A neutral is held at the resource while the requests of runs pass, and the
// other way round; each is seen to come, without a sleep.
func TestHoldOfOneSort(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		only routertest.Sort
		held []string
		free []string
	}{{routertest.Neutrals, neutral, nil}, {routertest.Runs, nil, neutral}} {
		t.Run(string(row.only), func(t *testing.T) {
			t.Parallel()
			p := start(t, routertest.Model{})
			set(t, p, routertest.Fault{ID: "hold", Kind: routertest.FaultHang, Only: row.only})
			a, answers := p.Resource("A"), make(chan got, 3)
			for range 3 {
				go func() { answers <- post(t, a, neutralAsk(), row.held...) }()
			}
			await := p.Await
			if row.only == routertest.Neutrals {
				await = p.AwaitNeutral
			}
			if _, err := await(within(t), routertest.Nth("A", 3)); err != nil {
				t.Fatal(err)
			}
			if g := post(t, a, neutralAsk(), row.free...); g.status != 200 || len(answers) != 0 {
				t.Errorf("%d, %d of those held were answered", g.status, len(answers))
			}
			p.Release("hold")
			for range 3 {
				if g := <-answers; g.status != 200 {
					t.Errorf("%+v", g)
				}
			}
		})
	}
}

func TestControlShowsNeutralsApart(t *testing.T) {
	t.Parallel()
	p := routertest.Start(t, routertest.Config{Resources: []routertest.Resource{{Name: "A"}}, Control: "127.0.0.1:0"})
	ctl := func(method, path string, body any) got {
		return do(t, within(t), method, p.ControlURL()+"/_control/"+path, body)
	}
	a := p.Resource("A")
	post(t, a, ask(user("one")))
	post(t, a, neutralAsk(), neutral...)
	post(t, a, ask(user("two")))
	for query, want := range map[string][]int{
		"": {1, 3}, "?of=runs&since=1": {3}, "?of=neutrals": {2}, "?of=neutrals&since=1": {}, "?of=all": {1, 2, 3}, "?of=all&since=2": {3},
	} {
		var list []routertest.Request
		g := ctl("GET", "requests"+query, nil)
		if err := json.Unmarshal([]byte(g.body), &list); err != nil {
			t.Fatal(err)
		}
		orders := []int{}
		for _, r := range list {
			orders = append(orders, r.Order)
		}
		if !slices.Equal(orders, want) {
			t.Errorf("requests%s: %v, want %v", query, orders, want)
		}
	}
	if g := ctl("GET", "counts", nil); strings.TrimSpace(g.body) != `[{"resource":"A","model":"m","attempts":2,"neutrals":1,"cache_hits":0}]` {
		t.Error(g.body)
	}
	for query, order := range map[string]float64{"count=2": 3, "of=neutrals": 2, "of=all&count=2": 2, "of=all&since=2": 3} {
		if g := ctl("GET", "await?done=true&timeout=1m&"+query, nil); g.status != 200 || g.json(t)["order"] != order {
			t.Errorf("await?%s: %+v", query, g)
		}
	}
	for _, path := range []string{"requests?of=neutral", "await?of=both"} {
		if g := ctl("GET", path, nil); g.status != 400 {
			t.Errorf("%s: %+v", path, g)
		}
	}
	ctl("PUT", "faults", `[{"kind":"status","status":402,"only":"neutrals","match":{"output_below":32}}]`)
	if got := append(statuses(t, a, 1), statuses(t, a, 1, neutral...)...); !slices.Equal(got, []int{200, 402}) {
		t.Errorf("%v", got)
	}
}
