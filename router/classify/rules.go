package classify

import (
	"regexp"
	"strings"
	"sync"

	"github.com/onceward/onceward"
)

// rule is one row of the table. Its matcher holds when a code or a phrase hits
// (with neither given, always) and every other given condition holds.
type rule struct {
	class onceward.Class
	codes []string       // codes, types, reasons; letters and digits are compared, case is not
	any   []string       // phrases of the message; at least one must be there
	all   []string       // phrases that must all be there
	none  []string       // phrases that must not be there
	re    *regexp.Regexp // a shape of the message; runs only after a phrase has hit
	when  func(*envelope) bool
	// strong phrases hold against a 5xx too. Others do not: a server that fails
	// may quote any words, and its status says more than they do.
	strong bool
	over   []override

	codeIDs, anyIDs, allIDs, noneIDs []int16
}

// override changes a default of the class table for one rule.
type override func(*onceward.Failure)

func effect(s onceward.StateEffect) override {
	return func(f *onceward.Failure) { f.StateEffect = s }
}
func fallback(v bool) override { return func(f *onceward.Failure) { f.FallbackEligible = v } }
func retry(v bool) override    { return func(f *onceward.Failure) { f.Retryable = v } }
func repair(r onceward.Repair) override {
	return func(f *onceward.Failure) { f.Repair = r }
}
func scope(s onceward.Scope) override { return func(f *onceward.Failure) { f.Scope = s } }

// compiled is the table in the form that matching uses.
type compiled struct {
	rules       []rule
	index       *phraseIndex
	codes       map[string]int16
	waitPhrases []int16
	neverConn   []int16
}

var (
	tableOnce sync.Once
	theTable  *compiled
)

func table() *compiled {
	tableOnce.Do(func() { theTable = compile() })
	return theTable
}

// sections is the table in its order; the first rule that matches decides.
func sections() [][]rule {
	return [][]rule{
		callerRules, stateRules, contentRules, accountRules, placeRules, gatewayRules, modelRules, sizeRules,
		loadRules, transportRules, outputRules, requestRules, answerRules, statusRules, typeRules, lastRules,
	}
}

func compile() *compiled {
	t := &compiled{codes: map[string]int16{}}
	var phrases []string
	ids := map[string]int16{}
	phrase := func(list []string) (out []int16) {
		for _, p := range list {
			id, ok := ids[p]
			if !ok {
				id = int16(len(phrases))
				ids[p] = id
				phrases = append(phrases, p)
			}
			out = append(out, id)
		}
		return out
	}
	for _, section := range sections() {
		for _, r := range section {
			r.anyIDs, r.allIDs, r.noneIDs = phrase(r.any), phrase(r.all), phrase(r.none)
			for _, c := range r.codes {
				c = codeKey(c)
				id, ok := t.codes[c]
				if !ok {
					id = int16(len(t.codes))
					t.codes[c] = id
				}
				r.codeIDs = append(r.codeIDs, id)
			}
			t.rules = append(t.rules, r)
		}
	}
	t.waitPhrases = phrase(waitPhrases)
	t.neverConn = phrase(neverConnected)
	t.index = newPhraseIndex(phrases)
	return t
}

// codeKey is a code as it is compared: its letters and digits in lower case.
func codeKey(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(s))
}

// decide returns the first rule that matches. The last one always does.
func decide(e *envelope) *rule {
	t := table()
	text := e.errorText()
	for i := range t.rules {
		if t.rules[i].matches(e, text) {
			return &t.rules[i]
		}
	}
	return &t.rules[len(t.rules)-1]
}

func (r *rule) matches(e *envelope, text bool) bool {
	hit := len(r.codeIDs) == 0 && len(r.anyIDs) == 0 && len(r.allIDs) == 0
	byCode := e.codes.hasAny(r.codeIDs)
	hit = hit || byCode
	if !hit {
		if !text || len(r.anyIDs)+len(r.allIDs) == 0 || (e.status >= 500 && !r.strong) {
			return false
		}
		if len(r.anyIDs) > 0 && !e.phrases.hasAny(r.anyIDs) {
			return false
		}
		for _, id := range r.allIDs {
			if !e.phrases.has(id) {
				return false
			}
		}
		if r.re != nil && !r.re.Match(e.text) {
			return false
		}
	} else if byCode && len(r.codeIDs) > 0 && r.codesNeedText() && !r.textHolds(e) {
		return false
	}
	return !e.phrases.hasAny(r.noneIDs) && (r.when == nil || r.when(e))
}

// codesNeedText is for rules that name codes and phrases that must all hold:
// the code alone is not enough there.
func (r *rule) codesNeedText() bool { return len(r.allIDs) > 0 }

func (r *rule) textHolds(e *envelope) bool {
	for _, id := range r.allIDs {
		if !e.phrases.has(id) {
			return false
		}
	}
	return true
}

// conditions on the status

func is(codes ...int) func(*envelope) bool {
	return func(e *envelope) bool {
		for _, c := range codes {
			if e.status == c {
				return true
			}
		}
		return false
	}
}

func not(codes ...int) func(*envelope) bool {
	in := is(codes...)
	return func(e *envelope) bool { return !in(e) }
}

func between(low, high int) func(*envelope) bool {
	return func(e *envelope) bool { return e.status >= low && e.status <= high }
}

// failed holds where something reports an error, whatever the status.
func failed(e *envelope) bool { return e.hasError || e.status >= 400 || e.respStatus == "failed" }

// undecided holds where no status says anything: none at all, or a 2xx.
func undecided(e *envelope) bool { return e.status < 300 }

// answered holds for a 2xx that carries no error.
func answered(e *envelope) bool {
	return e.status >= 200 && e.status < 300 && !e.hasError && e.transport != Connection
}
