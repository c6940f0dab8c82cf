package router

import (
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/health"
	"github.com/onceward/onceward/router/redact"
	"github.com/onceward/onceward/router/route"
	"github.com/onceward/onceward/router/wire"
)

// Router chooses routes in one pool, makes attempts, and tests with neutral requests
// what attempts made suspect. Make it with New, and Close it: tests go on by
// themselves. It is safe for concurrent use.
type Router struct {
	cfg       Config
	all       []*route.Candidate // in the order of the configuration
	table     *route.Table
	endpoints map[string]*endpoint
	local     *health.LocalFaults
	tester    *tester
	drift     *drift
	secrets   *redact.Set // every credential of the pool
}

// New checks the configuration and returns a router whose resources are all
// healthy. The error names the key that is wrong, and why; never a secret.
func New(cfg Config) (*Router, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("make router of pool %s: %w", cfg.Name, err)
	}
	if cfg.Transport == nil {
		cfg.Transport = newTransport()
	}
	r := &Router{cfg: cfg, all: cfg.candidates(), endpoints: map[string]*endpoint{}, drift: newDrift(), secrets: cfg.Redactor()}
	r.table = route.NewTable(r.all, cfg.Affinity == "soft")
	var hosts []string
	for _, res := range cfg.Resources {
		r.endpoints[res.Name] = newEndpoint(res, cfg.Transport, r.secrets)
		base, err := url.Parse(res.BaseURL)
		if err == nil && net.ParseIP(base.Hostname()) == nil { // an address is never resolved
			hosts = append(hosts, base.Hostname())
		}
	}
	r.local = health.NewLocalFaults(hosts, 30*time.Second)
	r.tester = newTester(r)
	return r, nil
}

// Select chooses a route from what the run knows and what this process knows of
// health. It only reads, does no I/O and takes about a microsecond. Health is a
// hint here: Call decides when it takes its permits.
func (r *Router) Select(req onceward.RouteRequest) onceward.Decision {
	if req.CrossBoundary == "" {
		req.CrossBoundary = r.cfg.CrossBoundary
	}
	d := r.table.Select(&req, r.cfg.Now())
	for i := range d.Dropped {
		switch d.Dropped[i].Step {
		case route.StepBreaker, route.StepThrottled, route.StepDisabled:
			r.tester.wanted(r.table.Find(d.Dropped[i].Resource, d.Dropped[i].Model))
		}
	}
	return d
}

// Close ends all tests and waits for those in flight. Calls go on, and what fails
// then is only avoided.
func (r *Router) Close() { r.tester.close() }

// EstimateTokens returns the safe estimate of input tokens that ceilings are
// made from, for so many bytes of rendered input.
func EstimateTokens(bytes int) int { return wire.EstimateTokens(bytes) }
