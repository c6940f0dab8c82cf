package classify

import (
	"regexp"
	"slices"
	"strings"

	"github.com/onceward/onceward"
)

// forms are of texts that refuse the form of the request. Such a text repeats what
// it refuses, and those are the caller's own words: "overdue" as the value of a
// field is not the account's standing.
var forms = append([]string{
	"invalid value", "invalid type", "invalid schema", "invalid '", "unknown parameter", "unsupported value", "unsupported parameter", "unknown name",
	"string should", "input should", "value error", "input_value=", "but got", "could not parse the json", "failed to download", "unable to download",
	"error while downloading", "missing required parameter", "value must be", "must be one of", "expected one of", "validation error",
	"validation failed", "does not validate", "unknown field", "file type", "unsupported type", "mime type", "cannot be used with", "the value at",
	"keys should match", "tool", "schema", "grammar", "unrecognized key", "role:", "function call", "arguments", "generated json", "failed_generation",
	"last read", "jinja",
}, nameFaults...)

// nameFaults say that names in the request are wrong, and can say nothing else: no
// resource fails inside on them. So they hold against a 500 as well.
var nameFaults = []string{
	"tool choice", "tool_choice", "function declaration", "unknown variant", "is not one of", "does not match '", "invalid file data", "in request.tools",
	"did not match schema", "must be unique", "duplicate tool", "duplicate function", "duplicate name", "duplicate:", "unknown tool", "unknown function",
	"prompt variable", "is not of type", "tool '", "failed to deserialize", "not found in tools", "not found in 'tools'", "is not callable",
	"invalid function name", "invalid tool name", "could not parse tool", "enum value",
}

// refusesForm reports whether a text in lower case refuses the request's form.
func refusesForm(text string) bool {
	return slices.ContainsFunc(forms, func(form string) bool { return strings.Contains(text, form) })
}

var (
	braces     = regexp.MustCompile(`\{[^\n]*\}`) // JSON is quoted whole
	apostrophe = regexp.MustCompile(`(\w)'(\w)`)
	// What a refusal repeats: quotes, addresses, what follows a colon to the end of its
	// sentence, and names. A quote that never closes takes the rest of the line along.
	repeated = regexp.MustCompile(`'[^'\n]*(?:'|\n)|\w+://\S*|(?:failed to|unable to|while) download[^\n]*|:(?:[^.\n]|\.\S)*|\w*[_\-./]\w[\w./\-]*`)
)

// lookAgain decides on what the text itself states where a verdict that touches
// health rests on words alone, and the words refuse the form of the request.
func (e *envelope) lookAgain(first *rule) *rule {
	effect := first.effect()
	wordy := first.onWords() && !e.coded[first.number] && e.transport != Connection && !e.readErr
	refusal := e.status < 300 || slices.Contains([]int{400, 404, 413, 422, 500}, e.status)
	if effect == onceward.EffectNone || !wordy || !refusal || !e.says(table().forms) {
		return first
	}
	again := *e
	again.text = apostrophe.ReplaceAll(braces.ReplaceAll(e.text, nil), []byte("$1$2"))
	again.text = repeated.ReplaceAllFunc(again.text, func(m []byte) []byte {
		if m[len(m)-1] == '\n' {
			return []byte("\n")
		}
		return []byte(" - ")
	})
	again.said = make([]bool, len(e.said))
	table().find(again.text, again.said)
	r := again.decide()
	if e.status < 500 && !r.onWords() && r.effect() != onceward.EffectNone || r.class == onceward.ClassUnknown {
		return refusedForm // the status alone is no verdict where the text says what was wrong
	}
	return r
}

var refusedForm = &rule{class: onceward.ClassInvalidRequest}
