package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"

	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/cmd/onceward/internal/local"
	"github.com/onceward/onceward/cmd/onceward/internal/shape"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
	"github.com/onceward/onceward/router"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/samples/refund"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/worker/config"
)

const (
	poolRuns = 24
	// poolRounds runs go round robin: chance decides which of their second turns
	// meets a warm cache, and many make it a number.
	poolRounds = 240
	poolAtOnce = 4
	// notes make a request long against what all runs share: a cache that is warm
	// for those alone would look like affinity.
	notes = 400
)

// poolMembers keep their state and their prompt caches to themselves.
var poolMembers = []local.Member{{Name: "A"}, {Name: "B"}, {Name: "C"}, {Name: "D"}}

// PoolStory is one agent over one pool in two ways.
type PoolStory struct {
	Head
	Resources int         `json:"resources"`
	Blind     shape.Shape `json:"blind"`    // round robin, store=true, blind retries
	Onceward  shape.Shape `json:"onceward"` // from the runs' histories
	Completed int         `json:"onceward_completed"`
	Refused   int         `json:"onceward_refused"` // requests that the pool did not answer well
	Caches    []Cache     `json:"caches"`

	members []router.Resource
	first   string // a run to look at
}

// Cache is how much of the prompts was cached, as the resources report it.
type Cache struct {
	Way          string  `json:"way"`
	Resources    int     `json:"resources"`
	Requests     int     `json:"requests"`
	InputTokens  int     `json:"input_tokens"`
	CachedTokens int     `json:"cached_tokens"`
	Share        float64 `json:"share"`     // cached of all input tokens
	OfSingle     float64 `json:"of_single"` // that share against a single resource's
}

// The ways that are compared.
const (
	waySingle   = "Onceward, a single resource"
	wayAffinity = "Onceward, soft affinity"
	wayRound    = "round robin, store=false"
)

// Look implements Told.
func (s *PoolStory) Look() (ui, address, run string) { return s.UI, s.Address, s.first }

// Pool tells the story of an agent of two turns over a pool.
func Pool(ctx context.Context, cfg Config) (Told, error) {
	s := &PoolStory{Head: begin("pool", unhurried(cfg)), Resources: len(poolMembers), first: runID("pool", 0)}
	if err := s.start(ctx, local.Config{Members: poolMembers, Model: lookUpModel()}); err != nil {
		return s, err
	}
	text, err := os.ReadFile(s.stack.ConfigFile)
	if err != nil {
		return s, fmt.Errorf("read configuration: %w", err)
	}
	parsed, err := config.Parse(s.stack.ConfigFile, text, nil)
	if err != nil {
		return s, err
	}
	s.members = parsed.RouterConfig().Resources
	if err := s.tell(ctx); err != nil {
		return s, errors.Join(err, s.worker.said())
	}
	s.claim(s.claims())
	return s, nil
}

// lookUpModel reads the order and says what it is: two turns, no side effect.
func lookUpModel() routertest.Model {
	return routertest.Model{Rules: []routertest.Rule{
		{When: routertest.Match{Turn: routertest.At(0), FirstUser: `(order-[a-z0-9-]+)`}, Reply: []routertest.Out{routertest.CallTool("get_order", map[string]string{"order_id": "${user.1}"})}},
		{Reply: []routertest.Out{routertest.Say("It is over ${output.get_order.amount_cents} cents and ${output.get_order.status}.")}},
	}}
}

func runID(way string, i int) string { return fmt.Sprintf("%s-%d", way, i) }

// request is a long question about an order of its own.
func request(way string, i int) string {
	id := "order-" + runID(way, i)
	var b strings.Builder
	fmt.Fprintf(&b, "What is the state of %s? The file of the case:\n", id)
	for n := range notes {
		fmt.Fprintf(&b, "Note %d on %s: the customer wrote again, and was asked to wait.\n", n+1, id)
	}
	return b.String()
}

func (s *PoolStory) tell(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storyLimit)
	defer cancel()
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	client := newBlind(s.members, payments.NewClient(s.stack.PaymentsURL, nil))
	s.cfg.Say("(a) %d runs over %d resources: round robin, store=true, the next resource after any failure", poolRuns, len(s.members))
	var turns []shape.Turn
	for i := range poolRuns {
		asked, err := client.stored(ctx, request("blind", i))
		if err != nil {
			return fmt.Errorf("run blind: %w", err)
		}
		turns = append(turns, asked...)
	}
	s.Blind = shape.Of(poolRuns, turns)

	single, err := s.stack.Configure("single", s.members[0].Name)
	if err != nil {
		return err
	}
	if err := s.worker.start(s.stack.ConfigFile, s.stack.PaymentsURL); err != nil {
		return err
	}
	if err := s.worker.start(single, s.stack.PaymentsURL); err != nil {
		return err
	}
	s.cfg.Say("(b) %d runs of the same agent over the same pool through Onceward", poolRuns)
	s.stack.Pool.ForgetRequests()
	if turns, err = s.runs(ctx, c, "pool", "onceward"); err != nil {
		return err
	}
	s.Onceward = shape.Of(poolRuns, turns)
	for _, r := range s.stack.Pool.Requests() {
		// Not by Complete: a client that hangs up after the last event may do so before
		// the resource has seen that it is out.
		if o := r.Outcome; o.Status != http.StatusOK || o.Error != "" || o.Fault != "" {
			s.Refused++
		}
	}
	affinity := s.cached(wayAffinity, len(s.members))

	s.cfg.Say("%d runs through Onceward with resource %s alone", poolRuns, s.members[0].Name)
	if _, err := s.runs(ctx, c, "single", "single"); err != nil {
		return err
	}
	alone := s.cached(waySingle, 1)

	s.cfg.Say("%d runs round robin with store=false and the whole transcript each time", poolRounds)
	var requests []string
	for i := range poolRounds {
		requests = append(requests, request("round", i))
	}
	if err := client.stateless(ctx, requests); err != nil {
		return fmt.Errorf("run round robin: %w", err)
	}
	round := s.cached(wayRound, len(s.members))
	s.compare(alone, affinity, round)
	return nil
}

// runs runs the agent through Onceward, a few runs at once, and reads their turns.
func (s *PoolStory) runs(ctx context.Context, c client.Client, way, queue string) ([]shape.Turn, error) {
	found, outcomes, errs := make([][]shape.Turn, poolRuns), make([]onceward.Outcome, poolRuns), make([]error, poolRuns)
	var group sync.WaitGroup
	slots := make(chan struct{}, poolAtOnce)
	for i := range poolRuns {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			outcomes[i], found[i], errs[i] = oneRun(ctx, c, runID(way, i), queue, request(way, i))
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var turns []shape.Turn
	for i := range found {
		turns = append(turns, found[i]...)
		if outcomes[i] == onceward.OutcomeCompleted && queue != "single" {
			s.Completed++
		}
	}
	return turns, nil
}

func oneRun(ctx context.Context, c client.Client, id, queue, request string) (onceward.Outcome, []shape.Turn, error) {
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: queue}, refund.RefundWorkflow, onceward.Ask(request))
	if err != nil {
		return "", nil, fmt.Errorf("start run %s: %w", id, err)
	}
	var result onceward.Result
	if err := run.Get(ctx, &result); err != nil {
		return "", nil, fmt.Errorf("wait for run %s: %w", id, err)
	}
	attempts, err := show.Attempts(ctx, c, id)
	return result.Outcome, shape.Turns(attempts), err
}

// cached sums up what the resources report of the requests since the last time.
func (s *PoolStory) cached(way string, resources int) Cache {
	c := Cache{Way: way, Resources: resources}
	for _, r := range s.stack.Pool.Requests() {
		c.Requests++
		c.InputTokens += r.Outcome.InputTokens
		c.CachedTokens += r.Outcome.CachedTokens
	}
	s.stack.Pool.ForgetRequests()
	if c.InputTokens > 0 {
		c.Share = float64(c.CachedTokens) / float64(c.InputTokens)
	}
	return c
}

// compare sets each way against the single resource, which comes first.
func (s *PoolStory) compare(single Cache, others ...Cache) {
	for _, c := range append([]Cache{single}, others...) {
		if single.Share > 0 {
			c.OfSingle = c.Share / single.Share
		}
		s.Caches = append(s.Caches, c)
	}
}
