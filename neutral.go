package onceward

import "time"

// Verdict is what a neutral request says of a route. A neutral request is the
// fixed cheap one that the router makes by itself: no caller's word is in it, so
// that only it can convict.
type Verdict string

// The verdicts.
const (
	VerdictPassed    Verdict = "passed"    // an answer, be it cut, refused or filtered
	VerdictFailed    Verdict = "failed"    // a failure of a class that has an effect on health
	VerdictThrottled Verdict = "throttled" // asked to wait
	VerdictUnclear   Verdict = "unclear"   // neither: refused for its form, or not sent
)

// NeutralCount is how many neutral requests went to a route, by their verdicts.
// A guarantee speaks of requests: those of attempts were reserved, all others are
// counted here.
type NeutralCount struct {
	Resource     string    `json:"resource"`
	Model        string    `json:"model"`
	Endpoint     string    `json:"endpoint,omitempty"` // EndpointDigest
	Passed       int       `json:"passed,omitempty"`
	Failed       int       `json:"failed,omitempty"`
	Throttled    int       `json:"throttled,omitempty"`
	Unclear      int       `json:"unclear,omitempty"`
	InputTokens  int       `json:"input_tokens,omitempty"`
	OutputTokens int       `json:"output_tokens,omitempty"`
	Last         time.Time `json:"last,omitzero"`
	// Unusable says why neutral requests tell nothing of this route, which then is
	// only ever avoided; empty: they do.
	Unusable string `json:"unusable,omitempty"`
}

// Sent is how many there were.
func (c NeutralCount) Sent() int { return c.Passed + c.Failed + c.Throttled + c.Unclear }

// Less takes away what was counted before of the same route.
func (c NeutralCount) Less(before NeutralCount) NeutralCount {
	c.Passed -= before.Passed
	c.Failed -= before.Failed
	c.Throttled -= before.Throttled
	c.Unclear -= before.Unclear
	c.InputTokens -= before.InputTokens
	c.OutputTokens -= before.OutputTokens
	return c
}

// And adds what was counted since of the same route; whether neutral requests tell
// anything of it is what was said last.
func (c NeutralCount) And(since NeutralCount) NeutralCount {
	c.Passed += since.Passed
	c.Failed += since.Failed
	c.Throttled += since.Throttled
	c.Unclear += since.Unclear
	c.InputTokens += since.InputTokens
	c.OutputTokens += since.OutputTokens
	if since.Last.After(c.Last) {
		c.Last = since.Last
	}
	c.Unusable = since.Unusable
	return c
}

// NeutralReport is what a worker tells the Pool of the neutral requests that it
// has sent since it told last.
type NeutralReport struct {
	By    string         `json:"by"` // the worker
	Pairs []NeutralCount `json:"pairs,omitempty"`
	// Acquitted are routes that the record has as this worker's finding, and that it
	// does not stay away from any more.
	Acquitted []PoolAcquittal `json:"acquitted,omitempty"`
}

// PoolAcquittal names a finding that its worker has taken back.
type PoolAcquittal struct {
	Resource string    `json:"resource"`
	Model    string    `json:"model,omitempty"`
	Endpoint string    `json:"endpoint,omitempty"`
	At       time.Time `json:"at"` // of the finding: one that came after it stands
}

// SuspectRoute is a route at which an attempt of a run failed with an effect on
// health, so that it is tested.
type SuspectRoute struct {
	Resource string    `json:"resource"`
	Model    string    `json:"model"`
	Class    Class     `json:"class"`           // of the failure
	Limit    int       `json:"limit,omitempty"` // of output tokens, as the attempt sent it
	Since    time.Time `json:"since"`           // the attempt was reserved
}

// RunSuspect is a route that a run suspects, what became of it, and the first failure
// there.
type RunSuspect struct {
	SuspectRoute
	Judged  Judged  `json:"judged"`
	Failure Failure `json:"failure"`
}

// Judged says what became of a suspicion.
type Judged string

// What becomes of a suspicion.
const (
	JudgedSuspected Judged = "suspected" // no test has told yet
	JudgedAcquitted Judged = "acquitted" // a neutral request passed, so that the failure was the run's own
	JudgedConvicted Judged = "convicted" // a neutral request failed too
)

// RouteVerdict is what a selection knows of a route that a run suspects.
type RouteVerdict struct {
	Resource string `json:"resource"`
	Model    string `json:"model"`
	Judged   Judged `json:"judged"`
	Class    Class  `json:"class,omitempty"`  // of the neutral request's own failure
	Reason   string `json:"reason,omitempty"` // its own, never the run's; at most 200 bytes
}
