package classify

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/onceward/onceward"
)

// shapeCode is one of the codes that say what is wrong with a request's shape.
// The rule that names it names the others as well.
const shapeCode = "invalid_value"

// shapePhrases begin the texts that say so. Such a text quotes what it refuses,
// and what it refuses are the caller's own words: "overdue" as the value of a
// field is not the account's standing.
var shapePhrases = []string{
	"invalid value", "invalid type", "invalid schema", "invalid '", "unknown parameter", "unsupported value", "unsupported parameter",
	"string should", "input should", "value error", "input_value=", "expected a string, but got", "could not parse the json",
	"failed to download", "unable to download", "error while downloading",
}

// downloads are texts that go on with what another server answered, unquoted.
var downloads = [][]byte{[]byte("failed to download"), []byte("unable to download"), []byte("error while downloading")}

// refusesShape reports whether the answer refuses the form of the request.
func (e *envelope) refusesShape() bool {
	switch {
	case e.transport == Connection, e.status >= 300 && e.status != http.StatusBadRequest && e.status != http.StatusUnprocessableEntity:
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

// decideWithoutQuotes decides again on the text without what it quotes. A rule
// that still says something about the resource stands; otherwise the request is
// at fault, because one malformed request must not disable every resource.
func (e *envelope) decideWithoutQuotes(first *rule) *rule {
	t := table()
	kept, phrases, hits := e.text, e.phrases, e.textHits
	out := e.scratch[:0]
	e.phrases, e.textHits = bits{}, ruleSet{}
	for line := range bytes.Lines(kept) {
		from := len(out)
		out = appendUnquoted(out, bytes.TrimSuffix(line, []byte("\n")))
		t.index.find(out[from:], func(state uint16) { e.found(t, state) })
		out = append(out, '\n')
	}
	e.text, e.scratch = out, kept
	r := decide(e)
	switch {
	case r.stateEffect() != onceward.EffectNone:
		// The text is whole again, for the waits that it names.
		e.text, e.scratch, e.phrases, e.textHits = kept, out, phrases, hits
		if r.class == first.class {
			return first
		}
	case r.class == onceward.ClassUnknown:
		return &t.rules[t.codeRules[t.codes[codeKey(shapeCode)]][0]]
	}
	return r
}

// stateEffect is what a verdict by the rule does to the resource's health.
func (r *rule) stateEffect() onceward.StateEffect {
	f := onceward.Failure{StateEffect: r.class.Rule().StateEffect}
	for _, over := range r.over {
		over(&f)
	}
	return f.StateEffect
}

// appendUnquoted appends a folded line without the insides of its quotes,
// without addresses, the values that validators print and the answers of other
// servers. A quote that never closes takes the rest of the line along.
func appendUnquoted(out, line []byte) []byte {
	for _, d := range downloads {
		if at := bytes.Index(line, d); at >= 0 {
			line = line[:at+len(d)]
		}
	}
	if at := bytes.Index(line, []byte("input_value=")); at >= 0 {
		after := line[at+len("input_value="):]
		line = line[:at+len("input_value=")]
		// The last mark of the end: the caller may have written an earlier one.
		if end := bytes.LastIndex(after, []byte("input_type=")); end >= 0 {
			line = slices.Concat(line, after[end:])
		}
	}
	depth, first := 0, -1
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\'':
			before, next := i > 0 && inWord(line[i-1]), i+1 < len(line) && inWord(line[i+1])
			switch {
			case before && next: // an apostrophe
			case depth == 0 && before && first >= 0:
				// An apostrophe closed the quote too early, as in 'users' files'.
				last := bytes.LastIndexByte(line, '\'')
				return append(out[:first+1], line[last:]...)
			case depth == 0 && before: // a plural's apostrophe
			case before, !next && depth > 0 && !opens(line, i):
				depth--
			default:
				depth++
				if first < 0 {
					first = len(out)
				}
			}
			if depth < 2 {
				out = append(out, c)
			}
		case depth > 0:
		case bytes.HasPrefix(line[i:], []byte("http://")), bytes.HasPrefix(line[i:], []byte("https://")):
			if end := bytes.IndexByte(line[i:], ' '); end >= 0 {
				i += end - 1
			} else {
				i = len(line)
			}
		default:
			out = append(out, c)
		}
	}
	return out
}

// opens reports whether the quote at i, with no word on either side, begins a
// quote within a quote, as in {'model': '-'}.
func opens(line []byte, i int) bool {
	return i > 0 && bytes.IndexByte([]byte(" ([{:=,"), line[i-1]) >= 0 && i+1 < len(line) && line[i+1] != ' '
}

// inWord reports whether c is part of a word. Bytes of other scripts are.
func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}

// quotesCaller reports whether a text goes on with a value of the request: JSON
// in there is the caller's, and its codes are nobody's verdict.
func quotesCaller(before []byte) bool {
	before = bytes.ToLower(before[max(len(before)-256, 0):])
	for _, mark := range []string{"invalid value", "invalid type", "invalid schema", "string should", "input should", "input_value=", "but got"} {
		if bytes.Contains(before, []byte(mark)) {
			return true
		}
	}
	return false
}
