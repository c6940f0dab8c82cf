package health

import "time"

// trialAgain is when a run looks again that found the one request out which a pair
// with many strikes gets.
const trialAgain = 2 * time.Second

// Refusal says why no permit was given.
type Refusal struct {
	Step  string // disabled, breaker, suspect, throttled, quota or load, as in a selection
	Cause *Disabled
	Again time.Time // when to look again; zero: unknown
}

// Permit is the right to send one request: the breaker's grant, an in-flight
// slot and quota. Release it on every path; the first end decides. A Permit
// belongs to one goroutine.
type Permit struct {
	pair  *Pair
	grant *Grant // nil: the request says nothing to the breaker
	at    time.Time
	taken [4]int64 // of each bucket
	trial bool
	ended bool
}

// At is when the permit was given.
func (p *Permit) At() time.Time { return p.at }

// Acquire takes all permits of one run's request or none of them. tokens is the
// estimate of input and output together, maxInFlight 0 is no limit.
func (p *Pair) Acquire(now time.Time, tokens, maxInFlight int64) (*Permit, *Refusal) {
	for _, s := range []*Switch{&p.Resource.Switch, &p.Switch} {
		if d := s.Off(now); d != nil {
			return nil, &Refusal{Step: "disabled", Cause: d, Again: d.Until}
		}
	}
	permit, refusal := p.take(now, tokens, maxInFlight)
	if refusal != nil {
		return nil, refusal
	}
	for _, t := range []*Throttle{&p.Resource.Throttle, &p.Throttle} {
		if ok, again := t.Peek(now.UnixNano()); !ok {
			permit.GiveBack()
			return nil, &Refusal{Step: "throttled", Again: stamp(again)}
		}
	}
	if p.Suspicion.Look(now).OneOnly {
		if !p.trial.CompareAndSwap(false, true) {
			permit.GiveBack()
			return nil, &Refusal{Step: "suspect", Again: now.Add(trialAgain)}
		}
		permit.trial = true
	}
	grant, ok := p.Breaker.Allow()
	if !ok {
		_, again := p.Breaker.Peek(time.Now().UnixNano())
		permit.GiveBack()
		return nil, &Refusal{Step: "breaker", Again: stamp(again)}
	}
	permit.grant = grant
	return permit, nil
}

// AcquireTest takes what a neutral request needs: an in-flight slot and quota, and
// unless it was ordered, which somebody does whatever the pair's state, the end of
// throttle windows and the breaker's grant. An ordered one takes that where it is
// free, so that a pass closes a breaker whose time is over.
func (p *Pair) AcquireTest(now time.Time, tokens, maxInFlight int64, ordered bool) (*Permit, *Refusal) {
	permit, refusal := p.take(now, tokens, maxInFlight)
	if refusal != nil {
		return nil, refusal
	}
	if ordered {
		permit.grant, _ = p.Breaker.Test()
		return permit, nil
	}
	for _, t := range []*Throttle{&p.Resource.Throttle, &p.Throttle} {
		if until := t.Until(now.UnixNano()); !until.IsZero() {
			permit.GiveBack()
			return nil, &Refusal{Step: "throttled", Again: until}
		}
	}
	grant, ok := p.Breaker.Test()
	if !ok {
		permit.GiveBack()
		return nil, &Refusal{Step: "breaker", Again: p.Breaker.Due()}
	}
	permit.grant = grant
	return permit, nil
}

// take takes an in-flight slot and quota.
func (p *Pair) take(now time.Time, tokens, maxInFlight int64) (*Permit, *Refusal) {
	if n := p.Resource.InFlight.Add(1); maxInFlight > 0 && n > maxInFlight {
		p.Resource.InFlight.Add(-1)
		return nil, &Refusal{Step: "load"}
	}
	permit := &Permit{pair: p, at: now}
	if r := permit.takeQuota(now.UnixNano(), tokens); r != nil {
		permit.Release()
		return nil, r
	}
	return permit, nil
}

func stamp(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// buckets returns the quota buckets in the order of taken.
func (p *Pair) buckets() [4]*Bucket {
	return [4]*Bucket{&p.Resource.Requests, &p.Requests, &p.Resource.Tokens, &p.Tokens}
}

func (p *Permit) takeQuota(at, tokens int64) *Refusal {
	for i, b := range p.pair.buckets() {
		n := int64(1)
		if i >= 2 {
			n = tokens
		}
		if !b.Take(at, n) {
			p.returnQuota()
			return &Refusal{Step: "quota", Again: stamp(at + int64(b.Wait(at, n)))}
		}
		if b.Limit() > 0 { // nothing was taken of a bucket that knows no limit yet
			p.taken[i] = n
		}
	}
	return nil
}

func (p *Permit) returnQuota() {
	for i, b := range p.pair.buckets() {
		b.Give(p.taken[i])
		p.taken[i] = 0
	}
}

// Used replaces the estimate of tokens by what was used.
func (p *Permit) Used(tokens int64) {
	for i, b := range p.pair.buckets() {
		if spare := p.taken[i] - tokens; i >= 2 && spare > 0 {
			b.Give(spare)
			p.taken[i] = tokens
		}
	}
}

// GiveBack ends the permit of a request that was never sent: quota returns.
func (p *Permit) GiveBack() {
	if !p.ended {
		p.returnQuota()
	}
	p.Release()
}

// Success ends the permit of a request that was served.
func (p *Permit) Success() {
	if p.end() && p.grant != nil {
		p.grant.Success()
	}
}

// Failure ends the permit with a mark against the pair. Of a pair with many strikes
// one mark is enough to open its breaker.
func (p *Permit) Failure() {
	if p.end() && p.grant != nil {
		p.grant.Failure(p.pair.Suspicion.Many(p.at))
	}
}

// Release ends the permit without a word about health. It does nothing after
// another end, so it can be deferred.
func (p *Permit) Release() {
	if p.end() && p.grant != nil {
		p.grant.Neutral()
	}
}

func (p *Permit) end() bool {
	if p.ended {
		return false
	}
	p.ended = true
	p.pair.Resource.InFlight.Add(-1)
	if p.trial {
		p.pair.trial.Store(false)
	}
	return true
}
