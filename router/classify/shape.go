package classify

import (
	"bytes"
	"net/http"
)

// shapeCode is one of the codes that say what is wrong with a request's shape.
// The rule that names it names the others as well.
const shapeCode = "invalid_value"

// shapePhrases are of texts that say so. Such a text quotes what it refuses, and
// what it refuses are the caller's own words: "overdue" as the value of a field is
// not the account's standing.
var shapePhrases = append([]string{
	"invalid value", "invalid type", "invalid schema", "invalid '", "unknown parameter", "unsupported value", "unsupported parameter",
	"string should", "input should", "value error", "input_value=", "expected a string, but got", "could not parse the json",
	"failed to download", "unable to download", "error while downloading",
	"missing required parameter", "value must be", "must be one of", "expected one of", "validation error", "validation failed", "does not validate", "unknown field",
	"file type", "unsupported type", "unsupported mime", "mime type", "cannot be used with", "the value at", "keys should match", "tool", "schema", "grammar", "unrecognized key", "role:", "unknown name", "maximum context length", "function call", "generated json", "last read",
}, nameFaults...)

// nameFaults say that names in the request are wrong, and can say nothing else: no
// resource fails inside on them. So they hold against a 500 as well.
var nameFaults = []string{
	"tool choice", "tool_choice", "function declaration", "unknown variant", "is not one of", "does not match '", "invalid file data", "in request.tools",
	"did not match schema", "must be unique", "duplicate tool", "duplicate function", "duplicate name", "duplicate:", "unknown tool", "unknown function", "prompt variable",
	"is not of type", "tool '", "failed to deserialize", "not found in tools", "not found in 'tools'", "is not callable", "invalid function name", "invalid tool name",
	"could not parse tool", "enum value",
}

// refusesShape reports whether the answer refuses the form of the request.
func (e *envelope) refusesShape() bool {
	switch {
	case e.transport == Connection:
		return false
	case e.status >= 300 && !refusing(e.status):
		return false
	case e.phrases.hasAny(table().shapes):
		return true
	}
	for _, number := range table().codeRules[table().codes[codeKey(shapeCode)]] {
		if e.codeHits.has(int(number)) {
			return true
		}
	}
	return false
}

// refusing lists the statuses that requests are refused with for their shape.
func refusing(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return true
	}
	return false
}

// callersEnd returns the part of a line that is the caller's though nothing quotes
// it: what follows the colon after a phrase about the request's shape, to the end
// of that sentence. "Duplicate function declaration found: mark_overdue".
func (t *compiled) callersEnd(line []byte) (from, to int) {
	from = len(line)
	t.index.each(line, func(state uint16, end int) {
		for _, id := range t.index.out[state] {
			if t.phrases[id].shape {
				from = min(from, end-t.phrases[id].size)
			}
		}
	})
	colon := bytes.IndexByte(line[from:], ':')
	if colon < 0 {
		return len(line), len(line)
	}
	from += colon
	if to = bytes.Index(line[from:], []byte(". ")); to < 0 {
		return from, len(line)
	}
	return from, from + to
}

// quotesCaller reports whether a text goes on with a value of the request: JSON
// in there is the caller's, and its codes are nobody's verdict.
func quotesCaller(before []byte) bool {
	before = bytes.ToLower(before[max(len(before)-256, 0):])
	for _, mark := range callerMarks {
		if bytes.Contains(before, mark) {
			return true
		}
	}
	return false
}

var callerMarks = [][]byte{
	[]byte("invalid value"), []byte("invalid type"), []byte("invalid schema"), []byte("string should"), []byte("input should"), []byte("input_value="), []byte("but got"),
	[]byte("tool call"), []byte("tool_call"), []byte("tool choice"), []byte("function call"), []byte("arguments"), []byte("unknown variant"), []byte("must be one of"),
	[]byte("did not match schema"), []byte("failed_generation"), []byte("last read"), []byte("jinja"),
}
