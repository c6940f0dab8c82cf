package routertest

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

var errClosed = errors.New("the pool is closed")

// Dialect selects the wording of errors that differ between hosts.
type Dialect string

// The dialects. They differ in the answers to a wrong key, a missing
// deployment, an item that was not persisted and an id of another resource.
// DialectCompatible is of a host of Chat Completions that knows its older
// parameters only: max_tokens, no prompt_cache_key, no developer role.
const (
	DialectAzure      Dialect = "azure"
	DialectOpenAI     Dialect = "openai"
	DialectCompatible Dialect = "compatible"
)

// Resource describes one resource of a pool. Only Name is required.
type Resource struct {
	// Name is unique in the pool.
	Name string `json:"name"`
	// Addr is the address to listen on; empty: a free port of 127.0.0.1.
	Addr string `json:"addr,omitempty"`
	// API is what is spoken; empty: APIResponses.
	API API `json:"api,omitempty"`
	// BasePath is the path before "responses" or "chat/completions"; empty:
	// "/openai/v1/".
	BasePath string `json:"base_path,omitempty"`
	// Key is demanded as "Authorization: Bearer" or "api-key"; empty: no key.
	Key string `json:"key,omitempty"`
	// Deployments are the model names that are served; empty: every name.
	Deployments []string `json:"deployments,omitempty"`
	// EncryptionBoundary seals reasoning; resources of one value open each
	// other's. Empty: the resource's name.
	EncryptionBoundary string `json:"encryption_boundary,omitempty"`
	// NoEncryptedReasoning refuses include of reasoning.encrypted_content, as
	// models without reasoning do.
	NoEncryptedReasoning bool `json:"no_encrypted_reasoning,omitempty"`
	// Files are the ids of files that were uploaded to the resource; an
	// input_file part that names another is refused.
	Files []string `json:"files,omitempty"`
	// Conversations are the ids of its conversations beside those that clients
	// make. Each is empty at first; the resource puts its items before a request's
	// input and appends input and answer to it. Other ids are refused.
	Conversations []string `json:"conversations,omitempty"`
	// ContextTokens refuses longer inputs; 0: no limit.
	ContextTokens int `json:"context_tokens,omitempty"`
	// Dialect is the wording of errors; empty: DialectAzure.
	Dialect Dialect `json:"dialect,omitempty"`
	// Model answers instead of the pool's model.
	Model *Model `json:"model,omitempty"`
	// Drift makes the resource differ from its siblings.
	Drift Drift `json:"drift,omitzero"`
	// Faults are set for this resource before the first request.
	Faults []Fault `json:"faults,omitempty"`
}

// Drift says in what a resource differs from the others of its pool. The zero
// value is no difference.
type Drift struct {
	// Model is the response's model; empty: as requested.
	Model string `json:"model,omitempty"`
	// Headers are added to every answer, for example filter policy headers.
	Headers map[string]string `json:"headers,omitempty"`
	// ContentFilters is the response's content_filters field; empty: left out.
	ContentFilters json.RawMessage `json:"content_filters,omitempty"`
	// RateLimit numbers replace the defaults where they are not 0.
	RateLimit RateLimit `json:"rate_limit,omitzero"`
	// EmptySnapshot ends streams with a terminal event whose output is empty.
	EmptySnapshot bool `json:"empty_snapshot,omitempty"`
	// SealInSnapshotOnly sends encrypted_content in the terminal event only.
	SealInSnapshotOnly bool `json:"seal_in_snapshot_only,omitempty"`
	// ReasoningStatus adds the output-only status field to reasoning items;
	// replayed as it is, it is refused.
	ReasoningStatus bool `json:"reasoning_status,omitempty"`
}

// RateLimit holds the numbers of the x-ratelimit headers.
type RateLimit struct {
	LimitRequests     int `json:"limit_requests,omitempty"`
	RemainingRequests int `json:"remaining_requests,omitempty"`
	LimitTokens       int `json:"limit_tokens,omitempty"`
	RemainingTokens   int `json:"remaining_tokens,omitempty"`
}

// Server is a running resource. It is made by New and safe for concurrent use.
type Server struct {
	pool  *Pool
	cfg   Resource
	print string
	drift atomic.Pointer[Drift]
	model atomic.Pointer[compiled]
	state *state
	http  *http.Server
	addr  string
}

func newServer(p *Pool, r Resource, shared *compiled) (*Server, error) {
	if r.Name == "" {
		return nil, errors.New("no name")
	}
	if r.BasePath == "" {
		r.BasePath = "/openai/v1/"
	}
	r.BasePath = "/" + strings.Trim(r.BasePath, "/") + "/"
	if r.BasePath == "//" {
		r.BasePath = "/"
	}
	if r.EncryptionBoundary == "" {
		r.EncryptionBoundary = r.Name
	}
	switch r.Dialect {
	case "":
		r.Dialect = DialectAzure
	case DialectAzure, DialectOpenAI, DialectCompatible:
	default:
		return nil, fmt.Errorf("unknown dialect %q", r.Dialect)
	}
	switch r.API {
	case "":
		r.API = APIResponses
	case APIResponses, APIChatCompletions:
	default:
		return nil, fmt.Errorf("unknown api %q", r.API)
	}
	if r.API == APIChatCompletions && len(r.Files)+len(r.Conversations) > 0 {
		return nil, errors.New("files and conversations are of the Responses API")
	}
	s := &Server{pool: p, cfg: r, print: fingerprint(r.Name), state: newState(r.Conversations...)}
	s.drift.Store(&r.Drift)
	s.model.Store(shared)
	if r.Model != nil {
		c, err := compile(*r.Model)
		if err != nil {
			return nil, fmt.Errorf("model: %w", err)
		}
		s.model.Store(c)
	}
	return s, nil
}

func (s *Server) serve(l net.Listener) {
	s.addr = l.Addr().String()
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 20}
	go func() { _ = s.http.Serve(l) }()
}

func (s *Server) close() {
	if s.http != nil {
		_ = s.http.Close()
	}
}

// Name is the resource's name. A nil Server has none.
func (s *Server) Name() string {
	if s == nil {
		return ""
	}
	return s.cfg.Name
}

// URL is the base URL that clients are configured with; it ends in a slash.
// A nil Server, which Pool.Resource gives for an unknown name, has none.
func (s *Server) URL() string {
	if s == nil {
		return ""
	}
	return "http://" + s.addr + s.cfg.BasePath
}

// Conversation returns the items that a conversation holds; nil for one that is
// not the resource's.
func (s *Server) Conversation(id string) []Item {
	items, _ := s.state.talk(id)
	return items
}

// SetDrift replaces the drift; requests that are being answered may see either.
func (s *Server) SetDrift(d Drift) { s.drift.Store(&d) }

func hasSuffixPath(path, last string) bool { return strings.HasSuffix(path, "/"+last) }

// ServeHTTP answers the resource's API under the resource's base path.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.pool.enter() {
		panic(http.ErrAbortHandler) // net/http's own way to drop a connection; it recovers
	}
	defer s.pool.busy.Done()
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	x := &exchange{s: s, w: w, r: r, start: time.Now(), drift: *s.drift.Load()}
	x.rec = s.pool.rec.add(s.record(r, raw))
	defer s.pool.rec.finish(x.rec)
	s.setHeaders(x)
	switch {
	case err != nil:
		x.refuse(&apiError{status: 413, typ: "invalid_request_error", message: "Request body too large."})
	case !strings.HasPrefix(r.URL.Path, s.cfg.BasePath):
		x.refuse(&apiError{status: 404, bare: true, code: "404", message: "Resource not found"})
	case !s.authorized(r):
		x.refuse(unauthorized(s.cfg.Dialect, presentedKey(r.Header)))
	default:
		s.route(x, raw)
	}
}

func (s *Server) route(x *exchange, raw []byte) {
	path := strings.TrimPrefix(x.r.URL.Path, s.cfg.BasePath)
	id, one := strings.CutPrefix(path, "responses/")
	id, input := strings.CutSuffix(id, "/input_items")
	chat := s.cfg.API == APIChatCompletions
	one = one && !chat
	switch {
	case path == "responses" && !chat && x.r.Method == http.MethodPost,
		path == "chat/completions" && chat && x.r.Method == http.MethodPost:
		x.respond(raw)
	case path == "models" && x.r.Method == http.MethodGet:
		x.json(200, s.models())
	case one && input && x.r.Method == http.MethodGet:
		items, ok := s.state.input(id)
		if !ok {
			x.refuse(responseNotFound(id))
			return
		}
		x.list(s.shown(id, 0, items))
	case one && x.r.Method == http.MethodGet:
		if body, ok := s.state.response(id); ok {
			x.json(200, body)
			return
		}
		x.refuse(responseNotFound(id))
	case one && !input && x.r.Method == http.MethodDelete && s.state.remove(id):
		x.json(200, encode(map[string]any{"id": id, "object": "response", "deleted": true}))
	case !chat && x.conversations(path, raw):
	default:
		x.refuse(&apiError{status: 404, typ: "invalid_request_error", message: fmt.Sprintf("Invalid URL (%s %s)", x.r.Method, x.r.URL.Path)})
	}
}

func (s *Server) models() []byte {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	list := []model{}
	for _, d := range s.cfg.Deployments {
		list = append(list, model{ID: d, Object: "model", OwnedBy: s.cfg.Name})
	}
	return encode(map[string]any{"object": "list", "data": list})
}

func (s *Server) record(r *http.Request, raw []byte) Request {
	h := r.Header.Clone()
	for _, k := range []string{"Authorization", "Api-Key", "X-Api-Key", "Cookie", "Proxy-Authorization"} {
		if h.Get(k) != "" {
			h.Set(k, "redacted")
		}
	}
	req := Request{Resource: s.cfg.Name, Time: time.Now(), Method: r.Method, Path: r.URL.Path, Header: h, BodyBytes: len(raw), Neutral: h.Get(NeutralHeader) == "1"}
	if json.Valid(raw) {
		req.Raw = raw
		if s.cfg.API == APIChatCompletions {
			req.Body, req.Items = parseChat(raw)
			return req
		}
		req.Body = parseBody(raw)
		req.Items, _ = parseInput(req.Body.Input) // what is wrong with it is said by the strict checks
	}
	return req
}

func presentedKey(h http.Header) string {
	if k, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer "); ok {
		return k
	}
	return h.Get("Api-Key")
}

func (s *Server) authorized(r *http.Request) bool {
	return s.cfg.Key == "" || subtle.ConstantTimeCompare([]byte(presentedKey(r.Header)), []byte(s.cfg.Key)) == 1
}

func (s *Server) serves(model string) bool {
	return len(s.cfg.Deployments) == 0 || slices.Contains(s.cfg.Deployments, model)
}

func (s *Server) setHeaders(x *exchange) {
	h := x.w.Header()
	h.Set("x-request-id", mint("req_", s.cfg.Name)[:36])
	if s.cfg.Dialect == DialectAzure {
		h.Set("apim-request-id", fingerprint(h.Get("x-request-id")))
		h.Set("x-ms-region", s.cfg.Name)
	}
	n := x.drift.RateLimit
	set := func(key string, v, otherwise int) {
		if v == 0 {
			v = otherwise
		}
		h.Set(key, fmt.Sprint(v))
	}
	set("x-ratelimit-limit-requests", n.LimitRequests, 10000)
	set("x-ratelimit-remaining-requests", n.RemainingRequests, 9999)
	set("x-ratelimit-limit-tokens", n.LimitTokens, 1000000)
	set("x-ratelimit-remaining-tokens", n.RemainingTokens, 999000)
	h.Set("x-ratelimit-reset-requests", "6ms")
	h.Set("x-ratelimit-reset-tokens", "60ms")
	for k, v := range x.drift.Headers {
		h.Set(k, v)
	}
}

// exchange is one request on its way through a resource.
type exchange struct {
	s     *Server
	w     http.ResponseWriter
	r     *http.Request
	rec   *Request
	start time.Time
	drift Drift
	begun bool   // the header went out
	items []Item // all that the model is shown, once it was checked
	fresh []Item // those of them that came with the request
	// foreign says that something before the API answers.
	foreign bool
	gate    *activeFault // keeps the answer under gateKey, if there is one
	gateKey [32]byte
}

func (x *exchange) ctx() context.Context { return x.r.Context() }

// request is the snapshot that models and faults look at.
func (x *exchange) request() Request { return x.s.pool.rec.change(x.rec, func(*Request) {}) }

func (x *exchange) outcome(f func(*Outcome)) {
	x.s.pool.rec.change(x.rec, func(r *Request) { f(&r.Outcome) })
}

func (x *exchange) refuse(e *apiError) {
	x.outcome(func(o *Outcome) { o.Error = e.label() })
	x.json(e.status, e.body())
}

func (x *exchange) json(status int, body []byte) { x.send(status, "application/json", body) }

// send writes a whole answer and records whether it went out.
func (x *exchange) send(status int, contentType string, body []byte) {
	if contentType != "" {
		x.w.Header().Set("Content-Type", contentType)
	}
	x.header(status)
	_, err := x.w.Write(body)
	x.ended(err == nil && status < 400)
}

func (x *exchange) header(status int) {
	if x.begun { // by a fault that hung after the header and was released
		return
	}
	x.begun = true
	if !x.foreign {
		x.w.Header().Set("openai-processing-ms", fmt.Sprint(max(1, time.Since(x.start).Milliseconds())))
	}
	x.outcome(func(o *Outcome) { o.Status = status })
	x.w.WriteHeader(status)
}

func (x *exchange) ended(complete bool) {
	gone := x.ctx().Err() != nil
	x.outcome(func(o *Outcome) { o.Complete, o.ClientGone = complete && !gone, gone })
}
