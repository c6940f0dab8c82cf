package onceward

import (
	"errors"
	"fmt"
	"time"
)

// WorkflowPool is the type of the workflow that keeps a pool's health.
const WorkflowPool = "onceward.Pool"

// ActivityTestResource is one neutral request to a route.
const ActivityTestResource = "onceward.TestResource"

// Handlers of the Pool workflow.
const (
	UpdateEnable  = "onceward.enable"
	UpdateDisable = "onceward.disable"
	UpdateTest    = "onceward.test"     // one neutral request now
	SignalReport  = "onceward.report"   // a worker tells what a neutral request of its own convicted
	SignalNeutral = "onceward.neutrals" // a worker tells how many neutral requests it has sent
	SignalRoutes  = "onceward.routes"   // a worker tells which routes its configuration has
	QueryHealth   = "onceward.health"
	MemoHealth    = "onceward_health" // the same, readable while no worker runs
)

// PoolWorkflowID returns the id of a pool's workflow.
func PoolWorkflowID(pool string) string { return "pool/" + pool }

// PoolQueue returns the task queue of a pool's workflow. Every worker of the pool
// polls it beside its own, so that the record has a taker while any of them lives.
func PoolQueue(pool string) string { return "onceward-pool-" + pool }

// PoolHealth is the health worth keeping over restarts of workers. The zero
// value has nothing disabled. Version grows with every change.
type PoolHealth struct {
	Version  int        `json:"version"`
	Disabled []Disabled `json:"disabled"`
	Enabled  []Enabled  `json:"enabled,omitempty"` // the last enabling of a route, so that older reports do not undo it
	Tests    []PoolTest `json:"tests,omitempty"`   // the last test of each route
	// Reported is what workers found and no other worker's test has answered yet.
	Reported []PoolFinding `json:"reported,omitempty"`
	// Alone is what one worker found and another's test did not confirm: only that
	// worker stays away.
	Alone    []PoolFinding  `json:"alone,omitempty"`
	Neutrals []NeutralCount `json:"neutrals,omitempty"` // of all workers
	Refused  []string       `json:"refused,omitempty"`  // signals that nobody can read, the first 20
	// Services are those whose routes the pool knows, by task queue: a worker that
	// does not find its own tells its routes again.
	Services []string `json:"services,omitempty"`
}

// Disabled is a resource, or one of its models, that no attempt goes to. An
// entry with an Endpoint is about that address alone: a resource that moved is
// another one.
type Disabled struct {
	Resource string    `json:"resource"`
	Model    string    `json:"model,omitempty"`    // empty: every model
	Endpoint string    `json:"endpoint,omitempty"` // EndpointDigest; empty: wherever it is
	Class    Class     `json:"class,omitempty"`    // empty: an operator did it
	Reason   string    `json:"reason"`
	Since    time.Time `json:"since"`
	By       string    `json:"by,omitempty"`       // an operator
	Until    time.Time `json:"until,omitzero"`     // zero: until a test passes or an operator enables it
	NextTest time.Time `json:"next_test,omitzero"` // zero: not tested
	Failed   int       `json:"failed_tests,omitempty"`
	// Limit is the output limit at which a test failed, and at which it is tested again; zero: the least.
	Limit int `json:"limit,omitempty"`
}

// Enabled records when a route was enabled, and by whom or by what. One by an operator
// is about every address; one by a test or an expiry about that of the entry it ended.
type Enabled struct {
	Resource string    `json:"resource"`
	Model    string    `json:"model,omitempty"`    // empty: every model
	Endpoint string    `json:"endpoint,omitempty"` // EndpointDigest; empty: wherever it is
	At       time.Time `json:"at"`
	By       string    `json:"by"`
}

// PoolTest is the result of testing a route with one neutral request.
type PoolTest struct {
	Resource string    `json:"resource"`
	Model    string    `json:"model,omitempty"`
	Endpoint string    `json:"endpoint,omitempty"` // EndpointDigest; empty in those of earlier builds
	At       time.Time `json:"at"`
	Passed   bool      `json:"passed"`            // Verdict is VerdictPassed; the only word of records of earlier builds
	Verdict  Verdict   `json:"verdict,omitempty"` // empty: of an earlier build
	Class    Class     `json:"class,omitempty"`
	Error    string    `json:"error,omitempty"`
	// RetryAfter is how long the resource asked to be left alone; zero: it said nothing.
	RetryAfter   time.Duration `json:"retry_after,omitempty"`
	InputTokens  int           `json:"input_tokens,omitempty"`
	OutputTokens int           `json:"output_tokens,omitempty"`
	By           string        `json:"by,omitempty"` // the worker that sent it
}

// PoolReport is what a worker tells the Pool when a neutral request of its own has
// convicted a route. The Pool disables nothing for it: it has the route tested by
// another worker first.
type PoolReport struct {
	Resource string    `json:"resource"`
	Model    string    `json:"model,omitempty"`
	Endpoint string    `json:"endpoint,omitempty"`
	Class    Class     `json:"class"`
	Reason   string    `json:"reason"`
	At       time.Time `json:"at"`
	Until    time.Time `json:"until,omitzero"`
	By       string    `json:"by,omitempty"` // the worker; empty in those of earlier builds
	// Limit is the output limit that the neutral request named, in tokens: an account
	// may have money for a smaller one. Zero is the least.
	Limit int `json:"limit,omitempty"`
}

// PoolFinding is a report as the Pool keeps it: until a test has answered it, and
// after that where the test passed. An hour after the worker told it last it is
// forgotten; a worker that still holds it tells it again.
type PoolFinding struct {
	PoolReport
	Heard    time.Time `json:"heard"`              // when the worker told it last
	Tried    int       `json:"tried,omitempty"`    // tests that answered nothing
	NextTest time.Time `json:"next_test,omitzero"` // of a reported one; zero: at once
	Test     *PoolTest `json:"test,omitempty"`     // that passed, of one that stands alone
}

// PoolChange is an operator's wish about a route.
type PoolChange struct {
	Resource string    `json:"resource"`
	Model    string    `json:"model,omitempty"`
	By       string    `json:"by"`
	Reason   string    `json:"reason,omitempty"` // required to disable
	Until    time.Time `json:"until,omitzero"`   // disable only: when it is enabled by itself
}

// Validate refuses a change that does not say what, or who wants it.
func (c PoolChange) Validate() error {
	if c.Resource == "" {
		return errors.New("pool: resource is empty: name the resource to change")
	}
	if len(c.Resource)+len(c.Model) > 500 {
		return fmt.Errorf("pool: resource and model have %d bytes, at most 500", len(c.Resource)+len(c.Model))
	}
	return operatorText("pool", c.By, c.Reason)
}

const (
	// PoolTimeout is the longest that a test of the Pool's may take, the waits for
	// permits and for the answer together.
	PoolTimeout = time.Minute
	// NeutralTimeout is the longest that a neutral request may be given, so that a
	// test of the Pool's has time for it.
	NeutralTimeout = 45 * time.Second
	// PoolDeclines is how often a worker leaves a test to another one. Then there is
	// no other, and it sends it.
	PoolDeclines = 8
)

// PoolInput is the input of the Pool workflow. The routes of the services limit
// changes to what some configuration has, so that a typing error is refused and
// nothing unbounded is kept.
type PoolInput struct {
	Version  int          `json:"version,omitempty"` // PoolVersion; zero in those of earlier builds
	Pool     string       `json:"pool"`
	Services []PoolRoutes `json:"services"`
	Health   PoolHealth   `json:"health"`
}

// PoolRoute is a resource and the models it serves.
type PoolRoute struct {
	Resource string   `json:"resource"`
	Endpoint string   `json:"endpoint,omitempty"`
	Models   []string `json:"models"`
}

// PoolRoutes is what a starting worker tells the Pool of its configuration. Version
// is PoolVersion of the worker's build: an execution of an earlier one begins anew. For
// each service the last worker to start decides; the routes of other services that
// share the pool stay.
type PoolRoutes struct {
	Version int          `json:"version,omitempty"`
	Service string       `json:"service,omitempty"` // its task queue, where its routes are tested
	Routes  []PoolRoute  `json:"routes"`
	Retest  RetestPolicy `json:"retest"`
}

// EndpointDigest names an address without showing it.
func EndpointDigest(baseURL string) string { return DigestBytes([]byte(baseURL))[:16] }

// RetestPolicy says when a disabled route is tested: First after it was
// disabled, then with doubling pauses up to Most.
type RetestPolicy struct {
	First time.Duration `json:"first"`
	Most  time.Duration `json:"most"`
}

// TestInput is the input of the test of a route.
type TestInput struct {
	Resource string `json:"resource"`
	Model    string `json:"model"`
	// Endpoint is the address that the test is about: a worker that has the resource
	// elsewhere leaves it to another. Empty: wherever it is.
	Endpoint string `json:"endpoint,omitempty"`
	Limit    int    `json:"limit,omitempty"` // of output tokens, as in the report; zero: the least
	// NotBy is the worker that reported the route: another one is to confirm it, as
	// long as there is another.
	NotBy string `json:"not_by,omitempty"`
}
