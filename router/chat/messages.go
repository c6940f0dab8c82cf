package chat

import (
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/wire"
)

// message is one message on the wire. A nil Content is written as null, which
// is what hosts expect beside tool calls.
type message struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function calledByName `json:"function"`
}

type calledByName struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// conversation turns items into messages. The items of one turn of the model
// become one assistant message, with its tool messages directly after it: hosts
// refuse any other order, whatever order the items came in.
type conversation struct {
	messages []message
	turn     *message            // of the model, not yet written
	texts    []string            // of that turn
	outputs  map[string][]string // by wire call id, not yet written
	calls    map[string]bool     // the wire ids of every call of the transcript
	at       []wireItem          // the items that are carried
}

// wireItem is an item and its call id on the wire.
type wireItem struct {
	content
	callID string
}

// messagesOf renders instructions and transcript. stripped reports that
// encrypted reasoning was left out.
func messagesOf(req onceward.ModelRequest, compatible bool, f *wire.Fit) (messages []message, stripped bool, err error) {
	c := conversation{outputs: map[string][]string{}, calls: map[string]bool{}}
	if req.Instructions != "" {
		c.say("system", req.Instructions)
	}
	if stripped, err = c.read(req, f); err != nil {
		return nil, stripped, err
	}
	for _, it := range c.at {
		switch it.kind {
		case kindAssistant:
			if it.text != "" { // hosts refuse an assistant that says nothing
				c.open()
				c.texts = append(c.texts, it.text)
			}
		case kindCall:
			t := c.open()
			t.ToolCalls = append(t.ToolCalls, toolCall{ID: it.callID, Type: "function", Function: calledByName{it.name, it.text}})
		case kindOutput:
			c.flush()
			if !c.calls[it.callID] {
				c.outputOf(it.callID) // its call is missing; the host's refusal leads to the repair
			}
		case kindSaid:
			c.flush()
			role := it.name
			if role == "developer" && compatible {
				role = "system"
			}
			c.say(role, it.text)
		}
	}
	c.flush()
	return c.messages, stripped, nil
}

// read decodes the items that are carried, and pairs outputs with calls.
func (c *conversation) read(req onceward.ModelRequest, f *wire.Fit) (stripped bool, err error) {
	var drop map[int]bool
	if req.Repair == onceward.RepairHistory {
		drop = wire.Orphans(req.Items)
	}
	for i, item := range req.Items {
		if item.Type == onceward.ItemManifest || drop[i] {
			continue
		}
		if item.Type == "reasoning" {
			stripped = stripped || wire.Sealed(item)
			continue
		}
		it := wireItem{}
		if it.content, err = readItem(item); err != nil {
			return stripped, err
		}
		it.callID = f.CallID(item)
		switch it.kind {
		case kindCall:
			it.name, it.text = f.Name(it.name), f.Arguments(it.text)
			c.calls[it.callID] = true
		case kindOutput:
			c.outputs[it.callID] = append(c.outputs[it.callID], it.text)
		}
		c.at = append(c.at, it)
	}
	return stripped, nil
}

func (c *conversation) say(role, text string) {
	c.messages = append(c.messages, message{Role: role, Content: &text})
}

// open returns the turn that is being collected.
func (c *conversation) open() *message {
	if c.turn == nil {
		c.turn = &message{Role: "assistant"}
	}
	return c.turn
}

// flush writes the collected turn and the outputs of its calls.
func (c *conversation) flush() {
	t := c.turn
	if t == nil {
		return
	}
	if len(c.texts) > 0 {
		text := strings.Join(c.texts, "\n\n")
		t.Content = &text
	}
	c.turn, c.texts = nil, nil
	c.messages = append(c.messages, *t)
	for _, call := range t.ToolCalls {
		c.outputOf(call.ID)
	}
}

// outputOf writes what is known of a call's output, once.
func (c *conversation) outputOf(callID string) {
	for _, text := range c.outputs[callID] {
		c.messages = append(c.messages, message{Role: "tool", Content: &text, ToolCallID: callID})
	}
	delete(c.outputs, callID)
}
