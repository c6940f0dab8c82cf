// Package shape counts how many requests turns took. A pool whose members do not
// know each other's state shows in it as a spike: N-1 failures, then one success.
package shape

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
)

// Request is one HTTP request to a resource.
type Request struct {
	Resource string
	Class    onceward.Class // of its failure; empty: it succeeded
}

// Turn is the requests for one answer of a model, in order.
type Turn []Request

// answered reports whether the last request gave the answer.
func (t Turn) answered() bool { return len(t) > 0 && t[len(t)-1].Class == "" }

// Shape is the output of onceward shape --json. It is a plain value.
type Shape struct {
	Runs      int        `json:"runs"`
	Turns     int        `json:"turns"` // answered or given up
	Requests  int        `json:"requests"`
	Failed    int        `json:"failed_requests"`
	Attempts  []Attempts `json:"attempts"` // without gaps, from 1
	Resources []Resource `json:"resources"`
}

// Attempts counts the turns that took a number of requests.
type Attempts struct {
	Attempts   int `json:"attempts"`
	Answered   int `json:"answered"`   // attempts-1 failures, then a success
	Unanswered int `json:"unanswered"` // failures only
}

// Resource counts the requests to one resource, and its failures by class.
type Resource struct {
	Resource string                 `json:"resource"`
	Requests int                    `json:"requests"`
	Failed   int                    `json:"failed_requests"`
	Classes  map[onceward.Class]int `json:"classes"`
}

// FailedShare is the part of all requests that failed, 0 for none.
func (s Shape) FailedShare() float64 {
	if s.Requests == 0 {
		return 0
	}
	return float64(s.Failed) / float64(s.Requests)
}

// Of counts the turns of a number of runs. Turns without a request are left out.
func Of(runs int, turns []Turn) Shape {
	s := Shape{Runs: runs, Attempts: []Attempts{}, Resources: []Resource{}}
	resources := map[string]*Resource{}
	for _, turn := range turns {
		if len(turn) == 0 {
			continue
		}
		s.Turns++
		for len(s.Attempts) < len(turn) {
			s.Attempts = append(s.Attempts, Attempts{Attempts: len(s.Attempts) + 1})
		}
		if turn.answered() {
			s.Attempts[len(turn)-1].Answered++
		} else {
			s.Attempts[len(turn)-1].Unanswered++
		}
		for _, request := range turn {
			r := resources[request.Resource]
			if r == nil {
				r = &Resource{Resource: request.Resource, Classes: map[onceward.Class]int{}}
				resources[request.Resource] = r
			}
			s.Requests++
			r.Requests++
			if request.Class != "" {
				s.Failed++
				r.Failed++
				r.Classes[request.Class]++
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		s.Resources = append(s.Resources, *resources[name])
	}
	return s
}

// Turns splits a run's attempts, in order of time, into turns. A turn that was
// answered and is asked once more after a reset is another turn. One that is in
// flight is left out: nobody knows yet what it took.
func Turns(attempts []show.Attempt) []Turn {
	var turns []Turn
	open := map[int]Turn{}
	for _, a := range attempts {
		if a.Resource == nil || a.NotSent {
			continue
		}
		turn := open[a.Turn]
		switch {
		case a.Class != nil:
			open[a.Turn] = append(turn, Request{Resource: *a.Resource, Class: *a.Class})
		case a.Phase == nil:
			delete(open, a.Turn)
		default:
			turns = append(turns, append(turn, Request{Resource: *a.Resource}))
			delete(open, a.Turn)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(open)) {
		turns = append(turns, open[n])
	}
	return turns
}

// barWidth is that of the longest bar.
const barWidth = 40

// Print writes both tables for people.
func (s Shape) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d runs, %d turns, %d requests, %d of them failed (%.1f %%)\n", s.Runs, s.Turns, s.Requests, s.Failed, 100*s.FailedShare())
	if s.Turns > 0 {
		most := 0
		for _, a := range s.Attempts {
			most = max(most, a.Answered+a.Unanswered)
		}
		t := show.NewTable("attempts", "turns answered", "not answered", "")
		for _, a := range s.Attempts {
			n := a.Answered + a.Unanswered
			bar := strings.Repeat("#", n*barWidth/most)
			if n > 0 && bar == "" {
				bar = "#"
			}
			t.AppendRow(table.Row{a.Attempts, a.Answered, a.Unanswered, bar})
		}
		b.WriteString(show.Render(t) + "\n")
		t = show.NewTable("resource", "requests", "failed", "by class")
		for _, r := range s.Resources {
			var classes []string
			for _, class := range slices.Sorted(maps.Keys(r.Classes)) {
				classes = append(classes, fmt.Sprintf("%s %d", class, r.Classes[class]))
			}
			t.AppendRow(table.Row{r.Resource, r.Requests, r.Failed, strings.Join(classes, ", ")})
		}
		b.WriteString(show.Render(t) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
