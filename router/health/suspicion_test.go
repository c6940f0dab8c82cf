package health

import (
	"fmt"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func TestSuspicion(t *testing.T) {
	for name, c := range map[string]struct {
		// f: another run fails, F: the same run fails again, s: a run is served that was
		// sent now, o: one that was sent before, p: a test passes, d: the pair is
		// doubted; a digit n: 2^n seconds pass
		events  string
		suspect bool
		strikes int
		avoided time.Duration // from now
		oneOnly bool
	}{
		"clear":                              {events: ""},
		"one failure":                        {events: "f", suspect: true, strikes: 1, avoided: time.Second},
		"avoidance doubles":                  {events: "fff", suspect: true, strikes: 3, avoided: 4 * time.Second, oneOnly: true},
		"and is bounded":                     {events: "ffffffffffff", suspect: true, strikes: 12, avoided: time.Minute, oneOnly: true},
		"a run strikes once":                 {events: "FFFFFFFF", suspect: true, strikes: 1, avoided: time.Second},
		"and again after 300 s":              {events: "F90F", suspect: true, strikes: 1, avoided: time.Second},
		"a thousand times it strikes once":   {events: "FssssFssssF", suspect: true, strikes: 0, avoided: time.Second},
		"strikes age out":                    {events: "fff9", suspect: true, avoided: 0},
		"a test acquits, strikes stay":       {events: "ffp", strikes: 2},
		"with three it stays avoided":        {events: "fffp", strikes: 3, avoided: 4 * time.Second, oneOnly: true},
		"a run that was served acquits":      {events: "f0s", strikes: 1},
		"one that was sent before does not":  {events: "f0o", suspect: true, strikes: 1},
		"four successes remove a strike":     {events: "ff0ssss", strikes: 1},
		"eight remove two":                   {events: "ff0ssssssss"},
		"three strikes, served: no one only": {events: "fff3s", strikes: 3},
		"doubted without a strike":           {events: "d", suspect: true, avoided: time.Second},
		"doubted, acquitted":                 {events: "dp"},
	} {
		t.Run(name, func(t *testing.T) {
			var s Suspicion
			now := t0
			for i, e := range c.events {
				switch e {
				case 'f':
					s.Fail(now, fmt.Sprint("run ", i), onceward.ClassServerError)
				case 'F':
					s.Fail(now, "the same", onceward.ClassServerError)
				case 's':
					s.Served(now, now)
				case 'o':
					s.Served(now, t0.Add(-time.Second))
				case 'p':
					s.Acquit(now)
				case 'd':
					s.Doubt(now, onceward.ClassBilling)
				default:
					now = now.Add(time.Second << (e - '0'))
				}
			}
			got := s.Look(now)
			avoided := time.Duration(0)
			if got.Avoided {
				avoided = got.Until.Sub(now)
			}
			if got.Suspect != c.suspect || got.Strikes != c.strikes || avoided != c.avoided || got.OneOnly != c.oneOnly {
				t.Errorf("%+v, avoided for %s", got, avoided)
			}
		})
	}
}

func TestSuspicionEndsByItself(t *testing.T) {
	var s Suspicion
	s.Fail(t0, "r", onceward.ClassServerError)
	s.Acquit(t0)
	if s.Look(t0.Add(301*time.Second)) != (Suspect{}) || s.Active() {
		t.Error("a pair without a strike still costs selection a lock")
	}
}

func TestManyStrikesGetOneRequestAtATime(t *testing.T) {
	p := NewPair(&Resource{}, settings())
	for i := range 3 {
		p.Suspicion.Fail(t0, fmt.Sprint(i), onceward.ClassTimeout)
	}
	at := t0.Add(time.Minute)
	first, refusal := p.Acquire(at, 1, 0)
	if refusal != nil {
		t.Fatalf("%+v", refusal)
	}
	if _, refusal := p.Acquire(at, 1, 0); refusal == nil || refusal.Step != "suspect" || !refusal.Again.After(at) {
		t.Errorf("a second one: %+v", refusal)
	}
	if _, refusal := p.AcquireTest(at, 1, 0, false); refusal != nil {
		t.Errorf("a test is no run: %+v", refusal)
	}
	first.Release()
	second, refusal := p.Acquire(at, 1, 0)
	if refusal != nil {
		t.Fatalf("after the first: %+v", refusal)
	}
	p.Suspicion.Served(at, at)
	if _, refusal := p.Acquire(at, 1, 0); refusal != nil {
		t.Errorf("after a success: %+v", refusal)
	}
	second.Release()
}

// However many runs have failed, a selection does not look at each.
func TestStrikesAreBoundedAndForgotten(t *testing.T) {
	var s Suspicion
	now := time.Unix(1_700_000_000, 0)
	for i := range 3 * maxRuns {
		s.Fail(now.Add(time.Duration(i)*time.Millisecond), fmt.Sprint("run ", i), onceward.ClassServerError)
	}
	if len(s.runs) > maxRuns || len(s.strikes) != maxStrikes {
		t.Errorf("%d runs, %d strikes", len(s.runs), len(s.strikes))
	}
	s.Acquit(now.Add(time.Minute))
	if s.Look(now.Add(10 * time.Minute)); s.Active() || len(s.runs) != 0 {
		t.Errorf("%d runs are kept", len(s.runs))
	}
}

// Only failures that no success came between are an outage.
func TestUnserved(t *testing.T) {
	var s Suspicion
	now := time.Unix(1_700_000_000, 0)
	for i := range 2 * manyStrikes {
		s.Fail(now, fmt.Sprint("run ", i), onceward.ClassServerError)
		if i%2 == 1 {
			s.Served(now, now.Add(-time.Minute))
		}
	}
	if s.Look(now).Unserved {
		t.Error("runs were served in between")
	}
	for i := range manyStrikes {
		s.Fail(now, fmt.Sprint("another ", i), onceward.ClassServerError)
	}
	if !s.Look(now).Unserved {
		t.Error("nobody is served")
	}
}
