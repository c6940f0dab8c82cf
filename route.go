package onceward

import (
	"encoding/json"
	"time"
)

// RouteRequest is what a run knows when it asks for a route. It is the input of
// SelectRoute and of the router's selection.
type RouteRequest struct {
	RunKey       string       `json:"run_key"` // workflow id and first run id: stable over resets and continue-as-new
	Turn         int          `json:"turn"`
	Attempt      int          `json:"attempt"`
	Models       []string     `json:"models"` // the model asked for, then its fallbacks, in order
	Resources    []string     `json:"resources,omitempty"`
	Requirements Requirements `json:"requirements"`
	// Boundaries of the reasoning items in the transcript. A route outside them
	// drops those items, if CrossBoundary allows.
	Boundaries    []string `json:"boundaries,omitempty"`
	CrossBoundary string   `json:"cross_boundary"` // strip | wait | fail
	// Sealed are the boundaries of compaction items, which can neither be read
	// elsewhere nor left out: only a route inside all of them can serve.
	Sealed      []string        `json:"sealed,omitempty"`
	Owner       string          `json:"owner,omitempty"`
	Excluded    []ExcludedRoute `json:"excluded,omitempty"`
	Warm        string          `json:"warm,omitempty"` // the resource whose prompt cache holds this run's prefix
	Remaining   MicroUSD        `json:"remaining"`
	AttemptCost MicroUSD        `json:"attempt_cost"`
	Bytes       int             `json:"bytes"` // of the rendered input, for the token estimate
	Now         time.Time       `json:"now"`
	Unindexed   bool            `json:"unindexed,omitempty"` // the run sets no search attributes yet
	Last        string          `json:"last,omitempty"`      // class of the attempt before, for the reason on record
	// Suspects are the routes of this run whose suspicion nobody has judged yet.
	Suspects []SuspectRoute `json:"suspects,omitempty"`
	// Repair of the next attempt. One that changes the output limit changes the
	// ceiling as well, so selection applies it.
	Repair Repair `json:"repair,omitempty"`
}

// ExcludedRoute is a candidate the run itself passes over.
type ExcludedRoute struct {
	Resource string    `json:"resource"`
	Model    string    `json:"model,omitempty"` // empty: every model of the resource
	Class    Class     `json:"class"`
	Soft     bool      `json:"soft,omitempty"` // of this turn: used again when no other candidate is left
	Until    time.Time `json:"until,omitzero"` // a throttle window; zero: for good
	Turn     int       `json:"turn,omitempty"` // the turn a soft exclusion belongs to
}

// Route is where an attempt goes, and why. The zero Route goes nowhere.
type Route struct {
	Resource        string   `json:"resource"`
	Account         string   `json:"account"`
	Model           string   `json:"model"`
	Deployment      string   `json:"deployment"`
	Boundary        string   `json:"boundary"`
	Reason          string   `json:"reason"`
	InputTokens     int      `json:"input_tokens"` // the estimate the ceiling is made from
	MaxOutputTokens int      `json:"max_output_tokens"`
	Ceiling         MicroUSD `json:"ceiling"`
	StripReasoning  bool     `json:"strip_reasoning,omitempty"` // reasoning_continuity_lost
	Repair          Repair   `json:"repair,omitempty"`          // that selection has applied to the output limit
}

// Decision is the outcome of a selection. Route is nil when nothing passed; then
// RetryAt, if not zero, is when the first dropped candidate may be back.
type Decision struct {
	Route   *Route    `json:"route,omitempty"`
	Dropped []Dropped `json:"dropped,omitempty"`
	RetryAt time.Time `json:"retry_at,omitzero"`
	// Verdicts are about the suspects of the request.
	Verdicts []RouteVerdict `json:"verdicts,omitempty"`
	// Attributes says to a run that was opened without search attributes that the
	// namespace has them now.
	Attributes bool `json:"attributes,omitempty"`
}

// ToolDecl is a function tool as the model sees it.
type ToolDecl struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"`
}

// OutputDecl is a structured answer as the model is asked for it.
type OutputDecl struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
}

// Timeouts of one attempt.
type Timeouts struct {
	FirstEvent time.Duration `json:"first_event"` // from sending to the first event, or to the headers of a JSON answer
	Idle       time.Duration `json:"idle"`        // between two events that bring the answer on
	// Silence is how long a connection that has sent its headers may bring not a
	// byte. It is for hosts that send keepalives, and must be longer than their
	// pauses; zero is none, because other hosts say nothing while a model thinks.
	Silence time.Duration `json:"silence,omitempty"`
	Attempt time.Duration `json:"attempt"` // the whole attempt
}

// ModelRequest is one attempt as the router sends it: exactly one HTTP request.
type ModelRequest struct {
	Route        Route
	RunKey       string
	Instructions string
	Items        []Item // without the manifest
	Tools        []ToolDecl
	Output       *OutputDecl
	Timeouts     Timeouts
	// PreviousResponseID is the anchor of a pinned run; its route is the owner.
	PreviousResponseID string
	// Conversation is that of a pinned run: the resource holds all items up to
	// the last one that a model made. It excludes PreviousResponseID.
	Conversation string
	Repair       Repair // a change to the request that a failure asked for
	// AcceptCut takes a text that was cut at the output limit for an answer.
	AcceptCut bool
	// Check judges a final answer inside the attempt; its error makes the
	// attempt fail as invalid_output. Nil accepts all.
	Check func(text string) error
	// Progress is told the phase and the count of events received, from the
	// goroutine of Call. Nil is allowed.
	Progress func(phase Phase, events int)
}

// WireCall is a function call of a response, as the model wrote it. Its
// arguments are complete JSON or blank.
type WireCall struct {
	Index     int // in the response's items
	CallID    string
	Name      string
	Arguments string
	// Custom is a call of a custom tool: free text in place of arguments, which are
	// empty here. No agent declares one, so it is only ever answered with an error.
	Custom bool
}

// ModelResponse is what an attempt brought. After a failure it holds what was
// learned all the same: usage, cost, request id.
type ModelResponse struct {
	Items             []Item
	Text              string // of the last message, if any
	Calls             []WireCall
	Usage             Usage
	Cost              MicroUSD
	CostBasis         CostBasis
	ResponseModel     string
	ProviderRequestID string
	HTTPStatus        int
	ReasoningStripped bool
	Notices           []string // drift and other remarks for the trail
}
