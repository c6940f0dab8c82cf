package classify

import (
	"bytes"
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
	quoted     = regexp.MustCompile(`'[^'\n]*'`)
	// What a refusal repeats: quotes, addresses, what follows a colon to the end of its
	// sentence, and names. A quote that never closes takes the rest of the line along.
	repeated = regexp.MustCompile(`'[^'\n]*(?:'|\n)|\w+://\S*|(?:failed to|unable to|while) download[^\n]*|:(?:[^.\n]|\.\S)*|\w*[_\-./]\w[\w./\-]*`)
)

// unquoted is a text without what it quotes. The keys and values of pairs stay: such a
// value is the message of somebody behind.
func unquoted(text []byte) (out []byte) {
	from := 0
	for _, at := range quoted.FindAllIndex(text, -1) {
		key, value := bytes.HasPrefix(text[at[1]:], []byte(":")), bytes.HasSuffix(bytes.TrimRight(text[:at[0]], " "), []byte("':"))
		if !key && !value {
			out = append(append(out, text[from:at[0]]...), " - "...)
			from = at[1]
		}
	}
	return append(out, text[from:]...)
}

// without is the envelope with less of its text.
func (e *envelope) without(cut func([]byte) []byte) *envelope {
	again := *e
	again.text = cut(apostrophe.ReplaceAll(e.text, []byte("$1$2")))
	again.said = make([]bool, len(e.said))
	table().find(again.text, again.said)
	return &again
}

// lookAgain decides on what the text itself states where a verdict rests on words
// alone and matters beyond the attempt: it touches health, and the words refuse the
// form of the request; or it would end the run, and the status says that somebody
// else is at fault.
func (e *envelope) lookAgain(first *rule) *rule {
	wordy := first.onWords() && !e.coded[first.number] && e.transport != Connection && !e.readErr
	if !wordy {
		return first
	}
	f := first.failure()
	if effect := f.StateEffect; effect == onceward.EffectNone {
		if owner := e.status >= 500 || slices.Contains([]int{401, 402, 429}, e.status); owner && !f.FallbackEligible {
			return e.without(unquoted).decide()
		}
		return first
	}
	if refusal := e.status < 300 || slices.Contains([]int{400, 404, 413, 422, 500}, e.status); !refusal || !e.says(table().forms) {
		return first
	}
	r := e.without(func(text []byte) []byte {
		return repeated.ReplaceAllFunc(braces.ReplaceAll(text, nil), func(m []byte) []byte {
			if m[len(m)-1] == '\n' {
				return []byte("\n")
			}
			return []byte(" - ")
		})
	}).decide()
	if e.status < 500 && !r.onWords() && r.failure().StateEffect != onceward.EffectNone || r.class == onceward.ClassUnknown {
		return refusedForm // the status alone is no verdict where the text says what was wrong
	}
	return r
}

var refusedForm = &rule{class: onceward.ClassInvalidRequest}
