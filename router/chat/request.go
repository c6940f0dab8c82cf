package chat

import (
	"encoding/json"
	"fmt"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/wire"
)

// maxCallID is the longest id of a tool call that hosts of this API take.
const maxCallID = 40

// Target is the deployment that a request is rendered for. Its Boundary is of no
// interest: nothing sealed is ever sent.
type Target struct {
	wire.Target
	// Compatible is a host other than OpenAI's and Azure's. Those know the older
	// name of the output limit only, and neither the developer role nor a prompt
	// cache key.
	Compatible bool
}

// request is the body on the wire. What is not in it is never sent.
type request struct {
	Model               string         `json:"model"`
	Messages            []message      `json:"messages"`
	Tools               []tool         `json:"tools,omitempty"`
	ParallelToolCalls   *bool          `json:"parallel_tool_calls,omitempty"`
	ResponseFormat      *format        `json:"response_format,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	PromptCacheKey      string         `json:"prompt_cache_key,omitempty"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict,omitempty"`
}

type format struct {
	Type   string     `json:"type"`
	Schema jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

// Render writes the body of one attempt. The error is an *Unsupported where the
// transcript holds what this API cannot carry.
func Render(req onceward.ModelRequest, to Target) (wire.Rendered, error) {
	switch { // left out, either would be a question without what came before it
	case req.Conversation != "":
		return wire.Rendered{}, &Unsupported{Item: "request", Part: "a conversation"}
	case req.PreviousResponseID != "":
		return wire.Rendered{}, &Unsupported{Item: "request", Part: "a previous response"}
	}
	f := wire.NewFit(to.Target, req.Repair, maxCallID)
	messages, stripped, err := messagesOf(req, to.Compatible, f)
	if err != nil {
		return wire.Rendered{}, err
	}
	body := request{Model: to.Deployment, Messages: messages, Stream: true, StreamOptions: &streamOptions{IncludeUsage: true}}
	if to.Compatible {
		body.MaxTokens = to.MaxOutputTokens
	} else {
		body.MaxCompletionTokens = to.MaxOutputTokens
		if req.RunKey != "" {
			body.PromptCacheKey = wire.CacheKey(req.RunKey)
		}
	}
	for _, t := range req.Tools {
		if !json.Valid(t.Schema) {
			return wire.Rendered{}, fmt.Errorf("render tool %s: its schema is not JSON", t.Name)
		}
		body.Tools = append(body.Tools, tool{Type: "function", Function: function{
			Name: t.Name, Description: t.Description, Parameters: t.Schema, Strict: to.Capability.StrictSchema,
		}})
	}
	if len(body.Tools) > 0 && !to.Capability.ParallelTools {
		body.ParallelToolCalls = new(bool) // true is what hosts do anyway, and not all know the key
	}
	if out := req.Output; out != nil {
		if !json.Valid(out.Schema) {
			return wire.Rendered{}, fmt.Errorf("render output %s: its schema is not JSON", out.Name)
		}
		body.ResponseFormat = &format{Type: "json_schema", Schema: jsonSchema{Name: out.Name, Schema: out.Schema, Strict: to.Capability.StrictSchema}}
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return wire.Rendered{}, fmt.Errorf("render request: %w", err)
	}
	return wire.Rendered{Body: raw, Stripped: stripped, Notice: f.Notice()}, nil
}
