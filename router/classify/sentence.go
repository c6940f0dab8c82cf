package classify

import (
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/onceward/onceward"
)

// sentences are what hosts have been seen to deliver as the whole text of a completed
// answer, in lower case and without the last period.
var sentences = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, s := range said("sentences") {
		out[s] = true
	}
	return out
})

// stamp is the epoch that one of them ends in.
var stamp = regexp.MustCompile(`\|\d{10}$`)

// Sentence reports the failure that an answer's whole text is, where the host
// delivers its error as if the model had said it. Only an exact known sentence
// counts, whatever its letters and its last period; an answer that quotes one, or
// says a word more, is the model's own.
func Sentence(text string) (*onceward.Failure, bool) {
	if len(text) > maxSummary {
		return nil, false
	}
	s := strings.ToLower(strings.Join(strings.Fields(text), " "))
	if s = strings.TrimSuffix(stamp.ReplaceAllString(s, ""), "."); !sentences()[s] {
		return nil, false
	}
	in := Input{Status: http.StatusOK, Body: []byte(text)}
	e := read(in)
	e.hasError = true
	f := e.verdict(in)
	f.Phase, f.ModelResult = onceward.PhaseSettled, onceward.ModelResultPartial
	return f, true
}
