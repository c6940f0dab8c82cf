package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/onceward/onceward/test/harness"
)

// Where the environment does not say: the schedules of make test are the same
// each time, and few enough for it.
const (
	usualSeed      = 1
	usualSchedules = 40
)

// TestChaos draws schedules from CHAOS_SEED and the numbers after it, CHAOS of
// them. One of them again: CHAOS=1 CHAOS_SEED=its seed.
func TestChaos(t *testing.T) {
	seed, n := uint64(usualSeed), usualSchedules
	for name, to := range map[string]any{"CHAOS_SEED": &seed, "CHAOS": &n} {
		if text := os.Getenv(name); text != "" {
			if _, err := fmt.Sscan(text, to); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	server := durable(t)
	for i := range uint64(n) {
		t.Run(fmt.Sprint(seed+i), func(t *testing.T) {
			t.Parallel()
			play(t, draw(seed+i), server)
		})
	}
}

// A schedule is what its seed says and nothing else, or a failure could not be
// seen again.
func TestScheduleFollowsFromItsSeed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for seed := range uint64(200) {
		one, two := draw(seed).String(), draw(seed).String()
		if one != two {
			t.Fatalf("seed %d is %s and %s", seed, one, two)
		}
		for _, s := range draw(seed).steps {
			seen[s.actor.name] = true
		}
	}
	for _, a := range actors {
		if !seen[a.name] {
			t.Errorf("no schedule has %q", a.name)
		}
	}
}

// play carries out a schedule and holds what came of it against the promises.
func play(t *testing.T, s schedule, server *harness.Temporal) {
	t.Logf("CHAOS=1 CHAOS_SEED=%d make chaos: %s", s.seed, s)
	if s.own {
		server = durable(t)
	}
	w, began := newWorld(t, s, server), time.Now()
	w.start()
	for i, step := range s.steps {
		w.recover(i)
		w.busy()
		w.await(step)
		did, heal := step.actor.act(w, rand.New(rand.NewPCG(s.seed, uint64(i)+1)))
		w.signals.let()
		t.Logf("%.1f s, %s: %s, %s", time.Since(began).Seconds(), step, step.actor.name, did)
		if heal != nil {
			w.lasting = append(w.lasting, lasting{until: i + 1 + step.lasts, heal: heal})
		}
	}
	w.settle()
	t.Logf("%.1f s: all is closed", time.Since(began).Seconds())
	w.judge()
}

// durable is a server that writes to a file. One in memory is no use here: when
// the machine is so slow that its queries time out, it can lose all that it has.
func durable(t *testing.T) *harness.Temporal {
	t.Helper()
	server, err := harness.Server{Durable: true}.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return server
}
