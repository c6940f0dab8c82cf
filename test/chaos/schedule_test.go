package chaos

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// schedule is what happens to a few runs of one agent.
type schedule struct {
	seed   uint64
	agent  writer
	runs   int  // that are open at each step, each with an order of its own
	own    bool // the server is this schedule's own, and may be restarted
	sealed bool // a codec is around every payload, and may fail
	steps  []step
}

// writer is the kind of write that a schedule is about.
type writer struct {
	workflow string
	tools    string // name of the agent in activity types
	keyed    bool   // the product knows keys, and the tool says so
	timid    bool   // the tool never sends again by itself
	delayed  bool   // the product finishes later, so that a run may end before it
}

var writers = []writer{
	{workflow: "RefundWorkflow", tools: "refunds"},
	{workflow: "RefundWorkflow", tools: "refunds"},
	{workflow: "KeyedWorkflow", tools: "keyed", keyed: true},
	{workflow: "UnsettledWorkflow", tools: "unsettled", timid: true},
	{workflow: "OnceWorkflow", tools: "once"},
	{workflow: "VerifiedWorkflow", tools: "verified"},
	{workflow: "AcceptingWorkflow", tools: "accepting", delayed: true},
}

// step is one fault and the signal at which it strikes: the n-th one from the
// moment in which the step before was done.
type step struct {
	actor actor
	on    signal
	nth   int
	holds bool // what gave the signal waits until the fault has struck
	lasts int  // over how many further steps it lasts, where it lasts at all
}

func (s step) String() string { return fmt.Sprintf("%s %d", s.on, s.nth) }

func (s schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %s", s.runs, s.agent.workflow)
	if s.own {
		b.WriteString(" on a server of its own")
	}
	if s.sealed {
		b.WriteString(" under a codec")
	}
	for _, step := range s.steps {
		fmt.Fprintf(&b, "; %s: %s", step, step.actor.name)
		if step.holds {
			b.WriteString(" (held)")
		}
	}
	return b.String()
}

// restarts is how often a schedule has a server of its own: one in so many.
const restarts = 10

// draw makes the schedule of a seed.
func draw(seed uint64) schedule {
	dice := rand.New(rand.NewPCG(seed, 0))
	s := schedule{seed: seed, agent: writers[dice.IntN(len(writers))], runs: 1 + dice.IntN(3), own: seed%restarts == 0, sealed: dice.IntN(4) == 0}
	for range 4 + dice.IntN(4) {
		at := signals[dice.IntN(len(signals))]
		s.steps = append(s.steps, step{
			actor: choose(dice, s), on: at.signal, nth: 1 + dice.IntN(at.often), holds: dice.IntN(2) == 0, lasts: 1 + dice.IntN(2),
		})
	}
	return s
}

// choose draws an actor by its weight.
func choose(dice *rand.Rand, s schedule) actor {
	total := 0
	for _, a := range actors {
		total += a.share(s)
	}
	at := dice.IntN(total)
	for _, a := range actors {
		if at -= a.share(s); at < 0 {
			return a
		}
	}
	panic("the weights of the actors do not add up")
}
