package probe

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
)

const (
	// defaultInput bounds what is spent on max_input_tokens: about a cent.
	defaultInput = 8192
	// filler is one word that every tokenizer in use takes for one token or two.
	filler = "plain "
)

// Window is what was found of max_input_tokens. Holds is about the prompt that was
// sent, not about more.
type Window struct {
	Holds Answer `json:"holds"`
	Sent  int    `json:"sent,omitempty"` // tokens of the prompt, at least
	Read  int    `json:"read,omitempty"` // as the resource counts them
	Why   string `json:"why,omitempty"`
}

// String says how far max_input_tokens holds.
func (w Window) String() string {
	if w.Holds == Yes {
		return fmt.Sprintf("hold to %d", w.Sent)
	}
	return string(w.Holds)
}

// should is what the configuration ought to say of a window that does not hold.
func (w Window) should() string {
	if w.Read > 0 {
		return strconv.Itoa(w.Read)
	}
	return fmt.Sprintf("less than %d", w.Sent)
}

// window sends one long prompt and compares the tokens that were counted with the
// least that it has. A server that cuts its input answers as if nothing were wrong.
func (p *probing) window(ctx context.Context, r *Resource) {
	most := p.cfg.InputTokens
	if most == 0 {
		most = defaultInput
	}
	words := min(most, r.dep.Capability.MaxInputTokens) * 2 / 3 // a word may have more tokens than one
	if words < 32 {
		return
	}
	p.say("%s/%s: a prompt of %d words", r.Resource, r.Model, words)
	text := strings.Repeat(filler, words) + "Reply with the word ok."
	var got response
	if r.in.API == router.APIChatCompletions {
		limit := "max_completion_tokens"
		if r.in.Kind == router.KindCompatible {
			limit = "max_tokens"
		}
		got = p.client.post(ctx, r, "chat/completions", map[string]any{"messages": []any{map[string]any{"role": "user", "content": text}}, limit: 16})
	} else {
		got = p.client.ask(ctx, r, map[string]any{"input": []any{message(text)}, "store": false, "max_output_tokens": 16})
	}
	r.Window = judgeWindow(got, words)
}

func judgeWindow(got response, words int) Window {
	w := Window{Holds: Unknown, Sent: words}
	read := got.read()
	switch {
	case got.err == nil && got.status == http.StatusOK && read >= words:
		w.Holds, w.Read = Yes, read
	case got.err == nil && got.status == http.StatusOK && read > 0:
		w.Holds, w.Read = No, read
		w.Why = fmt.Sprintf("a prompt of at least %d tokens was answered as one of %d: the rest was cut in silence", words, read)
	case got.err == nil && got.status == http.StatusOK:
		w.Why = "the answer counts no input tokens"
	case got.err == nil:
		if f := got.class(); f.Class == onceward.ClassContextLength || f.Class == onceward.ClassRequestTooLarge {
			w.Holds = No
		}
		w.Why = got.why()
	default:
		w.Why = got.why()
	}
	return w
}
