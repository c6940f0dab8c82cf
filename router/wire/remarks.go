package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Remarks are what an answer says beside texts and calls, and what decides
// whether it may be believed. The zero value says that it is whole.
type Remarks struct {
	Partial    string   // an item that is not complete, other than a message
	PartText   string   // a message that is not complete
	Unserved   string   // a call of a kind that nobody declared and nothing can answer
	Hosted     []string // kinds of tools that the host ran by itself
	PartHosted bool     // one of these did not come to its end
	Strange    []string // kinds of items that nobody asked for
	Declined   bool     // a message refuses, whatever stands beside it
	Choices    int      // answers beside the one that was asked for
	Bare       bool     // reasoning came without encrypted content
	Stated     int      // output tokens as the host wrote them, before they were settled
	Zero       bool     // usage that is there and knows of no output
	Filtered   bool     // a content filter took something away
	UsageNotes []string // what was wrong with usage, and how it was read
	Echo       Echo
}

// Echo is what a response repeats of its request. Nil and empty are not repeated.
type Echo struct {
	Store, Parallel    *bool
	MaxOutputTokens    int
	Unlimited          bool // max_output_tokens is there, and null
	ToolChoice         string
	Truncation         string
	Tools              int // -1: not repeated
	Format             string
	Strict             *bool
	PreviousResponseID *string // "" where it is null
	Conversation       *string
}

const customCall = "custom_tool_call"

// survey looks over the response object and the items. What it finds wrong is no
// error of reading: the answer is complete JSON.
func (a *Answer) survey(response []byte) {
	a.Echo.Tools = -1
	members(response, func(key, value []byte) bool {
		a.Echo.read(nameOf(key), value)
		if says := stopped(key, value); says != "" {
			a.PartText = "an answer with " + says
		}
		return true
	})
	a.Filtered = Filtered(a.Filters)
	heads := make([]head, len(a.Items))
	answered := map[string]bool{} // call ids whose output is in the answer itself
	for i, raw := range a.Items {
		heads[i] = headOf(raw)
		if h := heads[i]; h.CallID != "" && strings.HasSuffix(h.Type, "_output") {
			answered[h.CallID] = true
		}
	}
	for i, raw := range a.Items {
		a.look(heads[i], raw, answered)
	}
}

// look judges one item by its kind and its status.
func (a *Answer) look(h head, raw json.RawMessage, answered map[string]bool) {
	hosted := false
	a.Declined = a.Declined || declines(raw)
	switch {
	case h.Type == "message" || h.Type == "" && !callLike("", raw):
		if kind := CallInside(member(raw, "content")); kind != "" {
			a.Unserved = kind
		}
		if role := member(raw, "role"); slices.Contains(speakers, word(role)) {
			a.PartText = "a message with role " + shown(role) // repeated as it is it would give the model's words the weight of another's
		}
		if name := CallMember(raw); name != "" {
			a.Unserved = "call under " + name + " of a message"
		}
	case h.Type == "reasoning":
		a.Bare = a.Bare || empty(member(raw, "encrypted_content"))
	case h.Type == "function_call", h.Type == customCall, strings.HasPrefix(h.Type, "compaction"):
	case slices.Contains(selfContained, h.Type), h.CallID != "" && answered[h.CallID], text(member(raw, "execution")) == "server":
		hosted = true
		if !slices.Contains(a.Hosted, h.Type) {
			a.Hosted = append(a.Hosted, h.Type)
		}
	case word([]byte(`"`+h.Type+`"`)) == "error":
		a.Partial = "an item that reports an error"
	case callLike(h.Type, raw):
		if a.Unserved = h.Type; a.Unserved == "" {
			a.Unserved = "call without a type"
		}
	case !slices.Contains(a.Strange, h.Type):
		a.Strange = append(a.Strange, h.Type)
	}
	switch says := StateOf(raw).unfinished(); {
	case says == "":
	case hosted:
		a.PartHosted = true // its host made the text with or without it
	case h.Type == "message" || h.Type == "":
		a.PartText = "a message with " + says
	default:
		a.Partial = fmt.Sprintf("an item %s with %s", h.Type, says)
	}
}

// speakers are the roles of messages that a model cannot have made.
var speakers = []string{"user", "developer", "system", "tool", "root", "platform"}

// selfContained are the calls whose outcome is in the item itself: the host ran
// them, and nobody waits for an output.
var selfContained = []string{
	"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call", "mcp_list_tools", "tool_search_output",
}

// callWords are in the names of items that ask for something to be done.
var callWords = []string{"call", "tool", "function", "approval", "program", "computer", "shell", "patch", "action", "command"}

// callLike reports whether an item asks for something to be done, by its name or
// by what it holds. It must be wide: what it misses is dropped in silence.
func callLike(typ string, raw []byte) bool {
	typ = strings.ToLower(typ)
	if slices.ContainsFunc(callWords, func(word string) bool { return strings.Contains(typ, word) }) {
		return true
	}
	return !empty(member(raw, "call_id")) || !empty(member(raw, "arguments")) || !empty(member(raw, "action"))
}

// CallInside returns the kind of a call that a host put among the parts of a
// message, or of an error that stands there.
func CallInside(content []byte) string {
	kind := ""
	if len(content) == 0 || content[0] != '[' {
		return ""
	}
	elements(content, func(part []byte) bool {
		switch typ := word(member(part, "type")); {
		case typ == "output_text", typ == "text", typ == "refusal":
		case typ == "error", callLike(typ, part):
			kind = "call " + typ + " inside a message"
		case CallMember(part) != "":
			kind = "call under " + CallMember(part) + " inside a message"
		}
		return true
	})
	return kind
}

// declines reports whether an item refuses: as a whole, or in one of its parts.
func declines(item []byte) bool {
	found := false
	look := func(piece []byte) bool {
		members(piece, func(key, value []byte) bool {
			switch string(nameOf(key)) {
			case "refusal":
				found = found || !empty(value)
			case "type":
				found = found || word(value) == "refusal"
			}
			return !found
		})
		return !found
	}
	look(item)
	if content := member(item, "content"); len(content) > 0 && content[0] == '[' {
		elements(content, look)
	}
	return found
}

// nameOf returns a key as encoding/json matches it: with escapes and capitals
// undone.
func nameOf(key []byte) []byte {
	for _, c := range key {
		if c == '\\' || c >= 'A' && c <= 'Z' {
			var name string
			if json.Unmarshal([]byte(`"`+string(key)+`"`), &name) == nil {
				return []byte(strings.ToLower(name))
			}
			return key
		}
	}
	return key
}

// reasonOf returns why a response is incomplete, "" where it says nothing.
func reasonOf(details []byte) string {
	if empty(details) {
		return ""
	}
	if details[0] != '{' {
		return string(details[:min(len(details), 40)])
	}
	reason := member(details, "reason")
	if empty(reason) {
		return ""
	}
	return string(reason[:min(len(reason), 40)])
}

func (e *Echo) read(key, value []byte) {
	switch string(key) {
	case "store":
		e.Store = flagOf(value)
	case "parallel_tool_calls":
		e.Parallel = flagOf(value)
	case "max_output_tokens":
		e.Unlimited = string(value) == "null"
		if n, ok := wholeNumber(value); ok {
			e.MaxOutputTokens = n
		}
	case "tool_choice":
		e.ToolChoice = text(value)
	case "truncation":
		e.Truncation = text(value)
	case "tools":
		if len(value) > 0 && value[0] == '[' {
			e.Tools = 0
			elements(value, func([]byte) bool { e.Tools++; return true })
		}
	case "text":
		format := member(value, "format")
		e.Format, e.Strict = text(member(format, "type")), flagOf(member(format, "strict"))
	case "previous_response_id":
		id := text(value)
		e.PreviousResponseID = &id
	case "conversation":
		id := text(value)
		if len(value) > 0 && value[0] == '{' {
			id = text(member(value, "id"))
		}
		e.Conversation = &id
	}
}

func flagOf(value []byte) *bool {
	switch b := string(value) == "true"; {
	case b, string(value) == "false":
		return &b
	}
	return nil
}

// Flawed reports whether a response object carries an error or a reason why it is
// incomplete, whatever its status is.
func Flawed(response []byte) bool {
	found := false
	members(response, func(key, value []byte) bool {
		switch string(nameOf(key)) {
		case "incomplete_details":
			found = found || reasonOf(value) != ""
		case "error":
			found = found || Tells(value)
		}
		return true
	})
	return found
}

// Whole reports whether a response object says nothing else than that it is
// complete: by any of its statuses, should there be two, and in whatever letters.
func Whole(response []byte) bool {
	_, bad := statusOf(response)
	return !bad && !Flawed(response)
}

// Tells reports whether an error says anything: some gateways send one with every
// answer, whose members are all blank.
func Tells(value []byte) bool {
	if empty(value) {
		return false
	}
	said, object := false, len(value) > 0 && value[0] == '{'
	members(value, func(_, member []byte) bool {
		said = said || !empty(member) && string(member) != "0" && string(member) != "false"
		return !said
	})
	return said || !object
}
