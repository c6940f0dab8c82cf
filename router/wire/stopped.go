package wire

import (
	"bytes"
	"strings"
)

// reasons are the members in which an upstream's own word for the end of an answer
// stands beside the API's, with separators taken out. Gateways that know one word
// for every end pass this one on all the same.
var reasons = map[string]bool{
	"nativefinishreason": true, "finishreason": true, "stopreason": true, "donereason": true, "finishdetails": true, "stopdetails": true,
}

// cutWords are in the reasons of answers that are not whole. The reasons of whole
// ones are too many to list, and have none of these in them.
var cutWords = []string{
	"length", "max", "limit", "exceed", "window", "filter", "safety", "block", "prohibit", "recit", "spii", "sensitive", "toxic", "guardrail", "refus",
	"malform", "unexpected", "toomany", "insufficient", "error", "fail", "abort", "cancel", "incomplete", "partial", "truncat", "interrupt", "timeout", "pause", "expire",
}

// cutReasons are whole words that no other holds by chance.
var cutReasons = map[string]bool{"language": true, "other": true}

// CutWord reports whether a word for the end of an answer says that it is not
// whole, in whatever letters.
func CutWord(s string) bool {
	s = bare(strings.ToLower(s))
	if s = s[strings.LastIndexByte(s, '.')+1:]; cutReasons[s] {
		return true
	}
	for _, word := range cutWords {
		if strings.Contains(s, word) {
			return true
		}
	}
	return false
}

// bare takes the separators out of a name.
func bare(s string) string {
	if strings.ContainsAny(s, "_- ") {
		return strings.NewReplacer("_", "", "-", "", " ", "").Replace(s)
	}
	return s
}

// Stopped returns what the members of an object say of an answer that stopped
// before its end, or "".
func Stopped(raw []byte) string {
	says := ""
	members(raw, func(key, value []byte) bool {
		says = stopped(key, value)
		return says == ""
	})
	return says
}

// stopped is Stopped for one member.
func stopped(key, value []byte) string {
	name := bare(strings.ToLower(string(nameOf(key))))
	switch {
	case name == "incompletedetails" && reasonOf(value) != "":
		return string(key) + " " + reasonOf(value)
	case name == "truncated" && string(value) == "true", reasons[name] && CutWord(word(value)):
		return string(key) + " " + shown(value)
	case name == "providerspecificfields":
		return Stopped(value)
	case reasons[name] && len(value) > 0 && value[0] == '{':
		if typ := member(value, "type"); CutWord(word(typ)) {
			return string(key) + " " + shown(typ)
		}
	}
	return ""
}

// callMembers hold calls in a message or a part of one, under the names that other
// APIs have for them, with separators taken out.
var callMembers = map[string]bool{
	"toolcall": true, "toolcalls": true, "tooluse": true, "tooluses": true, "functioncall": true, "functioncalls": true, "customtoolcall": true, "customtoolcalls": true,
}

// CallMember returns the name of a member that holds a call, or "".
func CallMember(raw []byte) string {
	found := ""
	members(raw, func(key, value []byte) bool {
		if !empty(value) && (value[0] == '{' || value[0] == '[') && callMembers[bare(strings.ToLower(string(nameOf(key))))] {
			found = string(key)
		}
		return found == ""
	})
	return found
}

// Thinks reports whether a piece of a message holds thoughts: every gateway has a
// name of its own for these, and a model that thinks for long brings nothing else.
func Thinks(raw []byte) bool {
	found := false
	members(raw, func(key, value []byte) bool {
		name := nameOf(key)
		found = !empty(value) && (bytes.HasPrefix(name, []byte("reasoning")) || bytes.HasPrefix(name, []byte("thinking")))
		return !found
	})
	return found
}

// Filtered reports whether the annotations of a content filter say that it took
// something away: that an answer was blocked, or one kind of harm filtered out of
// it. What was found in the prompt of an answer that came all the same is no loss.
func Filtered(annotations []byte) bool {
	found := false
	look := func(piece []byte) bool {
		source := word(member(piece, "source_type"))
		results := member(piece, "content_filter_results")
		if results == nil {
			results = piece
		}
		found = found || string(member(piece, "blocked")) == "true"
		members(results, func(_, kind []byte) bool {
			found = found || source != "prompt" && len(kind) > 0 && kind[0] == '{' && string(member(kind, "filtered")) == "true"
			return !found
		})
		return !found
	}
	if annotations = bytes.TrimSpace(annotations); len(annotations) > 0 && annotations[0] == '[' {
		elements(annotations, look)
		return found
	}
	look(annotations)
	return found
}
