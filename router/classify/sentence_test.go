package classify

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func TestWholeSentenceOfAHostIsItsError(t *testing.T) {
	for text, want := range map[string]onceward.Class{
		"Claude AI usage limit reached|1764000000":                                         onceward.ClassQuotaExhausted,
		"Credit balance is too low":                                                        onceward.ClassBilling,
		"  You exceeded your current quota, please check your plan and billing details.\n": onceward.ClassQuotaExhausted,
		"The model is overloaded. Please try again later.":                                 onceward.ClassOverloaded,
		"Request failed with status code 429":                                              onceward.ClassRateLimited,
		"Request failed with status code 401":                                              onceward.ClassAuthentication,
		"Request failed with status code 502":                                              onceward.ClassServerError,
		"Provider returned error":                                                          onceward.ClassServerError,
		"Resource has been exhausted (e.g. check quota).":                                  onceward.ClassRateLimited,
	} {
		f, ok := Sentence(text)
		if !ok || f.Class != want || f.Phase != onceward.PhaseSettled || !f.FallbackEligible {
			t.Errorf("%q: %v %v, want %s", text, f, ok, want)
		}
		for _, own := range []string{"The host said: " + text, text + " Shall I wait?", "\"" + text + "\"", text + "..", strings.Repeat(text+" ", 2)} {
			if f, ok := Sentence(own); ok {
				t.Errorf("%q is the model's own and is taken for %s", own, f.Class)
			}
		}
	}
	for s := range sentences() {
		f, ok := Sentence(s)
		if !ok || !f.FallbackEligible || f.Class == onceward.ClassUnknown || f.Class == onceward.ClassInvalidOutput {
			t.Errorf("%q: %v %v", s, f, ok)
		}
	}
}
