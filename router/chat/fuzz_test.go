package chat

import (
	"bytes"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/wire"
)

// Whatever a host sends, an answer that is taken can be sent back.
func FuzzStream(f *testing.F) {
	f.Add([]byte(delta(`{"content":"hi"}`) + "\n" + stop))
	f.Add([]byte(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`) + "\n" + asked + "\n[DONE]"))
	f.Add([]byte(delta(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"x":1}}},{"index":-1},{"index":0,"id":"b"}]}`) + "\n" + asked))
	f.Add([]byte(`{"choices":[{"message":{"content":[{"type":"text","text":"a"}],"refusal":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`))
	f.Add([]byte(`{"error":{"message":"boom"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s Stream
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			if end, err := s.Add(wire.Event{Data: line}); end || err != nil {
				break
			}
		}
		answer, err := s.Answer()
		if err != nil || !s.Completed() {
			return
		}
		var items []onceward.Item
		for _, raw := range answer.Items {
			item, err := onceward.NewItem(raw, "")
			if err != nil {
				return // refused by the attempt as well
			}
			items = append(items, item)
		}
		rendered, err := Render(onceward.ModelRequest{Items: items}, Target{})
		if err != nil || len(answer.Calls) > 0 && !bytes.Contains(rendered.Body, []byte(`"tool_calls"`)) {
			t.Fatalf("%v: %s of %s", err, rendered.Body, data)
		}
	})
}
