package demo

import (
	"fmt"
	"io"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
)

// claims is the whole of what the story proves.
func (s *QuizStory) claims() []Claim {
	var first, second QuizRun
	if len(s.Runs) == 2 {
		first, second = s.Runs[0], s.Runs[1]
	}
	disabled := "A is not disabled"
	for _, d := range s.Record.Disabled {
		if d.Resource == "A" && d.Class == onceward.ClassBilling && d.Reason != "" {
			disabled = fmt.Sprintf("A: %s, %s", d.Class, d.Reason)
		}
	}
	each, most := true, 0
	for _, m := range quizMembers {
		each = each && first.Asked[m.Name] == 1
		most = max(most, second.Asked[m.Name])
	}
	requests, used := 0, 0
	for _, r := range []QuizRun{first, second} {
		for _, n := range r.Asked {
			requests += n
		}
		used += r.Run.Budget.Attempts.Used
	}
	return []Claim{
		{"the first run asked A, B, C and D exactly once each", each && len(first.Asked) == len(quizMembers), asked(first)},
		{"each failure is on record with its class", walk(first.Run) == "A billing, B empty_output, C invalid_output, D ok", walk(first.Run)},
		{"the first run completed with D's answer", completed(first.Run) && answeredBy(first.Run) == "D", outcome(first.Run) + " by " + answeredBy(first.Run)},
		{"A is disabled in the Pool workflow, with its reason", disabled != "A is not disabled", disabled},
		{"the worker was killed and started again between the runs", s.Killed, fmt.Sprintf("killed: %t", s.Killed)},
		{"the second run did not ask A, and nobody twice", most == 1 && second.Asked["A"] == 0, asked(second)},
		{"the second run completed with D's answer", completed(second.Run) && answeredBy(second.Run) == "D", outcome(second.Run) + " by " + answeredBy(second.Run)},
		{"requests to resources are not more than attempts reserved", requests > 0 && requests <= used, fmt.Sprintf("%d requests, %d attempts", requests, used)},
	}
}

func asked(r QuizRun) string {
	var out []string
	for _, m := range quizMembers {
		out = append(out, fmt.Sprintf("%s %d", m.Name, r.Asked[m.Name]))
	}
	return strings.Join(out, ", ")
}

// walk is what a run's attempts came to, in order.
func walk(r show.Report) string {
	var out []string
	for _, a := range r.Attempts {
		name, class := "none", "ok"
		if a.Resource != nil {
			name = *a.Resource
		}
		if a.Class != nil {
			class = string(*a.Class)
		}
		out = append(out, name+" "+class)
	}
	return strings.Join(out, ", ")
}

func answeredBy(r show.Report) string {
	for _, a := range r.Attempts {
		if a.Class == nil && a.Phase != nil && a.Resource != nil {
			return *a.Resource
		}
	}
	return "nobody"
}

func outcome(r show.Report) string {
	if r.Outcome == nil {
		return "none"
	}
	return string(*r.Outcome)
}

func completed(r show.Report) bool { return outcome(r) == string(onceward.OutcomeCompleted) }

// Print implements Told.
func (s *QuizStory) Print(w io.Writer) error {
	for _, r := range s.Runs {
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
		if err := show.Print(w, r.Run); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(w, "\nUI", s.UI+"\n"); err != nil {
		return err
	}
	return s.printClaims(w)
}
