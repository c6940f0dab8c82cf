package routertest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
)

// Model is a scripted model: the first rule that matches a request answers it.
// The zero value answers every request with the text "ok". A model with rules
// none of which matches refuses the request with a 400 whose code is
// "no_rule_matches", so that a hole in a script is seen at once.
type Model struct {
	// Script names a ready script, "refund" or "quiz", whose rules come after
	// Rules. It is how a JSON file asks for one.
	Script string `json:"script,omitempty"`
	// Quiz configures the quiz script.
	Quiz Quiz `json:"quiz,omitzero"`
	// Rules are tried in order.
	Rules []Rule `json:"rules,omitempty"`
}

// Rule answers the requests it matches. Both conditions must hold; the zero
// Match and a nil WhenFunc hold always.
type Rule struct {
	// Name appears in errors.
	Name string `json:"name,omitempty"`
	When Match  `json:"when,omitzero"`
	// WhenFunc must be safe for concurrent use.
	WhenFunc func(Request) bool `json:"-"`
	// Times is how often the rule answers before it is passed over; 0: always.
	Times int `json:"times,omitempty"`
	// Reply is the output, in order.
	Reply []Out `json:"reply,omitempty"`
	// ReplyFunc makes the output instead; it must be safe for concurrent use.
	ReplyFunc func(Request) []Out `json:"-"`
}

// Out is one output item; exactly one of its fields is set. Texts may hold
// placeholders: ${user.1} (group 1 of the rule's last_user, else first_user,
// expression), ${output.get_order.amount_cents} (a key of the last output of
// that tool) and ${n} (how often the rule has answered).
type Out struct {
	Text    string `json:"text,omitempty"`
	Refusal string `json:"refusal,omitempty"`
	Call    *Call  `json:"call,omitempty"`
	// Reasoning is sealed when the request includes reasoning.encrypted_content.
	Reasoning *Reasoning `json:"reasoning,omitempty"`
	// Compaction is a sealed compaction item.
	Compaction bool `json:"compaction,omitempty"`
}

// Call is a function call.
type Call struct {
	Name string `json:"name"`
	// Arguments is an object, or a JSON string whose content is sent as it is,
	// which may be no JSON at all.
	Arguments json.RawMessage `json:"arguments"`
	// CallID replaces the generated call_id.
	CallID string `json:"call_id,omitempty"`
}

// Reasoning is a reasoning item; an empty Summary is common on the wire.
type Reasoning struct {
	Summary string `json:"summary,omitempty"`
	// Tokens is counted into reasoning_tokens; 0: 64.
	Tokens int `json:"tokens,omitempty"`
}

// Say is a text output.
func Say(text string) Out { return Out{Text: text} }

// CallTool is a function call output. Arguments that cannot be marshalled
// become an empty object.
func CallTool(name string, arguments any) Out {
	raw, err := json.Marshal(arguments)
	if err != nil {
		raw = []byte("{}")
	}
	return Out{Call: &Call{Name: name, Arguments: raw}}
}

type compiled struct{ rules []*compiledRule }

type compiledRule struct {
	Rule
	match *matcher
	used  atomic.Int64
}

func compile(m Model) (*compiled, error) {
	rules := append([]Rule(nil), m.Rules...)
	switch m.Script {
	case "":
	case "refund":
		rules = append(rules, RefundModel().Rules...)
	case "quiz":
		rules = append(rules, QuizModel(m.Quiz).Rules...)
	default:
		return nil, fmt.Errorf("unknown script %q", m.Script)
	}
	if len(rules) == 0 {
		rules = []Rule{{Reply: []Out{Say("ok")}}}
	}
	c := &compiled{}
	for i, r := range rules {
		mt, err := r.When.compile()
		if err != nil {
			return nil, fmt.Errorf("rule %d %q: %w", i, r.Name, err)
		}
		for _, o := range r.Reply {
			if o.Call != nil && !json.Valid(o.Call.Arguments) {
				return nil, fmt.Errorf("rule %d %q: arguments of %q are not JSON", i, r.Name, o.Call.Name)
			}
		}
		c.rules = append(c.rules, &compiledRule{Rule: r, match: mt})
	}
	return c, nil
}

// reply returns the output of the first rule that matches.
func (c *compiled) reply(req Request, as sent) ([]Out, bool) {
	for _, r := range c.rules {
		groups, ok := r.match.match(req, as)
		if !ok || (r.WhenFunc != nil && !r.WhenFunc(req)) {
			continue
		}
		n := r.used.Add(1)
		if r.Times > 0 && n > int64(r.Times) {
			continue
		}
		if r.ReplyFunc != nil {
			return r.ReplyFunc(req), true
		}
		f := filler{req: req, groups: groups, n: n}
		outs := make([]Out, 0, len(r.Reply))
		for _, o := range r.Reply {
			outs = append(outs, f.out(o))
		}
		return outs, true
	}
	return nil, false
}

var placeholder = regexp.MustCompile(`\$\{[^{}]+\}`)

// filler replaces placeholders.
type filler struct {
	req    Request
	groups []string
	n      int64
}

func (f filler) out(o Out) Out {
	o.Text, o.Refusal = f.text(o.Text), f.text(o.Refusal)
	if o.Call == nil {
		return o
	}
	c := *o.Call
	var v any
	if json.Unmarshal(c.Arguments, &v) == nil {
		c.Arguments = encode(f.value(v))
	}
	o.Call = &c
	return o
}

// value fills strings in v; a string that is one placeholder takes the type of
// what it names, so that an amount stays a number.
func (f filler) value(v any) any {
	switch v := v.(type) {
	case string:
		if loc := placeholder.FindStringIndex(v); loc != nil && loc[0] == 0 && loc[1] == len(v) {
			if raw := f.lookup(v[2 : len(v)-1]); raw != nil {
				return raw
			}
		}
		return f.text(v)
	case []any:
		for i := range v {
			v[i] = f.value(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = f.value(v[k])
		}
	}
	return v
}

func (f filler) text(s string) string {
	return placeholder.ReplaceAllStringFunc(s, func(p string) string {
		raw := f.lookup(p[2 : len(p)-1])
		if jsonKind(raw) == "a string" {
			return str(raw)
		}
		return string(raw)
	})
}

// lookup returns the JSON value that a placeholder names, or nil.
func (f filler) lookup(name string) json.RawMessage {
	kind, rest, _ := strings.Cut(name, ".")
	switch kind {
	case "n":
		return strconv.AppendInt(nil, f.n, 10)
	case "user":
		if i, err := strconv.Atoi(rest); err == nil && i >= 0 && i < len(f.groups) {
			return encode(f.groups[i])
		}
	case "output":
		tool, path, nested := strings.Cut(rest, ".")
		out, ok := f.req.OutputOf(tool)
		if !ok {
			return nil
		}
		if !nested {
			return encode(out)
		}
		raw := json.RawMessage(out)
		for key := range strings.SplitSeq(path, ".") {
			raw = field(raw, key)
		}
		return raw
	}
	return nil
}
