package chat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/onceward/onceward/router/classify"
	"github.com/onceward/onceward/router/wire"
)

// Stream collects the events of one answer. An answer in one JSON object is read
// as one event. The zero value is ready. It belongs to one goroutine.
type Stream struct {
	events  int
	steps   int // of them that brought the answer on
	begun   bool
	failed  bool   // an error ended it
	finish  string // why the model stopped
	verdict []byte // the event that says how it ended
	id      string
	model   string
	text    []byte
	refusal []byte
	calls   []*call
	usage   json.RawMessage
	mixed   error // the pieces of calls do not fit together

	cut     string // a status that says that the answer is not whole
	running string // the last status, where it says that the answer is being made

	filtered bool   // a content filter took something away
	streamed bool   // some of it came in pieces
	zeros    bool   // usage of zeros came before the end
	unserved string // a call of a kind that nothing can answer
	choices  int    // answers beside the one that was asked for
}

type chunk struct {
	ID      any             `json:"id"`
	Model   any             `json:"model"`
	Object  any             `json:"object"`
	Type    any             `json:"type"`
	Error   json.RawMessage `json:"error"`
	Usage   json.RawMessage `json:"usage"`
	Status  any             `json:"status"`
	Filters json.RawMessage `json:"content_filter_results"`
	Choices []choice        `json:"choices"`
}

// choice is one of the answers, or a piece of it.
type choice struct {
	Index   int             `json:"index"`
	Delta   *piece          `json:"delta"`
	Message *piece          `json:"message"`
	Finish  string          `json:"finish_reason"`
	Error   json.RawMessage `json:"error"` // of gateways, whose upstream broke
	Filters json.RawMessage `json:"content_filter_results"`
	state   wire.State
	calls   string // a member that holds calls beside the message
}

// UnmarshalJSON reads the statuses of a choice along with it: hosts put them on the
// message, its parts and its calls, where this API has none.
func (c *choice) UnmarshalJSON(raw []byte) error {
	type plain choice
	c.state, c.calls = wire.StateOf(raw), wire.CallMember(raw)
	return json.Unmarshal(raw, (*plain)(c))
}

// piece is a part of what the model says, or all of it.
type piece struct {
	Content      json.RawMessage `json:"content"`
	Refusal      string          `json:"refusal"`
	ToolCalls    []callPiece     `json:"tool_calls"`
	FunctionCall json.RawMessage `json:"function_call"` // of the API before tool_calls
	calls        string          // a member that holds calls, under another name
	thinks       bool            // it holds thoughts, under whatever name
}

// UnmarshalJSON reads the names of a piece along with it: a call that another API
// would have there must not be dropped in silence.
func (p *piece) UnmarshalJSON(raw []byte) error {
	type plain piece
	if err := json.Unmarshal(raw, (*plain)(p)); err != nil {
		return err
	}
	p.thinks = wire.Thinks(raw)
	if !filled(p.FunctionCall) && len(p.ToolCalls) == 0 {
		p.calls = wire.CallMember(raw)
	}
	return nil
}

// Add takes one event. It returns true with the one that ends the stream: the
// end mark or an error. An error of Add means that the event is not one of this
// API.
func (s *Stream) Add(ev wire.Event) (end bool, err error) {
	if string(bytes.TrimSpace(ev.Data)) == "[DONE]" {
		return true, nil
	}
	s.events++
	var c chunk
	if err := json.Unmarshal(ev.Data, &c); err != nil {
		return false, fmt.Errorf("read event %d: broken JSON: %w", s.events, err)
	}
	if s.id == "" {
		s.id, _ = c.ID.(string)
	}
	if model, _ := c.Model.(string); model != "" {
		s.model = model
	}
	if s.events == 1 {
		s.steps++
	}
	if status, _ := c.Status.(string); wire.CutWord(status) || slices.Contains(running, strings.ToLower(strings.TrimSpace(status))) {
		s.cut = cmp.Or(s.cut, "status "+status)
	}
	s.cut = cmp.Or(s.cut, wire.Stopped(ev.Data))
	s.filtered = s.filtered || wire.Filtered(c.Filters)
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			s.choices = max(s.choices, choice.Index)
			continue // one answer was asked for
		}
		switch {
		case choice.Delta != nil:
			s.say(choice.Delta, false)
			s.streamed = s.begun
		case choice.Message != nil:
			s.repeat(choice.Message)
		}
		s.told(choice.state)
		finish := classify.Reason(choice.Finish)
		if finish != "" {
			s.steps++
		}
		if choice.calls != "" {
			s.begun, s.unserved = true, "call under "+choice.calls+" beside the message"
		}
		s.filtered = s.filtered || wire.Filtered(choice.Filters)
		if finish != "" && (s.finish == "" || s.Completed()) { // what spoils an answer is never taken back
			s.finish, s.verdict = finish, bytes.Clone(ev.Data)
		}
	}
	for _, choice := range c.Choices {
		if choice.Index == 0 && wire.Tells(bytes.TrimSpace(choice.Error)) {
			c.Error, ev.Data = choice.Error, []byte(`{"error":`+string(choice.Error)+`}`)
		}
	}
	s.count(c.Usage) // after the reason: what comes with the end was not told before it
	if wire.Tells(bytes.TrimSpace(c.Error)) || ev.Name == "error" || c.Object == "error" || c.Type == "error" {
		s.failed, s.verdict = true, bytes.Clone(ev.Data)
		return true, nil
	}
	return false, nil
}

// repeat takes the whole answer, which some hosts send at the end of a stream: of
// each part what was not streamed.
func (s *Stream) repeat(whole *piece) {
	rest := *whole
	if len(s.text) > 0 {
		rest.Content = nil
	}
	if len(s.refusal) > 0 {
		rest.Refusal = ""
	}
	if len(s.calls) > 0 {
		rest.ToolCalls, rest.FunctionCall = nil, nil // under whatever id, it is the same call
	}
	s.say(&rest, true)
}

// running are the words of a whole body that is being made. This API has no status
// there, and gateways write other things under that name.
var running = []string{"in_progress", "queued", "pending", "running", "processing"}

// told notes what a piece says of how far the answer has come. What spoils it is
// never taken back, and of the rest the last word counts.
func (s *Stream) told(state wire.State) {
	if s.cut == "" {
		s.cut = state.Cut
	}
	if state.Told {
		s.running = state.Running
	}
}

// unfinished says what of the answer is not complete, or "".
func (s *Stream) unfinished() string {
	says := s.cut
	for _, c := range s.calls {
		says = cmp.Or(says, c.running)
	}
	return cmp.Or(says, s.running)
}

// step notes a piece of the answer.
func (s *Stream) step() {
	s.begun = true
	s.steps++
}

// say takes a piece of the answer. In a whole one each call is a call of its own.
func (s *Stream) say(p *piece, whole bool) {
	if filled(p.FunctionCall) {
		s.begun, s.unserved = true, "call function_call of the older form"
	}
	if kind := wire.CallInside(bytes.TrimSpace(p.Content)); kind != "" {
		s.begun, s.unserved = true, kind
	}
	if p.calls != "" {
		s.begun, s.unserved = true, "call under "+p.calls+" of a message"
	}
	text, refusal := plain(p.Content)
	if text != "" || len(p.Content) > 0 && p.Content[0] == '[' && filled(p.Content) {
		s.step() // parts of other kinds are thinking and sources: left out as reasoning is
		s.text = append(s.text, text...)
	}
	s.refusal = append(s.refusal, refusal...)
	if p.Refusal != "" {
		s.step()
		s.refusal = append(s.refusal, p.Refusal...)
	}
	if p.thinks {
		s.step() // it is paid for, and left out: no host takes another's back
	}
	for _, tc := range p.ToolCalls {
		s.step()
		s.call(tc, whole)
	}
}

// plain returns the text and the refusal of content that is a string or a list of
// parts. Of a list the parts count that say something: a host's thinking or sources
// beside them must not take the answer away.
func plain(value json.RawMessage) (text, refusal string) {
	if !filled(value) || json.Unmarshal(value, &text) == nil {
		return text, ""
	}
	var parts []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	if json.Unmarshal(value, &parts) != nil {
		return "", ""
	}
	for _, p := range parts {
		switch p.Type {
		case "output_text", "text":
			text += p.Text
		case "refusal":
			refusal += p.Refusal
		}
	}
	return text, refusal
}

// filled reports whether a value says anything.
func filled(value json.RawMessage) bool {
	switch string(value) {
	case "", "null", `""`, "[]", "{}":
		return false
	}
	return true
}

// Steps returns how many of the events brought the answer on: a piece of it, its
// usage or its end. Some hosts send empty ones to keep the connection alive.
func (s *Stream) Steps() int { return s.steps }

// Count returns how many events have come.
func (s *Stream) Count() int { return s.events }

// Begun reports whether any output has come.
func (s *Stream) Begun() bool { return s.begun }

// Ended reports whether the answer is over: by a finish reason, or by an error.
// Usage and the end mark may still come.
func (s *Stream) Ended() bool { return s.failed || s.finish != "" }

// completed are the finish reasons of a whole answer, as classify.Reason writes
// them. Only what can mean nothing else is here: any other reason fails the
// attempt, because a reason that nobody knows can be that of a cut.
var completed = append([]string{"stop", "end_turn", "stop_sequence", "eos", "eos_token", "complete", "completed"}, calling...)

// calling are those that name calls.
var calling = []string{"tool_calls", "tool_call", "tool_use", "function_call"}

// Completed reports whether the answer came to its own end.
func (s *Stream) Completed() bool { return !s.failed && slices.Contains(completed, s.finish) }

// count takes usage. Some hosts send zeros until they know, and some again after
// they did, so that zeros never replace a count.
func (s *Stream) count(usage json.RawMessage) {
	if !filled(usage) {
		return
	}
	s.steps++
	zero := wire.Uncounted(usage)
	if zero && s.usage != nil {
		return
	}
	s.zeros = s.zeros || zero && s.finish == ""
	s.usage = usage // json made a copy of it
}

// Doubt says why the end of a completed stream is not believed, or "": a gateway
// whose upstream broke makes an end up, and cannot know what was used. Many hosts
// send no usage and some send zeros all along, so that only an end that is the
// first to claim that nothing was used proves it.
func (s *Stream) Doubt(answer wire.Answer) string {
	if s.streamed && answer.Zero && !s.zeros {
		return "the end says that nothing was used, after output had come"
	}
	return ""
}

// Verdict returns what is to be classified when the answer did not complete: the
// event with the error or the finish reason.
func (s *Stream) Verdict() []byte { return s.verdict }
