package classify

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/onceward/onceward"
)

// sentences are what hosts have been seen to deliver as the whole text of a
// completed answer, in lower case and without the last period. Only what no model
// says by itself belongs here: another's name, its address or its wording.
var sentences = func() map[string]bool {
	out := map[string]bool{}
	for _, s := range []string{
		"claude ai usage limit reached", "credit balance is too low", "invalid api key · please run /login",
		"your credit balance is too low to access the anthropic api. please go to plans & billing to upgrade or purchase credits",
		"you exceeded your current quota, please check your plan and billing details",
		"you exceeded your current quota, please check your plan and billing details. for more information on this error, read the docs: " +
			"https://platform.openai.com/docs/guides/error-codes/api-errors",
		"the server had an error while processing your request. sorry about that!",
		"the server is currently overloaded with other requests. sorry about that! you can retry your request, or contact us through our help center " +
			"at help.openai.com if the error persists",
		"the engine is currently overloaded, please try again later", "the model is overloaded. please try again later",
		"this model is currently experiencing high demand. spikes in demand are usually temporary. please try again later",
		"resource has been exhausted (e.g. check quota)", "provider returned error", "upstream request timeout", "no healthy upstream",
		"request failed with status code 401", "request failed with status code 402", "request failed with status code 403",
		"request failed with status code 429", "request failed with status code 500", "request failed with status code 502",
		"request failed with status code 503", "request failed with status code 504",
	} {
		out[s] = true
	}
	return out
}()

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
	if s = strings.TrimSuffix(stamp.ReplaceAllString(s, ""), "."); !sentences[s] {
		return nil, false
	}
	in := Input{Status: http.StatusOK, Body: []byte(text)}
	e := read(in)
	e.hasError = true
	f := e.verdict(in)
	f.Phase, f.ModelResult = onceward.PhaseSettled, onceward.ModelResultPartial
	return f, true
}
