package routertest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxAdded is how many items one request may add to a conversation.
const maxAdded = 20

// newConversation makes a conversation, with the items that come with it.
func (x *exchange) newConversation(raw []byte) {
	items, m, e := x.s.checkAdded(raw, "items", "metadata")
	if e != nil {
		x.refuse(e)
		return
	}
	id := mint("conv_", x.s.cfg.Name)
	x.s.state.open(id, items)
	x.json(200, encode(map[string]any{"id": id, "object": "conversation", "created_at": time.Now().Unix(), "metadata": orEmpty(m["metadata"], "{}")}))
}

// addItems appends to a conversation and shows what it appended.
func (x *exchange) addItems(id string, raw []byte) {
	held, ok := x.s.state.talk(id)
	if !ok {
		x.refuse(conversationNotFound(id))
		return
	}
	items, m, e := x.s.checkAdded(raw, "items")
	switch {
	case e != nil:
		x.refuse(e)
	case len(m["items"]) == 0:
		x.refuse(missingParameter("items"))
	case size(held)+size(items) > maxTalkBytes:
		x.refuse(tooLong())
	default:
		x.json(200, listOf(x.s.shown(id, x.s.state.extend(id, items), items), false))
	}
}

// checkAdded reads the items that a client puts into a conversation. They are
// checked one by one: whether calls have their outputs is asked when a model is.
func (s *Server) checkAdded(raw []byte, known ...string) ([]Item, map[string]json.RawMessage, *apiError) {
	m := map[string]json.RawMessage{}
	if err := json.Unmarshal(orEmpty(raw, "{}"), &m); err != nil {
		return nil, nil, badRequest("", "", "We could not parse the JSON body of your request.")
	}
	for _, key := range sortedKeys(m) {
		if !slices.Contains(known, key) {
			return nil, nil, unknownParameter(key)
		}
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(orEmpty(m["items"], "[]"), &raws); err != nil {
		return nil, nil, invalidType("items", "an array of objects", m["items"])
	}
	if len(raws) > maxAdded {
		return nil, nil, badRequest("items", "array_above_max_length", "Invalid 'items': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", maxAdded, len(raws))
	}
	var items []Item
	for i, one := range raws {
		it, _ := parseItem(one) // what is wrong with it is said by the strict checks
		at := fmt.Sprintf("items[%d]", i)
		if e := checkItem(at, it); e != nil {
			return nil, nil, e
		}
		if e := s.checkFiles(at, it); e != nil {
			return nil, nil, e
		}
		items = append(items, it)
	}
	return items, m, nil
}

// shown are items as a list shows them: each with an id, the same every time,
// and the content of messages as parts. The first is number first of its owner.
func (s *Server) shown(owner string, first int, items []Item) []json.RawMessage {
	list := make([]json.RawMessage, 0, len(items))
	for i, it := range items {
		var m map[string]json.RawMessage
		if json.Unmarshal(it.Raw, &m) != nil {
			continue // checked when it came
		}
		m["type"] = encode(it.Type)
		if it.ID == "" {
			m["id"] = encode(s.itemID(it, owner, first+i))
		}
		if len(m["status"]) == 0 && it.Type != "reasoning" && it.Type != "compaction" {
			m["status"] = encode("completed")
		}
		if it.Type == "message" && jsonKind(m["content"]) == "a string" {
			kind := "input_text"
			part := map[string]any{"text": it.Text()}
			if it.Role == "assistant" {
				kind, part["annotations"] = "output_text", []string{}
			}
			part["type"] = kind
			m["content"] = encode([]any{part})
		}
		list = append(list, encode(m))
	}
	return list
}

// itemID is the id that a resource gave to an item that came without one.
func (s *Server) itemID(it Item, owner string, n int) string {
	prefix := orElse(idPrefix[it.Type], "msg")
	if isOutput(it.Type) {
		prefix = "fc"
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "item %d of %s", n, owner))
	return prefix + "_" + s.print + hex.EncodeToString(sum[:16])
}

// list answers with a page of items, the newest first unless asked otherwise.
func (x *exchange) list(items []json.RawMessage) {
	query := x.r.URL.Query()
	order, limit := orElse(query.Get("order"), "desc"), 20
	if v := query.Get("limit"); v != "" {
		limit, _ = strconv.Atoi(v) // 0, when it is no number, is refused below
	}
	switch {
	case order != "asc" && order != "desc":
		x.refuse(badRequest("order", "invalid_value", "Invalid value: '%s'. Supported values are: 'asc' and 'desc'.", order))
		return
	case limit < 1 || limit > 100:
		x.refuse(badRequest("limit", "invalid_value", "Invalid 'limit': expected an integer between 1 and 100."))
		return
	case order == "desc":
		slices.Reverse(items)
	}
	if after := query.Get("after"); after != "" {
		at := slices.IndexFunc(items, func(raw json.RawMessage) bool { return str(field(raw, "id")) == after })
		if at < 0 {
			x.refuse(badRequest("after", "", "Item with id '%s' not found.", after))
			return
		}
		items = items[at+1:]
	}
	x.json(200, listOf(items[:min(limit, len(items))], len(items) > limit))
}

func listOf(items []json.RawMessage, more bool) []byte {
	page := map[string]any{"object": "list", "data": items, "has_more": more, "first_id": "", "last_id": ""}
	if n := len(items); n > 0 {
		page["first_id"], page["last_id"] = field(items[0], "id"), field(items[n-1], "id")
	}
	return encode(page)
}

// conversations answers what concerns a conversation by itself; false: the path
// or the method is none of these.
func (x *exchange) conversations(path string, raw []byte) bool {
	id, items := strings.CutSuffix(strings.TrimPrefix(path, "conversations/"), "/items")
	switch {
	case path == "conversations" && x.r.Method == http.MethodPost:
		x.newConversation(raw)
	case items && x.r.Method == http.MethodPost:
		x.addItems(id, raw)
	case items && x.r.Method == http.MethodGet:
		held, ok := x.s.state.talk(id)
		if !ok {
			x.refuse(conversationNotFound(id))
			return true
		}
		x.list(x.s.shown(id, 0, held))
	default:
		return false
	}
	return true
}
