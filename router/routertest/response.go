package routertest

import (
	"bytes"
	"encoding/json"
	"time"
)

// encode is json.Marshal without HTML escaping, as the real API writes.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null") // only values of this package come here; none of them fails
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// response is the response object on the wire, in the real order of fields.
type response struct {
	ID                 string            `json:"id"`
	Object             string            `json:"object"`
	CreatedAt          int64             `json:"created_at"`
	Status             string            `json:"status"`
	Background         bool              `json:"background"`
	CompletedAt        *int64            `json:"completed_at"`
	Conversation       *conversationRef  `json:"conversation,omitempty"`
	ContentFilters     json.RawMessage   `json:"content_filters,omitempty"`
	Error              *responseError    `json:"error"`
	IncompleteDetails  *incompleteDetail `json:"incomplete_details"`
	Instructions       json.RawMessage   `json:"instructions"`
	MaxOutputTokens    json.RawMessage   `json:"max_output_tokens"`
	MaxToolCalls       json.RawMessage   `json:"max_tool_calls"`
	Model              string            `json:"model"`
	Output             []json.RawMessage `json:"output"`
	ParallelToolCalls  json.RawMessage   `json:"parallel_tool_calls"`
	PreviousResponseID json.RawMessage   `json:"previous_response_id"`
	PromptCacheKey     json.RawMessage   `json:"prompt_cache_key"`
	Reasoning          json.RawMessage   `json:"reasoning"`
	SafetyIdentifier   json.RawMessage   `json:"safety_identifier"`
	ServiceTier        string            `json:"service_tier"`
	Store              bool              `json:"store"`
	Temperature        json.RawMessage   `json:"temperature"`
	Text               json.RawMessage   `json:"text"`
	ToolChoice         json.RawMessage   `json:"tool_choice"`
	Tools              json.RawMessage   `json:"tools"`
	TopLogprobs        json.RawMessage   `json:"top_logprobs"`
	TopP               json.RawMessage   `json:"top_p"`
	Truncation         json.RawMessage   `json:"truncation"`
	Usage              *usage            `json:"usage"`
	User               json.RawMessage   `json:"user"`
	Metadata           json.RawMessage   `json:"metadata"`
	PresencePenalty    float64           `json:"presence_penalty"`
	FrequencyPenalty   float64           `json:"frequency_penalty"`
}

// conversationRef names the conversation that a response was added to.
type conversationRef struct {
	ID string `json:"id"`
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type incompleteDetail struct {
	Reason string `json:"reason"`
}

type usage struct {
	InputTokens   int           `json:"input_tokens"`
	InputDetails  inputDetails  `json:"input_tokens_details"`
	OutputTokens  int           `json:"output_tokens"`
	OutputDetails outputDetails `json:"output_tokens_details"`
	TotalTokens   int           `json:"total_tokens"`
}

type inputDetails struct {
	CachedTokens     int `json:"cached_tokens"`
	CacheWriteTokens int `json:"cache_write_tokens"`
}

type outputDetails struct {
	ReasoningTokens int `json:"reasoning_tokens"`
}

// answer is what the model said, ready to be sent whole or as events.
type answer struct {
	base  response // as in response.created
	items []outputItem
	usage *usage
	// reason is why the response is incomplete; empty: it is complete.
	reason string
	// sealed tells whether items may carry encrypted_content in events.
	sealInSnapshotOnly bool
	emptySnapshot      bool
	chat               bool // in the form of Chat Completions
	includeUsage       bool // of a stream of those
}

func (x *exchange) newAnswer(m map[string]json.RawMessage, req Request, outs []Out, tokens, cached int) *answer {
	opt := func(key, otherwise string) json.RawMessage {
		if jsonKind(m[key]) == "null" {
			return json.RawMessage(otherwise)
		}
		return orEmpty(m[key], otherwise)
	}
	a := &answer{base: response{
		ID: mint("resp_", x.s.cfg.Name), Object: "response", CreatedAt: time.Now().Unix(), Status: "in_progress",
		ContentFilters: x.drift.ContentFilters, Instructions: opt("instructions", "null"),
		MaxOutputTokens: opt("max_output_tokens", "null"), MaxToolCalls: opt("max_tool_calls", "null"),
		Model: orElse(x.drift.Model, req.Body.Model), Output: []json.RawMessage{},
		ParallelToolCalls: opt("parallel_tool_calls", "true"), PreviousResponseID: opt("previous_response_id", "null"),
		PromptCacheKey: opt("prompt_cache_key", "null"), Reasoning: echo(opt("reasoning", "{}"), reasoningDefaults),
		SafetyIdentifier: opt("safety_identifier", "null"), ServiceTier: "default", Store: req.Stored(),
		Temperature: opt("temperature", "1"), Text: echoText(opt("text", "{}")),
		ToolChoice: opt("tool_choice", `"auto"`), Tools: echoTools(opt("tools", "[]")), TopLogprobs: opt("top_logprobs", "0"),
		TopP: opt("top_p", "1"), Truncation: opt("truncation", `"disabled"`), User: opt("user", "null"), Metadata: opt("metadata", "{}"),
	}, sealInSnapshotOnly: x.drift.SealInSnapshotOnly, emptySnapshot: x.drift.EmptySnapshot,
		chat: x.s.cfg.API == APIChatCompletions, includeUsage: string(field(m["stream_options"], "include_usage")) == "true"}
	if id := req.Body.Conversation; id != "" {
		a.base.Conversation = &conversationRef{id}
	}
	reasoning := ""
	for _, o := range outs {
		it := x.s.outputItem(o, req, x.drift)
		if it.kind == "reasoning" {
			reasoning = it.id
		} else if reasoning != "" {
			x.s.pool.links.add(it.id, reasoning)
		}
		a.items = append(a.items, it)
	}
	a.count(req.Body.MaxOutputTokens, tokens, cached)
	return a
}

// What the real API fills in where the request leaves it open.
var (
	reasoningDefaults = map[string]string{"effort": `"medium"`, "summary": "null"}
	textDefaults      = map[string]string{"format": `{"type":"text"}`, "verbosity": `"medium"`}
	schemaDefaults    = map[string]string{"description": "null", "strict": "false"}
)

// echo returns a parameter of the request as the response shows it.
func echo(raw json.RawMessage, defaults map[string]string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return raw
	}
	for key, value := range defaults {
		fields[key] = orEmpty(fields[key], value)
	}
	return encode(fields)
}

func echoText(raw json.RawMessage) json.RawMessage {
	text := echo(raw, textDefaults)
	format := field(text, "format")
	if str(field(format, "type")) != "json_schema" {
		return text
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return text
	}
	fields["format"] = echo(format, schemaDefaults)
	return encode(fields)
}

// echoTools fills in the defaults of function tools, as the real API does.
func echoTools(raw json.RawMessage) json.RawMessage {
	var tools []map[string]json.RawMessage
	if json.Unmarshal(raw, &tools) != nil {
		return raw
	}
	for _, t := range tools {
		if str(t["type"]) != "function" {
			continue
		}
		t["description"] = orEmpty(t["description"], "null")
		t["strict"] = orEmpty(t["strict"], "true")
	}
	return encode(tools)
}

// count fills usage; output beyond max tokens is cut off and the answer is
// incomplete from there.
func (a *answer) count(limit, tokens, cached int) {
	u := &usage{InputTokens: tokens, InputDetails: inputDetails{CachedTokens: cached, CacheWriteTokens: tokens - cached}}
	for i := range a.items {
		it := &a.items[i]
		n := it.tokens()
		if limit > 0 && u.OutputTokens+n > limit {
			left := limit - u.OutputTokens
			a.reason = "max_output_tokens"
			if it.kind == "reasoning" {
				u.OutputDetails.ReasoningTokens += left
			} else {
				it.text = cutRunes(it.text, left*4)
				it.incomplete = true
			}
			u.OutputTokens = limit
			a.items = a.items[:i+1]
			break
		}
		u.OutputTokens += n
		if it.kind == "reasoning" {
			u.OutputDetails.ReasoningTokens += n
		}
	}
	u.TotalTokens = u.InputTokens + u.OutputTokens
	a.usage = u
}

// final is the response object of the terminal event, or of a JSON answer.
func (a *answer) final(items []outputItem) response {
	r := a.base
	now := time.Now().Unix()
	r.Usage = a.usage
	r.Status = "completed"
	if a.reason == "" {
		r.CompletedAt = &now
	} else {
		r.Status, r.IncompleteDetails = "incomplete", &incompleteDetail{Reason: a.reason}
	}
	for _, it := range items {
		r.Output = append(r.Output, it.done(false))
	}
	return r
}

func (a *answer) failed(code, message string) response {
	r := a.base
	r.Status, r.Error = "failed", &responseError{Code: code, Message: message}
	return r
}

// outputItem is one output item; text is a message's text or a call's arguments.
type outputItem struct {
	kind       string
	id         string
	callID     string
	name       string
	text       string
	refusal    bool
	sealed     string
	summary    string
	status     bool // a reasoning item shows its status
	incomplete bool
	cost       int
}

func (s *Server) outputItem(o Out, req Request, d Drift) outputItem {
	switch {
	case o.Call != nil:
		text := string(o.Call.Arguments)
		if jsonKind(o.Call.Arguments) == "a string" {
			text = str(o.Call.Arguments)
		}
		return outputItem{kind: "function_call", id: mint("fc_", s.cfg.Name), name: o.Call.Name, text: text,
			callID: orElse(o.Call.CallID, mint("call_", s.cfg.Name)[:29])}
	case o.Reasoning != nil:
		it := outputItem{kind: "reasoning", id: mint("rs_", s.cfg.Name), summary: o.Reasoning.Summary, status: d.ReasoningStatus, cost: o.Reasoning.Tokens}
		if it.cost == 0 {
			it.cost = 64
		}
		if req.Includes(sealInclude) {
			it.sealed = seal(s.cfg.EncryptionBoundary)
		}
		return it
	case o.Compaction:
		return outputItem{kind: "compaction", id: mint("cmp_", s.cfg.Name), sealed: seal(s.cfg.EncryptionBoundary)}
	case o.Refusal != "":
		return outputItem{kind: "message", id: mint("msg_", s.cfg.Name), text: o.Refusal, refusal: true}
	default:
		return outputItem{kind: "message", id: mint("msg_", s.cfg.Name), text: o.Text}
	}
}

func (it outputItem) tokens() int {
	if it.kind == "reasoning" {
		return it.cost
	}
	return (len(it.name)+len(it.text))/4 + 1
}

type messageItem struct {
	ID      string            `json:"id"`
	Type    string            `json:"type"`
	Status  string            `json:"status"`
	Content []json.RawMessage `json:"content"`
	Role    string            `json:"role"`
}

type callItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Status    string `json:"status"`
	Arguments string `json:"arguments"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
}

type reasoningItem struct {
	ID        string            `json:"id"`
	Type      string            `json:"type"`
	Status    string            `json:"status,omitempty"`
	Encrypted string            `json:"encrypted_content,omitempty"`
	Summary   []json.RawMessage `json:"summary"`
}

type compactionItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Encrypted string `json:"encrypted_content"`
}

// form encodes the item; full is false for response.output_item.added.
func (it outputItem) form(status string, full, hideSeal bool) json.RawMessage {
	text, parts, summary, sealed := "", []json.RawMessage{}, []json.RawMessage{}, it.sealed
	if full {
		text = it.text
		parts = append(parts, it.part(it.text))
		if it.summary != "" {
			summary = append(summary, summaryPart(it.summary))
		}
	}
	if hideSeal {
		sealed = ""
	}
	switch it.kind {
	case "message":
		return encode(messageItem{it.id, it.kind, status, parts, "assistant"})
	case "function_call":
		return encode(callItem{it.id, it.kind, status, text, it.callID, it.name})
	case "reasoning":
		if !it.status {
			status = ""
		}
		return encode(reasoningItem{it.id, it.kind, status, sealed, summary})
	default:
		return encode(compactionItem{it.id, it.kind, it.sealed})
	}
}

func (it outputItem) done(hideSeal bool) json.RawMessage {
	status := "completed"
	if it.incomplete {
		status = "incomplete"
	}
	return it.form(status, true, hideSeal)
}

func (it outputItem) part(text string) json.RawMessage {
	if it.refusal {
		return encode(struct {
			Type    string `json:"type"`
			Refusal string `json:"refusal"`
		}{"refusal", text})
	}
	return encode(struct {
		Type        string `json:"type"`
		Annotations []int  `json:"annotations"`
		Logprobs    []int  `json:"logprobs"`
		Text        string `json:"text"`
	}{"output_text", []int{}, []int{}, text})
}

func summaryPart(text string) json.RawMessage {
	return encode(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"summary_text", text})
}

// cutRunes cuts s to at most n bytes without splitting a character.
func cutRunes(s string, n int) string {
	if n >= len(s) {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:max(n, 0)]
}
