// Package activities is the border between deterministic workflow code and the
// world: it chooses routes, calls models, starts actions and carries out tools.
package activities

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/onceward/onceward"
)

// Router is what this package asks of the router. Its methods are safe for
// concurrent use.
type Router interface {
	// Select chooses a route from what the run knows. It only reads health, does
	// no I/O and is quick.
	Select(req onceward.RouteRequest) onceward.Decision
	// Call sends exactly one HTTP request. Its error is a *onceward.Failure; the
	// response then holds what was learned all the same.
	Call(ctx context.Context, req onceward.ModelRequest) (onceward.ModelResponse, error)
	// Verdicts says what is known of a run's suspects. With wait it waits a few seconds
	// for their tests.
	Verdicts(ctx context.Context, suspects []onceward.SuspectRoute, wait bool) []onceward.RouteVerdict
	// Test makes one neutral request to a route, disabled or not. The error says that
	// there is no such route.
	Test(ctx context.Context, resource, model string, limit int) (onceward.PoolTest, error)
}

// Agent is a registered agent: its manifest as configuration resolved it, and
// its tools bound. It must not change after New.
type Agent struct {
	Manifest onceward.Manifest // without tenant and user
	Tools    map[string]Tool
	// Check judges a final answer against the output schema and the agent's
	// Accept. Nil accepts all.
	Check func(ctx context.Context, text string) error
}

// Tool is a bound tool with the check of its JSON schema.
type Tool struct {
	onceward.Bound
	Validate func(args json.RawMessage) error
}

// Config is what New needs: Client, Router and at least one of Agents. The zero
// value of each other field is its default.
type Config struct {
	Client client.Client
	Router Router
	Agents map[string]*Agent
	// Identity names this process in the results of tests, as no other is called.
	Identity string
	// Endpoint returns the EndpointDigest of a resource's address; nil: unknown.
	Endpoint func(resource string) string
	// Converter is that of Client, for memos; nil is the SDK's own.
	Converter converter.DataConverter
	// Attributes reports whether the namespace has the search attributes of runs
	// now; nil: as the agents' manifests say.
	Attributes func() bool
	// ActWait is how long Act waits for an action's receipt before it answers
	// pending; zero is 2 s.
	ActWait time.Duration
	// CacheBytes bounds the transcript cache in bytes; zero is 64 MB.
	CacheBytes int
}

// Activities holds the activities that are not tools. It is safe for concurrent
// use; a nil *Activities names them in workflow code.
type Activities struct {
	client   client.Client
	router   Router
	agents   map[string]*Agent
	identity string
	endpoint func(resource string) string
	convert  converter.DataConverter
	indexed  func() bool
	actWait  time.Duration
	cache    *transcripts
}

// New checks the configuration and returns the activities.
func New(cfg Config) (*Activities, error) {
	if cfg.Client == nil || cfg.Router == nil || len(cfg.Agents) == 0 {
		return nil, errors.New("make activities: client, router and at least one agent are required")
	}
	if cfg.Converter == nil {
		cfg.Converter = converter.GetDefaultDataConverter()
	}
	if cfg.ActWait == 0 {
		cfg.ActWait = 2 * time.Second
	}
	if cfg.CacheBytes == 0 {
		cfg.CacheBytes = 64 << 20
	}
	return &Activities{
		client: cfg.Client, router: cfg.Router, agents: cfg.Agents, identity: cfg.Identity, endpoint: cfg.Endpoint, convert: cfg.Converter, indexed: cfg.Attributes, actWait: cfg.ActWait,
		cache: newTranscripts(cfg.CacheBytes),
	}, nil
}
