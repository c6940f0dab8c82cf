package onceward

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// MaxItem bounds one transcript item in bytes. A larger one would meet the
// payload limits of Temporal where nothing can explain it any more.
const MaxItem = 1 << 20

// ItemManifest is the type of item 0 of every transcript: the run manifest.
const ItemManifest = "onceward_manifest"

// Item is one entry of the transcript: the canonical JSON of a Responses-API
// item and an index made where the item entered the run. Workflow code moves
// items and never parses them. The zero value is no item. An Item is a value;
// its Raw bytes are shared and must not be changed.
type Item struct {
	Raw      json.RawMessage `json:"raw"`
	Type     string          `json:"type"`
	ID       string          `json:"id,omitempty"`
	CallID   string          `json:"call_id,omitempty"`
	Boundary string          `json:"boundary,omitempty"` // the encryption boundary that minted it, for items only that boundary can read
	// MintedBy and MintedIn are the resource that gave the item and its id, and the
	// encryption boundary of that resource, as they were then. Both are empty for
	// items made on our side, and for those that an older release wrote down;
	// MintedIn is empty as well for a resource that shares no boundary.
	MintedBy string `json:"minted_by,omitempty"`
	MintedIn string `json:"minted_in,omitempty"`
	Digest   string `json:"digest"` // hex SHA-256 of Raw
}

// NewItem canonicalises raw and indexes it. boundary is the encryption boundary
// of the resource that minted it, empty for items made on our side. It refuses
// what is not a JSON object, is nested deeper than 256 levels or is larger than
// MaxItem bytes.
func NewItem(raw []byte, boundary string) (Item, error) {
	canonical, err := Canonical(raw)
	if err != nil {
		return Item{}, fmt.Errorf("canonicalise item: %w", err)
	}
	if len(canonical) > MaxItem {
		return Item{}, fmt.Errorf("canonicalise item: %d bytes, at most %d", len(canonical), MaxItem)
	}
	var index struct {
		Type   string `json:"type"`
		ID     any    `json:"id"`
		CallID any    `json:"call_id"`
	}
	if err := json.Unmarshal(canonical, &index); err != nil {
		return Item{}, fmt.Errorf("index item: %w", err)
	}
	if index.Type == "" {
		index.Type = "message" // the API's short form of a message has no type
	}
	item := Item{Raw: canonical, Type: index.Type, Boundary: boundary, Digest: DigestBytes(canonical)}
	item.ID, _ = index.ID.(string)
	item.CallID, _ = index.CallID.(string)
	return item, nil
}

// Text returns a message item with one text part, as role user, developer or
// assistant. It refuses a text that makes the item larger than MaxItem.
func Text(role, text string) (Item, error) {
	part := "input_text"
	if role == "assistant" {
		part = "output_text"
	}
	raw, err := json.Marshal(map[string]any{
		"type": "message", "role": role,
		"content": []any{map[string]any{"type": part, "text": text}},
	})
	if err != nil {
		return Item{}, fmt.Errorf("write message: %w", err)
	}
	return NewItem(raw, "")
}

// MessageText returns the text of a message item, its parts joined; of any other
// item, and of a refusal, nothing. It is a pure function of Raw.
func (i Item) MessageText() string {
	var message struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	}
	if i.Type != "message" || json.Unmarshal(i.Raw, &message) != nil {
		return ""
	}
	var text strings.Builder
	for _, part := range message.Content {
		if part.Type == "output_text" || part.Type == "text" {
			text.WriteString(part.Text)
		}
	}
	return text.String()
}

// CallOutput returns the output item of a function call. output is what the
// model reads; an empty output stays on the wire as "".
func CallOutput(callID, output string) (Item, error) {
	return outputItem("function_call_output", callID, output)
}

func outputItem(typ, callID, output string) (Item, error) {
	raw, err := json.Marshal(struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output string `json:"output"`
	}{typ, callID, output})
	if err != nil {
		return Item{}, fmt.Errorf("write output of %s: %w", callID, err)
	}
	return NewItem(raw, "")
}

// CallError returns an output item that tells the model what was wrong with its
// call: a JSON object with the keys error and message.
func CallError(callID, code, message string) Item {
	return callError("function_call_output", callID, code, message)
}

// CustomCallError is CallError for a call of a custom tool, whose output is an item
// of another type: hosts refuse a call without an output of its own kind.
func CustomCallError(callID, code, message string) Item {
	return callError("custom_tool_call_output", callID, code, message)
}

func callError(typ, callID, code, message string) Item {
	body, err := json.Marshal(map[string]string{"error": code, "message": Cut(message, 4000)})
	if err != nil {
		body = []byte(`{"error":"internal"}`)
	}
	item, err := outputItem(typ, callID, string(body))
	if err != nil { // a call id the wire could not carry never gets here: bound calls are checked first
		item, _ = outputItem(typ, "call_unreadable", string(body))
	}
	return item
}

// DigestBytes returns the hex SHA-256 of b.
func DigestBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// ChainDigest extends the digest of a transcript by one item. The chain lets an
// activity prove that it holds the very transcript the run meant, and costs the
// workflow one hash of 128 bytes an item, whatever the item's size.
func ChainDigest(chain string, item Item) string {
	return DigestBytes([]byte(chain + item.Digest))
}
