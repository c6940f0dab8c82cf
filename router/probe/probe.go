package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward/router"
)

// Answer is what a probe found out about a yes-or-no question.
type Answer string

// The answers. Unknown means that no request could tell.
const (
	Yes     Answer = "yes"
	No      Answer = "no"
	Unknown Answer = "unknown"
)

// Report is what was found. Its zero value is of an empty pool.
type Report struct {
	Resources   []Resource   `json:"resources"`
	Pairs       []Pair       `json:"pairs"`       // whose reasoning was read by whom
	Drift       []Drift      `json:"drift"`       // where members that serve one model differ
	Differences []Difference `json:"differences"` // from the configuration
	Requests    int          `json:"requests"`
}

// Resource is what was found of one deployment.
type Resource struct {
	Resource           string `json:"resource"`
	Model              string `json:"model"`
	Deployment         string `json:"deployment"`
	Served             string `json:"served_model"` // as the answer names it
	StoreHonoured      Answer `json:"store_honoured"`
	EncryptedReasoning Answer `json:"encrypted_reasoning"`
	IDsKept            Answer `json:"ids_kept"`    // a replay with item ids is accepted
	IDsOmitted         Answer `json:"ids_omitted"` // a replay without them is accepted
	StrictSchema       Answer `json:"strict_schema"`
	// ReadsReasoning: its own reasoning, spoiled, is refused. One that takes it looks
	// at nobody's, and that it takes another's says nothing.
	ReadsReasoning Answer            `json:"reads_reasoning"`
	Window         Window            `json:"max_input_tokens"`
	Facts          map[string]string `json:"facts"` // what ought to be equal across a pool
	Errors         []string          `json:"errors,omitempty"`

	turn []json.RawMessage // its own answer, for replays
	in   router.Resource
	dep  router.Deployment
}

// Pair is a replay of one resource's reasoning on another.
type Pair struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Model    string `json:"model"`
	Accepted Answer `json:"accepted"`
	Why      string `json:"why,omitempty"`
}

// Drift is a fact in which members that serve one model differ.
type Drift struct {
	Model  string            `json:"model"`
	Fact   string            `json:"fact"`
	Values map[string]string `json:"values"` // by resource
}

// Difference is a key whose value in the configuration is not what was found.
type Difference struct {
	Resource string `json:"resource"`
	Model    string `json:"model,omitempty"`
	Key      string `json:"key"`
	Says     string `json:"says"`
	Should   string `json:"should_say"`
	Why      string `json:"why"`
}

// Config is what Run needs.
type Config struct {
	Pool router.Config
	// Timeout bounds one request; zero is 60 s.
	Timeout time.Duration
	// InputTokens is how far max_input_tokens is checked; zero is 8192, negative not
	// at all. The check sends one prompt of at most so many tokens to each deployment.
	InputTokens int
	// Progress is told what is about to be asked. Nil is allowed.
	Progress func(step string)
}

// Run probes every deployment of the pool, one request at a time. It spends a few
// hundred tokens on each, and Config.InputTokens on max_input_tokens. A resource that cannot be asked is reported with its
// error, and the rest goes on; Run itself fails only when ctx ends or the pool is
// empty.
func Run(ctx context.Context, cfg Config) (Report, error) {
	if len(cfg.Pool.Resources) == 0 {
		return Report{}, errors.New("probe: the pool has no resources")
	}
	p := &probing{cfg: cfg, client: newClient(cfg)}
	for _, r := range cfg.Pool.Resources {
		for _, d := range r.Deployments {
			p.report.Resources = append(p.report.Resources, Resource{
				Resource: r.Name, Model: d.Model, Deployment: d.Deployment, StoreHonoured: Unknown, EncryptedReasoning: Unknown,
				IDsKept: Unknown, IDsOmitted: Unknown, StrictSchema: Unknown, ReadsReasoning: Unknown, Window: Window{Holds: Unknown}, Facts: map[string]string{}, in: r, dep: d,
			})
		}
	}
	for i := range p.report.Resources {
		p.resource(ctx, &p.report.Resources[i])
		if err := ctx.Err(); err != nil {
			return p.report, fmt.Errorf("probe %s: %w", p.report.Resources[i].Resource, err)
		}
	}
	p.pairs(ctx)
	if err := ctx.Err(); err != nil {
		return p.report, fmt.Errorf("probe pairs: %w", err)
	}
	p.report.Drift = drift(p.report.Resources)
	p.report.Differences = differences(p.report)
	p.report.Requests = p.client.requests
	return p.report, nil
}

type probing struct {
	cfg    Config
	client *client
	report Report
}

func (p *probing) say(format string, args ...any) {
	if p.cfg.Progress != nil {
		p.cfg.Progress(fmt.Sprintf(format, args...))
	}
}

// resource asks one deployment about itself.
func (p *probing) resource(ctx context.Context, r *Resource) {
	if r.in.API == router.APIChatCompletions {
		p.window(ctx, r)
		r.Errors = append(r.Errors, "api chat_completions has nothing to probe but max_input_tokens: no reasoning, no ids and no state go there")
		return
	}
	p.say("%s/%s: one answer with reasoning", r.Resource, r.Model)
	first := p.client.ask(ctx, r, first(true))
	if !first.ok() {
		// A host without encrypted reasoning may refuse the include.
		plain := p.client.ask(ctx, r, map[string]any{"input": "Reply with the word ok.", "store": false, "max_output_tokens": budget})
		if !plain.ok() {
			r.Errors = append(r.Errors, "answer: "+first.why())
			return
		}
		r.EncryptedReasoning, first = No, plain
	}
	r.turn, r.Served = replayable(first.body.Output), first.body.Model
	r.Facts["served model"] = first.body.Model
	for _, name := range []string{"X-Ratelimit-Limit-Requests", "X-Ratelimit-Limit-Tokens"} {
		r.Facts[strings.ToLower(name)] = first.header.Get(name)
	}
	r.Facts["filter policy"] = first.policy()
	if r.EncryptedReasoning == Unknown {
		r.EncryptedReasoning = sealed(r.turn)
	}
	p.say("%s/%s: store, ids and schema", r.Resource, r.Model)
	r.StoreHonoured = p.stored(ctx, r, first.body.ID)
	r.IDsKept, _ = p.replay(ctx, r, r.turn)
	r.IDsOmitted, _ = p.replay(ctx, r, withoutIDs(r.turn))
	r.StrictSchema = p.strict(ctx, r)
	r.ReadsReasoning = p.control(ctx, r)
	p.window(ctx, r)
}

// control replays a resource's own reasoning with its sealed content spoiled. A
// resource that verifies it refuses; one that takes it does not read reasoning.
func (p *probing) control(ctx context.Context, r *Resource) Answer {
	turn := r.turn
	switch {
	case r.EncryptedReasoning != Yes:
		return Unknown
	case r.IDsKept != Yes && r.IDsOmitted != Yes:
		return Unknown // it refuses the sound ones too
	case r.IDsKept != Yes:
		turn = withoutIDs(turn)
	}
	p.say("%s/%s: whether it reads reasoning at all", r.Resource, r.Model)
	switch accepted, _ := p.replay(ctx, r, spoiled(turn)); accepted {
	case Yes:
		return No
	case No:
		return Yes
	}
	return Unknown
}

// stored asks for a response that was to be forgotten.
func (p *probing) stored(ctx context.Context, r *Resource, id string) Answer {
	if id == "" {
		return Unknown
	}
	switch got := p.client.get(ctx, r, "responses/"+id); got.status {
	case http.StatusNotFound, http.StatusGone, http.StatusBadRequest:
		return Yes
	case http.StatusOK:
		if got.err == nil && got.body.ID == id { // and no page that a gateway has for every path
			return No // it was kept although store was false
		}
	}
	return Unknown
}

// strict sends a schema that strict mode must refuse. A host that takes it does
// not look, and its answers have to be checked on our side all the same.
func (p *probing) strict(ctx context.Context, r *Resource) Answer {
	got := p.client.ask(ctx, r, map[string]any{
		"input": "Reply with JSON.", "store": false, "max_output_tokens": budget,
		"text": map[string]any{"format": map[string]any{"type": "json_schema", "name": "probe", "strict": true, "schema": map[string]any{
			"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}, // neither required nor closed
		}}},
	})
	switch {
	case got.ok():
		return No
	case got.refused() && got.status != http.StatusNotFound:
		return Yes
	default:
		return Unknown
	}
}

// replay sends a turn back as input and reports whether it was accepted.
func (p *probing) replay(ctx context.Context, to *Resource, turn []json.RawMessage) (Answer, string) {
	if len(turn) == 0 {
		return Unknown, "there is no answer to replay"
	}
	input := []any{message(question)}
	for _, item := range turn {
		input = append(input, item)
	}
	request := first(to.EncryptedReasoning == Yes)
	request["input"] = append(input, message("Once more."))
	got := p.client.ask(ctx, to, request)
	switch {
	case got.ok():
		return Yes, ""
	case got.refused():
		return No, got.why()
	default:
		return Unknown, got.why()
	}
}

// pairs replays each resource's reasoning on every other that serves the model.
func (p *probing) pairs(ctx context.Context) {
	for i := range p.report.Resources {
		from := &p.report.Resources[i]
		for j := range p.report.Resources {
			to := &p.report.Resources[j]
			if i == j || from.Model != to.Model || from.Resource == to.Resource {
				continue
			}
			pair := Pair{From: from.Resource, To: to.Resource, Model: from.Model, Accepted: Unknown}
			switch {
			case from.EncryptedReasoning != Yes:
				pair.Why = from.Resource + " returns no encrypted reasoning"
			case len(to.Errors) > 0:
				pair.Why = to.Resource + " could not be asked"
			case to.EncryptedReasoning != Yes:
				pair.Why = to.Resource + " returns no encrypted reasoning, so that nothing shows whether it reads any"
			case to.ReadsReasoning == No:
				pair.Why = to.Resource + " takes spoiled reasoning too, so that nothing shows whether it reads any"
			default:
				p.say("%s reads what %s wrote", to.Resource, from.Resource)
				turn := from.turn
				if to.IDsKept == No {
					turn = withoutIDs(turn)
				}
				pair.Accepted, pair.Why = p.replay(ctx, to, turn)
				if pair.Accepted == Yes && to.ReadsReasoning != Yes {
					pair.Accepted, pair.Why = Unknown, to.Resource+" took it, and nothing shows whether it reads reasoning"
				}
			}
			p.report.Pairs = append(p.report.Pairs, pair)
		}
	}
}

// drift names facts in which members that serve one model differ.
func drift(list []Resource) []Drift {
	out := []Drift{}
	var models []string
	for _, r := range list {
		if !slices.Contains(models, r.Model) {
			models = append(models, r.Model)
		}
	}
	for _, model := range models {
		var facts []string
		for _, r := range list {
			for fact := range r.Facts {
				if r.Model == model && !slices.Contains(facts, fact) {
					facts = append(facts, fact)
				}
			}
		}
		slices.Sort(facts)
		for _, fact := range facts {
			values, distinct := map[string]string{}, map[string]bool{}
			for _, r := range list {
				if r.Model == model && len(r.Errors) == 0 {
					values[r.Resource] = r.Facts[fact]
					distinct[r.Facts[fact]] = true
				}
			}
			if len(distinct) > 1 {
				out = append(out, Drift{Model: model, Fact: fact, Values: values})
			}
		}
	}
	return out
}
