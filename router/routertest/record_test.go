package routertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/onceward/onceward/router/routertest"
)

func TestRequestsAreRecordedWithTheirOutcome(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.Model{}, routertest.Resource{Name: "A"}, routertest.Resource{Name: "B"})
	post(t, p.Resource("A"), ask(user("one")))
	post(t, p.Resource("B"), streamed(ask(user("two"))))
	post(t, p.Resource("A"), with(ask(user("three")), "nonsense", 1))
	do(t, within(t), http.MethodGet, p.Resource("A").URL()+"models", nil)
	all := p.Requests()
	if len(all) != 4 || p.Attempts() != 3 || p.Resource("A").Attempts() != 2 || len(p.Resource("B").Requests()) != 1 {
		t.Fatalf("%d requests", len(all))
	}
	one, two, three := all[0], all[1], all[2]
	if one.Seq != 1 || one.Resource != "A" || one.Nth != 1 || !one.Outcome.Complete || !one.Outcome.Done || one.Outcome.ResponseID == "" || one.LastUser() != "one" {
		t.Errorf("%+v", one)
	}
	if two.Seq != 2 || two.Nth != 1 || two.Outcome.Events < 8 || !two.Outcome.Complete || !two.Body.Stream {
		t.Errorf("%+v", two)
	}
	if three.Nth != 2 || three.Outcome.Status != 400 || three.Outcome.Error != "unknown_parameter" || three.Outcome.Complete {
		t.Errorf("%+v", three)
	}
	p.ForgetRequests()
	post(t, p.Resource("A"), ask(user("four")))
	if all := p.Requests(); len(all) != 1 || all[0].Seq != 5 {
		t.Errorf("after forgetting: %+v", all)
	}
}

func TestHooksHoldTheAnswerAtTheirMoment(t *testing.T) {
	t.Parallel()
	p := start(t, twelveWords)
	ctx, kill := context.WithCancel(within(t))
	received := 0
	p.OnRequest(func(routertest.Request) { received++ })
	gone := make(chan struct{})
	remove := p.OnEvent(func(_ routertest.Request, e routertest.Event) {
		if e.N == 5 {
			kill() // as a test kills its worker: nothing more may reach it
			<-gone
		}
	})
	done := make(chan routertest.Request, 2)
	p.OnDone(func(r routertest.Request) { done <- r })
	g := do(t, ctx, http.MethodPost, p.Resource("A").URL()+"responses", streamed(ask(user("hi"))))
	close(gone)
	if g.err == nil {
		t.Error("the killed client read a whole answer")
	}
	<-done
	remove()
	post(t, p.Resource("A"), streamed(ask(user("hi"))))
	if r := <-done; received != 2 || !r.Outcome.Complete {
		t.Errorf("%d received, %+v", received, r.Outcome)
	}
}

func TestAwaitSeesPastAndFutureAndEnds(t *testing.T) {
	t.Parallel()
	p := start(t, twelveWords)
	post(t, p.Resource("A"), streamed(ask(user("past"))))
	if r, err := p.Await(within(t), func(r routertest.Request) bool { return r.LastUser() == "past" }); err != nil || r.Seq != 1 {
		t.Errorf("%v %v", r.Seq, err)
	}
	if err := p.SetFaults(routertest.Fault{Kind: routertest.FaultHangEvents, AfterEvents: 6, ID: "h"}); err != nil {
		t.Fatal(err)
	}
	answer := make(chan got, 1)
	go func() { answer <- post(t, p.Resource("A"), streamed(ask(user("future")))) }()
	r, err := p.Await(within(t), func(r routertest.Request) bool { return r.LastUser() == "future" && r.Outcome.Events == 6 })
	if err != nil || r.Outcome.Done {
		t.Errorf("%+v %v", r.Outcome, err)
	}
	p.ClearFaults()
	if g := <-answer; g.last(t)["type"] != "response.completed" {
		t.Errorf("%v", g.last(t))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Await(ctx, func(routertest.Request) bool { return false }); err == nil {
		t.Error("an ended context gave a request")
	}
	p.Close()
	if _, err := p.Await(within(t), func(routertest.Request) bool { return false }); err == nil {
		t.Error("a closed pool gave a request")
	}
}

func TestCloseEndsWhatHangs(t *testing.T) {
	t.Parallel()
	p := start(t, twelveWords)
	if err := p.SetFaults(routertest.Fault{Kind: routertest.FaultHang}); err != nil {
		t.Fatal(err)
	}
	answer := make(chan got, 1)
	go func() { answer <- post(t, p.Resource("A"), ask(user("hi"))) }()
	if _, err := p.Await(within(t), func(r routertest.Request) bool { return r.Outcome.Fault != "" }); err != nil {
		t.Fatal(err)
	}
	p.Close()
	if g := <-answer; g.err == nil {
		t.Errorf("%+v", g)
	}
}

func TestPoolServesManyAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.RefundModel(), routertest.Resource{Name: "A"}, routertest.Resource{Name: "B"})
	const clients, each = 8, 10
	if err := p.AddFaults(routertest.FailWith(500, "").On("A").For(15)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				s := p.Resources()[(c+i)%2]
				body := ask(user(fmt.Sprintf("refund order-%d-%d", c, i)))
				if i%3 == 0 {
					body = streamed(body)
				}
				g := post(t, s, body)
				mu.Lock()
				statuses[g.status]++
				mu.Unlock()
				p.Resource("B").SetDrift(routertest.Drift{Model: "other"})
				if i == 5 {
					_ = p.Requests()
					_ = p.Faults()
				}
			}
		})
	}
	wg.Wait()
	if statuses[500] != 15 || statuses[200] != clients*each-15 || p.Attempts() != clients*each {
		t.Errorf("%v, %d attempts", statuses, p.Attempts())
	}
}

func TestControlListenerScriptsAPoolFromOutside(t *testing.T) {
	t.Parallel()
	p := routertest.Start(t, routertest.Config{Resources: []routertest.Resource{{Name: "A"}, {Name: "B"}}, Control: "127.0.0.1:0"})
	ctl := func(method, path string, body any, header ...string) got {
		return do(t, within(t), method, p.ControlURL()+"/_control/"+path, body, header...)
	}
	var list []struct{ Name, URL string }
	if err := json.Unmarshal([]byte(ctl("GET", "resources", nil).body), &list); err != nil || len(list) != 2 || list[1].URL != p.Resource("B").URL() {
		t.Errorf("%+v %v", list, err)
	}
	if g := ctl("POST", "faults", `{"id":"f","kind":"status","status":503,"resource":"A","times":1}`); g.status != 200 {
		t.Errorf("%+v", g)
	}
	if g := ctl("POST", "faults", `[{"kind":"nonsense"}]`); g.status != 400 {
		t.Errorf("%+v", g)
	}
	if s := post(t, p.Resource("A"), ask(user("hi"))).status; s != 503 {
		t.Errorf("status %d", s)
	}
	if s := post(t, p.Resource("A"), ask(user("hi"))).status; s != 200 {
		t.Errorf("status %d", s)
	}
	var reqs []routertest.Request
	g := ctl("GET", "requests?resource=A&since=1", nil)
	if err := json.Unmarshal([]byte(g.body), &reqs); err != nil || len(reqs) != 1 || reqs[0].Seq != 2 || reqs[0].Body.Model != "m" {
		t.Errorf("%s %v", g.body, err)
	}
	if g := ctl("GET", "await?resource=A&count=2&done=true&timeout=1m", nil); g.status != 200 || g.json(t)["seq"] != float64(2) {
		t.Errorf("%+v", g)
	}
	if g := ctl("GET", "await?resource=B&timeout=1ms", nil); g.status != 408 {
		t.Errorf("%+v", g)
	}
	ctl("POST", "faults", `{"id":"h","kind":"hang","resource":"B"}`)
	answer := make(chan got, 1)
	go func() { answer <- post(t, p.Resource("B"), ask(user("hi"))) }()
	if g := ctl("GET", "await?resource=B&timeout=1m", nil); g.status != 200 {
		t.Errorf("%+v", g)
	}
	if g := ctl("DELETE", "faults?id=h", nil); g.status != 200 {
		t.Errorf("%+v", g)
	}
	if g := <-answer; g.status != 200 {
		t.Errorf("after the removal: %+v", g)
	}
	if g := ctl("PUT", "model?resource=B", `{"rules":[{"reply":[{"text":"changed"}]}]}`); g.status != 200 {
		t.Errorf("%+v", g)
	}
	if _, text := turn(t, post(t, p.Resource("B"), ask(user("hi")))); text != "changed" {
		t.Errorf("%s", text)
	}
	if g := ctl("DELETE", "requests", nil); g.status != 200 || len(p.Requests()) != 0 {
		t.Errorf("%+v", g)
	}
	if g := ctl("DELETE", "faults", nil); g.status != 200 || len(p.Faults()) != 0 {
		t.Errorf("%+v", g)
	}
	if g := ctl("POST", "faults", `{"kind":"empty"}`, "Origin", "http://example.com"); g.status != 403 || len(p.Faults()) != 0 {
		t.Errorf("%+v", g)
	}
}

func TestURLIsABaseURL(t *testing.T) {
	t.Parallel()
	p := start(t, routertest.Model{}, routertest.Resource{Name: "A"}, routertest.Resource{Name: "B", BasePath: "v1", Deployments: []string{"m", "n"}})
	u, err := url.Parse(p.Resource("A").URL())
	if err != nil || u.Path != "/openai/v1/" || u.Hostname() != "127.0.0.1" {
		t.Errorf("%v %v", u, err)
	}
	if u, _ := url.Parse(p.Resource("B").URL()); u.Path != "/v1/" {
		t.Errorf("%v", u)
	}
	if p.Resource("Z").URL() != "" {
		t.Error("an unknown resource has a URL")
	}
	if g := do(t, within(t), "GET", p.Resource("B").URL()+"models", nil); len(g.json(t)["data"].([]any)) != 2 {
		t.Errorf("%s", g.body)
	}
	if g := postTo(t, p.Resource("A").URL()+"nothing", "{}"); g.status != 404 {
		t.Errorf("%+v", g)
	}
}
