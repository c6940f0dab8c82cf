package classify

import (
	"bytes"
	"regexp"
	"slices"

	"github.com/onceward/onceward"
)

// refusedID is the path of an id, and that its value is what is refused.
var refusedID = regexp.MustCompile(`(?:input|messages|content|tool_calls)(?:\[\d+\]|\.\d+)[\w.\[\]]*\.(?:[a-z]+_)*id\b[^\n]{0,80}` +
	`(?:too long|maximum length|at most|max_length|begins with|start with|contains|pattern|characters|invalid)`)

// idPath is the path of an id of the history, as a parameter that is refused.
var idPath = regexp.MustCompile(`^(?:body\.)?(?:input|messages)(?:\[\d+\]|\.\d+)[\w.\[\]]*\.(?:[a-z]+_)*id$`)

// refusedLoc is an error of a validator that names the place as a list, in JSON or as
// Python prints it.
var refusedLoc = regexp.MustCompile(`['"]type['"]\s*:\s*['"](\w+)['"]\s*,\s*['"]loc['"]\s*:\s*` +
	`[\[(]\s*(?:['"]body['"]\s*,\s*)?['"](?:input|messages)['"]\s*,[^\n{}]{1,300}?,\s*['"](?:[a-z]+_)*id['"]\s*[\])]`)

// locatesID reports whether a validator refuses the value of an id of the history.
func locatesID(body []byte) bool {
	if !bytes.Contains(body, []byte(`loc"`)) && !bytes.Contains(body, []byte(`loc'`)) { // nearly always
		return false
	}
	return slices.ContainsFunc(refusedLoc.FindAllSubmatch(body, -1), func(m [][]byte) bool { return string(m[1]) != "missing" })
}

// refusesID holds where an id is the parameter that is refused, in whatever words.
// One that is missing does not get better by taking the others away.
func refusesID(e *envelope) bool {
	if e.status != 400 && e.status != 422 {
		return false
	}
	return e.idLocated || idPath.MatchString(e.param) && !bytes.Contains(e.text, []byte("missing")) && !bytes.Contains(e.text, []byte("required"))
}

// A sentence that refuses access, and the thing that a request names: by its id, or
// by pointing to it ("this file"). Access to "the files API" is another matter.
const (
	refusedAccess = `(?:(?:not|n't) have (?:access|permission)|no (?:access|permission)|insufficient permission|lacks? permission|without permission|` +
		`not (?:authorized|allowed|permitted|accessible|have the required permission)|access denied|(?:is|was) denied|permission denied|` +
		`(?:not|n't) belong|not owned by)`
	thing      = `\b(?:file|conversation|thread|vector[ _]store|container|response|assistant|upload|attachment)s?`
	namedThing = `(?:` + thing + `(?: with| having)?(?: ids?)?[ :'\[]*(?:file-|conv_|thread_|vs_|cntr_|resp_|asst_|upload_)|` +
		`\b(?:this|that|these|those|the|requested|specified|provided|given|referenced) ` + thing +
		`(?:[.,;:'!)\n]| (?:with|ids?|you|because|or|is|was|does|has|from) ))`
)

// stateRules are about items and ids of the request: histories that contradict
// themselves, state that lives elsewhere, blobs that cannot be opened here. None
// of it is a resource's health, whatever the status.
var stateRules = []rule{
	// A hosted call has no output that the caller could supply.
	{class: onceward.ClassUnknown, strong: true, over: []override{fallback(false)}, words: "no tool output found for web search"},
	// A host that merges items names no item type: another host may take the same order.
	{class: onceward.ClassMissingToolOutput, over: []override{fallback(true)}, words: "no tool output found for tool call"},
	{class: onceward.ClassMissingToolOutput, strong: true, words: "no tool output found for"},
	{class: onceward.ClassMissingToolOutput, words: "tool"},

	{class: onceward.ClassUnsupportedCapability, words: "encrypted content is not supported"},
	// Stripping a compaction item would lose the whole compacted history.
	{class: onceward.ClassUndecryptableReasoning, over: []override{fallback(false), repair(onceward.RepairNone)}, words: "encrypted content"},
	{class: onceward.ClassUndecryptableReasoning, strong: true, words: "encrypted content could not be"},
	{class: onceward.ClassUndecryptableReasoning, words: "encrypted"},

	{class: onceward.ClassResourceAffinity, strong: true, words: "created under a different"},

	{class: onceward.ClassStaleAnchor, strong: true, words: "previous response"},
	{class: onceward.ClassUnsupportedCapability, over: []override{repair(onceward.RepairFullInput)}, words: "previous_response_id"},
	// Items that nobody stored: the request names them by id, on every resource.
	{class: onceward.ClassStaleAnchor, strong: true, over: []override{effect(onceward.EffectNone), repair(onceward.RepairStripIDs)}, words: "items are not persisted when"},
	{class: onceward.ClassStaleAnchor, strong: true, words: "no response found for previous_response_id"},
	{class: onceward.ClassStaleAnchor, words: "not found"},
	// Files and stores live on one resource, and no other knows their ids.
	{class: onceward.ClassResourceAffinity, when: between(400, 404), words: "file"},
	// An id of the request that these credentials may not open. The account is
	// well; another one may own the thing.
	{class: onceward.ClassResourceAffinity, when: is(400, 403, 404), words: "refused access", re: either(refusedAccess+`(?:[^.\n]|\.\S){0,200}?`+namedThing,
		namedThing+`(?:[^.\n]|\.\S){0,200}?`+refusedAccess,
	)},
	{class: onceward.ClassStateConflict, words: "currently operating on this conversation"},
	{class: onceward.ClassStateConflict, when: is(409), words: "ConflictException"},

	// An id that this host does not take, of an item or of a call: long, foreign, of
	// another form, or there twice.
	{class: onceward.ClassInvalidRequest, strong: true, over: []override{repair(onceward.RepairStripIDs)}, words: "duplicate item"},
	{class: onceward.ClassInvalidRequest, when: between(400, 422), over: []override{repair(onceward.RepairStripIDs)}, words: "input", re: refusedID},
	{class: onceward.ClassInvalidRequest, when: refusesID, over: []override{repair(onceward.RepairStripIDs)}},
	// A history whose parts do not fit together.
	{class: onceward.ClassInvalidRequest, strong: true, over: []override{repair(onceward.RepairStripIDs)}, words: "without its required"},
	{class: onceward.ClassInvalidRequest, strong: true, words: "tool_use' ids must be unique"},
	// A param path alone, or a call id that some hosts demand: a host's dialect.
	{class: onceward.ClassInvalidRequest, when: between(400, 499), over: []override{fallback(true)}, words: "call_id"},
}
