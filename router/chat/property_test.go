package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/wire"
)

// shuffled draws a transcript in which every call has one output after it, with
// whatever else in between. It returns the output's text of each call by name.
func shuffled(t *rapid.T) (items []onceward.Item, want map[string]string) {
	add := func(raw map[string]any) {
		enc, _ := json.Marshal(raw)
		item, err := onceward.NewItem(enc, "")
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	want = map[string]string{}
	type open struct{ id, output string }
	var waiting []open
	answer := func(i int) {
		o := waiting[i]
		waiting = slices.Delete(waiting, i, i+1)
		add(map[string]any{"type": "function_call_output", "call_id": o.id, "output": o.output})
	}
	for n := range rapid.IntRange(1, 30).Draw(t, "items") {
		switch rapid.SampledFrom([]string{"user", "assistant", "reasoning", "call", "call", "output", "output"}).Draw(t, "kind") {
		case "user":
			add(map[string]any{"role": "user", "content": fmt.Sprint("user ", n)})
		case "assistant":
			add(map[string]any{"type": "message", "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": fmt.Sprint("said ", n)}}})
		case "reasoning":
			add(map[string]any{"type": "reasoning", "summary": []any{}, "encrypted_content": "gA"})
		case "call":
			id := rapid.SampledFrom([]string{"call_0", "call_1", "an-id-that-is-longer-than-what-hosts-of-this-api-take", fmt.Sprint("call_n", n)}).Draw(t, "id")
			if slices.ContainsFunc(waiting, func(o open) bool { return o.id == id }) {
				continue // ids come back in later turns, not beside each other
			}
			name, output := fmt.Sprint("tool", n), rapid.SampledFrom([]string{"", fmt.Sprint("output ", n)}).Draw(t, "output")
			want[name] = output
			waiting = append(waiting, open{id, output})
			add(map[string]any{"type": "function_call", "id": fmt.Sprint("fc_", n), "call_id": id, "name": name, "arguments": fmt.Sprintf(`{"n":%d}`, n)})
		case "output":
			if len(waiting) > 0 {
				answer(rapid.IntRange(0, len(waiting)-1).Draw(t, "of"))
			}
		}
	}
	for len(waiting) > 0 {
		answer(0)
	}
	return items, want
}

func TestNoCallAndNoOutputIsLostOrLeavesItsPair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items, want := shuffled(t)
		messages, _, err := messagesOf(onceward.ModelRequest{Items: items}, true, fitting(onceward.RepairNone))
		if err != nil {
			t.Fatal(err)
		}
		var users, calls []string
		ids := map[string]bool{}
		for i := 0; i < len(messages); i++ {
			m := messages[i]
			switch m.Role {
			case "tool":
				t.Fatalf("message %d is an output away from its call: %+v", i, m)
			case "user":
				users = append(users, *m.Content)
				continue
			}
			for j, call := range m.ToolCalls { // its outputs come next, in the order of the calls
				calls = append(calls, call.Function.Name)
				output, known := want[call.Function.Name]
				if !known || i+1+j >= len(messages) {
					t.Fatalf("call %+v is unknown or without an output", call)
				}
				if out := messages[i+1+j]; out.Role != "tool" || out.ToolCallID != call.ID || *out.Content != output {
					t.Fatalf("after %+v comes %+v, want output %q", call, out, output)
				}
				if ids[call.ID] || len(call.ID) > maxCallID {
					t.Fatalf("id %s is taken or too long", call.ID)
				}
				ids[call.ID] = true
			}
			i += len(m.ToolCalls)
		}
		var wantUsers, wantCalls []string
		for _, item := range items {
			var raw struct{ Role, Name, Content any }
			_ = json.Unmarshal(item.Raw, &raw)
			switch {
			case item.Type == "function_call":
				wantCalls = append(wantCalls, raw.Name.(string))
			case raw.Role == "user":
				wantUsers = append(wantUsers, raw.Content.(string))
			}
		}
		if !slices.Equal(calls, wantCalls) || !slices.Equal(users, wantUsers) {
			t.Fatalf("calls %v of %v, users %v of %v", calls, wantCalls, users, wantUsers)
		}
	})
}

// What a host of this API answers is what it is sent back in the next turn.
func TestAnswersComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type call struct {
			id, name, arguments string
		}
		text := rapid.StringMatching(`[a-z<>&"\\é ]{0,12}`).Draw(t, "text")
		var calls []call
		for i := range rapid.IntRange(0, 4).Draw(t, "calls") {
			calls = append(calls, call{fmt.Sprint("call_", i), fmt.Sprint("tool", i), rapid.SampledFrom([]string{`{}`, `{"a":"é<"}`, ` {"a": 1.50} `}).Draw(t, "arguments")})
		}
		if text == "" && len(calls) == 0 {
			return
		}
		var s Stream
		add := func(delta map[string]any, finish any) {
			enc, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
			if _, err := s.Add(wire.Event{Data: enc}); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range text {
			add(map[string]any{"content": string(r)}, nil)
		}
		for i, c := range calls {
			cut := rapid.IntRange(0, len(c.arguments)).Draw(t, "cut")
			for cut < len(c.arguments) && c.arguments[cut]&0xC0 == 0x80 {
				cut++
			}
			add(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": c.id, "function": map[string]any{"name": c.name, "arguments": c.arguments[:cut]}}}}, nil)
			add(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": c.arguments[cut:]}}}}, nil)
		}
		add(map[string]any{}, "stop")
		answer, err := s.Answer()
		if err != nil {
			t.Fatal(err)
		}
		var items []onceward.Item
		for _, raw := range answer.Items {
			item, err := onceward.NewItem(raw, "")
			if err != nil {
				t.Fatal(err)
			}
			items = append(items, item)
		}
		messages, _, err := messagesOf(onceward.ModelRequest{Items: items}, false, fitting(onceward.RepairNone))
		if err != nil || len(messages) != 1 {
			t.Fatalf("%+v, %v", messages, err)
		}
		m := messages[0]
		if got := m.Content; (got == nil) != (text == "") || got != nil && *got != text {
			t.Fatalf("content %v, want %q", got, text)
		}
		if len(m.ToolCalls) != len(calls) || len(answer.Calls) != len(calls) {
			t.Fatalf("%d calls of %d", len(m.ToolCalls), len(calls))
		}
		for i, c := range m.ToolCalls {
			if (call{c.ID, c.Function.Name, c.Function.Arguments}) != calls[i] {
				t.Fatalf("call %+v, want %+v", c, calls[i])
			}
		}
	})
}
