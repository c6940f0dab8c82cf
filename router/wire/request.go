package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/onceward/onceward"
)

// Target is the deployment that a request is rendered for.
type Target struct {
	Resource        string
	Deployment      string
	Boundary        string
	Capability      onceward.Capability
	MaxOutputTokens int
}

// Rendered is a request body.
type Rendered struct {
	Body     []byte
	Stripped bool   // encrypted reasoning was left out
	Notice   string // what was fitted to the target, for the trail; empty is nothing
}

// Render writes the body of one attempt. It is stateless: store is false, no
// previous response is named but the anchor of a pinned run, and encrypted
// reasoning is replayed inside its own boundary only. A run in a conversation is
// the exception: its items are stored there, and the body holds those only that
// the conversation does not.
func Render(req onceward.ModelRequest, to Target) (Rendered, error) {
	size := 1024 + len(req.Instructions)
	for i := range req.Items {
		size += len(req.Items[i].Raw) + 1
	}
	w := writer{buf: make([]byte, 0, size)}
	w.raw(`{"model":`).str(to.Deployment)
	if req.Instructions != "" {
		w.raw(`,"instructions":`).str(req.Instructions)
	}
	f := NewFit(to, req.Repair, maxCallID)
	stripped, err := w.input(req, to, f)
	if err != nil {
		return Rendered{}, err
	}
	if err := w.tools(req.Tools, to.Capability); err != nil {
		return Rendered{}, err
	}
	w.raw(`,"store":`).flag(req.Conversation != "").raw(`,"stream":true`)
	switch {
	case req.Conversation != "":
		w.raw(`,"conversation":`).str(req.Conversation)
	case req.PreviousResponseID != "":
		w.raw(`,"previous_response_id":`).str(req.PreviousResponseID)
	}
	if to.Capability.EncryptedReasoning && req.Conversation == "" { // there it is kept, and never sent back
		w.raw(`,"include":["reasoning.encrypted_content"]`)
	}
	if to.MaxOutputTokens > 0 {
		w.raw(`,"max_output_tokens":`).raw(strconv.Itoa(to.MaxOutputTokens))
	}
	if out := req.Output; out != nil {
		if !json.Valid(out.Schema) {
			return Rendered{}, fmt.Errorf("render output %s: its schema is not JSON", out.Name)
		}
		w.raw(`,"text":{"format":{"type":"json_schema","name":`).str(out.Name)
		w.raw(`,"schema":`).raw(string(out.Schema)).raw(`,"strict":`).flag(to.Capability.StrictSchema).raw(`}}`)
	}
	if req.RunKey != "" {
		w.raw(`,"prompt_cache_key":`).str(CacheKey(req.RunKey))
	}
	w.raw(`}`)
	return Rendered{Body: w.buf, Stripped: stripped, Notice: f.Notice()}, nil
}

// CacheKey returns the key under which hosts keep a run's prompt. It is a
// digest: the workflow id is the user's and no business of the host.
func CacheKey(runKey string) string {
	sum := sha256.Sum256([]byte("prompt cache of " + runKey))
	return hex.EncodeToString(sum[:16])
}

type writer struct{ buf []byte }

func (w *writer) raw(s string) *writer { w.buf = append(w.buf, s...); return w }

func (w *writer) flag(b bool) *writer { w.buf = strconv.AppendBool(w.buf, b); return w }

func (w *writer) str(s string) *writer {
	if verbatim(s) {
		w.buf = append(w.buf, '"')
		w.buf = append(w.buf, s...)
		w.buf = append(w.buf, '"')
		return w
	}
	enc, err := json.Marshal(s)
	if err != nil { // a string always encodes
		enc = []byte(`""`)
	}
	w.buf = append(w.buf, enc...)
	return w
}

// verbatim reports whether encoding/json writes s as it stands.
func verbatim(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c < ' ' || c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}

func (w *writer) tools(tools []onceward.ToolDecl, c onceward.Capability) error {
	if len(tools) == 0 {
		return nil
	}
	w.raw(`,"tools":[`)
	for i, tool := range tools {
		if !json.Valid(tool.Schema) {
			return fmt.Errorf("render tool %s: its schema is not JSON", tool.Name)
		}
		if i > 0 {
			w.raw(`,`)
		}
		w.raw(`{"type":"function","name":`).str(tool.Name)
		if tool.Description != "" {
			w.raw(`,"description":`).str(tool.Description)
		}
		w.raw(`,"parameters":`).raw(string(tool.Schema)).raw(`,"strict":`).flag(c.StrictSchema).raw(`}`)
	}
	w.raw(`],"parallel_tool_calls":`).flag(c.ParallelTools)
	return nil
}

func (w *writer) input(req onceward.ModelRequest, to Target, f *Fit) (stripped bool, err error) {
	if req.Conversation != "" {
		return false, w.unheld(req.Items, f)
	}
	var drop map[int]bool
	if req.Repair == onceward.RepairHistory {
		drop = Orphans(req.Items)
	}
	f.plan(req.Items)
	w.raw(`,"input":[`)
	first := true
	for i, item := range req.Items {
		if item.Type == onceward.ItemManifest || drop[i] {
			continue
		}
		if f.unread(item) {
			stripped = stripped || Sealed(item)
			continue
		}
		if item.Type == "compaction" && item.Boundary != "" && item.Boundary != to.Boundary {
			return stripped, errors.New("render input: a compaction item of another encryption boundary cannot be left out")
		}
		if !first {
			w.raw(`,`)
		}
		first = false
		if err := w.item(f, item, f.CallID(item), f.bare[i]); err != nil {
			return stripped, err
		}
	}
	w.raw(`]`)
	return stripped, nil
}

// flatText joins the text parts of a list. A part that is no text cannot be
// sent to a host without lists; requirements keep such a request away from it.
func flatText(list []byte) (string, error) {
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(list, &parts); err != nil {
		return "", fmt.Errorf("render output list: %w", err)
	}
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		if !strings.HasSuffix(p.Type, "text") {
			return "", fmt.Errorf("render output list: this deployment takes no lists, and a part is %s", p.Type)
		}
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n"), nil
}

// Sealed reports whether only the encryption boundary that minted an item can
// read it.
func Sealed(item onceward.Item) bool {
	return (item.Type == "reasoning" || item.Type == "compaction") && !empty(member(item.Raw, "encrypted_content"))
}
