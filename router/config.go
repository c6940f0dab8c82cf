package router

import (
	"fmt"
	"net/http"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/health"
	"github.com/onceward/onceward/router/route"
)

// The kinds of resources. They differ in how a key is sent.
const (
	KindAzure      = "azure"      // header api-key
	KindOpenAI     = "openai"     // bearer token
	KindCompatible = "compatible" // bearer token
)

// Config describes a pool. Only Resources is required. It is read once, by New.
type Config struct {
	Name          string // of the pool; empty is "main"
	Affinity      string // soft (default) | off
	CrossBoundary string // strip (default) | wait | fail: for requests that say nothing
	Breaker       Breaker
	Throttle      Throttle
	// NeutralCost is the most that one neutral request may cost by its ceiling; a
	// pair that is dearer gets none, and is only ever avoided. Zero is 5,000 (0.005 USD).
	NeutralCost onceward.MicroUSD
	Resources   []Resource

	// LongestAttempt is the longest Timeouts.Attempt that requests will have;
	// the breaker's window must not be shorter. Zero is 120 s.
	LongestAttempt time.Duration
	// Secrets are credentials of others than the resources that no answer may
	// bring into a history or a log, such as that of Temporal.
	Secrets []Secret
	// Transport carries the requests; nil is a transport of the router's own.
	// Whatever it is, it never gets a request that it could send twice.
	Transport http.RoundTripper
	// Now is the clock of throttle windows, quota and switches; nil is time.Now.
	// Breakers and timeouts always use the real clock.
	Now func() time.Time
	// OnChange is told what changes about the health of pairs. It is called from the
	// goroutine that changed it and must not block. Nil is allowed.
	OnChange func(Change)
}

// Breaker holds the rules of every (resource, model) breaker. A zero field has
// the default named with it.
type Breaker struct {
	Failures    int           // in the window; 5
	Consecutive int           // in a row; 3
	Window      time.Duration // 300 s
	OpenFor     time.Duration // 10 s
}

// Throttle bounds the windows in which a resource is left alone. A zero field
// has the default named with it.
type Throttle struct {
	Floor time.Duration // shortest window after a 429; the class's own
	Cap   time.Duration // longest between two tests of what a resource asked for; 10 minutes
}

// Resource is an account's endpoint with its own quota and health. Name,
// BaseURL and Deployments are required.
type Resource struct {
	Name         string
	Kind         string   // azure | openai | compatible (default)
	API          string   // responses (default) | chat_completions
	BaseURL      string   // ends before "responses" or "chat/completions"
	Key          Secret   // empty: no authentication
	Headers      []Header // sent with every request
	Account      string   // resources of one account share billing; empty is Name
	Boundary     string   // encryption boundary; empty is Name
	Region       string
	SafetyPolicy string
	Weight       int // 0 is 1
	MaxInFlight  int // 0: no limit
	Quota        Quota
	Neutral      Neutral
	Deployments  []Deployment
}

// Neutral says how a resource is tested. The zero value is the cheapest request
// that hosts accept.
type Neutral struct {
	Off             bool          // no neutral requests: the resource is only ever avoided
	MaxOutputTokens int           // for hosts that refuse so few; 0 is 16
	Timeout         time.Duration // of the whole request; 0 is 25 s
}

// Quota is what a resource is declared to allow. Zero is unknown.
type Quota struct {
	RequestsPerMinute int
	TokensPerMinute   int
}

// Deployment is one model on a resource. Every field is required; an input and
// an output price of 0 must be declared with Free.
type Deployment struct {
	Model      string // what agents ask for
	Deployment string // what goes on the wire; empty is Model
	Price      onceward.Price
	Free       bool // the price is 0 and meant so
	Capability onceward.Capability
}

func (c Config) withDefaults() Config {
	or := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	dur := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	or(&c.Name, "main")
	or(&c.Affinity, "soft")
	or(&c.CrossBoundary, route.CrossStrip)
	if c.Breaker.Failures == 0 {
		c.Breaker.Failures = 5
	}
	if c.Breaker.Consecutive == 0 {
		c.Breaker.Consecutive = 3
	}
	dur(&c.Breaker.Window, 300*time.Second)
	dur(&c.Breaker.OpenFor, 10*time.Second)
	dur(&c.Throttle.Cap, 10*time.Minute)
	if c.NeutralCost == 0 {
		c.NeutralCost = 5000
	}
	dur(&c.LongestAttempt, 120*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	resources := make([]Resource, len(c.Resources))
	for i, r := range c.Resources {
		or(&r.Kind, KindCompatible)
		or(&r.API, APIResponses)
		or(&r.Account, r.Name)
		or(&r.Boundary, r.Name)
		if r.Weight == 0 {
			r.Weight = 1
		}
		if r.Neutral.MaxOutputTokens == 0 {
			r.Neutral.MaxOutputTokens = neutralOutput
		}
		dur(&r.Neutral.Timeout, neutralTimeout)
		deployments := make([]Deployment, len(r.Deployments))
		for j, d := range r.Deployments {
			or(&d.Deployment, d.Model)
			deployments[j] = d
		}
		r.Deployments = deployments
		resources[i] = r
	}
	c.Resources = resources
	return c
}

// validate names the first key that cannot be right, and why.
func (c Config) validate() error {
	switch {
	case c.Affinity != "soft" && c.Affinity != "off":
		return fmt.Errorf("affinity: is neither soft nor off")
	case c.CrossBoundary != route.CrossStrip && c.CrossBoundary != route.CrossWait && c.CrossBoundary != route.CrossFail:
		return fmt.Errorf("cross_boundary: is none of strip, wait, fail")
	case c.Breaker.Failures < 1 || c.Breaker.Consecutive < 1:
		return fmt.Errorf("breaker: failures %d and consecutive %d must be at least 1", c.Breaker.Failures, c.Breaker.Consecutive)
	case c.Breaker.OpenFor < 0:
		return fmt.Errorf("breaker.open_for: %s is negative", c.Breaker.OpenFor)
	case c.LongestAttempt < 0:
		return fmt.Errorf("longest attempt: %s is negative", c.LongestAttempt)
	case c.Breaker.Window < c.LongestAttempt:
		// Failures that last longer than the window would never add up.
		return fmt.Errorf("breaker.window: %s is shorter than the longest attempt, %s", c.Breaker.Window, c.LongestAttempt)
	case c.NeutralCost < 0:
		return fmt.Errorf("neutral cost: %.6f USD is negative", c.NeutralCost.USD())
	case c.Throttle.Floor < 0 || c.Throttle.Cap < c.Throttle.Floor:
		return fmt.Errorf("throttle: floor %s and cap %s do not fit together", c.Throttle.Floor, c.Throttle.Cap)
	case len(c.Resources) == 0:
		return fmt.Errorf("resources: there is none")
	}
	names := map[string]bool{}
	for i, r := range c.Resources {
		key := fmt.Sprintf("resources[%d]", i)
		if r.Name == "" {
			return fmt.Errorf("%s.name: is empty", key)
		}
		key = "resources." + r.Name
		if names[r.Name] {
			return fmt.Errorf("%s.name: two resources have it", key)
		}
		names[r.Name] = true
		if err := r.validate(); err != nil {
			return fmt.Errorf("%s.%w", key, err)
		}
	}
	return nil
}

func (r Resource) validate() error {
	switch {
	case r.Kind != KindAzure && r.Kind != KindOpenAI && r.Kind != KindCompatible:
		return fmt.Errorf("kind: is none of azure, openai, compatible")
	case r.API != APIResponses && r.API != APIChatCompletions:
		return fmt.Errorf("api: is neither responses nor chat_completions")
	case r.API == APIChatCompletions && r.Boundary != r.Name:
		return fmt.Errorf("boundary: %s carries no encrypted reasoning, so that it shares none", r.API)
	case r.Weight < 0:
		return fmt.Errorf("weight: %d is negative", r.Weight)
	case r.MaxInFlight < 0:
		return fmt.Errorf("max_in_flight: %d is negative", r.MaxInFlight)
	case r.Quota.RequestsPerMinute < 0 || r.Quota.TokensPerMinute < 0:
		return fmt.Errorf("quota: is negative")
	case r.Neutral.MaxOutputTokens < 0:
		return fmt.Errorf("neutral.max_output_tokens: %d is negative", r.Neutral.MaxOutputTokens)
	case r.Neutral.Timeout < 0:
		return fmt.Errorf("neutral.timeout: %s is negative", r.Neutral.Timeout)
	case len(r.Deployments) == 0:
		return fmt.Errorf("deployments: there is none")
	}
	if err := r.CheckEndpoint(); err != nil {
		return fmt.Errorf("base_url: %w", err)
	}
	if r.Key != "" {
		if err := r.Key.Check(); err != nil {
			return fmt.Errorf("key: %w", err)
		}
	}
	var wrong error
	CheckHeaders(r.Headers, func(i int, err error) {
		if wrong == nil {
			wrong = fmt.Errorf("headers[%d].%w", i, err)
		}
	})
	if wrong != nil {
		return wrong
	}
	models := map[string]bool{}
	for i, d := range r.Deployments {
		key := fmt.Sprintf("deployments[%d]", i)
		p := d.Price
		switch {
		case d.Model == "":
			return fmt.Errorf("%s.model: is empty", key)
		case models[d.Model]:
			return fmt.Errorf("%s.model: %s is declared twice", key, d.Model)
		case p.Input < 0 || p.CachedInput < 0 || p.CacheWrite < 0 || p.Output < 0:
			return fmt.Errorf("%s.price: is negative", key)
		case !d.Free && (p.Input == 0 || p.Output == 0):
			return fmt.Errorf("%s.price: input and output are required; without them no budget holds", key)
		case d.Capability.MaxInputTokens <= 0 || d.Capability.MaxOutputTokens <= 0:
			return fmt.Errorf("%s.capability: max_input_tokens and max_output_tokens must be positive", key)
		}
		if lacks := Uncarried(r.API, d.Capability); len(lacks) > 0 {
			return fmt.Errorf("%s.capability.%s: %s cannot carry it", key, lacks[0], r.API)
		}
		models[d.Model] = true
	}
	return nil
}

// candidates makes the table's candidates with fresh health.
func (c Config) candidates() []*route.Candidate {
	set := health.BreakerSettings{
		Failures: c.Breaker.Failures, Consecutive: c.Breaker.Consecutive, Window: c.Breaker.Window,
		OpenFor: c.Breaker.OpenFor,
	}
	var all []*route.Candidate
	for _, r := range c.Resources {
		shared := &route.Resource{
			Name: r.Name, Account: r.Account, Boundary: r.Boundary, Region: r.Region, SafetyPolicy: r.SafetyPolicy,
			Weight: float64(r.Weight), MaxInFlight: int64(r.MaxInFlight), Health: &health.Resource{},
		}
		if r.API == APIChatCompletions {
			shared.Boundary = "" // it reads nobody's reasoning, not even where another resource is named after it
		}
		shared.Health.Requests.SetLimit(r.Quota.RequestsPerMinute)
		shared.Health.Tokens.SetLimit(r.Quota.TokensPerMinute)
		for _, d := range r.Deployments {
			all = append(all, &route.Candidate{
				Resource: shared, Model: d.Model, Deployment: d.Deployment, Price: d.Price,
				Capability: d.Capability, Health: health.NewPair(shared.Health, set),
			})
		}
	}
	return all
}
