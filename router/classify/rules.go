package classify

import (
	mathbits "math/bits"
	"regexp"
	"slices"
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
	// inNames: its phrases are pieces of the names that resources give to things.
	inNames bool
	over    []override

	number          int
	allIDs, noneIDs []int16
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
	phraseRules [][]uint8 // phrase -> the rules that name it in any
	codeRules   [][]uint8 // code -> the rules that name it
	unasked     ruleSet   // the rules that can match without one of their codes or any phrases
	waitPhrases []int16
	neverConn   []int16
	shapes      []int16
	phrases     []phraseUse
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
		egressRules, callerRules, stateRules, contentRules, accountRules, placeRules, gatewayRules, modelRules, sizeRules,
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
			number := uint8(len(t.rules))
			r.number = len(t.rules)
			for _, id := range phrase(r.any) {
				for len(t.phraseRules) <= int(id) {
					t.phraseRules = append(t.phraseRules, nil)
				}
				t.phraseRules[id] = append(t.phraseRules[id], number)
			}
			r.allIDs, r.noneIDs = phrase(r.all), phrase(r.none)
			for _, c := range r.codes {
				c = codeKey(c)
				id, ok := t.codes[c]
				if !ok {
					id = int16(len(t.codes))
					t.codes[c] = id
				}
				if int(id) == len(t.codeRules) {
					t.codeRules = append(t.codeRules, nil)
				}
				t.codeRules[id] = append(t.codeRules[id], number)
			}
			if len(r.any) == 0 && (len(r.codes) == 0 || len(r.all) > 0) {
				t.unasked.set(number)
			}
			t.rules = append(t.rules, r)
		}
	}
	t.waitPhrases = phrase(waitPhrases)
	t.neverConn = phrase(neverConnected)
	t.shapes = phrase(shapePhrases)
	for len(t.phraseRules) < len(phrases) {
		t.phraseRules = append(t.phraseRules, nil)
	}
	t.index = newPhraseIndex(phrases)
	t.phrases = t.uses(phrases)
	return t
}

// uses gathers what the rules do with each phrase.
func (t *compiled) uses(phrases []string) []phraseUse {
	uses := make([]phraseUse, len(phrases))
	for id, p := range phrases {
		uses[id] = phraseUse{size: len(p), word: !strings.Contains(p, " "), shape: slices.Contains(shapePhrases, p), trigger: true}
		for _, number := range t.phraseRules[id] {
			r := &t.rules[number]
			uses[id].marks = uses[id].marks || r.stateEffect() != onceward.EffectNone
			uses[id].inNames = uses[id].inNames || r.inNames
			uses[id].trigger = uses[id].trigger && (r.re != nil || len(r.all) > 0)
		}
	}
	return uses
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
	vetoes := &e.phrases
	if e.again {
		vetoes = &e.all
	}
	for part, always := range t.unasked {
		for left := e.codeHits[part] | e.textHits[part] | always; left != 0; left &= left - 1 {
			i := part<<6 + mathbits.TrailingZeros64(left)
			r := &t.rules[i]
			if r.hit(e, i, text) && !vetoes.hasAny(r.noneIDs) && (r.when == nil || r.when(e)) {
				return r
			}
		}
	}
	return &t.rules[len(t.rules)-1]
}

// hit reports whether a code or a phrase of the rule is there. Phrases that
// must all be there are asked of a code's rule as well.
func (r *rule) hit(e *envelope, number int, text bool) bool {
	if e.codeHits.has(number) {
		return e.phrases.hasAll(r.allIDs)
	}
	if len(r.any)+len(r.all) == 0 {
		return len(r.codes) == 0
	}
	if len(r.any) > 0 && !e.textHits.has(number) {
		return false
	}
	return text && (e.status < 500 || r.strong) && e.phrases.hasAll(r.allIDs) && (r.re == nil || r.re.Match(e.text))
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
