package classify

import (
	"bytes"

	"github.com/onceward/onceward"
)

// phraseUse is what the second look asks of a phrase of the table.
type phraseUse struct {
	size    int
	marks   bool // a rule that touches health names it
	shape   bool // it is one of shapePhrases
	inNames bool // it is looked for inside of names
	word    bool // it has no blank
	trigger bool // whatever rule names it asks for more of the text besides
}

// statesMore reports whether a verdict by the rule asks for a second look: it
// touches health, and the text is all that it rests on.
func (e *envelope) statesMore(r *rule) bool {
	if len(r.any)+len(r.all) == 0 || e.codeHits.has(r.number) || e.transport == Connection || e.readErr {
		return false
	}
	effect := r.stateEffect()
	if w := weight(effect); w > 0 {
		return w > e.statusWeight()
	}
	return effect != onceward.EffectNone && e.refusesShape()
}

// lookAgain decides again on what the text itself states. A text that speaks of
// a tool named list_overdue_invoices, or quotes the caller's "account balance", is
// no verdict on the resource: taken as one, a single request would disable them
// all. A rule that still says something about the resource stands.
func (e *envelope) lookAgain(first *rule) *rule {
	t := table()
	shape := e.refusesShape()
	kept, phrases, hits := e.text, e.phrases, e.textHits
	text := append(e.scratch[:0], kept...)
	e.text, e.scratch, e.all, e.again = text, kept, phrases, true
	e.phrases, e.textHits = bits{}, ruleSet{}
	for rest := text; len(rest) > 0; {
		line := rest[:bytes.IndexByte(rest, '\n')+1]
		rest = rest[len(line):]
		e.findStated(t, line[:len(line)-1], shape)
	}
	if first.hit(e, first.number, e.errorText()) {
		e.text, e.scratch, e.phrases, e.textHits = kept, text, phrases, hits
		return first // no rule before it matches on less text
	}
	r := decide(e)
	effect, before := r.stateEffect(), first.stateEffect()
	switch {
	case shape && r.onStatus() && e.status < 500 && effect != onceward.EffectNone, shape && r.class == onceward.ClassUnknown:
		// The status alone is no verdict where the text says what was wrong with
		// the request.
		return &t.rules[t.codeRules[t.codes[codeKey(shapeCode)]][0]]
	case effect == onceward.EffectNone:
		return r
	}
	// The text is whole again, for the waits that it names.
	e.text, e.scratch, e.phrases, e.textHits = kept, text, phrases, hits
	if weight(effect) >= weight(before) {
		return first // it says more than the status does
	}
	return r
}

// statusWeight is the weight of what the status does by itself, whatever the text
// states. Then the text is asked only for more.
func (e *envelope) statusWeight() int {
	switch {
	case e.status == 401, e.status == 402, e.status == 403:
		return weight(onceward.EffectDisable)
	case e.status == 429, e.status > 500:
		return weight(onceward.EffectThrottle)
	}
	return 0
}

// weight orders the effects by what they take away.
func weight(s onceward.StateEffect) int {
	switch s {
	case onceward.EffectDisable:
		return 3
	case onceward.EffectDeploymentDown:
		return 2
	case onceward.EffectThrottle, onceward.EffectBreaker:
		return 1
	}
	return 0
}

// onStatus reports whether nothing but the status makes the rule match.
func (r *rule) onStatus() bool { return len(r.codes)+len(r.any)+len(r.all) == 0 }

// findStated looks for the phrases that a line states itself.
func (e *envelope) findStated(t *compiled, line []byte, shape bool) {
	mask(line, shape)
	from, to := len(line), len(line)
	if shape {
		from, to = t.callersEnd(line)
	}
	var named [16][2]int
	names := named[:0]
	t.index.each(line, func(state uint16, end int) {
		for _, id := range t.index.out[state] {
			p := &t.phrases[id]
			start := end - p.size
			if p.marks && (shape || !p.inNames) {
				if shape && (start >= from && start < to || p.word && !p.trigger) {
					continue
				}
				if t.inName(line, start, end, p.word) {
					names = append(names, [2]int{start, end})
					continue
				}
			}
			e.phrases.set(id)
			for _, r := range t.phraseRules[id] {
				e.textHits.set(r)
			}
		}
	})
	for _, n := range names { // what patterns of the text would find there as well
		if n[0] > 0 && isJoint(line[n[0]-1]) || n[1] < len(line) && isJoint(line[n[1]]) {
			blot(line[n[0]:n[1]])
		}
	}
	blot(line[from:to])
}

// inName reports whether the phrase at [start,end) is a piece of a name, such as
// list_overdue_invoices, overdueInvoices or overdue.xlsx. A name that is itself a
// code of the table is none: some resources write the code where a text is due.
func (t *compiled) inName(line []byte, start, end int, word bool) bool {
	if line[start] >= 0x80 {
		return false
	}
	low, high := start, end
	for low > 0 && inIdentifier(line[low-1]) {
		low--
	}
	for high < len(line) && inIdentifier(line[high]) {
		high++
	}
	if !word { // no name has a blank, but one may stand at either end
		return (low < start && line[start-1] == '_' || high > end && line[end] == '_') && bytes.IndexByte(line[start:end], '_') < 0
	}
	for low < start && !isAlnum(line[low]) {
		low++
	}
	for high > end && !isAlnum(line[high-1]) {
		high--
	}
	if low == start {
		switch string(line[end:high]) {
		case "", "s", "d", "ed", "ing":
			return false
		}
	}
	_, code := t.codes[codeKey(string(line[low:high]))]
	return !code
}

func isAlnum(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

func isJoint(c byte) bool { return c == '_' || c == '-' || c == '.' }

func inIdentifier(c byte) bool { return isAlnum(c) || isJoint(c) }

// stateEffect is what a verdict by the rule does to the resource's health.
func (r *rule) stateEffect() onceward.StateEffect {
	f := onceward.Failure{StateEffect: r.class.Rule().StateEffect}
	for _, over := range r.over {
		over(&f)
	}
	return f.StateEffect
}
