package probe

import (
	"encoding/json"
	"slices"
)

// first is the request whose answer is replayed.
func first(reasoning bool) map[string]any {
	fields := map[string]any{"input": []any{message(question)}, "store": false, "max_output_tokens": budget}
	if reasoning {
		fields["include"] = []string{"reasoning.encrypted_content"}
	}
	return fields
}

func message(text string) map[string]any {
	return map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": text}}}
}

// sealed reports whether a turn has reasoning that only its boundary can read.
func sealed(turn []json.RawMessage) Answer {
	for _, raw := range turn {
		var item struct {
			Type   string  `json:"type"`
			Sealed *string `json:"encrypted_content"`
		}
		if json.Unmarshal(raw, &item) == nil && item.Type == "reasoning" && item.Sealed != nil && *item.Sealed != "" {
			return Yes
		}
	}
	return No
}

// replayable removes what a resource writes and refuses to read: the status of
// reasoning.
func replayable(turn []json.RawMessage) []json.RawMessage {
	return edit(turn, func(item map[string]json.RawMessage) {
		if string(item["type"]) == `"reasoning"` {
			delete(item, "status")
		}
	})
}

// spoiled changes the sealed content of a turn's reasoning and keeps its length and
// alphabet, so that only who opens it can tell.
func spoiled(turn []json.RawMessage) []json.RawMessage {
	return edit(turn, func(item map[string]json.RawMessage) {
		var sealed string
		if json.Unmarshal(item["encrypted_content"], &sealed) != nil || sealed == "" {
			return
		}
		blob := []byte(sealed)
		for i := len(blob) / 3; i < (2*len(blob)+2)/3; i++ {
			if blob[i] == 'A' {
				blob[i] = 'B'
			} else if blob[i] != '=' {
				blob[i] = 'A'
			}
		}
		if encoded, err := json.Marshal(string(blob)); err == nil {
			item["encrypted_content"] = encoded
		}
	})
}

// withoutIDs removes the ids of a turn's items.
func withoutIDs(turn []json.RawMessage) []json.RawMessage {
	return edit(turn, func(item map[string]json.RawMessage) { delete(item, "id") })
}

func edit(turn []json.RawMessage, change func(map[string]json.RawMessage)) []json.RawMessage {
	out := make([]json.RawMessage, 0, len(turn))
	for _, raw := range turn {
		var item map[string]json.RawMessage
		if json.Unmarshal(raw, &item) != nil {
			continue
		}
		change(item)
		if encoded, err := json.Marshal(item); err == nil {
			out = append(out, encoded)
		}
	}
	return out
}

// keysOf lists the keys that occur in a list of objects and in the objects in
// them, sorted.
func keysOf(list []map[string]any) []string {
	var out []string
	add := func(key string) {
		if !slices.Contains(out, key) {
			out = append(out, key)
		}
	}
	for _, object := range list {
		for key, value := range object {
			add(key)
			if inner, ok := value.(map[string]any); ok {
				for key := range inner {
					add(key)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}
