package classify

import (
	"regexp"
	"slices"
	"sync"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/waits"
)

// rule is one row of the table. Its matcher holds when a code or a phrase hits
// (with neither given, always) and every other given condition holds.
type rule struct {
	class onceward.Class
	words string         // the name in the rule files under which its codes, phrases, ends and patterns are
	re    *regexp.Regexp // a pattern that is put together here, in place of one there
	when  func(*envelope) bool
	// strong phrases hold against a 5xx too. Others do not: a server that fails
	// may quote any words, and its status says more than they do.
	strong bool
	over   []override

	number, section         int
	codes                   int // how many
	ends                    []string
	anyIDs, allIDs, noneIDs []int
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

// sections is the table in its order; the first rule that matches decides. What is api
// speaks of the request or of the account, and a page that is not the API's cannot.
var sections = []struct {
	rules []rule
	api   bool
}{
	{rules: egressRules}, {rules: pageRules}, {rules: callerRules, api: true}, {rules: stateRules, api: true}, {rules: contentRules, api: true},
	{rules: accountRules, api: true}, {rules: placeRules}, {rules: gatewayRules}, {rules: modelRules, api: true}, {rules: sizeRules, api: true},
	{rules: loadRules}, {rules: transportRules}, {rules: outputRules, api: true}, {rules: requestRules, api: true},
	{rules: answerRules}, {rules: statusRules}, {rules: typeRules}, {rules: lastRules},
}

// compiled is the table in the form that matching uses.
type compiled struct {
	matcher
	rules     []*rule
	codes     map[string][]int // the rules that name a code
	waitWords []int
	neverConn []int
	forms     []int
}

var table = sync.OnceValue(func() *compiled {
	t := &compiled{matcher: matcher{ids: map[string]int{}}, codes: map[string][]int{}}
	for i, s := range sections {
		for _, r := range s.rules {
			r.number, r.section = len(t.rules), i
			if w := wordings()[r.words]; w != nil {
				r.anyIDs, r.allIDs, r.noneIDs = t.add(w.lists["says"]), t.add(w.lists["all"]), t.add(w.lists["not"])
				for _, c := range w.lists["code"] {
					t.codes[waits.Key(c)] = append(t.codes[waits.Key(c)], r.number)
					r.codes++
				}
				if r.ends = w.lists["end"]; w.like != nil {
					r.re = w.like
				}
			}
			t.rules = append(t.rules, &r)
		}
	}
	t.waitWords, t.neverConn, t.forms = t.add(waits.Words), t.add(said("never connected")), t.add(forms())
	return t
})

// decide returns the first rule that matches. The last one always does.
func (e *envelope) decide() *rule {
	rules := table().rules
	text := e.errorText()
	for _, r := range rules {
		if e.page && sections[r.section].api {
			continue
		}
		// The pattern is asked last, because nothing else costs as much.
		if r.hit(e, text) && !e.says(r.noneIDs) && (r.when == nil || r.when(e)) && (r.re == nil || e.coded[r.number] || r.re.Match(e.text)) {
			return r
		}
	}
	return rules[len(rules)-1]
}

// hit reports whether a code or the phrases of the rule are there. Phrases that
// must all be there are asked of a code's rule as well.
func (r *rule) hit(e *envelope, text bool) bool {
	switch {
	case e.coded[r.number]:
		return e.saysAll(r.allIDs)
	case r.ends != nil:
		return slices.Contains(r.ends, e.end)
	case !r.onWords():
		return r.codes == 0
	case !text || e.status >= 500 && !r.strong || len(r.anyIDs) > 0 && !e.says(r.anyIDs):
		return false
	}
	return e.saysAll(r.allIDs)
}

// onWords reports whether the rule asks for words of the message.
func (r *rule) onWords() bool { return len(r.anyIDs)+len(r.allIDs) > 0 }

// failure is a verdict by the rule alone.
func (r *rule) failure() *onceward.Failure {
	f := onceward.NewFailure(r.class, "", "")
	for _, over := range r.over {
		over(f)
	}
	return f
}

// says reports whether one of the phrases was there.
func (e *envelope) says(ids []int) bool {
	return slices.ContainsFunc(ids, func(id int) bool { return e.said[id] })
}

func (e *envelope) saysAll(ids []int) bool {
	return !slices.ContainsFunc(ids, func(id int) bool { return !e.said[id] })
}

// conditions on the status

func is(codes ...int) func(*envelope) bool {
	return func(e *envelope) bool { return slices.Contains(codes, e.status) }
}

func not(codes ...int) func(*envelope) bool {
	return func(e *envelope) bool { return !slices.Contains(codes, e.status) }
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
