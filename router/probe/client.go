package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
	"github.com/onceward/onceward/router/classify"
	"github.com/onceward/onceward/router/redact"
	"github.com/onceward/onceward/router/wire"
)

const (
	// budget is the output limit of a probe: enough for a little reasoning.
	budget = 400
	// maxBody bounds an answer.
	maxBody = 4 << 20
	// question wants a moment's thought, so that there is reasoning to replay.
	question = "What is 17 times 23? Think briefly, then reply with the number only."
)

// client makes plain JSON requests: a probe looks at what a resource really
// says, before any repair or judgement of the router.
type client struct {
	gates    map[string]http.RoundTripper // by resource: credential and headers go in there, none comes out
	secrets  *redact.Set
	timeout  time.Duration
	requests int
}

func newClient(cfg Config) *client {
	if cfg.Timeout <= 0 {
		cfg.Timeout = time.Minute
	}
	transport := cfg.Pool.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	c := &client{timeout: cfg.Timeout, secrets: cfg.Pool.Redactor(), gates: map[string]http.RoundTripper{}}
	for _, r := range cfg.Pool.Resources {
		c.gates[r.Name] = cfg.Pool.Gate(r, transport)
	}
	return c
}

// response is what came back.
type response struct {
	secrets *redact.Set
	status  int
	header  http.Header
	raw     []byte
	err     error
	body    struct {
		ID             string            `json:"id"`
		Model          string            `json:"model"`
		Status         string            `json:"status"`
		Output         []json.RawMessage `json:"output"`
		ContentFilters json.RawMessage   `json:"content_filters"`
		Error          json.RawMessage   `json:"error"`
		Usage          json.RawMessage   `json:"usage"`
	}
}

func (r response) ok() bool {
	return r.err == nil && r.status == http.StatusOK && r.body.ID != "" && !r.failed()
}

// failed reports a failure inside a success: some gateways answer 200 before they
// have asked anybody.
func (r response) failed() bool {
	switch strings.ToLower(r.body.Status) {
	case "failed", "cancelled", "canceled", "error":
		return true
	}
	return wire.Tells(r.body.Error)
}

// refused reports an answer that says that the request itself is wrong.
func (r response) refused() bool {
	switch {
	case r.err != nil:
		return false
	case r.status == http.StatusBadRequest, r.status == http.StatusNotFound, r.status == http.StatusUnprocessableEntity:
		return true
	}
	f := r.class()
	return r.status == http.StatusOK && r.failed() && (f.Class == onceward.ClassInvalidRequest || f.Class == onceward.ClassUndecryptableReasoning)
}

// read returns the input tokens as the resource counts them, 0 where it does not.
// Cached ones may stand beside the others, and are read all the same.
func (r response) read() int {
	answer, _ := wire.ReadAnswer(append(append([]byte(`{"usage":`), r.body.Usage...), '}'))
	return answer.Usage.InputTokens
}

func (r response) class() *onceward.Failure {
	return classify.Classify(classify.Input{Transport: classify.HTTP, Status: r.status, Header: r.header, Body: r.raw, Now: time.Now()})
}

// why says in a line what went wrong.
func (r response) why() string {
	if r.err != nil {
		return short(r.secrets.Message(r.err.Error()))
	}
	f := r.class()
	return fmt.Sprintf("HTTP %d %s: %s", r.status, f.Class, short(r.secrets.Message(f.Message)))
}

// policy describes the content filters of an answer by their names and levels,
// without what they found in this text.
func (r response) policy() string {
	if name := r.header.Get("X-Policy"); name != "" {
		return name
	}
	if len(r.body.ContentFilters) == 0 || string(r.body.ContentFilters) == "null" {
		return "none reported"
	}
	var filters []map[string]any
	if json.Unmarshal(r.body.ContentFilters, &filters) != nil {
		return "unreadable"
	}
	return strings.Join(keysOf(filters), " ")
}

func (c *client) ask(ctx context.Context, r *Resource, fields map[string]any) response {
	return c.post(ctx, r, "responses", fields)
}

func (c *client) post(ctx context.Context, r *Resource, path string, fields map[string]any) response {
	fields["model"] = r.Deployment
	body, err := json.Marshal(fields)
	if err != nil {
		return response{err: err}
	}
	return c.do(ctx, r.in, http.MethodPost, path, body)
}

func (c *client) get(ctx context.Context, r *Resource, path string) response {
	return c.do(ctx, r.in, http.MethodGet, path, nil)
}

func (c *client) do(ctx context.Context, to router.Resource, method, path string, body []byte) response {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(to.BaseURL, "/")+"/"+path, bytes.NewReader(body))
	if err != nil {
		return response{err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	c.requests++
	once := &http.Client{
		Transport:     c.gates[to.Name],
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := once.Do(req)
	if err != nil {
		return response{secrets: c.secrets, err: err}
	}
	defer func() { _ = res.Body.Close() }()
	out := response{secrets: c.secrets, status: res.StatusCode, header: res.Header}
	if out.raw, out.err = io.ReadAll(io.LimitReader(res.Body, maxBody)); out.err == nil && res.StatusCode == http.StatusOK {
		out.err = json.Unmarshal(out.raw, &out.body)
	}
	return out
}
