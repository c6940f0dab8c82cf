package routertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/onceward/onceward/router/routertest"
)

// Each row's fault comes over the control interface, as the tests of processes
// set it.
func TestFaultsByWhatWasSent(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 2000)
	hi := ask(user("hi"))
	for name, row := range map[string]struct {
		match string
		hit   []obj
		pass  []obj
	}{
		"a marker in the text": {`{"marker":"DROP TABLE"}`,
			[]obj{ask(user("please DROP TABLE x")), with(hi, "instructions", "DROP TABLE"), streamed(ask(user("DROP TABLE")))},
			[]obj{hi, ask(user("drop table x")), ask(user("DROP  TABLE"))}},
		"a marker that is escaped": {`{"marker":"<script>\"é\""}`,
			[]obj{ask(user(`see <script>"é"`))}, []obj{ask(user(`<script>é`))}},
		"an output limit above": {`{"output_above":200}`,
			[]obj{with(hi, "max_output_tokens", 201), hi}, []obj{with(hi, "max_output_tokens", 200), with(hi, "max_output_tokens", 16)}},
		"an output limit below": {`{"output_below":32}`,
			[]obj{with(hi, "max_output_tokens", 31), with(hi, "max_output_tokens", 16)}, []obj{with(hi, "max_output_tokens", 32), hi}},
		"a large body": {`{"bytes_above":8000}`, []obj{ask(user(long))}, []obj{hi, with(hi, "max_output_tokens", 16)}},
		"two of them":  {`{"bytes_above":8000,"marker":"word"}`, []obj{ask(user(long))}, []obj{ask(user("word")), ask(user(strings.ToUpper(long)))}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := routertest.Start(t, routertest.Config{Resources: []routertest.Resource{{Name: "A"}}, Control: "127.0.0.1:0"})
			if g := do(t, within(t), "PUT", p.ControlURL()+"/_control/faults", `[{"kind":"status","status":418,"match":`+row.match+`}]`); g.status != 200 {
				t.Fatalf("%+v", g)
			}
			for i, body := range row.hit {
				if g := post(t, p.Resource("A"), body); g.status != 418 {
					t.Errorf("hit %d: %d", i, g.status)
				}
			}
			for i, body := range row.pass {
				if g := post(t, p.Resource("A"), body); g.status != 200 {
					t.Errorf("pass %d: %d", i, g.status)
				}
			}
		})
	}
}

func TestOutputLimitOfChatIsRefused(t *testing.T) {
	t.Parallel()
	for key, dialect := range map[string]routertest.Dialect{"max_tokens": routertest.DialectCompatible, "max_completion_tokens": ""} {
		s := start(t, routertest.Model{}, routertest.Resource{Name: "A", API: routertest.APIChatCompletions, Dialect: dialect,
			Faults: []routertest.Fault{routertest.FailWith(400, `{"error":{"message":"invalid value"}}`).Where(routertest.Match{OutputBelow: 32})}}).Resource("A")
		for limit, want := range map[int]int{16: 400, 32: 200} {
			if g := chat(t, s, with(messages(user("hi")), key, limit)); g.status != want {
				t.Errorf("%s %d: %d %s", key, limit, g.status, g.body)
			}
		}
	}
}

func TestOneWorkerIsRefused(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.Model{})
	s := p.Resource("A")
	for name, row := range map[string]struct {
		match     routertest.Match
		hit, pass []string
	}{
		"by a header":        {routertest.Match{Header: map[string]string{"x-worker": "1"}}, []string{"X-Worker", "1"}, []string{"X-Worker", "11"}},
		"by a bearer key":    {routertest.Match{Key: "one"}, []string{"Authorization", "Bearer one"}, []string{"Authorization", "Bearer two"}},
		"by an api-key":      {routertest.Match{Key: "one"}, []string{"api-key", "one"}, nil},
		"by a secret header": {routertest.Match{Header: map[string]string{"X-Api-Key": "one"}}, []string{"X-Api-Key", "one"}, []string{"X-Api-Key", "redacted"}},
	} {
		set(t, p, routertest.FailWith(403, "not you").Where(row.match))
		if g := post(t, s, neutralAsk(), append(row.hit, neutral...)...); g.status != 403 || g.body != "not you" {
			t.Errorf("%s: %+v", name, g)
		}
		if g := post(t, s, neutralAsk(), row.pass...); g.status != 200 {
			t.Errorf("%s, the other worker: %+v", name, g)
		}
	}
	for _, r := range p.Traffic() {
		if data, _ := json.Marshal(r); strings.Contains(string(data), `"one"`) {
			t.Errorf("a credential was recorded: %s", data)
		}
	}
}

func TestLargeRequestsGetNoAnswer(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.Model{})
	set(t, p, routertest.Fault{Kind: routertest.FaultHang, Match: routertest.Match{BytesAbove: 4000}})
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan got, 1)
	go func() {
		answer <- do(t, ctx, "POST", p.Resource("A").URL()+"responses", ask(user(strings.Repeat("x", 4000))))
	}()
	if _, err := p.Await(within(t), func(r routertest.Request) bool { return r.Outcome.Fault == routertest.FaultHang }); err != nil {
		t.Fatal(err)
	}
	if g := post(t, p.Resource("A"), neutralAsk(), neutral...); g.status != 200 {
		t.Errorf("the small request: %+v", g)
	}
	cancel()
	if g := <-answer; g.err == nil {
		t.Errorf("the large request: %+v", g)
	}
}

func TestShareIsExactAndSpread(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.Model{})
	for _, row := range []struct {
		fail, of int
		want     string
	}{{2, 5, "..x.x..x.x"}, {1, 2, ".x.x.x.x.x"}, {3, 3, "xxxxxxxxxx"}, {4, 5, ".xxxx.xxxx"}, {1, 10, ".........x"}} {
		set(t, p, routertest.FailWith(500, "").ShareOf(row.fail, row.of))
		var got strings.Builder
		for _, s := range statuses(t, p.Resource("A"), 10) {
			got.WriteString(map[int]string{200: ".", 500: "x"}[s])
		}
		if got.String() != row.want {
			t.Errorf("%d of %d: %s, want %s", row.fail, row.of, got.String(), row.want)
		}
	}
}

func TestThrottleSaysWhatItsHeadersSay(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.Model{})
	for key, value := range map[string]string{"Retry-After-Ms": "0", "Retry-After": "3600"} {
		set(t, p, routertest.Throttle(map[string]string{key: value}).For(2))
		for i, want := range []int{429, 429, 200} {
			g := post(t, p.Resource("A"), ask(user("hi")))
			if g.status != want || want == 429 && g.header.Get(key) != value || strings.Contains(g.body, "try again") {
				t.Errorf("%s, request %d: %d %v %s", key, i, g.status, g.header, g.body)
			}
		}
	}
}

func TestWrongConditionsAreRefused(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.Model{})
	ok := routertest.FailWith(500, "")
	for i, f := range []routertest.Fault{
		ok.Of("neutral"), ok.Of("all"), ok.ShareOf(3, 2), ok.ShareOf(-1, 2), ok.ShareOf(0, 2), ok.ShareOf(1, 0), ok.ShareOf(1, 2).OnNth(1), ok.ShareOf(1, -1),
		ok.Where(routertest.Match{BytesAbove: -1}), ok.Where(routertest.Match{OutputAbove: -1}), ok.Where(routertest.Match{OutputBelow: -1}),
		routertest.Page(99, ""), routertest.Page(600, ""),
	} {
		if err := p.AddFaults(f); err == nil {
			t.Errorf("fault %d was taken: %+v", i, f)
		}
	}
	for _, text := range []string{`{"kind":"status","status":500,"only":"neutrals","share":{"fail":1,"off":2}}`, `{"kind":"status","status":500,"match":{"bytes":1}}`} {
		var f routertest.Fault
		if err := json.Unmarshal([]byte(text), &f); err == nil {
			t.Errorf("%s was read as %+v", text, f)
		}
	}
	if n := len(p.Faults()); n != 0 {
		t.Error(fmt.Sprint(n, " faults are set"))
	}
}
