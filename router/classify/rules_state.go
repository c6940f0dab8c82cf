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

// refusalWords are in every such sentence, and in few others: the pattern is costly.
var refusalWords = []string{
	"not have access", "n't have access", "no access", "permission", "not authorized", "not allowed", "not permitted", "not accessible", "denied",
	"belong", "not owned by",
}

// stateRules are about items and ids of the request: histories that contradict
// themselves, state that lives elsewhere, blobs that cannot be opened here. None
// of it is a resource's health, whatever the status.
var stateRules = []rule{
	// A hosted call has no output that the caller could supply.
	{class: onceward.ClassUnknown, strong: true, over: []override{fallback(false)}, any: []string{"no tool output found for web search",
		"no tool output found for file search", "no tool output found for code interpreter", "no tool output found for image generation",
		"no tool output found for mcp",
	}},
	// A host that merges items names no item type: another host may take the same order.
	{class: onceward.ClassMissingToolOutput, over: []override{fallback(true)}, any: []string{"no tool output found for tool call"}},
	{class: onceward.ClassMissingToolOutput, strong: true, any: []string{"no tool output found for", "no tool call found for", "no function call found for",
		"no function call output found", "no output found for function call", "must be followed by tool messages", "did not have response messages",
		"without 'tool_result' blocks", "must have a corresponding 'tool_result'", "unexpected 'tool_use_id' found in 'tool_result'",
		"must have a corresponding 'tool_use'", "must be a response to a preceding message with 'tool_calls'",
		"must be a response to a preceeding message with 'tool_call", "tool_call_ids did not have",
		"'tool_result' block(s) provided when previous message does not contain any 'tool_use'", "number of toolresult blocks", "expected toolresult blocks",
		"number of function response parts", "function response parts is equal to the number of function call parts",
		"function response turn comes immediately after", "not the same number of function calls and responses", "missing tool output", "missing tool result",
		"missing tool call", "tool call id not found", "tool_call_id not found", "tool call and its response", "tool result's tool id",
		"tool_call_id of tool message not found", "unexpected role 'tool' after", "tool messages must follow", "tool message must follow",
		"tool call without a response", "unanswered tool call", "toolresult blocks at", "tool_use ids were found without",
		"must begin with a matching number of", "tool ids were found without", "missing a tool response", "missing corresponding tool",
	}},
	{class: onceward.ClassMissingToolOutput, any: []string{"tool", "function call"}, re: either(`(?:each|every|all) 'tool_use'.{0,40}(?:must|need)`,
		`'tool_calls' must be followed`,
		`(?:missing|without) (?:a |an |the |its |corresponding |matching )*(?:tool|function)[ _](?:output|result|response)s? for`,
		`(?:tool|function)[ _](?:call|use)[ _a-z]*'?[\w\-']* (?:has|have|had|with) no (?:corresponding |matching )?(?:output|result|response)`,
		`'(?:tool|function)[ _]?(?:output|result)'? .{0,60}(?:no|without) (?:corresponding|matching|preceding)`,
	)},

	{class: onceward.ClassUnsupportedCapability, any: []string{"encrypted content is not supported", "encrypted_content is not supported",
		"reasoning.encrypted_content' is not supported",
	}},
	// Stripping a compaction item would lose the whole compacted history.
	{class: onceward.ClassUndecryptableReasoning, over: []override{fallback(false), repair(onceward.RepairNone)}, all: []string{"encrypted content", "cmp_"}},
	{class: onceward.ClassUndecryptableReasoning, strong: true, codes: []string{"invalid_encrypted_content", "invalid_signature_in_thinking_block",
		"invalid_thinking_signature",
	}, any: []string{"encrypted content could not be", "signature in thinking block", "signature in 'thinking' block", "invalid 'signature' in 'thinking'",
		"could not decrypt the provided", "thought signature is not valid", "thought_signature is not valid", "invalid thought signature",
		"invalid thought_signature", "invalid thoughtsignature", "corrupted thought signature", "thoughtsignature is invalid",
		"encrypted_content could not be", "is missing a 'thought_signature'", "missing a thought_signature",
		"'thinking' or 'redacted_thinking' blocks in the latest assistant message cannot be modified",
		"'thinking' blocks in the latest assistant message cannot be modified",
	}},
	{class: onceward.ClassUndecryptableReasoning, any: []string{"encrypted", "decrypt", "redacted_thinking", "signature"}, re: either(
		`encrypted[ _](?:reasoning |function |output |thinking |compaction )*content\b.{0,400}`+
			`(?:could not|cannot|can't|failed|unable|invalid|not valid|mismatch)`,
		`(?:could not|cannot|can't|failed to|unable to) (?:be )?(?:decrypt|verify)(?:ed)?\b.{0,60}(?:content|reasoning|thinking|signature)`,
		`(?:invalid|mismatched?|expired) (?:data|signature)\b.{0,40}(?:thinking|reasoning)`,
		`thinking.{0,40}(?:signature|block).{0,30}(?:invalid|not valid|could not|verif|mismatch)`,
	)},

	{class: onceward.ClassResourceAffinity, strong: true, any: []string{"created under a different", "use the same resource that created",
		"belongs to a different resource", "belongs to another resource", "created by a different resource", "created in a different resource",
		"created by another organization", "belongs to a different organization", "belongs to a different project", "was created in another region",
		"was created with a different api key",
	}},

	{class: onceward.ClassStaleAnchor, strong: true, any: []string{"previous response", "previous_response", "response resp_", "response 'resp_"}, re: either(
		`\bprevious[_ ]response(?:[_ ]id)?\b[^\n]{0,120}(?:not (?:be )?found|not exist|expired|no longer|deleted)`,
		`\b(?:no|no such|unknown|(?:could not|couldn't|cannot) find)(?: the| a)? (?:previous[_ ])?response(?:[_ ]id)?\b(?:[^\n]{0,20} found\b|:? '?resp_)`,
		`\bresponse '?resp_[\w*…-]+'?[^.\n]{0,40}(?:deleted|expired|not found|not exist)`,
	)},
	{class: onceward.ClassUnsupportedCapability, over: []override{repair(onceward.RepairFullInput)}, any: []string{"previous response",
		"previous_response_id",
	}, re: either(`zero data retention`, `\bzdr\b`, `previous_?response(?:_id)?'? (?:is|are) not supported`,
		`(?:unsupported|unrecognized|unknown)[^.]{0,40}previous_response_id`, `does(?: not|n't) support '?previous_response`,
	)},
	// Items that nobody stored: the request names them by id, on every resource.
	{class: onceward.ClassStaleAnchor, strong: true, over: []override{effect(onceward.EffectNone), repair(onceward.RepairStripIDs)}, any: []string{
		"items are not persisted when", "not persisted when 'store'", "is set to false. try again with 'store'",
	}},
	{class: onceward.ClassStaleAnchor, strong: true, codes: []string{"previous_response_not_found", "response_not_found", "item_not_found",
		"conversation_not_found",
	}, any: []string{"no response found for previous_response_id", "previous response with id", "previous_response_id not found"}},
	{class: onceward.ClassStaleAnchor, any: []string{"not found", "does not exist", "has expired", "no longer available", "couldn't find", "could not find",
		"no response found", "no item found", "no conversation found",
	}, re: either(
		`(?:\bprevious[_ ]response|\b(?:response|item|conversation|thread|container)(?:s)?(?: with| having)? '?id)`+
			`[^.]{0,120}(?:not found|not exist|expired|no longer|find)`,
		`(?:\b(?:item|response|conversation)|id) '?(?:resp|rs|msg|fc|item|conv|cmp|ws)_[\w.…*-]+'?[^.]{0,40}(?:not found|not exist|expired)`,
		`(?:not find|no) (?:response|item|conversation) (?:found )?(?:with|for) '?(?:id|previous)`,
	)},
	// Files and stores live on one resource, and no other knows their ids.
	{class: onceward.ClassResourceAffinity, when: between(400, 404), codes: []string{"file_not_found", "vector_store_not_found", "container_not_found"},
		any: []string{
			"file", "vector store", "vector_store", "container", "pmpt_",
		}, re: either(`no such (?:file|vector)[ _]?(?:store )?object`,
			`\b(?:file|vector[ _]store|container)s?\b(?: with| having)?(?: ids?)?:? '?(?:\[?'?)?(?:file|vs|cntr|assistant)`+
				`[-_][\w-]*'?\]?[^.\n]{0,30}(?:not found|not exist|no longer|expired)`,
			`\bfile ids? (?:was|were|is|are)? ?not found`, `\bprompt with id '?pmpt_[^\n]{0,80}not found`,
		)},
	// An id of the request that these credentials may not open. The account is
	// well; another one may own the thing.
	{class: onceward.ClassResourceAffinity, when: is(400, 403, 404), any: refusalWords, re: either(refusedAccess+`(?:[^.\n]|\.\S){0,200}?`+namedThing,
		namedThing+`(?:[^.\n]|\.\S){0,200}?`+refusedAccess,
	)},
	{class: onceward.ClassStateConflict, codes: []string{"conversation_locked", "response_in_progress", "concurrent_modification", "idempotency_in_progress"},
		any: []string{"currently operating on this conversation", "already has an active", "another request is in progress",
			"another request with the same idempotency", "is currently being modified", "conversation is locked", "is still in progress",
		}},
	{class: onceward.ClassStateConflict, when: is(409), codes: []string{"ConflictException", "conflict_error"}},

	// An id that this host does not take, of an item or of a call: long, foreign, of
	// another form, or there twice.
	{class: onceward.ClassInvalidRequest, strong: true, over: []override{repair(onceward.RepairStripIDs)}, any: []string{"duplicate item",
		"expected an id that begins with", "expected an id that contains", "tool call id was",
	}},
	{class: onceward.ClassInvalidRequest, when: between(400, 422), over: []override{repair(onceward.RepairStripIDs)}, any: []string{"input", "messages",
		"tool_call",
	}, re: refusedID},
	{class: onceward.ClassInvalidRequest, when: refusesID, over: []override{repair(onceward.RepairStripIDs)}},
	// A history whose parts do not fit together.
	{class: onceward.ClassInvalidRequest, strong: true, over: []override{repair(onceward.RepairStripIDs)}, any: []string{"without its required"}},
	{class: onceward.ClassInvalidRequest, strong: true, any: []string{"tool_use' ids must be unique", "roles must alternate", "must alternate between",
		"ensure that multiturn requests alternate", "expected 'thinking' or 'redacted_thinking', but found", "must start with a thinking block",
		"final 'assistant' content cannot end with trailing whitespace", "all messages must have non-empty content", "text content blocks must be non-empty",
		"first message must use the 'user' role", "a conversation must start with a user message", "unexpected role",
		"only the last message can be from the assistant", "expected last role user",
	}},
	// A param path alone, or a call id that some hosts demand: a host's dialect.
	{class: onceward.ClassInvalidRequest, when: between(400, 499), over: []override{fallback(true)}, any: []string{"call_id"}, re: either(
		`(?:^|[ ,:'])(?:messages|input)[.\[]\d+\]?[\w.\[\]]*\.(?:tool_)?call_id'?(?:\n|[^\n]{0,20}(?:required|missing))`,
	)},
}
