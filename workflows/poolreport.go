package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

const (
	// findingKept is how long a finding is kept that its worker does not tell again:
	// it may be gone, and nobody else would take it back.
	findingKept = time.Hour
	// maxFindings and maxNeutrals bound what the memo holds.
	maxFindings = 200
	maxNeutrals = 300
	// findingMost bounds the pause before a finding is tested again.
	findingMost = 5 * time.Minute
)

// takeReport takes a worker's report. One that is older than the last enabling of
// its route, or says nothing new, changes nothing.
func (p *pool) takeReport(ctx workflow.Context, reports workflow.ReceiveChannel) error {
	var r onceward.PoolReport
	if err := p.inbox.receive(ctx, reports, &r); err != nil {
		return err
	}
	now := workflow.Now(ctx)
	service := p.serviceOf(r.Resource, r.Model, r.Endpoint)
	if service == nil { // of a worker that has not said what it has
		return nil
	}
	for _, e := range p.health.Enabled {
		here := e.Endpoint == "" || r.Endpoint == "" || e.Endpoint == r.Endpoint || p.inline()
		if e.Resource == r.Resource && here && (e.Model == r.Model || e.Model == "" && !p.inline()) && !r.At.After(e.At) {
			return nil
		}
	}
	if p.findAt(r.Resource, r.Model, r.Endpoint) >= 0 || p.heldBack(r.Resource, r.Model) && !p.inline() {
		return nil
	}
	r.Reason, r.By = cutSummary(r.Reason), cutSummary(r.By)
	if !p.inline() {
		p.found(now, r)
		return nil
	}
	d := onceward.Disabled{Resource: r.Resource, Model: r.Model, Endpoint: r.Endpoint, Class: r.Class, Reason: r.Reason, Since: r.At, Until: r.Until}
	if service.Retest.First > 0 {
		d.NextTest = now.Add(service.Retest.First)
	}
	p.health.Disabled = append(p.health.Disabled, d)
	p.touch()
	return nil
}

// heldBack reports whether an operator keeps attempts away from a route: it is not
// tested, whatever a worker says of it.
func (p *pool) heldBack(resource, model string) bool {
	return slices.ContainsFunc(p.health.Disabled, func(d onceward.Disabled) bool {
		return d.By != "" && d.Resource == resource && (d.Model == model || d.Model == "")
	})
}

// found keeps a finding until a test has answered it. One that is told again is the
// same; one about a pair that is being tested, or waits for a test, waits with it.
func (p *pool) found(now time.Time, r onceward.PoolReport) {
	same := func(f onceward.PoolFinding) bool {
		return f.Resource == r.Resource && f.Model == r.Model && f.Endpoint == r.Endpoint && f.By == r.By
	}
	if i := slices.IndexFunc(p.health.Alone, same); i >= 0 {
		if !r.At.After(p.health.Alone[i].At) { // it has been answered
			p.health.Alone[i].Heard = now
			return
		}
		p.health.Alone = slices.Delete(p.health.Alone, i, i+1)
	}
	f := onceward.PoolFinding{PoolReport: r, Heard: now}
	if i := slices.IndexFunc(p.health.Reported, same); i >= 0 {
		if !r.At.After(p.health.Reported[i].At) {
			p.health.Reported[i].Heard = now
			return
		}
		f.Tried, f.NextTest = p.health.Reported[i].Tried, p.health.Reported[i].NextTest
		p.health.Reported[i] = f
		p.touch()
		return
	}
	for _, other := range p.health.Reported {
		if other.Resource == r.Resource && other.Model == r.Model && other.NextTest.After(f.NextTest) {
			f.Tried, f.NextTest = other.Tried, other.NextTest
		}
	}
	p.health.Reported = latest(append(p.health.Reported, f), maxFindings)
	p.touch()
}

// latest is the end of a list, so that it stays bounded.
func latest[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

// forget takes findings off the record.
func (p *pool) forget(which func(onceward.PoolFinding) bool) {
	before := len(p.health.Reported) + len(p.health.Alone)
	p.health.Reported = slices.DeleteFunc(p.health.Reported, which)
	p.health.Alone = slices.DeleteFunc(p.health.Alone, which)
	if len(p.health.Reported)+len(p.health.Alone) != before {
		p.touch()
	}
}

// judgeFindings answers what workers have found with a test that has ended.
func (p *pool) judgeFindings(now time.Time, t *trial) {
	about := func(f onceward.PoolFinding) bool { return p.speaksFor(t.pair, f.Resource, f.Model, f.Endpoint) }
	switch {
	case t.err == nil && t.result.Passed:
		p.acquit(now, t, about)
	case t.err == nil && convicts(t.result):
		p.convict(now, t, about)
	default: // it says nothing: ask again, ever more rarely
		for i := range p.health.Reported {
			if f := &p.health.Reported[i]; about(*f) {
				f.NextTest = now.Add(min(testPause<<min(f.Tried, 16), findingMost))
				f.Tried++
			}
		}
	}
}

// acquit leaves what a test did not confirm to the worker that had found it. Where
// that worker passed the test itself, or an operator had asked for it, it is over.
func (p *pool) acquit(now time.Time, t *trial, about func(onceward.PoolFinding) bool) {
	if t.asked != "" {
		for _, list := range [][]onceward.PoolFinding{p.health.Reported, p.health.Alone} {
			for _, f := range list {
				if about(f) {
					p.enabled(onceward.Enabled{Resource: f.Resource, Model: f.Model, Endpoint: f.Endpoint, At: now, By: "a passed test, asked for by " + t.asked})
				}
			}
		}
		p.forget(about)
		return
	}
	var alone []onceward.PoolFinding
	for _, f := range p.health.Reported {
		if about(f) && (f.By == "" || f.By != t.result.By) {
			test := t.result
			f.Tried, f.NextTest, f.Test = 0, time.Time{}, &test
			alone = append(alone, f)
		}
	}
	p.health.Reported = slices.DeleteFunc(p.health.Reported, about)
	p.forget(func(f onceward.PoolFinding) bool { return about(f) && f.By != "" && f.By == t.result.By })
	p.health.Alone = latest(append(p.health.Alone, alone...), maxFindings)
}

// convict disables for every worker what a test has confirmed: with the class, the
// words and the wait of the test's own answer.
func (p *pool) convict(now time.Time, t *trial, about func(onceward.PoolFinding) bool) {
	var confirmed []onceward.PoolFinding
	for _, f := range p.health.Reported {
		if about(f) {
			confirmed = append(confirmed, f)
		}
	}
	for _, f := range p.health.Alone {
		if about(f) && f.By != t.result.By { // two of them, now
			confirmed = append(confirmed, f)
		}
	}
	if len(confirmed) == 0 {
		return
	}
	limit := p.limitOf(t.pair)
	for _, f := range confirmed {
		if p.findAt(f.Resource, f.Model, f.Endpoint) >= 0 {
			continue
		}
		d := onceward.Disabled{
			Resource: f.Resource, Model: f.Model, Endpoint: f.Endpoint, Class: t.result.Class, Reason: reasonOf(t.result), Since: now, Limit: limit,
			Until: comesBack(now, t.result),
		}
		if service := p.serviceOf(f.Resource, f.Model, f.Endpoint); service != nil && service.Retest.First > 0 {
			d.NextTest = now.Add(service.Retest.First)
		}
		p.health.Disabled = append(p.health.Disabled, d)
	}
	p.forget(about)
}

// takeNeutrals adds up the neutral requests that a worker has sent, and takes back
// what it does not hold any more.
func (p *pool) takeNeutrals(ctx workflow.Context, neutrals workflow.ReceiveChannel) error {
	var report onceward.NeutralReport
	if err := p.inbox.receive(ctx, neutrals, &report); err != nil {
		return err
	}
	for _, c := range report.Pairs {
		if p.serviceOf(c.Resource, c.Model, c.Endpoint) == nil || c.Sent() < 0 {
			continue
		}
		c.Unusable = cutSummary(c.Unusable)
		i := slices.IndexFunc(p.health.Neutrals, func(n onceward.NeutralCount) bool {
			return n.Resource == c.Resource && n.Model == c.Model && n.Endpoint == c.Endpoint
		})
		switch {
		case i >= 0:
			p.health.Neutrals[i] = p.health.Neutrals[i].And(c)
		case len(p.health.Neutrals) < maxNeutrals:
			p.health.Neutrals = append(p.health.Neutrals, c)
		}
		p.touch()
	}
	for _, a := range report.Acquitted {
		p.forget(func(f onceward.PoolFinding) bool {
			return f.By == report.By && f.Resource == a.Resource && f.Model == a.Model && f.Endpoint == a.Endpoint && !f.At.After(a.At)
		})
	}
	return nil
}
