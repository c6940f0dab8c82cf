package health

import "time"

// Refusal says why Acquire gave no permit.
type Refusal struct {
	Step  string // disabled, breaker, throttled, quota or load, as in a selection
	Cause *Disabled
	Again time.Time // when to look again; zero: unknown
}

// Permit is the right to send one request: the breaker's grant, an in-flight
// slot and quota. Release it on every path; the first end decides. A Permit
// belongs to one goroutine.
type Permit struct {
	pair   *Pair
	grant  *Grant
	at     int64    // unix nanoseconds
	taken  [4]int64 // of each bucket
	probes []*Throttle
	ended  bool
}

// Acquire takes all permits of one request or none of them. tokens is the
// estimate of input and output together, maxInFlight 0 is no limit.
func (p *Pair) Acquire(now time.Time, tokens, maxInFlight int64) (*Permit, *Refusal) {
	at := now.UnixNano()
	for _, s := range []*Switch{&p.Resource.Switch, &p.Switch} {
		if d := s.Off(now); d != nil {
			return nil, &Refusal{Step: "disabled", Cause: d, Again: d.Until}
		}
	}
	if n := p.Resource.InFlight.Add(1); maxInFlight > 0 && n > maxInFlight {
		p.Resource.InFlight.Add(-1)
		return nil, &Refusal{Step: "load"}
	}
	permit := &Permit{pair: p, at: at}
	if r := permit.takeQuota(at, tokens); r != nil {
		permit.Release()
		return nil, r
	}
	for _, t := range []*Throttle{&p.Resource.Throttle, &p.Throttle} {
		ok, probe := t.Take(at, p.Breaker.set.Lease)
		if !ok {
			_, again := t.Peek(at)
			permit.GiveBack()
			return nil, &Refusal{Step: "throttled", Again: stamp(again)}
		}
		if probe {
			permit.probes = append(permit.probes, t)
		}
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
	if p.end(true) {
		p.grant.Success()
	}
}

// Failure ends the permit with a mark against the pair and returns the function
// that takes the mark back.
func (p *Permit) Failure() (takeBack func()) {
	if !p.end(false) {
		return func() {}
	}
	b := p.pair.Breaker
	id := p.grant.Failure()
	return func() { b.TakeBack(id) }
}

// Release ends the permit without a word about health. It does nothing after
// another end, so it can be deferred.
func (p *Permit) Release() {
	if p.end(false) && p.grant != nil {
		p.grant.Neutral()
	}
}

func (p *Permit) end(success bool) bool {
	if p.ended {
		return false
	}
	p.ended = true
	p.pair.Resource.InFlight.Add(-1)
	for _, t := range p.probes {
		t.EndProbe(p.at, success)
	}
	return true
}
