package classify

import (
	"slices"
	"testing"
)

// A wording under a name that no rule has, or a rule without one, would say nothing.
func TestRulesAndTheirWordsBelongTogether(t *testing.T) {
	apart := []string{"forms", "sentences", "never connected"} // not of a rule
	used := map[string]bool{}
	for _, r := range table().rules {
		if r.words != "" && wordings()[r.words] == nil {
			t.Errorf("no rule file has [%s]", r.words)
		}
		used[r.words] = true
	}
	kinds := []string{"code", "says", "all", "not", "end", "like"}
	for name, w := range wordings() {
		if !used[name] && !slices.Contains(apart, name) {
			t.Errorf("[%s] belongs to no rule", name)
		}
		if len(w.lists) == 0 {
			t.Errorf("[%s] is empty", name)
		}
		for kind, list := range w.lists {
			if !slices.Contains(kinds, kind) {
				t.Errorf("[%s] has a line that begins with %q, want one of %v", name, kind, kinds)
			}
			for i, s := range list {
				if s == "" || slices.Contains(list[:i], s) {
					t.Errorf("[%s] has %s %q twice, or empty", name, kind, s)
				}
			}
		}
	}
}
