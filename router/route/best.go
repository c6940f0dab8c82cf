package route

import (
	"fmt"
	"math"

	"github.com/onceward/onceward"
)

// Bounded load: a run leaves its resource when that has more than loadFactor
// times its share of what is in flight. Small numbers say nothing, so the bound
// is at least loadFloor.
const (
	loadFactor = 1.25
	loadFloor  = 8
)

// best takes the best of the candidates left, and says why. Candidates that can
// read the run's reasoning come before those that cannot.
func (s *selection) best(affinity bool, left []passed) (*passed, string) {
	if len(left) == 0 {
		return nil, ""
	}
	n := 0
	for i := range left {
		if !left[i].strip {
			left[n], left[i] = left[i], left[n]
			n++
		}
	}
	if n > 0 && n < len(left) {
		left = left[:n]
	}
	if len(left) == 1 {
		if left[0].Name == s.req.Warm {
			return &left[0], "warm prompt cache"
		}
		return &left[0], "the only candidate left"
	}
	if affinity {
		return s.affine(left)
	}
	return s.lighter(left), "less load of two"
}

// affine takes the resource with the warm prompt cache, else the winner of the
// rendezvous, each only inside its bound of load.
func (s *selection) affine(left []passed) (*passed, string) {
	total, weights, equal := int64(1), 0.0, true
	for i := range left {
		equal = equal && left[i].Weight == left[0].Weight
		total += left[i].Resource.Health.InFlight.Load()
		weights += left[i].Weight
	}
	share := loadFactor * float64(total) / weights
	bound := func(p *passed) float64 { return max(math.Ceil(share*p.Weight), loadFloor) }
	fits := func(p *passed) bool { return float64(p.Resource.Health.InFlight.Load()+1) <= bound(p) }

	if s.req.Warm != "" {
		for i := range left {
			if p := &left[i]; p.Name == s.req.Warm {
				if fits(p) {
					return p, "warm prompt cache"
				}
				s.overloaded(p, bound(p))
			}
		}
	}
	key := hash(1, s.req.RunKey)
	var best, first *passed
	var high, highest float64
	for i := range left {
		p := &left[i]
		v := uniform(key, p.seed)
		if !equal {
			v = score(key, p.seed, p.Weight)
		}
		if first == nil || v > highest {
			first, highest = p, v
		}
		if fits(p) && (best == nil || v > high) {
			best, high = p, v
		}
	}
	if best == nil {
		return s.lighter(left), "less load of two: all are above their share"
	}
	if first != best && first.Name != s.req.Warm {
		s.overloaded(first, bound(first))
	}
	if first != best {
		return best, "rendezvous, the first choice is above its share of load"
	}
	return best, "rendezvous"
}

func (s *selection) overloaded(p *passed, bound float64) {
	reason := fmt.Sprintf("%d requests in flight, its share is %.0f", p.Resource.Health.InFlight.Load(), bound)
	for _, d := range s.dropped {
		if d.Resource == p.Name && d.Model == p.Model && d.Step == StepLoad {
			return
		}
	}
	s.drop(onceward.Dropped{Resource: p.Name, Model: p.Model, Step: StepLoad, Reason: reason, Causes: because(onceward.ClassOverloaded)}, s.now)
}

// lighter looks at two candidates and takes the one with less to do. Looking at
// two keeps a crowd of workers from running to one idle resource together.
func (s *selection) lighter(left []passed) *passed {
	key := mix(hash(2, s.req.RunKey) + uint64(s.req.Turn)<<32 + uint64(s.req.Attempt))
	n := uint64(len(left))
	i := key % n
	j := (i + 1 + key>>32%(n-1)) % n
	a, b := &left[i], &left[j]
	// Latency counts only when both are known: an unknown one must get a chance.
	la, lb := a.Health.FirstEvent(), b.Health.FirstEvent()
	if la == 0 || lb == 0 {
		la, lb = 1, 1
	}
	load := func(p *passed, latency float64) float64 {
		return float64(p.Resource.Health.InFlight.Load()+1) * latency / p.Weight
	}
	if load(b, float64(lb)) < load(a, float64(la)) {
		return b
	}
	return a
}
