package workflows

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

// foreign is what somebody may put into any text: an escape sequence, marks of
// direction, a formula, a cell, a link, an image, HTML, code, a heading, a list and
// lines of their own.
const foreign = "\x1b]0;owned\x07 \u202Eabc\u200B $0.01 of $0.50 | x | [x](http://y) ![i](https://z/p.png) <img src=x> `code` **b** ~~s~~ \\ &amp; www.example.com mailto:a@b.c\n\n# head\n- item\n| a | b |\n|---|---|\n<script>alert(1)</script>\n```\n$$\nx\n$$\n"

// unescaped are the ways in which a text is more than a text to some reader.
var unescaped = []*regexp.Regexp{
	regexp.MustCompile(`(^|[^\\])(\\\\)*[$<>\[\]~&^{}]`),
	regexp.MustCompile(`\]\(`),
	regexp.MustCompile(`(?i)(https?|ftp|file)://|www\.|mailto:`),
	regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f]|\p{Cf}`),
}

// checkMarkdown finds what of a text is not escaped. without is the same with only
// harmless words of others.
func checkMarkdown(t *testing.T, name, text, without string) {
	t.Helper()
	for _, bad := range unescaped {
		if found := bad.FindString(text); found != "" {
			t.Errorf("%s: %q stands unescaped in\n%s", name, found, text)
		}
	}
	// Bars, stars, code and lines: as many as there are with nothing of others.
	bare := regexp.MustCompile(`\\.`).ReplaceAllString(text, "")
	for _, sign := range []string{"|", "*", "`", "\n"} {
		if got, want := strings.Count(bare, sign), strings.Count(without, sign); got != want {
			t.Errorf("%s: %q stands %d times, %d times without the text of others, in\n%s", name, sign, got, want, text)
		}
	}
	if len(text) > maxDetails || !utf8.ValidString(text) {
		t.Errorf("%s: %d bytes, valid %t", name, len(text), utf8.ValidString(text))
	}
}

func detailsOfRun(text string) string {
	r := &Run{plan: onceward.Plan{Agent: text, Budget: onceward.Budget{Attempts: 5, Cost: 500_000}}, use: onceward.Use{Spent: 7_000, Reserved: 3_000},
		status: onceward.StatusWaitingPerson, outcome: onceward.OutcomeUnknown, waiting: text,
		attempts: []onceward.AttemptRecord{
			{Turn: 1, Attempt: 1, Route: &onceward.Route{Resource: text, Model: text}, Failure: &onceward.Failure{Class: onceward.Class(text), Message: text}},
			{Turn: 1, Attempt: 2, Failure: &onceward.Failure{Class: onceward.ClassNoRoute}}},
		actions: []onceward.ActionReceipt{{ActionID: onceward.ActionID(text), Status: onceward.ActionState(text), Ref: text, Reason: text, Tool: text}}}
	return r.details()
}

func detailsOfAction(text string) string {
	a := &action{receipt: onceward.ActionReceipt{ActionID: onceward.ActionID(text), Status: onceward.StateAwaitingOperator, Tool: text, Ref: text,
		Reason: text, VerifiedBy: onceward.VerifiedBy(text), ResolvedBy: text, Refused: []string{text, text}}}
	return a.details()
}

func detailsOfPool(text string) string {
	p := &pool{in: onceward.PoolInput{Pool: text}, health: onceward.PoolHealth{Disabled: []onceward.Disabled{
		{Resource: text, Model: text, Class: onceward.Class(text), Reason: text, By: text, Since: time.Unix(0, 0)}}}}
	return p.details()
}

func TestCurrentDetailsEscapeEveryTextThatIsNotOurs(t *testing.T) {
	t.Parallel()
	for name, details := range map[string]func(string) string{
		"E41 a run": detailsOfRun, "E41 an action": detailsOfAction, "E41 a pool": detailsOfPool,
	} {
		checkMarkdown(t, name, details(foreign), details("word"))
		for r := rune(1); r < 0x80; r++ { // every sign by itself, at the beginning and inside
			text := details(string(r) + "a" + string(r) + "b" + string(r))
			if strings.ContainsRune("$<>[]~&^{}", r) {
				checkMarkdown(t, fmt.Sprintf("%s with %q", name, r), text, details("word"))
			}
		}
	}
}

func TestAmountsAreNoFormulas(t *testing.T) {
	t.Parallel()
	if got := detailsOfRun("agent"); !strings.Contains(got, "USD 0.010000 of USD 0.500000") || strings.Contains(got, "$") {
		t.Errorf("E41: the details say %s", got)
	}
}

// Whatever many things are in a run, the newest are shown and the server takes them.
func TestDetailsStayWithinWhatTheServerTakes(t *testing.T) {
	t.Parallel()
	r := &Run{plan: onceward.Plan{Agent: strings.Repeat("|", 500)}, waiting: strings.Repeat("[", 9000)}
	for i := range 500 {
		r.attempts = append(r.attempts, onceward.AttemptRecord{Turn: i, Route: &onceward.Route{Resource: strings.Repeat("$", 300), Model: "m"}})
		r.actions = append(r.actions, onceward.ActionReceipt{ActionID: onceward.ActionID(fmt.Sprintf("a/%d", i)), Status: onceward.StateCommitted, Ref: strings.Repeat("`", 3000)})
	}
	got := r.details()
	if len(got) > maxDetails || !strings.Contains(got, "| a/499 |") || !strings.Contains(got, "| 499 |") || !strings.Contains(got, "earlier ones are not shown") {
		t.Errorf("%d bytes, ends in %s", len(got), got[max(0, len(got)-200):])
	}
	p := &pool{}
	a := &action{receipt: onceward.ActionReceipt{ActionID: "a/1", Status: onceward.StateAwaitingOperator, Ref: strings.Repeat("|", 9000), Reason: strings.Repeat("*", 9000)}}
	for range 200 {
		p.health.Disabled = append(p.health.Disabled, onceward.Disabled{Resource: "r", Reason: strings.Repeat("<", 400)})
	}
	for range maxRefused {
		a.receipt.Refused = append(a.receipt.Refused, strings.Repeat("[", 400))
	}
	if p, a := len(p.details()), len(a.details()); p > maxDetails || a > maxDetails {
		t.Errorf("a pool's details have %d bytes and an action's %d, at most %d", p, a, maxDetails)
	}
}
