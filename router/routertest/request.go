package routertest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Request is one recorded HTTP request. It is a snapshot: Outcome grows until
// Outcome.Done. The shared slices and maps in it must not be changed.
type Request struct {
	// Seq counts the requests of the pool from 1; Nth those of the resource. Both
	// count neutral requests by themselves, so that those shift no other number.
	Seq int `json:"seq"`
	Nth int `json:"nth"`
	// Order counts all requests of the pool from 1, neutral or not.
	Order int `json:"order"`
	// Neutral is true for a test of health; see NeutralHeader.
	Neutral bool `json:"neutral,omitempty"`
	// Resource is the name of the resource that was asked.
	Resource string    `json:"resource"`
	Time     time.Time `json:"time"`
	Method   string    `json:"method"`
	Path     string    `json:"path"`
	// Header is what the client sent, credentials replaced by "redacted".
	Header http.Header `json:"header"`
	// Raw is the body as sent; empty for old records once many bytes are kept.
	Raw json.RawMessage `json:"raw,omitempty"`
	// BodyBytes is the length of the body as sent.
	BodyBytes int `json:"body_bytes"`
	// Body is the parsed form of Raw; zero when Raw is not a JSON object.
	Body Body `json:"body"`
	// Items are the input items with what a previous response or a conversation
	// adds before them.
	Items []Item `json:"-"`
	// Outcome says how the request was answered.
	Outcome Outcome `json:"outcome"`
}

// Body holds the parameters of a request that models and tests look at.
type Body struct {
	Model              string          `json:"model,omitempty"`
	Stream             bool            `json:"stream,omitempty"`
	Store              *bool           `json:"store,omitempty"`
	Instructions       json.RawMessage `json:"-"`
	Input              json.RawMessage `json:"-"`
	Include            []string        `json:"include,omitempty"`
	PreviousResponseID string          `json:"previous_response_id,omitempty"`
	Conversation       string          `json:"conversation,omitempty"`
	PromptCacheKey     string          `json:"prompt_cache_key,omitempty"`
	MaxOutputTokens    int             `json:"max_output_tokens,omitempty"`
	Tools              []string        `json:"tools,omitempty"`
}

// Outcome says how a request was answered so far.
type Outcome struct {
	// Status is the HTTP status that was sent; 0 when no header was sent.
	Status int `json:"status"`
	// Fault is the kind of the fault that answered, empty for none.
	Fault FaultKind `json:"fault,omitempty"`
	// CacheHit is true when FaultCache answered instead of the resource.
	CacheHit bool `json:"cache_hit,omitempty"`
	// Error is the code of the error body, or its message when it has no code.
	Error string `json:"error,omitempty"`
	// Events counts the stream events that were flushed to the client.
	Events int `json:"events"`
	// ResponseID is the id of the response that was generated.
	ResponseID string `json:"response_id,omitempty"`
	// InputTokens and CachedTokens are what usage reported.
	InputTokens  int `json:"input_tokens,omitempty"`
	CachedTokens int `json:"cached_tokens,omitempty"`
	// Complete is true when the whole answer went out, a terminal event included.
	Complete bool `json:"complete"`
	// ClientGone is true when the client went away before the answer was out.
	ClientGone bool `json:"client_gone,omitempty"`
	// Done is true when the resource is finished with the request.
	Done bool `json:"done"`
}

// Item is one input item: a small index over its raw JSON. The zero value is
// an empty item.
type Item struct {
	Type   string
	ID     string
	CallID string
	Role   string
	Name   string
	Raw    json.RawMessage
}

func parseItem(raw json.RawMessage) (Item, error) {
	var v struct {
		Type, ID, Role, Name string
		CallID               string `json:"call_id"`
	}
	// Type mismatches are reported by the strict checks, which know the index.
	err := json.Unmarshal(raw, &v)
	it := Item{Type: v.Type, ID: v.ID, CallID: v.CallID, Role: v.Role, Name: v.Name, Raw: raw}
	if it.Type == "" && it.Role != "" {
		it.Type = "message"
	}
	return it, err
}

// Text returns the text of a message: its string content, or its text parts
// joined by newlines.
func (it Item) Text() string { return textOf(it.Raw, "content") }

// Output returns the output of a call output item as text.
func (it Item) Output() string { return textOf(it.Raw, "output") }

func textOf(raw json.RawMessage, key string) string {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return ""
	}
	var s string
	if json.Unmarshal(m[key], &s) == nil {
		return s
	}
	var parts []struct{ Text string }
	if json.Unmarshal(m[key], &parts) != nil {
		return string(m[key])
	}
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n")
}

// parseInput turns the input parameter into items; a string is one user message.
func parseInput(input json.RawMessage) ([]Item, error) {
	input = bytes.TrimSpace(input)
	if len(input) == 0 || bytes.Equal(input, []byte("null")) {
		return nil, nil
	}
	if input[0] == '"' {
		raw := slices.Concat([]byte(`{"role":"user","content":`), input, []byte(`}`))
		it, err := parseItem(raw)
		return []Item{it}, err
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(input, &raws); err != nil {
		return nil, err
	}
	items := make([]Item, 0, len(raws))
	for _, raw := range raws {
		it, err := parseItem(raw)
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return items, nil
}

func isOutput(t string) bool {
	return strings.HasSuffix(t, "_call_output") || t == "tool_search_output"
}

// Stored tells whether the response is to be kept by the resource; the
// parameter's default is true, as in the real API.
func (r Request) Stored() bool { return r.Body.Store == nil || *r.Body.Store }

// Includes tells whether the include parameter names what.
func (r Request) Includes(what string) bool { return slices.Contains(r.Body.Include, what) }

// HasTool tells whether a function tool of that name was offered.
func (r Request) HasTool(name string) bool { return slices.Contains(r.Body.Tools, name) }

// Turn is the number of call outputs in the input: 0 before the first tool ran.
func (r Request) Turn() int {
	n := 0
	for _, it := range r.Items {
		if isOutput(it.Type) {
			n++
		}
	}
	return n
}

// FirstUser returns the text of the first user message, or "".
func (r Request) FirstUser() string {
	for _, it := range r.Items {
		if it.Role == "user" {
			return it.Text()
		}
	}
	return ""
}

// LastUser returns the text of the last user message, or "".
func (r Request) LastUser() string {
	for _, it := range slices.Backward(r.Items) {
		if it.Role == "user" {
			return it.Text()
		}
	}
	return ""
}

// LastOutput returns the name of the tool whose output comes last in the input
// and that output; ok is false when there is none.
func (r Request) LastOutput() (tool, output string, ok bool) {
	for _, it := range slices.Backward(r.Items) {
		if isOutput(it.Type) {
			return r.toolOf(it.CallID), it.Output(), true
		}
	}
	return "", "", false
}

// OutputOf returns the last output of the tool of that name.
func (r Request) OutputOf(tool string) (output string, ok bool) {
	for _, it := range slices.Backward(r.Items) {
		if isOutput(it.Type) && r.toolOf(it.CallID) == tool {
			return it.Output(), true
		}
	}
	return "", false
}

func (r Request) toolOf(callID string) string {
	for _, it := range slices.Backward(r.Items) {
		if it.CallID == callID && !isOutput(it.Type) {
			return it.Name
		}
	}
	return ""
}
