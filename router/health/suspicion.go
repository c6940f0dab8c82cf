package health

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward"
)

const (
	// strikeFor is how long a strike counts, and how long a run has only one.
	strikeFor = 300 * time.Second
	// redeem is how many successes remove a strike.
	redeem = 4
	// manyStrikes are enough to avoid a pair after an acquittal, to send it one
	// request at a time, and for one mark to open its breaker.
	manyStrikes = 3
	// firstAvoid and longestAvoid bound how long a suspect is avoided.
	firstAvoid   = time.Second
	longestAvoid = 60 * time.Second
	// maxStrikes and maxRuns bound the memory of a pair.
	maxStrikes = 16
	maxRuns    = 1024
)

// Suspicion is what failures of runs have raised against one pair. It takes
// nothing away: another candidate is only taken first. The zero value holds
// nothing.
type Suspicion struct {
	active atomic.Bool // anything below is set: all that selection reads of a pair without a past

	mu       sync.Mutex
	strikes  []time.Time          // oldest first
	runs     map[string]time.Time // the last strike of each run
	struck   time.Time            // the last strike
	served   int                  // successes since a strike was removed
	suspect  bool
	class    onceward.Class // of the last failure
	since    time.Time      // of the suspicion
	failed   time.Time      // the last failure
	avoid    time.Time
	unproven bool // no success since the last failure
	unserved int  // strikes since the last success
	testing  bool // a test is in flight
	last     string
}

// Suspect is a suspicion at one moment.
type Suspect struct {
	Suspect  bool
	Avoided  bool
	Until    time.Time // of the avoidance, as far as it is known
	Since    time.Time
	Strikes  int
	OneOnly  bool           // one request at a time
	Class    onceward.Class // of the failure that raised it
	Verdict  string         // the last test's, for people; empty: none yet
	Unproven bool
	Unserved bool // many runs failed, and none was served meanwhile
}

// Fail records a run's failure with an effect on health. A run strikes once in 300
// seconds, however often it fails; an empty run is a new one each time. It returns
// whether the pair was not suspect before.
func (s *Suspicion) Fail(now time.Time, run string, class onceward.Class) (fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.age(now)
	if last, struck := s.runs[run]; run == "" || !struck || now.Sub(last) >= strikeFor {
		if s.runs == nil {
			s.runs = map[string]time.Time{}
		}
		s.sweep(now)
		s.runs[run], s.struck = now, now
		s.unserved++
		if s.strikes = append(s.strikes, now); len(s.strikes) > maxStrikes {
			s.strikes = slices.Delete(s.strikes, 0, 1)
		}
	}
	s.failed, s.unproven = now, true
	return s.raise(now, class)
}

// Doubt makes the pair suspect without a strike, because another pair of its
// resource or account was convicted.
func (s *Suspicion) Doubt(now time.Time, class onceward.Class) (fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.age(now)
	return s.raise(now, class)
}

func (s *Suspicion) raise(now time.Time, class onceward.Class) (fresh bool) {
	fresh = !s.suspect
	if fresh {
		s.since = now
	}
	s.suspect, s.class = true, class
	s.hold(now.Add(avoidance(len(s.strikes))))
	s.active.Store(true)
	return fresh
}

// avoidance is how long a pair with so many strikes is avoided.
func avoidance(strikes int) time.Duration {
	return min(firstAvoid<<min(max(strikes-1, 0), 10), longestAvoid)
}

func (s *Suspicion) hold(until time.Time) {
	if until.After(s.avoid) {
		s.avoid = until
	}
}

// Hold keeps a suspect avoided until its next test.
func (s *Suspicion) Hold(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.suspect {
		s.hold(until)
	}
}

// Served records a success of a request that a run sent then, and reports whether
// it acquitted the pair.
func (s *Suspicion) Served(now, sent time.Time) (acquitted bool) {
	if !s.active.Load() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.age(now)
	s.unserved = 0
	if sent.After(s.failed) {
		s.unproven = false
		acquitted = s.acquit()
	}
	if s.served++; s.served >= redeem && len(s.strikes) > 0 {
		s.strikes, s.served = slices.Delete(s.strikes, 0, 1), 0
	}
	s.age(now)
	return acquitted
}

// Acquit records a passed test, and reports whether the pair was suspect. With many
// strikes it stays avoided for its time.
func (s *Suspicion) Acquit(now time.Time) (acquitted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.age(now)
	return s.acquit()
}

func (s *Suspicion) acquit() bool {
	was := s.suspect
	s.suspect = false
	if len(s.strikes) < manyStrikes {
		s.avoid = time.Time{}
	}
	return was
}

// Testing says that a test is in flight, during which the pair is avoided; or how
// the last one ended.
func (s *Suspicion) Testing(yes bool, verdict string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.testing = yes
	if !yes {
		s.last = verdict
	}
}

// Forget takes back everything: the pair was switched off, or an operator vouches
// for it.
func (s *Suspicion) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strikes, s.runs, s.served, s.unserved, s.suspect, s.unproven, s.avoid = nil, nil, 0, 0, false, false, time.Time{}
	s.active.Store(false)
}

// Active reports whether there is anything to look at. It reads one atomic.
func (s *Suspicion) Active() bool { return s.active.Load() }

// Look returns the suspicion at now.
func (s *Suspicion) Look(now time.Time) Suspect {
	if !s.active.Load() {
		return Suspect{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.age(now)
	if !s.active.Load() {
		return Suspect{}
	}
	n := len(s.strikes)
	return Suspect{
		Suspect: s.suspect, Avoided: now.Before(s.avoid) || s.suspect && s.testing, Until: s.avoid, Since: s.since,
		Strikes: n, OneOnly: n >= manyStrikes && s.unproven, Class: s.class, Verdict: s.last, Unproven: s.unproven,
		Unserved: s.unserved >= manyStrikes,
	}
}

// Many reports whether one mark is enough to open the breaker.
func (s *Suspicion) Many(now time.Time) bool { return s.Look(now).Strikes >= manyStrikes }

// age lets strikes go that are too old.
func (s *Suspicion) age(now time.Time) {
	n := 0
	for n < len(s.strikes) && now.Sub(s.strikes[n]) >= strikeFor {
		n++
	}
	s.strikes = slices.Delete(s.strikes, 0, n)
	if now.Sub(s.struck) >= strikeFor {
		clear(s.runs) // one by one would cost every selection a look at each
	}
	if !s.suspect && len(s.strikes) == 0 && len(s.runs) == 0 {
		s.served, s.unserved, s.unproven, s.avoid = 0, 0, false, time.Time{}
		s.active.Store(false)
	}
}

// sweep makes room for one more run.
func (s *Suspicion) sweep(now time.Time) {
	if len(s.runs) < maxRuns {
		return
	}
	for run, at := range s.runs {
		if now.Sub(at) >= strikeFor {
			delete(s.runs, run)
		}
	}
	if len(s.runs) >= maxRuns {
		clear(s.runs) // some run may strike twice; nothing grows for ever
	}
}
