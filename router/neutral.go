package router

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/openai/openai-go/v3/option"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/health"
	"github.com/onceward/onceward/router/route"
	"github.com/onceward/onceward/router/wire"
)

const (
	// neutralOutput is the output limit of a neutral request, the least that hosts
	// accept.
	neutralOutput = 16
	// neutralInput is more input tokens than a neutral request has.
	neutralInput = 64
	// neutralTimeout keeps a test of a dead resource short.
	neutralTimeout = 25 * time.Second
)

// HeaderNeutral marks the router's own requests, so that whoever counts requests at
// a resource or a gateway can tell them from those of runs.
const HeaderNeutral = "X-Onceward-Neutral"

var neutralHeaders = []option.RequestOption{
	option.WithHeader(HeaderNeutral, "1"),
	option.WithHeader("Cache-Control", "no-cache"), // an answer of before says nothing of now
}

// finding is what a neutral request found.
type finding struct {
	onceward.PoolTest
	sent    bool // else nobody was asked
	own     bool // this machine's fault, or nobody's
	started time.Time
	failure *onceward.Failure // nil after an answer
}

// String says a finding to people in a few words.
func (f finding) String() string {
	if f.Class == "" {
		return string(f.Verdict)
	}
	return string(f.Verdict) + ": " + string(f.Class)
}

// verdict judges what a neutral request brought. Whatever came of a model shows that
// the resource serves.
func verdict(f *onceward.Failure) onceward.Verdict {
	switch {
	case f == nil:
		return onceward.VerdictPassed
	case f.NotSent:
		return onceward.VerdictUnclear
	}
	switch f.Class {
	case onceward.ClassIncompleteOutput, onceward.ClassRefusal, onceward.ClassContentFiltered, onceward.ClassPolicyBlocked:
		return onceward.VerdictPassed
	default:
	}
	switch {
	case f.StateEffect == onceward.EffectThrottle:
		return onceward.VerdictThrottled
	case harms(f.StateEffect):
		return onceward.VerdictFailed
	}
	return onceward.VerdictUnclear
}

// neutral makes the one neutral request that a permit was taken for. It holds no
// word of a caller, and no two are equal: gateways keep answers to equal prompts.
func (r *Router) neutral(ctx context.Context, c *route.Candidate, permit *health.Permit, body []byte, limit int, within time.Duration) finding {
	started := r.cfg.Now()
	to := r.endpoints[c.Name]
	a := &attempt{
		router: r, endpoint: to, stream: to.protocol.collect(), candidate: c, permit: permit, body: body, limit: limit, neutral: true,
		req: onceward.ModelRequest{Timeouts: onceward.Timeouts{FirstEvent: within, Idle: within, Attempt: within}},
	}
	f := a.run(ctx)
	a.settle(f)
	a.observe()
	out := finding{failure: f, started: started, sent: f == nil || !f.NotSent}
	out.Resource, out.Model, out.At, out.Verdict = c.Name, c.Model, r.cfg.Now(), verdict(f)
	out.InputTokens, out.OutputTokens = a.response.Usage.InputTokens, a.response.Usage.OutputTokens
	if f != nil {
		out.own = ctx.Err() != nil || f.NotSent || a.ownSide(f)
		out.Class, out.Error, out.RetryAfter = f.Class, r.secrets.Message(f.Message), f.RetryAfter
	}
	if out.own {
		out.Verdict = onceward.VerdictUnclear
	}
	out.Passed = out.Verdict == onceward.VerdictPassed
	return out
}

// renderNeutral writes a neutral request.
func (r *Router) renderNeutral(c *route.Candidate, limit int) ([]byte, error) {
	var salt [4]byte
	_, _ = rand.Read(salt[:]) // never fails
	ping, err := onceward.Text("user", "Reply with ok. "+hex.EncodeToString(salt[:]))
	if err != nil {
		return nil, err
	}
	rendered, err := r.endpoints[c.Name].protocol.render(onceward.ModelRequest{Items: []onceward.Item{ping}}, wire.Target{
		Resource: c.Name, Deployment: c.Deployment, Boundary: c.Boundary, Capability: c.Capability, MaxOutputTokens: limit,
	})
	return rendered.Body, err
}
