package wire

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func TestLintLeavesOutWhatEveryHostRefusesAndSaysSo(t *testing.T) {
	const (
		user   = `{"type":"message","role":"user","content":"hi"}`
		rs     = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA"}`
		call   = `{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}`
		output = `{"type":"function_call_output","call_id":"c1","output":"x"}`
		custom = `{"type":"custom_tool_call","call_id":"c2","name":"g","input":""}`
		shell  = `{"type":"shell_call","call_id":"c3","action":{}}`
	)
	for name, c := range map[string]struct {
		in, want []string
		notices  int
		anchor   string
	}{
		"a whole transcript is left as it is":         {in: []string{user, rs, call, output}, want: []string{user, rs, call, output}},
		"a call without its output":                   {in: []string{user, rs, call}, want: []string{user}, notices: 2},
		"an output without its call":                  {in: []string{user, output}, want: []string{user}, notices: 1},
		"a custom call beside a whole pair":           {in: []string{user, custom, call, output}, want: []string{user, call, output}, notices: 1},
		"another kind of call is the host's to judge": {in: []string{user, shell}, want: []string{user, shell}},
		"a stored response may hold the call":         {in: []string{output}, want: []string{output}, anchor: "resp_1"},
		"two calls of one id, one output":             {in: []string{user, call, rs, call, output}, want: []string{user, rs, call, output}, notices: 1},
		"a call id that comes again, twice whole":     {in: []string{call, output, call, output}, want: []string{call, output, call, output}},
		"an output before its call":                   {in: []string{user, output, call}, want: []string{user}, notices: 2},
		"a second output":                             {in: []string{call, output, output}, want: []string{call, output}, notices: 1},
		"an output of another kind":                   {in: []string{user, custom, strings.Replace(output, "c1", "c2", 1)}, want: []string{user}, notices: 2},
		"reasoning before an orphan before reasoning": {in: []string{user, rs, custom, rs, call, output}, want: []string{user, rs, call, output}, notices: 2},
		"an empty transcript":                         {},
		"more orphans than the trail has room for":    {in: orphans(20, user), want: []string{user}, notices: maxNotices},
	} {
		t.Run(name, func(t *testing.T) {
			got, notices := Lint(onceward.ModelRequest{Items: items(t, c.in...), PreviousResponseID: c.anchor})
			var raw []string
			for _, item := range got {
				raw = append(raw, string(item.Raw))
			}
			if strings.Join(raw, "\n") != strings.Join(c.want, "\n") || len(notices) != c.notices {
				t.Errorf("notices %q, got\n%s\nwant\n%s", notices, strings.Join(raw, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func orphans(n int, first string) []string {
	out := []string{first}
	for i := range n {
		out = append(out, `{"type":"function_call","call_id":"o`+string(rune('a'+i))+`","name":"f","arguments":"{}"}`)
	}
	return out
}
