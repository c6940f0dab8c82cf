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
	// What a refusal repeats: quotes, addresses, what follows a colon to the end of its
	// sentence, and names. A quote that never closes takes the rest of the line along.
	repeated = regexp.MustCompile(`'[^'\n]*(?:'|\n)|\w+://\S*|(?:failed to|unable to|while) download[^\n]*|:(?:[^.\n]|\.\S)*|\w*[_\-./]\w[\w./\-]*`)

	// otherQuotes are quotes in the spelling of pages, of addresses and of other languages,
	// and those that stand double.
	otherQuotes = regexp.MustCompile(`&(?:quot|apos|#0*3[49]|#x2[27]|[lr][sd]quo|[lr]aquo);|%2[27]|«|»|‹|›|「|」|『|』|\\+'|''+\b|\b''+`)
	// quoted reaches from the first quote of a line to its last, because what is quoted may
	// hold more of them, and to the end of the line where it never closes.
	quoted = regexp.MustCompile(`(?m)(^|[^\w'])'(?:[^\n]*'|[^'\n]*$)`)
	// singly is one quote, where words of the error's own stand between them. The keys and
	// values of pairs stay: such a value is the message of somebody behind.
	singly   = regexp.MustCompile(`('[^'\n]*' ?:(?: ?'[^'\n]*')?)|'[^'\n]*'`)
	ownWords = regexp.MustCompile(`'(?:error|code|type|status|reason|message|msg|details?|error_\w+)' ?:|is not (?:one of|of type)|does not match '`)
	// ofCaller comes before what the caller wrote.
	ofCaller = regexp.MustCompile(`\b(?:prompt|input|processing|query|content|text|conversation|said) ?[:=].*`)
)

// unquoted is a text without what it quotes, and without what it says that the caller said.
func unquoted(text []byte) []byte {
	lines := bytes.SplitAfter(otherQuotes.ReplaceAll(text, []byte("'")), []byte("\n"))
	for i, line := range lines {
		cut := quoted
		if line = ofCaller.ReplaceAll(line, []byte(" - ")); ownWords.Match(line) {
			cut = singly
		}
		lines[i] = cut.ReplaceAll(line, []byte("$1 - "))
	}
	return bytes.Join(lines, nil)
}

// without is the envelope with less of its text.
func (e *envelope) without(cut func([]byte) []byte) *envelope {
	again := *e
	again.text = cut(apostrophe.ReplaceAll(e.text, []byte("$1$2")))
	again.said = make([]bool, len(e.said))
	table().find(again.text, again.said)
	return &again
}

// others holds for a status that says that somebody else than the request is at fault.
func others(status int) bool {
	return status >= 500 || status == 401 || status == 402 || status == 429
}

// blamesOthers holds where the status does, or a code in the place of one.
func (e *envelope) blamesOthers() bool {
	return others(e.status) || e.status < 300 && slices.ContainsFunc(table().rules, func(r *rule) bool {
		effect := r.class.Rule().StateEffect
		return e.coded[r.number] && effect != onceward.EffectNone && effect != onceward.EffectDropAnchor
	})
}

// lookAgain decides on what the text itself states where a verdict rests on words
// alone and matters beyond the attempt: it touches health, and the words refuse the
// form of the request; or it lays the fault on the request, and the status says that
// somebody else is at fault.
func (e *envelope) lookAgain(first *rule) *rule {
	if wordy := first.onWords() && !e.coded[first.number] && e.transport != Connection && !e.readErr; !wordy {
		return first
	}
	effect, form := first.class.Rule().StateEffect, e.says(table().forms)
	if (effect == onceward.EffectNone || effect == onceward.EffectDropAnchor && !form) && e.blamesOthers() {
		return e.without(unquoted).decide()
	}
	refusal := e.status < 300 || slices.Contains([]int{400, 404, 413, 422, 500}, e.status)
	if first.failure().StateEffect == onceward.EffectNone || !refusal || !form {
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
