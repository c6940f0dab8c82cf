package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

const (
	// takeTest bounds the wait for a worker to take a test. Then the workers of
	// another service are asked that has the route at the same address.
	takeTest = 30 * time.Second
	// untested is the pause after a test that no worker took.
	untested = 5 * time.Minute
	// declined is the pause after a worker has left a test to another.
	declined = 500 * time.Millisecond
	// testPause is the least between two tests of a pair.
	testPause = 10 * time.Second
	// maxTrials bounds the tests in flight, and maxQueues the services that one is
	// offered to: whoever waits for it must hear of it.
	maxTrials = 20
	maxQueues = 8
)

// pair is one model of a resource at one address: what a test is about.
type pair struct{ resource, model, endpoint string }

// trial is one test of a pair. There is one in flight of each; whoever wants another
// meanwhile has its result.
type trial struct {
	pair
	exact  *onceward.Disabled // the one entry that it is about, in an execution that tests inline
	asked  string             // the operator who wants it; empty: nobody
	limit  int
	notBy  string
	done   bool
	result onceward.PoolTest
	err    error
}

// pairOf says what a test of a route would be about: of a whole resource it is its
// first model. It is false where no service has the route.
func (p *pool) pairOf(resource, model, endpoint string) (pair, bool) {
	service := p.serviceOf(resource, model, endpoint)
	if service == nil {
		return pair{}, false
	}
	for _, r := range service.Routes {
		if r.Resource != resource || endpoint != "" && r.Endpoint != endpoint || model != "" && !slices.Contains(r.Models, model) {
			continue
		}
		if model == "" && len(r.Models) > 0 {
			model = r.Models[0]
		}
		return pair{resource, model, r.Endpoint}, true
	}
	return pair{}, false
}

// speaksFor reports whether a test of the pair says something of a route.
func (p *pool) speaksFor(a pair, resource, model, endpoint string) bool {
	if endpoint == "" {
		endpoint = a.endpoint
	}
	about, ok := p.pairOf(resource, model, endpoint)
	return ok && about == a
}

// queues are those of the services that have a pair, the one that told its routes
// last first.
func (p *pool) queues(a pair) []string {
	var queues []string
	for i := len(p.services) - 1; i >= 0 && len(queues) < maxQueues; i-- {
		has := func(r onceward.PoolRoute) bool {
			return r.Resource == a.resource && r.Endpoint == a.endpoint && slices.Contains(r.Models, a.model)
		}
		if slices.ContainsFunc(p.services[i].Routes, has) {
			queues = append(queues, p.services[i].Service)
		}
	}
	return queues
}

// inFlight returns the trial of a pair, or nil.
func (p *pool) inFlight(a pair) *trial {
	if i := slices.IndexFunc(p.trials, func(t *trial) bool { return t.pair == a }); i >= 0 {
		return p.trials[i]
	}
	return nil
}

// wanted calls fn with each pair that is to be tested, and when: what was reported,
// then what is disabled. A trial is not made of what is in flight.
func (p *pool) wanted(fn func(t *trial, at time.Time)) {
	want := func(resource, model, endpoint, notBy string, at time.Time) {
		a, ok := p.pairOf(resource, model, endpoint)
		if !ok || p.inFlight(a) != nil {
			return
		}
		if last := p.tested(a); !last.IsZero() && at.Before(last.Add(testPause)) {
			at = last.Add(testPause)
		}
		fn(&trial{pair: a, notBy: notBy, limit: p.limitOf(a)}, at)
	}
	for _, f := range p.health.Reported {
		if !p.heldBack(f.Resource, f.Model) {
			want(f.Resource, f.Model, f.Endpoint, f.By, f.NextTest)
		}
	}
	for _, d := range p.health.Disabled {
		if !d.NextTest.IsZero() && !p.heldBack(d.Resource, d.Model) {
			want(d.Resource, d.Model, d.Endpoint, "", d.NextTest)
		}
	}
}

// tested is when a pair was tested last.
func (p *pool) tested(a pair) time.Time {
	var last time.Time
	for _, t := range p.health.Tests {
		if t.Resource == a.resource && t.Model == a.model && t.Endpoint == a.endpoint {
			last = t.At
		}
	}
	return last
}

// limitOf is the output limit to test a pair with: the largest at which it failed.
// With less it may pass, and would be asked for more again.
func (p *pool) limitOf(a pair) int {
	limit := 0
	for _, d := range p.health.Disabled {
		if d.Limit > limit && p.speaksFor(a, d.Resource, d.Model, d.Endpoint) {
			limit = d.Limit
		}
	}
	for _, list := range [][]onceward.PoolFinding{p.health.Reported, p.health.Alone} {
		for _, f := range list {
			if f.Limit > limit && p.speaksFor(a, f.Resource, f.Model, f.Endpoint) {
				limit = f.Limit
			}
		}
	}
	return limit
}

// begin begins what is due, each test in a coroutine of its own.
func (p *pool) begin(ctx workflow.Context, now time.Time) {
	p.wanted(func(t *trial, at time.Time) {
		if !at.After(now) && len(p.trials) < maxTrials {
			p.start(ctx, t)
		}
	})
}

func (p *pool) start(ctx workflow.Context, t *trial) {
	p.trials = append(p.trials, t)
	workflow.GoNamed(ctx, "test "+routeName(t.resource, t.model), func(ctx workflow.Context) { p.try(ctx, t) })
}

// wakes tells when the loop has something to do.
func (p *pool) wakes(leaving bool, wake func(time.Time)) {
	if !leaving && len(p.trials) < maxTrials {
		p.wanted(func(_ *trial, at time.Time) { wake(at) })
	}
	for _, list := range [][]onceward.PoolFinding{p.health.Reported, p.health.Alone} {
		for _, f := range list {
			wake(f.Heard.Add(findingKept))
		}
	}
}

// try sends one neutral request through a worker that has the pair, and keeps what
// it says.
func (p *pool) try(ctx workflow.Context, t *trial) {
	t.err = fmt.Errorf("test %s: no service has it", routeName(t.resource, t.model))
	for _, queue := range p.queues(t.pair) {
		options := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			TaskQueue:              queue, // its workers know the route
			ScheduleToStartTimeout: takeTest,
			StartToCloseTimeout:    onceward.PoolTimeout,
			ScheduleToCloseTimeout: 3 * onceward.PoolTimeout,
			RetryPolicy:            &temporal.RetryPolicy{InitialInterval: declined, BackoffCoefficient: 1, MaximumAttempts: onceward.PoolDeclines + 1},
			Summary:                onceward.Summary("test " + routeName(t.resource, t.model)),
		})
		in := onceward.TestInput{Resource: t.resource, Model: t.model, Endpoint: t.endpoint, Limit: t.limit, NotBy: t.notBy}
		t.result = onceward.PoolTest{}
		t.err = workflow.ExecuteActivity(options, onceward.ActivityTestResource, in).Get(ctx, &t.result)
		if !untaken(t.err) || t.exact != nil {
			break
		}
	}
	p.trials = slices.DeleteFunc(p.trials, func(other *trial) bool { return other == t })
	p.judge(workflow.Now(ctx), t)
	t.done = true
	p.touch()
}

// untaken reports that no worker took a test in time.
func untaken(err error) bool {
	var late *temporal.TimeoutError
	return errors.As(err, &late) && late.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START
}

// judge brings the record in step with a test that has ended.
func (p *pool) judge(now time.Time, t *trial) {
	if t.err == nil {
		r := &t.result
		r.Resource, r.Model, r.Endpoint, r.At = t.resource, t.model, t.endpoint, now
		r.Verdict = verdictOf(*r)
		r.Passed = r.Verdict == onceward.VerdictPassed
		r.Error, r.By = cutSummary(r.Error), cutSummary(r.By)
		p.keep(*r)
	}
	p.judgeDisabled(now, t)
	p.judgeFindings(now, t)
}

// verdictOf is what a test says; a worker of an earlier build said less.
func verdictOf(t onceward.PoolTest) onceward.Verdict {
	switch {
	case t.Verdict != "":
		return t.Verdict
	case t.Passed:
		return onceward.VerdictPassed
	case t.Class == "":
		return onceward.VerdictUnclear
	}
	switch t.Class.Rule().StateEffect {
	case onceward.EffectNone:
		return onceward.VerdictUnclear
	case onceward.EffectThrottle:
		return onceward.VerdictThrottled
	default:
		return onceward.VerdictFailed
	}
}

// convicts reports whether a test disables a route for every worker.
func convicts(t onceward.PoolTest) bool {
	effect := t.Class.Rule().StateEffect
	return t.Verdict == onceward.VerdictFailed && (effect == onceward.EffectDisable || effect == onceward.EffectDeploymentDown)
}

// judgeDisabled enables what a worker had found where the test passed, and says when
// it is tested again where it did not. What an operator has decided stays.
func (p *pool) judgeDisabled(now time.Time, t *trial) {
	for i := 0; i < len(p.health.Disabled); i++ {
		d := &p.health.Disabled[i]
		if t.exact != nil && (d.Resource != t.exact.Resource || d.Model != t.exact.Model || d.Endpoint != t.exact.Endpoint) ||
			t.exact == nil && !p.speaksFor(t.pair, d.Resource, d.Model, d.Endpoint) || d.By != "" {
			continue
		}
		if t.err != nil {
			if !d.NextTest.IsZero() {
				d.NextTest = now.Add(untested)
			}
			continue
		}
		if t.result.Passed {
			by := "a passed test"
			if t.asked != "" {
				by += ", asked for by " + t.asked
			}
			p.enable(i, now, by)
			i--
			continue
		}
		p.failAgain(d, now, t)
	}
}

// failAgain keeps a route disabled: for what the newest test says, in its words.
func (p *pool) failAgain(d *onceward.Disabled, now time.Time, t *trial) {
	d.Failed++
	if convicts(t.result) {
		d.Class, d.Reason = t.result.Class, reasonOf(t.result)
		if !p.inline() {
			d.Until = comesBack(now, t.result)
		} else if t.result.RetryAfter > 0 {
			d.Until = now.Add(t.result.RetryAfter)
		}
	}
	d.NextTest = time.Time{} // a service that tests nothing may have told its routes since
	if service := p.serviceOf(d.Resource, d.Model, d.Endpoint); service != nil {
		if pause := nextTest(service.Retest, d.Failed); pause > 0 {
			d.NextTest = now.Add(pause)
		}
	}
}

// comesBack says when what a test has convicted comes back by itself: after the wait
// that its own answer asks for, or that its class is given. Zero is never: a test has
// to pass, or an operator to enable it. The newest test alone says it, whatever an
// earlier one has found.
func comesBack(now time.Time, t onceward.PoolTest) time.Time {
	if wait := max(t.RetryAfter, t.Class.Rule().Window); wait > 0 {
		return now.Add(wait)
	}
	return time.Time{}
}

// reasonOf is why a test failed: in the words of its own answer, which has none of a
// caller's.
func reasonOf(t onceward.PoolTest) string {
	if t.Error == "" {
		return string(t.Class)
	}
	return t.Error
}

// nextTest is the pause after so many failed tests; zero is never.
func nextTest(retest onceward.RetestPolicy, failed int) time.Duration {
	pause := retest.First
	for range min(failed, 16) {
		pause = min(2*pause, retest.Most)
	}
	return pause
}

func (p *pool) keep(test onceward.PoolTest) {
	for i, t := range p.health.Tests {
		if t.Resource == test.Resource && t.Model == test.Model && (t.Endpoint == test.Endpoint || t.Endpoint == "") {
			p.health.Tests[i] = test
			return
		}
	}
	p.health.Tests = append(p.health.Tests, test)
}

// due returns the index of a route whose test is due, or -1, in an execution that
// tests inline.
func (p *pool) due(now time.Time) int {
	return slices.IndexFunc(p.health.Disabled, func(d onceward.Disabled) bool { return !d.NextTest.IsZero() && !d.NextTest.After(now) })
}

// testInline tests a disabled route while nothing else is done, as an execution does
// that began so.
func (p *pool) testInline(ctx workflow.Context, i int) {
	d := p.health.Disabled[i]
	a, ok := p.pairOf(d.Resource, d.Model, d.Endpoint)
	if !ok { // nobody has the route any more who could test it
		p.health.Disabled[i].NextTest = time.Time{}
		p.touch()
		return
	}
	t := &trial{pair: a, exact: &d}
	p.trials = append(p.trials, t)
	p.try(ctx, t)
}
