package router

import (
	"net/http"
	"strings"
	"testing"

	"github.com/onceward/onceward/router/route"
	"github.com/onceward/onceward/router/wire"
)

func TestDriftIsToldOnceForEachDifference(t *testing.T) {
	member := func(name, model string) *route.Candidate {
		return &route.Candidate{Resource: &route.Resource{Name: name}, Model: model}
	}
	a, b, other := member("a", "m"), member("b", "m"), member("c", "n")
	all := []*route.Candidate{a, b, other}
	header := func(limit string) http.Header { return http.Header{"X-Ratelimit-Limit-Tokens": {limit}} }
	filters := func(keys ...string) []byte {
		return []byte(`[{"source_type":"completion","content_filter_results":{"` + strings.Join(keys, `":{"filtered":false},"`) + `":{"filtered":true}}}]`)
	}
	d := newDrift()
	told := func(c *route.Candidate, model, limit string, keys ...string) string {
		answer := wire.Answer{Model: model}
		if len(keys) > 0 {
			answer.Filters = filters(keys...)
		}
		return strings.Join(d.learn(c, all, factsOf(answer, header(limit))), "\n")
	}
	if got := told(a, "m-1", "100", "hate", "violence"); got != "" {
		t.Errorf("the first member differs from nobody: %s", got)
	}
	if got := told(other, "n-9", "7"); got != "" {
		t.Errorf("a member that serves another model was compared: %s", got)
	}
	if got := told(b, "m-1", "100", "violence", "hate"); got != "" {
		t.Errorf("an equal member: %s", got)
	}
	got := told(b, "m-2", "50", "hate")
	for _, want := range []string{`served model of m is "m-2" on b and "m-1" on a`, `filter keys of m is "completion.hate" on b`, `limit of tokens of m is "50" on b and "100" on a`} {
		if !strings.Contains(got, want) {
			t.Errorf("told %q, want %q in it", got, want)
		}
	}
	if got := told(b, "m-2", "50", "hate"); got != "" {
		t.Errorf("told again: %s", got)
	}
	if got := told(b, "", ""); got != "" {
		t.Errorf("what is not known is no difference: %s", got)
	}
}
