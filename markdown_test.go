package onceward

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// unescaped are the ways in which a text is more than a text to some reader.
var unescaped = []*regexp.Regexp{
	regexp.MustCompile("(^|[^\\\\])(\\\\\\\\)*[$<>\\[\\]~&^{}|*`]"),
	regexp.MustCompile(`\]\(`),
	regexp.MustCompile(`(?i)(https?|ftp|file)://|www\.|mailto:`),
	regexp.MustCompile(`[\x00-\x1f\x7f]|\p{Cf}`),
}

func TestEscapeIsNeverCutInTwo(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a|é€\U0001F600$", 20)
	for n := 3; n < 200; n++ {
		got := PlainMarkdown(text, n)
		if len(got) > n || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
			t.Fatalf("%d bytes: %q", n, got)
		}
		if kept := strings.TrimSuffix(got, "…"); len(kept)-len(strings.TrimRight(kept, `\`)) != 0 {
			t.Fatalf("%d bytes: %q ends in half an escape", n, got)
		}
	}
	if got := Summary("turn 1 · " + strings.Repeat("|", 600)); len(got) > maxSummary {
		t.Errorf("a summary of %d bytes, the server takes 400", len(got))
	}
}

func TestUsualNamesStayAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"refund/order-1842/v1", "turn 1 · create_refund · refund/order_18-42/v1", "turn 3 · attempt 2 · swedencentral/gpt-5.6 · after rate_limited",
		"a worker that has the agent (refunds): none.", "rf-000001", "order no. 7, 3 of 4", "until 2026-11-29T22:33:15Z", "東京 Grüße",
	} {
		if got := PlainMarkdown(text, 400); got != text {
			t.Errorf("%q is written %q", text, got)
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("[x](http://y) $1 of $2 | `c` <b> \x1b\n# h www.example.com", 100)
	f.Add("a\\|b", 7)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 3 || n > 1<<16 {
			return
		}
		got := PlainMarkdown(text, n)
		if len(got) > n || strings.Contains(got, "\n") {
			t.Fatalf("%q in %d bytes is %q", text, n, got)
		}
		for _, bad := range unescaped {
			if found := bad.FindString(got); found != "" {
				t.Fatalf("%q stands unescaped in %q", found, got)
			}
		}
	})
}
