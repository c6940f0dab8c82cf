package health

import (
	"testing"
	"time"
)

var t0 = time.Unix(1_800_000_000, 0)

func TestQuota(t *testing.T) {
	at := t0.UnixNano()
	var b Bucket
	if !b.Take(at, 1e9) || b.Left(at) != -1 {
		t.Error("an unknown limit refuses")
	}
	b.SetLimit(60)
	for i := range 60 {
		if !b.Take(at, 1) {
			t.Fatalf("request %d of 60 refused", i+1)
		}
	}
	if b.Take(at, 1) || b.Wait(at, 1) != time.Second || b.Left(at) != 0 {
		t.Errorf("61st request: wait %s, left %d", b.Wait(at, 1), b.Left(at))
	}
	b.Give(1)
	if !b.Take(at, 1) {
		t.Error("what was given back is gone")
	}
	if !b.Take(at+int64(time.Minute), 1000) {
		t.Error("more than the limit never fits")
	}
	// The 1000 of 60 a minute are paid off 16 minutes and 40 seconds later.
	if wait := b.Wait(at+2*int64(time.Minute), 1000); wait != 15*time.Minute+40*time.Second {
		t.Errorf("a minute later more than the limit waits %s", wait)
	}
}

func TestHeadersOfZeroAndLessAreUnknown(t *testing.T) {
	at := t0.UnixNano()
	var b Bucket
	for _, h := range [][2]int{{0, 0}, {-1, -1}, {-1, 10}, {0, 5}} {
		b.Observe(at, h[0], h[1])
		if b.Limit() != 0 || !b.Take(at, 100) {
			t.Fatalf("learnt from %v", h)
		}
	}
	b.Observe(at, 100, 0) // 0 left is what hosts without a number send
	if b.Left(at) != 100 {
		t.Errorf("left %d", b.Left(at))
	}
	b.Observe(at, 100, 30)
	b.Observe(at, 100, 90) // an older answer that arrives late
	if b.Left(at) != 30 {
		t.Errorf("left %d, want 30", b.Left(at))
	}
}

func TestSwitchKeepsItsFirstReason(t *testing.T) {
	var s Switch
	if !s.Disable(Disabled{Reason: "first", Since: t0}) || s.Disable(Disabled{Reason: "second", Since: t0.Add(time.Hour)}) {
		t.Error("the second reason replaced the first")
	}
	if d := s.Off(t0.Add(1000 * time.Hour)); d == nil || d.Reason != "first" || !d.Since.Equal(t0) {
		t.Errorf("%+v", d)
	}
	if !s.Enable() || s.Enable() || s.Off(t0) != nil {
		t.Error("not enabled once")
	}
	s.Disable(Disabled{Reason: "no money", Since: t0})
	if s.Disable(Disabled{Reason: "quota", Since: t0, Until: t0.Add(time.Hour)}) {
		t.Error("a passing reason replaced one without an end")
	}
	s.Enable()
	s.Disable(Disabled{Reason: "passing", Since: t0, Until: t0.Add(time.Minute)})
	if s.Off(t0.Add(59*time.Second)) == nil || s.Off(t0.Add(time.Minute)) != nil {
		t.Error("expiry is not kept")
	}
}

func TestPermitsAreAllOrNothing(t *testing.T) {
	r := &Resource{}
	r.Requests.SetLimit(10)
	r.Tokens.SetLimit(1000)
	p := NewPair(r, settings())
	now := time.Now()
	left := func() [3]int {
		return [3]int{r.Requests.Left(now.UnixNano()), r.Tokens.Left(now.UnixNano()), int(r.InFlight.Load())}
	}
	first, refusal := p.Acquire(now, 600, 1)
	if refusal != nil || left() != [3]int{9, 400, 1} {
		t.Fatalf("refusal %+v, left %v", refusal, left())
	}
	if _, refusal := p.Acquire(now, 600, 1); refusal == nil || refusal.Step != "load" || left() != [3]int{9, 400, 1} {
		t.Errorf("refusal %+v, left %v", refusal, left())
	}
	if _, refusal := p.Acquire(now, 600, 0); refusal == nil || refusal.Step != "quota" || left() != [3]int{9, 400, 1} {
		t.Errorf("refusal %+v, left %v", refusal, left())
	}
	p.Throttle.Refused(now, now, time.Minute, 0, time.Hour, true)
	if _, refusal := p.Acquire(now, 100, 0); refusal == nil || refusal.Step != "throttled" || left() != [3]int{9, 400, 1} {
		t.Errorf("refusal %+v, left %v", refusal, left())
	}
	p.Throttle = Throttle{}
	p.Switch.Disable(Disabled{Reason: "x", Since: now})
	if _, refusal := p.Acquire(now, 100, 0); refusal == nil || refusal.Step != "disabled" {
		t.Errorf("refusal %+v", refusal)
	}
	p.Switch.Enable()
	first.Used(200)
	first.Success()
	first.Release()
	if left() != [3]int{9, 800, 0} {
		t.Errorf("left %v after the true usage", left())
	}
	second, _ := p.Acquire(now, 100, 0)
	second.GiveBack()
	if left() != [3]int{9, 800, 0} {
		t.Errorf("left %v after a request that was not sent", left())
	}
	for range 3 {
		g, refusal := p.Acquire(now, 1, 0)
		if refusal != nil {
			t.Fatalf("%+v", refusal)
		}
		g.Failure()
	}
	if _, refusal := p.Acquire(now, 100, 0); refusal == nil || refusal.Step != "breaker" || r.InFlight.Load() != 0 {
		t.Errorf("refusal %+v", refusal)
	}
}

func TestResolutionThatFailsEverywhereIsThisMachine(t *testing.T) {
	l := NewLocalFaults([]string{"a", "b", "c"}, time.Minute)
	if first, again, other := l.Failed("a", t0), l.Failed("a", t0), l.Failed("b", t0); first || again || other {
		t.Error("two of three hosts are not all")
	}
	if !l.Failed("c", t0) {
		t.Error("all three failed")
	}
	l.Worked()
	if !l.Failed("proxy", t0) {
		t.Error("a host that is none of the pool's was blamed on one of them")
	}
	if l.Failed("a", t0) {
		t.Error("one success did not end it")
	}
	l.Failed("b", t0)
	if l.Failed("c", t0.Add(2*time.Minute)) {
		t.Error("failures of long ago count")
	}
}
