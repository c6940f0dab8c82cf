package wire

import (
	"slices"
	"strings"

	"github.com/onceward/onceward"
)

// maxID is the longest id of an item that every host of the Responses API takes.
const maxID = 64

// idPrefixes are the beginnings of the ids that the API itself mints. Other hosts
// make up ids of their own, and a host that checks ids refuses those with the
// whole request.
var idPrefixes = map[string][]string{
	"message":               {"msg_"},
	"reasoning":             {"rs_"},
	"function_call":         {"fc_"},
	"custom_tool_call":      {"ctc_", "ct_"},
	"web_search_call":       {"ws_"},
	"file_search_call":      {"fs_"},
	"code_interpreter_call": {"ci_"},
	"image_generation_call": {"ig_"},
	"computer_call":         {"cu_"},
	"shell_call":            {"sh_"},
	"shell_call_output":     {"sho_"},
	"local_shell_call":      {"lsh_"},
	"apply_patch_call":      {"apc_"},
	"tool_search_call":      {"tsc_"},
	"tool_search_output":    {"tso_"},
	"compaction":            {"cmp_"},
	"mcp_call":              {"mcp_"},
	"mcp_list_tools":        {"mcpl_"},
	"mcp_approval_request":  {"mcpr_"},
	"program":               {"cm_"},
	"program_output":        {"cmo_"},
}

// minted reports whether an id has a form that the API mints for the type. Of a
// type that is not known here only the look of an id is asked for.
func minted(typ, id string) bool {
	at := strings.IndexByte(id, '_')
	if at < 1 || at+1 >= len(id) || len(id) > maxID || !plainID(id) {
		return false
	}
	prefixes, known := idPrefixes[typ]
	return !known || slices.Contains(prefixes, id[:at+1])
}

// plainID reports whether an id has only the characters that every host takes.
func plainID(id string) bool {
	for i := range len(id) {
		switch c := id[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// home reports whether the target, or another resource of its boundary, minted
// an item. What an older release wrote down says so of sealed items only; the
// rest of it counts as foreign, because an id that is missing harms nothing and
// one of somebody else is refused.
func (t Target) home(item onceward.Item) bool {
	switch {
	case item.MintedIn != "":
		return item.MintedIn == t.Boundary
	case item.MintedBy != "":
		return item.MintedBy == t.Resource && t.Boundary == ""
	}
	return item.Boundary != "" && item.Boundary == t.Boundary
}

// idIsJoin names the items whose id another item refers to.
func idIsJoin(typ string) bool { return typ == "item_reference" || typ == "mcp_approval_request" }

// plan finds the items that go out without their ids. The items of one answer
// belong together: an id wants the reasoning item that it was minted with, and
// reasoning with an id wants the item after it. So they all keep their ids, or
// none of them does.
func (f *Fit) plan(items []onceward.Item) {
	f.bare = make([]bool, len(items))
	seen := map[string]bool{}
	for begin := 0; begin < len(items); {
		if ours(items[begin]) || items[begin].Type == onceward.ItemManifest {
			begin++
			continue
		}
		end := begin + 1
		for end < len(items) && !ours(items[end]) {
			end++
		}
		answer := items[begin:end]
		why, omit := f.omit(answer, seen)
		for i, item := range answer {
			if item.ID == "" {
				continue
			}
			seen[item.ID] = true
			if f.bare[begin+i] = omit; omit && why != notedNothing && !idIsJoin(item.Type) {
				f.noted[why]++
			}
		}
		begin = end
	}
}

// omit says whether the items of one answer lose their ids, and why.
func (f *Fit) omit(answer []onceward.Item, seen map[string]bool) (kind, bool) {
	if f.to.Capability.OmitReasoningIDs || f.repair == onceward.RepairStripIDs || f.repair == onceward.RepairStripReasoning {
		return notedNothing, true // the configuration or the repair says so
	}
	why, omit := notedNothing, false
	because := func(k kind) { why, omit = k, true }
	foreign, known := false, false
	for i, item := range answer {
		if item.MintedBy != "" || item.MintedIn != "" || item.Boundary != "" {
			known, foreign = true, foreign || !f.to.home(item)
		}
		switch {
		case f.unread(item):
			omit = true // an id would miss its reasoning
		case item.ID == "" || idIsJoin(item.Type):
		case len(item.ID) > maxID:
			because(notedLongID)
		case !minted(item.Type, item.ID):
			because(notedStrangeID)
		case seen[item.ID] || slices.ContainsFunc(answer[:i], func(o onceward.Item) bool { return o.ID == item.ID }):
			because(notedRepeatedID) // a host that counts from 0 in every answer
		}
	}
	switch {
	case !known:
		because(notedUnknownID)
	case foreign:
		because(notedForeignID)
	}
	return why, omit
}

// unread reports reasoning that the target is not sent: that of another boundary,
// and unsealed reasoning, which is nothing but an id that nobody stored.
func (f *Fit) unread(item onceward.Item) bool {
	if item.Type != "reasoning" {
		return false
	}
	foreign := item.Boundary != "" && item.Boundary != f.to.Boundary
	return foreign || f.repair == onceward.RepairStripReasoning || !Sealed(item)
}
