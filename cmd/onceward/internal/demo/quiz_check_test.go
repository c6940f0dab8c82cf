package demo

import (
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
)

func asks(a, b, c, d int) map[string]int { return map[string]int{"A": a, "B": b, "C": c, "D": d} }

// quizRun is a run whose attempts went to resources in turn; an empty class is
// the answer.
func quizRun(asked map[string]int, attempts ...string) QuizRun {
	outcome, phase := onceward.OutcomeCompleted, onceward.PhaseSettled
	r := QuizRun{Asked: asked, Run: show.Report{Outcome: &outcome}}
	for i := 0; i+1 < len(attempts); i += 2 {
		a := show.Attempt{Turn: 1, Attempt: i/2 + 1, Resource: &attempts[i], Phase: &phase}
		if attempts[i+1] != "" {
			class := onceward.Class(attempts[i+1])
			a.Class = &class
		}
		r.Run.Attempts = append(r.Run.Attempts, a)
	}
	r.Run.Budget.Attempts.Used = len(attempts) / 2
	return r
}

func toldQuiz() *QuizStory {
	return &QuizStory{
		Killed: true,
		Record: onceward.PoolHealth{Disabled: []onceward.Disabled{{Resource: "A", Class: onceward.ClassBilling, Reason: "no credit"}}},
		Runs: []QuizRun{
			quizRun(asks(1, 1, 1, 1), "A", "billing", "B", "empty_output", "C", "invalid_output", "D", ""),
			quizRun(asks(0, 1, 1, 1), "B", "empty_output", "C", "invalid_output", "D", ""),
		},
	}
}

func TestEachClaimOfTheQuizCanBreak(t *testing.T) {
	t.Parallel()
	failed := onceward.OutcomeFailed
	for name, c := range map[string]struct {
		change func(s *QuizStory)
		broken int
	}{
		"the story as it is told":           {func(*QuizStory) {}, 0},
		"no runs":                           {func(s *QuizStory) { s.Runs = nil }, 6},
		"a resource asked twice":            {func(s *QuizStory) { s.Runs[0].Asked["B"] = 2 }, 2}, // one more request than was reserved
		"a resource not asked":              {func(s *QuizStory) { s.Runs[0].Asked["C"] = 0 }, 1},
		"another class":                     {func(s *QuizStory) { *s.Runs[0].Run.Attempts[1].Class = onceward.ClassNetwork }, 1},
		"the first run failed":              {func(s *QuizStory) { s.Runs[0].Run.Outcome = &failed }, 1},
		"the second run failed":             {func(s *QuizStory) { s.Runs[1].Run.Outcome = &failed }, 1},
		"nothing is disabled":               {func(s *QuizStory) { s.Record.Disabled = nil }, 1},
		"disabled without a reason":         {func(s *QuizStory) { s.Record.Disabled[0].Reason = "" }, 1},
		"the worker lived on":               {func(s *QuizStory) { s.Killed = false }, 1},
		"the second run asked A":            {func(s *QuizStory) { s.Runs[1].Asked["A"] = 1; s.Runs[1].Asked["B"] = 0 }, 1},
		"the second run asked D twice":      {func(s *QuizStory) { s.Runs[1].Asked["D"] = 2; s.Runs[1].Asked["B"] = 0 }, 1},
		"the second run has C's answer":     {func(s *QuizStory) { s.Runs[1].Run.Attempts[1].Class = nil }, 1},
		"a request that was never reserved": {func(s *QuizStory) { s.Runs[1].Run.Budget.Attempts.Used = 2 }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := toldQuiz()
			c.change(s)
			s.claim(s.claims())
			if len(s.Broken()) != c.broken || s.Holds != (c.broken == 0) {
				t.Errorf("holds %t, broken %v, want %d", s.Holds, s.Broken(), c.broken)
			}
		})
	}
}
