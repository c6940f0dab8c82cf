package demo

import (
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/cmd/onceward/internal/shape"
)

// toldPool is two runs over three resources as the story is told.
func toldPool() *PoolStory {
	lost := onceward.ClassResourceAffinity
	once := shape.Turn{{Resource: "A"}}
	spike := shape.Turn{{Resource: "B", Class: lost}, {Resource: "C", Class: lost}, {Resource: "A"}}
	return &PoolStory{
		Resources: 3, Completed: 2,
		// Three second turns to two first ones, so that more than half fail.
		Blind:    shape.Of(3, []shape.Turn{once, once, spike, spike, spike}),
		Onceward: shape.Of(2, []shape.Turn{once, once, once, once}),
		Caches:   []Cache{{Way: waySingle, OfSingle: 1}, {Way: wayAffinity, OfSingle: 0.99}, {Way: wayRound, OfSingle: 0.35}},
	}
}

func TestEachClaimOfThePoolCanBreak(t *testing.T) {
	t.Parallel()
	lost := onceward.ClassResourceAffinity
	for name, c := range map[string]struct {
		change func(s *PoolStory)
		broken int
	}{
		"the story as it is told":      {func(*PoolStory) {}, 0},
		"nothing was run":              {func(s *PoolStory) { *s = PoolStory{} }, 7},
		"round robin that finds state": {func(s *PoolStory) { s.Blind = shape.Of(1, []shape.Turn{{{Resource: "A"}}, {{Resource: "A"}}}) }, 2},
		"a turn beside the spike":      {func(s *PoolStory) { s.Blind.Attempts[1].Answered = 1 }, 1},
		"a run that did not complete":  {func(s *PoolStory) { s.Completed = 1 }, 1},
		"a request the pool refused":   {func(s *PoolStory) { s.Refused = 1 }, 1},
		"a failure on record": {func(s *PoolStory) {
			s.Onceward = shape.Of(2, []shape.Turn{{{Resource: "A", Class: lost}, {Resource: "B"}}, {{Resource: "A"}}, {{Resource: "A"}}, {{Resource: "A"}}})
		}, 2},
		"a cold cache":           {func(s *PoolStory) { s.Caches[1].OfSingle = 0.94 }, 1},
		"round robin kept warm":  {func(s *PoolStory) { s.Caches[2].OfSingle = 0.6 }, 1},
		"round robin never warm": {func(s *PoolStory) { s.Caches[2].OfSingle = 0 }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := toldPool()
			c.change(s)
			s.claim(s.claims())
			if len(s.Broken()) != c.broken || s.Holds != (c.broken == 0) {
				t.Errorf("holds %t, broken %v, want %d", s.Holds, s.Broken(), c.broken)
			}
		})
	}
}

func TestCachesAreComparedWithTheSingleResource(t *testing.T) {
	t.Parallel()
	var s PoolStory
	s.compare(Cache{Way: waySingle, Share: 0.5}, Cache{Way: wayRound, Share: 0.125})
	if len(s.Caches) != 2 || s.Caches[0].OfSingle != 1 || s.Caches[1].OfSingle != 0.25 {
		t.Errorf("%+v", s.Caches)
	}
	s = PoolStory{}
	if s.compare(Cache{Way: waySingle}, Cache{Way: wayRound, Share: 0.5}); s.Caches[1].OfSingle != 0 {
		t.Errorf("%+v against nothing", s.Caches)
	}
}
