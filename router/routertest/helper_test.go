package routertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/router/routertest"
)

type obj = map[string]any

type got struct {
	status int
	header http.Header
	body   string
	err    error // of the request or of reading the body
	events []obj
}

func (g got) types() []string {
	var out []string
	for _, e := range g.events {
		out = append(out, e["type"].(string))
	}
	return out
}

func (g got) json(t *testing.T) obj {
	t.Helper()
	var m obj
	if err := json.Unmarshal([]byte(g.body), &m); err != nil {
		t.Fatalf("body is not an object: %v: %s", err, g.body)
	}
	return m
}

func (g got) last(t *testing.T) obj {
	t.Helper()
	if len(g.events) == 0 {
		t.Fatalf("no events: status %d body %q err %v", g.status, g.body, g.err)
	}
	return g.events[len(g.events)-1]
}

// client opens a connection for each request, so that a cut connection of one
// test row is never reused by the next.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func post(t *testing.T, s *routertest.Server, body any, header ...string) got {
	t.Helper()
	return postTo(t, s.URL()+"responses", body, header...)
}

func postTo(t *testing.T, url string, body any, header ...string) got {
	t.Helper()
	return do(t, within(t), http.MethodPost, url, body, header...)
}

func do(t *testing.T, ctx context.Context, method, url string, body any, header ...string) got {
	t.Helper()
	var data []byte
	switch b := body.(type) {
	case nil:
	case string:
		data = []byte(b)
	default:
		data, _ = json.Marshal(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		return got{err: err}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	g := got{status: res.StatusCode, header: res.Header, body: string(text), err: err}
	for line := range strings.SplitSeq(g.body, "\n") {
		if d, ok := strings.CutPrefix(line, "data: "); ok {
			var e obj
			if json.Unmarshal([]byte(d), &e) == nil {
				g.events = append(g.events, e)
			}
		}
	}
	return g
}

func start(t *testing.T, m routertest.Model, resources ...routertest.Resource) *routertest.Pool {
	t.Helper()
	if len(resources) == 0 {
		resources = []routertest.Resource{{Name: "A"}}
	}
	return routertest.Start(t, routertest.Config{Resources: resources, Model: m})
}

func user(text string) obj { return obj{"role": "user", "content": text} }

func fcall(id, name, args string) obj {
	return obj{"type": "function_call", "call_id": id, "name": name, "arguments": args}
}

func foutput(id, out string) obj {
	return obj{"type": "function_call_output", "call_id": id, "output": out}
}

func ask(input ...any) obj {
	return obj{"model": "m", "store": false, "input": input}
}

func streamed(body obj) obj {
	out := obj{"stream": true}
	for k, v := range body {
		out[k] = v
	}
	return out
}

func with(body obj, key string, value any) obj {
	out := obj{}
	for k, v := range body {
		out[k] = v
	}
	out[key] = value
	return out
}
