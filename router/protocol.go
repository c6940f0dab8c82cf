package router

import (
	"encoding/json"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/chat"
	"github.com/onceward/onceward/router/wire"
)

// The APIs that resources are spoken to in.
const (
	APIResponses       = "responses"
	APIChatCompletions = "chat_completions" // for hosts without the Responses API
)

// protocol is what differs between the APIs. The one request, clocks, permits,
// classification and judgement are the attempt's, whatever the API.
type protocol interface {
	// path is what a request is posted to, below the base URL.
	path() string
	render(req onceward.ModelRequest, to wire.Target) (wire.Rendered, error)
	collect() collector
	// body reads an answer that came whole. complete says that it may be judged;
	// else the body is classified.
	body(raw []byte) (answer wire.Answer, complete bool, err error)
}

// collector takes the events of one answer.
type collector interface {
	// Add returns true with the event after which nothing more is of interest.
	Add(wire.Event) (end bool, err error)
	Count() int  // of events
	Steps() int  // of those that brought the answer on: a keepalive is none
	Begun() bool // the first output has come
	Ended() bool // the answer is over: what may still come is about it
	Completed() bool
	Verdict() []byte // to be classified, of an answer that ended and did not complete
	Answer() (wire.Answer, error)
	// Doubt says why the end of a completed answer is not the model's, or "".
	Doubt(wire.Answer) string
}

func protocolOf(r Resource) protocol {
	if r.API == APIChatCompletions {
		return chatCompletions{compatible: r.Kind == KindCompatible}
	}
	return responses{}
}

type responses struct{}

func (responses) path() string { return "responses" }

func (responses) render(req onceward.ModelRequest, to wire.Target) (wire.Rendered, error) {
	return wire.Render(req, to)
}

func (responses) collect() collector { return &responseStream{} }

func (responses) body(raw []byte) (wire.Answer, bool, error) {
	var shape struct {
		Output []json.RawMessage `json:"output"`
	}
	if json.Unmarshal(raw, &shape) != nil {
		return wire.Answer{}, false, nil
	}
	answer, err := wire.ReadAnswer(raw)
	return answer, shape.Output != nil && wire.Whole(raw), err
}

// responseStream is a wire.Stream that remembers its end.
type responseStream struct {
	wire.Stream
	ended bool
}

func (s *responseStream) Add(ev wire.Event) (bool, error) {
	terminal, err := s.Stream.Add(ev)
	s.ended = s.ended || terminal
	return terminal, err
}

func (s *responseStream) Count() int  { return s.Events }
func (s *responseStream) Steps() int  { return s.Stream.Steps }
func (s *responseStream) Begun() bool { return s.Started }
func (s *responseStream) Ended() bool { return s.ended }

type chatCompletions struct{ compatible bool }

func (chatCompletions) path() string { return "chat/completions" }

func (c chatCompletions) render(req onceward.ModelRequest, to wire.Target) (wire.Rendered, error) {
	return chat.Render(req, chat.Target{Target: to, Compatible: c.compatible})
}

func (chatCompletions) collect() collector { return &chat.Stream{} }

func (chatCompletions) body(raw []byte) (wire.Answer, bool, error) {
	var s chat.Stream
	if _, err := s.Add(wire.Event{Data: raw}); err != nil {
		return wire.Answer{}, false, nil // classified, not judged
	}
	answer, err := s.Answer()
	return answer, s.Completed(), err
}

// Uncarried returns the keys of what a capability claims and an API has no place
// for. A request that needs it must not be routed there.
func Uncarried(api string, c onceward.Capability) []string {
	if api != APIChatCompletions {
		return nil
	}
	var keys []string
	for _, claim := range []struct {
		made bool
		key  string
	}{
		{c.EncryptedReasoning, "encrypted_reasoning"}, {c.ImageInput, "image_input"},
		{c.ListOutput, "list_output"}, {len(c.HostedTools) > 0, "hosted_tools"},
	} {
		if claim.made {
			keys = append(keys, claim.key)
		}
	}
	return keys
}
