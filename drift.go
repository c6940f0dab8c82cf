package onceward

import "strings"

// DriftNotice begins a notice about a resource that does not do what its pool or
// the request relies on. Such notices are counted as well, by their kind.
const DriftNotice = "drift: "

// Breach names what a resource did not keep to. The set is closed, so that it can
// be a label of a metric. The zero value is no breach.
type Breach string

// The breaches.
const (
	BreachParallel   Breach = "parallel_tool_calls" // more calls than one were made, or allowed, against the request
	BreachStore      Breach = "store"               // the resource keeps what it was told not to, or the other way round
	BreachModel      Breach = "model"               // another model answered
	BreachOutput     Breach = "max_output_tokens"   // another output limit, or more output than it
	BreachSchema     Breach = "strict_schema"       // strict mode is claimed and its schema is not kept to
	BreachReasoning  Breach = "encrypted_reasoning" // reasoning without the encrypted content that was asked for
	BreachTools      Breach = "tools"               // tools or the choice among them are not those of the request
	BreachState      Breach = "provider_state"      // the conversation or response to go on from was left out
	BreachTruncation Breach = "truncation"          // the resource may drop input by itself
	BreachInput      Breach = "input_tokens"        // far fewer tokens were read than were sent
	BreachUsage      Breach = "usage"               // usage contradicts itself, or cannot be
	BreachHosted     Breach = "hosted_call"         // the resource ran a tool of its own that nobody declared
	BreachItem       Breach = "unknown_item"        // an item of a kind that nobody asked for
	BreachChoices    Breach = "choices"             // more answers than the one that was asked for
	BreachMembers    Breach = "members"             // members of a pool that serve one model differ
)

// Breaches returns all breaches. The slice is a copy.
func Breaches() []Breach {
	return []Breach{
		BreachParallel, BreachStore, BreachModel, BreachOutput, BreachSchema, BreachReasoning, BreachTools, BreachState,
		BreachTruncation, BreachInput, BreachUsage, BreachHosted, BreachItem, BreachChoices, BreachMembers,
	}
}

// Notice returns the line of the trail about a breach.
func (b Breach) Notice(detail string) string {
	return DriftNotice + string(b) + ": " + Cut(detail, maxDetail)
}

// maxDetail bounds what one notice adds to a history, in bytes.
const maxDetail = 200

// BreachOf returns the breach that a notice is about, or "" where it is about
// none. A notice of drift without a known kind is about members that differ.
func BreachOf(notice string) Breach {
	rest, drifts := strings.CutPrefix(notice, DriftNotice)
	if !drifts {
		return ""
	}
	kind, _, _ := strings.Cut(rest, ": ")
	for _, b := range Breaches() {
		if string(b) == kind {
			return b
		}
	}
	return BreachMembers
}
