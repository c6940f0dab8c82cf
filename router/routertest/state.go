package routertest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// stored is a response kept under store=true and the conversation up to it.
type stored struct {
	body  []byte
	items []Item
	input int // so many of items are its input, the others its output
	size  int
}

// state is what one resource remembers: stored responses, conversations and the
// prompt prefixes it has seen. Other resources know nothing of it, which is what
// makes round robin over stored responses fail.
type state struct {
	mu        sync.Mutex
	responses map[string]stored
	order     []string
	bytes     int
	items     map[string]Item
	talks     map[string][]Item // by conversation id
	prefixes  map[[32]byte]struct{}
	ring      [][32]byte
}

func newState(conversations ...string) *state {
	st := &state{responses: map[string]stored{}, items: map[string]Item{}, talks: map[string][]Item{}, prefixes: map[[32]byte]struct{}{}}
	for _, id := range conversations {
		st.talks[id] = []Item{}
	}
	return st
}

func (st *state) talk(id string) ([]Item, bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	items, ok := st.talks[id]
	return slices.Clone(items), ok
}

// open begins a conversation. It is kept as long as the resource lives.
func (st *state) open(id string, items []Item) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.talks[id] = items
}

// extend appends to a conversation and returns how many items it held before.
func (st *state) extend(id string, items []Item) int {
	st.mu.Lock()
	defer st.mu.Unlock()
	held := len(st.talks[id])
	st.talks[id] = append(st.talks[id], items...)
	return held
}

// put keeps a response, with the conversation up to it; the first so many items
// of that are what the model was shown.
func (st *state) put(id string, body []byte, conversation []Item, input int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	size := len(body)
	for _, it := range conversation {
		size += len(it.Raw)
		if it.ID != "" {
			st.items[it.ID] = it
		}
	}
	st.responses[id] = stored{body: body, items: conversation, input: input, size: size}
	st.order = append(st.order, id)
	st.bytes += size
	for len(st.order) > 1 && (len(st.order) > maxStored || st.bytes > maxStoreBytes) {
		st.drop(st.order[0])
	}
}

func (st *state) drop(id string) {
	r := st.responses[id]
	delete(st.responses, id)
	st.bytes -= r.size
	st.order = slices.DeleteFunc(st.order, func(o string) bool { return o == id })
	for _, it := range r.items {
		delete(st.items, it.ID)
	}
}

func (st *state) response(id string) ([]byte, bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	r, ok := st.responses[id]
	return r.body, ok
}

func (st *state) input(id string) ([]Item, bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	r, ok := st.responses[id]
	return r.items[:r.input], ok
}

func (st *state) remove(id string) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	_, ok := st.responses[id]
	if ok {
		st.drop(id)
	}
	return ok
}

func (st *state) conversation(id string) ([]Item, bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	r, ok := st.responses[id]
	return r.items, ok
}

func (st *state) item(id string) (Item, bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	it, ok := st.items[id]
	return it, ok
}

// prompt counts the tokens of a prompt, four bytes each, and how many of them
// belong to the longest prefix this resource has seen before.
func (st *state) prompt(segments [][]byte) (tokens, cached int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	var sum [32]byte
	bytesSoFar, warm := 0, true
	for _, seg := range segments {
		var c bytes.Buffer
		if json.Compact(&c, seg) == nil {
			seg = c.Bytes()
		}
		sum = sha256.Sum256(slices.Concat(sum[:], seg))
		bytesSoFar += len(seg)
		_, seen := st.prefixes[sum]
		if warm = warm && seen; warm {
			cached = bytesSoFar / 4
		}
		if !seen {
			st.prefixes[sum] = struct{}{}
			st.ring = append(st.ring, sum)
		}
	}
	for len(st.ring) > maxPrefixes {
		delete(st.prefixes, st.ring[0])
		st.ring = st.ring[1:]
	}
	return max(1, bytesSoFar/4), cached
}

// promptTokens estimates a prompt without remembering it.
func promptTokens(segments [][]byte) int {
	n := 0
	for _, seg := range segments {
		n += len(seg)
	}
	return max(1, n/4)
}

// links remembers which reasoning item stood before an item in its response.
type links struct {
	mu    sync.Mutex
	need  map[string]string
	order []string
}

func newLinks() *links { return &links{need: map[string]string{}} }

func (l *links) add(id, reasoning string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.need[id] = reasoning
	l.order = append(l.order, id)
	if len(l.order) > maxLinks {
		delete(l.need, l.order[0])
		l.order = l.order[1:]
	}
}

func (l *links) required(id string) string {
	if id == "" {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.need[id]
}

// resolveInput checks the input items and returns all that the model is shown:
// what the previous response or the conversation adds, then the fresh items with
// references resolved.
func (s *Server) resolveInput(req Request) (all, fresh []Item, _ *apiError) {
	items := req.Items
	if len(items) == 0 { // nothing was said, or it could not be read
		var err error
		if items, err = parseInput(req.Body.Input); err != nil {
			return nil, nil, invalidType("input", "one of an array of objects or string", req.Body.Input)
		}
	}
	if id := req.Body.Conversation; id != "" {
		before, ok := s.state.talk(id)
		switch {
		case !ok:
			return nil, nil, conversationNotFound(id)
		case size(before) > maxTalkBytes:
			return nil, nil, tooLong()
		}
		all = before
	}
	if id := req.Body.PreviousResponseID; id != "" {
		before, ok := s.state.conversation(id)
		if !ok {
			return nil, nil, s.notMine(id, previousNotFound(id))
		}
		all = slices.Clone(before)
	}
	held := len(all)
	for i, it := range items {
		at := fmt.Sprintf("input[%d]", i)
		if e := checkItem(at, it); e != nil {
			return nil, nil, e
		}
		if e := s.checkFiles(at, it); e != nil {
			return nil, nil, e
		}
		it, e := s.resolveItem(req, it)
		if e != nil {
			return nil, nil, e
		}
		all = append(all, it)
	}
	if e := checkPairs(all); e != nil {
		return nil, nil, e
	}
	return all, all[held:], s.checkReasoning(all)
}

func size(items []Item) int {
	n := 0
	for _, it := range items {
		n += len(it.Raw)
	}
	return n
}

// checkFiles refuses a message that names a file of another resource.
func (s *Server) checkFiles(at string, it Item) *apiError {
	var parts []struct {
		Type   string
		FileID string `json:"file_id"`
	}
	if it.Type != "message" || json.Unmarshal(orEmpty(field(it.Raw, "content"), "null"), &parts) != nil {
		return nil // a string has no files
	}
	for n, p := range parts {
		if p.Type == "input_file" && p.FileID != "" && !slices.Contains(s.cfg.Files, p.FileID) {
			return fileNotFound(fmt.Sprintf("%s.content[%d].file_id", at, n), p.FileID)
		}
	}
	return nil
}

// notMine chooses the refusal of an id that this resource does not know.
func (s *Server) notMine(id string, unknown *apiError) *apiError {
	if owner := s.pool.minter(id); s.cfg.Dialect == DialectAzure && owner != "" && owner != s.cfg.Name {
		return otherResource()
	}
	return unknown
}

func (s *Server) resolveItem(req Request, it Item) (Item, *apiError) {
	sealed := ""
	if it.Type == "reasoning" || it.Type == "compaction" {
		sealed = str(field(it.Raw, "encrypted_content"))
	}
	bare := it.Type == "item_reference" || (it.Type == "reasoning" && it.ID != "" && sealed == "")
	if bare {
		kept, ok := s.state.item(it.ID)
		switch {
		case ok:
			return kept, nil
		case !req.Stored():
			return it, notPersisted(s.cfg.Dialect, it.ID)
		default:
			return it, s.notMine(it.ID, itemNotFound(it.ID))
		}
	}
	if sealed != "" && !opens(s.cfg.EncryptionBoundary, sealed) {
		return it, notDecryptable(it, sealed)
	}
	// Under store=true an id is looked up, and an id of another resource is
	// refused even beside full content; hosted calls are looked up always.
	hosted := isHosted(it.Type)
	if it.ID != "" && (req.Stored() || hosted) {
		if owner := s.pool.minter(it.ID); owner != "" && owner != s.cfg.Name {
			return it, s.notMine(it.ID, itemNotFound(it.ID))
		}
	}
	return it, nil
}

func isHosted(t string) bool {
	return slices.Contains([]string{"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"}, t)
}

func field(raw json.RawMessage, key string) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m[key]
}

// segments splits a request into the pieces its prompt is cached by.
func segments(m map[string]json.RawMessage, items []Item) [][]byte {
	head := fmt.Appendf(nil, "%s\n%s\n%s\n%s", m["model"], m["instructions"], m["tools"], m["text"])
	out := [][]byte{head}
	for _, it := range items {
		out = append(out, it.Raw)
	}
	return out
}
