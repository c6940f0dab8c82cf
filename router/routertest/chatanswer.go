package routertest

import "slices"

// chatChunkType is how stream events of Chat Completions are told to hooks. On
// the wire they have no name.
const chatChunkType = "chat.completion.chunk"

// completion is the answer on the wire, whole or as one chunk of a stream.
type completion struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage"`
}

type chatChoice struct {
	Index   int       `json:"index"`
	Message *chatSaid `json:"message,omitempty"`
	Delta   *chatSaid `json:"delta,omitempty"`
	Finish  *string   `json:"finish_reason"`
}

type chatSaid struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Refusal   *string    `json:"refusal,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
}

type chatUsage struct {
	Prompt            int           `json:"prompt_tokens"`
	Completion        int           `json:"completion_tokens"`
	Total             int           `json:"total_tokens"`
	PromptDetails     inputDetails  `json:"prompt_tokens_details"`
	CompletionDetails outputDetails `json:"completion_tokens_details"`
}

func (a *answer) completion(object string, choices ...chatChoice) completion {
	if choices == nil {
		choices = []chatChoice{}
	}
	return completion{ID: "chatcmpl-" + a.base.ID[len("resp_"):], Object: object, Created: a.base.CreatedAt, Model: a.base.Model, Choices: choices}
}

func (a *answer) chatUsage() *chatUsage {
	u := a.usage
	if u == nil {
		return nil
	}
	return &chatUsage{Prompt: u.InputTokens, Completion: u.OutputTokens, Total: u.TotalTokens,
		PromptDetails: inputDetails{CachedTokens: u.InputDetails.CachedTokens}, CompletionDetails: u.OutputDetails}
}

// finishReason is why the model stopped, in the words of this API.
func (a *answer) finishReason() string {
	switch {
	case a.reason == "max_output_tokens":
		return "length"
	case a.reason != "":
		return a.reason
	case slices.ContainsFunc(a.items, func(it outputItem) bool { return it.kind == "function_call" }):
		return "tool_calls"
	}
	return "stop"
}

// chatBody is the answer as one JSON object.
func (a *answer) chatBody(f *activeFault) []byte {
	said := &chatSaid{Role: "assistant"}
	for _, it := range a.items {
		switch {
		case it.kind == "function_call":
			said.ToolCalls = append(said.ToolCalls, chatCall{ID: it.callID, Type: "function", Function: chatFunction{it.name, it.text}})
		case it.kind == "reasoning":
			said.Reasoning += it.summary
		case it.refusal:
			said.Refusal = &it.text
		default:
			said.Content = &it.text
		}
	}
	choice := chatChoice{Message: said}
	if f.Kind != FaultNoTerminal {
		reason := a.finishReason()
		choice.Finish = &reason
	}
	c := a.completion("chat.completion", choice)
	c.Usage = a.chatUsage()
	return encode(c)
}

// chatPlan lists the events to send, the fault's included.
func (a *answer) chatPlan(f *activeFault) []event {
	body := a.chatChunks()
	reason := a.finishReason()
	end := []event{a.chunk(chatChoice{Delta: &chatSaid{}, Finish: &reason})}
	if a.usage != nil && a.includeUsage {
		c := a.completion(chatChunkType)
		c.Usage = a.chatUsage()
		end = append(end, event{typ: chatChunkType, fields: encode(c), bare: true})
	}
	end = append(end, event{typ: "[DONE]", fields: []byte("[DONE]"), bare: true})
	at := f.AfterEvents
	if at == 0 {
		at = 1 // after the role: before any output
	}
	at = min(at, len(body))
	switch f.Kind {
	case FaultFailed, FaultErrorEvent:
		return append(body[:at], event{typ: "error", fields: f.errorBody(), bare: true})
	case FaultIncomplete:
		if f.AfterEvents > 0 {
			body = body[:at]
		}
	case FaultNoTerminal:
		return body
	case FaultTwoTerminals:
		return slices.Concat(body, end, end)
	case FaultBrokenEvent:
		body = slices.Insert(body, at, event{typ: chatChunkType, fields: []byte(`{"id":"chatcmpl-1","choices":[{"delta":`), bare: true})
	}
	return append(body, end...)
}

// chatChunks lists every event up to the finish reason.
func (a *answer) chatChunks() []event {
	empty := ""
	list := []event{a.chunk(chatChoice{Delta: &chatSaid{Role: "assistant", Content: &empty}})}
	add := func(said chatSaid) { list = append(list, a.chunk(chatChoice{Delta: &said})) }
	calls := 0
	for _, it := range a.items {
		if it.kind == "function_call" {
			n := calls
			calls++
			add(chatSaid{ToolCalls: []chatCall{{Index: &n, ID: it.callID, Type: "function", Function: chatFunction{Name: it.name}}}})
			for _, d := range pieces(it.text) {
				add(chatSaid{ToolCalls: []chatCall{{Index: &n, Function: chatFunction{Arguments: d}}}})
			}
			continue
		}
		if it.kind == "reasoning" {
			for _, d := range pieces(it.summary) {
				add(chatSaid{Reasoning: d})
			}
			continue
		}
		for _, d := range pieces(it.text) {
			if it.refusal {
				add(chatSaid{Refusal: &d})
			} else {
				add(chatSaid{Content: &d})
			}
		}
	}
	return list
}

func (a *answer) chunk(choice chatChoice) event {
	return event{typ: chatChunkType, fields: encode(a.completion(chatChunkType, choice)), bare: true}
}
