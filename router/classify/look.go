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
func forms() []string { return slices.Concat(said("forms"), said("names")) }

// refusesForm reports whether a text in lower case refuses the request's form.
func refusesForm(text string) bool {
	return slices.ContainsFunc(forms(), func(form string) bool { return strings.Contains(text, form) })
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
