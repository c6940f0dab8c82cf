package router

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward"
)

// lab is a pool of resources in memory, in a bubble whose clock moves only when
// nothing else can: hours of suspicion, windows and tests take no time and no luck.
type lab struct {
	t *testing.T
	r *Router

	mu      sync.Mutex
	answer  map[string]answerer
	asked   []asked
	changes []Change
}

// asked is one request as a resource saw it.
type asked struct {
	resource string
	neutral  bool
	body     string
	header   http.Header
	at       time.Time
}

// answerer answers the nth request to a resource, counted from 1.
type answerer func(q asked, n int) (status int, header map[string]string, body string)

var (
	okBody = frames(evAdded, evDone, evEnd)
	fine   = func(asked, int) (int, map[string]string, string) { return 200, nil, okBody }
)

// always gives one answer to everything.
func always(status int, body string) answerer {
	return func(asked, int) (int, map[string]string, string) { return status, nil, body }
}

// runsOnly gives an answer to runs, and lets neutral requests pass.
func runsOnly(a answerer) answerer {
	return func(q asked, n int) (int, map[string]string, string) {
		if q.neutral {
			return fine(q, n)
		}
		return a(q, n)
	}
}

// inLab runs a test in a bubble, with resources that all serve at first. change may
// alter the configuration.
func inLab(t *testing.T, names []string, change func(*Config), test func(*lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &lab{t: t, answer: map[string]answerer{}}
		cfg := Config{Transport: piped(t, l.serve), OnChange: l.told}
		for _, name := range names {
			cfg.Resources = append(cfg.Resources, resource(name, "http://"+name+".test/v1"))
			l.answer[name] = fine
		}
		if change != nil {
			change(&cfg)
		}
		l.r = pool(t, cfg)
		test(l)
	})
}

func (l *lab) told(c Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes = append(l.changes, c)
}

func (l *lab) set(name string, a answerer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answer[name] = a
}

func (l *lab) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	l.mu.Lock()
	name, _, _ := strings.Cut(r.Host, ".")
	q := asked{name, r.Header.Get(HeaderNeutral) == "1", string(body), r.Header, time.Now()}
	l.asked = append(l.asked, q)
	n := 0
	for _, a := range l.asked {
		if a.resource == name {
			n++
		}
	}
	answer := l.answer[name]
	l.mu.Unlock()
	status, header, text := answer(q, n)
	w.Header().Set("Content-Type", "application/json")
	if status == 200 {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	if strings.HasPrefix(text, "<") {
		w.Header().Set("Content-Type", "text/html")
	}
	for k, v := range header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// sent returns the runs' or the neutral requests to a resource.
func (l *lab) sent(name string, neutral bool) (out []asked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range l.asked {
		if q.resource == name && q.neutral == neutral {
			out = append(out, q)
		}
	}
	return out
}

func (l *lab) neutrals(name string) int { return len(l.sent(name, true)) }
func (l *lab) runs(name string) int     { return len(l.sent(name, false)) }

// events counts the changes of a kind, of all resources for "".
func (l *lab) events(name string, event Event) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.changes {
		if c.Event == event && (name == "" || c.Resource == name) {
			n++
		}
	}
	return n
}

// call lets a run with a prompt call one resource, whatever selection would say.
func (l *lab) call(name, run, prompt string) *onceward.Failure {
	l.t.Helper()
	req := request(l.t, forced(name))
	req.RunKey = run
	req.Items = []onceward.Item{text(l.t, "user", prompt)}
	_, err := l.r.Call(context.Background(), req)
	if err == nil {
		return nil
	}
	return failed(l.t, err)
}

// ask lets a run choose for itself, once, and reports where it went; "" is nowhere.
func (l *lab) ask(run, prompt string) (string, *onceward.Failure) {
	l.t.Helper()
	d := l.r.Select(onceward.RouteRequest{RunKey: run, Turn: 1, Attempt: 1, Models: []string{"m"}, Bytes: len(prompt), Requirements: onceward.Requirements{OutputTokens: 1000}})
	if d.Route == nil {
		return "", nil
	}
	req := request(l.t, *d.Route)
	req.RunKey = run
	req.Items = []onceward.Item{text(l.t, "user", prompt)}
	_, err := l.r.Call(context.Background(), req)
	var f *onceward.Failure
	errors.As(err, &f)
	return d.Route.Resource, f
}

// settle lets the clock pass, and everything that is due in it happen.
func (l *lab) settle(d time.Duration) {
	if d > 0 {
		<-time.After(d)
	}
	synctest.Wait()
}

func (l *lab) state(name string) string { return status(l.t, l.r, name).State }

// pauses are the times between the requests, rounded to seconds.
func pauses(list []asked) string {
	var out []string
	for i := 1; i < len(list); i++ {
		out = append(out, fmt.Sprint(int(list[i].at.Sub(list[i-1].at).Round(time.Second).Seconds())))
	}
	return strings.Join(out, " ")
}

func equalBodies(list []asked) bool {
	for i := 1; i < len(list); i++ {
		if bytes.Equal([]byte(list[i].body), []byte(list[i-1].body)) {
			return true
		}
	}
	return false
}
