package classify

import (
	"embed"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// ruleFiles hold the wordings, by concept and one a line, under the name of the rule
// that they belong to:
//
//	[insufficient balance]
//	code account_overdue
//	says insufficient balance
//	not  rate limits:
//
// code is a code, type or reason, of which letters and digits are compared; says a
// phrase of the message in lower case, one of which must be there; all a phrase that
// must be there too; not one that must not; end how an answer says that it ended; like
// a pattern, asked when the rest holds.
// What begins or ends in a blank stands in quotes.
//
//go:embed rules/*.txt
var ruleFiles embed.FS

// wording is what stands under one name.
type wording struct {
	lists map[string][]string // by the first word of a line
	like  *regexp.Regexp
}

// wordings reads the rule files, once. A test holds them and the rules together.
var wordings = sync.OnceValue(func() map[string]*wording {
	all := map[string]*wording{}
	files, _ := ruleFiles.ReadDir("rules") // compiled in
	for _, file := range files {
		text, _ := ruleFiles.ReadFile("rules/" + file.Name())
		var w *wording
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\r\n")
			if name, ok := strings.CutPrefix(line, "["); ok {
				w = &wording{lists: map[string][]string{}}
				all[strings.TrimSuffix(name, "]")] = w
			} else if line != "" && line[0] != '#' {
				kind, value, _ := strings.Cut(line, " ")
				value = strings.TrimLeft(value, " ")
				if quoted, err := strconv.Unquote(value); err == nil {
					value = quoted
				}
				w.lists[kind] = append(w.lists[kind], value)
			}
		}
	}
	for _, w := range all {
		if patterns := w.lists["like"]; patterns != nil {
			w.like = regexp.MustCompile(strings.Join(patterns, "|"))
		}
	}
	return all
})

// said returns the phrases under a name that no rule has.
func said(name string) []string { return wordings()[name].lists["says"] }
