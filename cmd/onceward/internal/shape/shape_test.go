package shape

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
)

func attempt(turn int, resource string, class onceward.Class) show.Attempt {
	a := show.Attempt{Turn: turn}
	phase := onceward.PhaseSettled
	a.Phase = &phase
	if resource != "" {
		a.Resource = &resource
	}
	if class != "" {
		a.Class = &class
	}
	return a
}

func TestAttemptsAreSplitIntoTurns(t *testing.T) {
	t.Parallel()
	notSent := attempt(1, "A", onceward.ClassWorkerLost)
	notSent.NotSent = true
	inFlight := attempt(2, "B", "")
	inFlight.Phase = nil
	for name, c := range map[string]struct {
		attempts []show.Attempt
		want     []Turn
	}{
		"no attempts": {nil, nil},
		"failures, then a success, then a turn at once": {
			[]show.Attempt{attempt(1, "A", onceward.ClassNetwork), attempt(1, "B", ""), attempt(2, "B", "")},
			[]Turn{{{"A", onceward.ClassNetwork}, {"B", ""}}, {{"B", ""}}},
		},
		"what was not sent and what found no route is no request": {
			[]show.Attempt{notSent, attempt(1, "", onceward.ClassNoRoute), attempt(1, "A", "")}, []Turn{{{"A", ""}}},
		},
		"a turn that was given up":             {[]show.Attempt{attempt(1, "A", onceward.ClassBilling)}, []Turn{{{"A", onceward.ClassBilling}}}},
		"a turn in flight says nothing yet":    {[]show.Attempt{attempt(2, "A", onceward.ClassNetwork), inFlight}, nil},
		"a turn asked once more after a reset": {[]show.Attempt{attempt(1, "A", ""), attempt(1, "A", "")}, []Turn{{{"A", ""}}, {{"A", ""}}}},
	} {
		if got := Turns(c.attempts); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Round robin over three members that keep their own state: the first turn
// succeeds at once, the second on the third attempt.
func TestSpikeOfRoundRobinIsVisible(t *testing.T) {
	t.Parallel()
	var turns []Turn
	for range 4 {
		turns = append(turns, Turn{{"A", ""}}, Turn{{"B", onceward.ClassResourceAffinity}, {"C", onceward.ClassResourceAffinity}, {"A", ""}})
	}
	turns = append(turns, Turn{{"B", onceward.ClassNetwork}}, nil)
	s := Of(5, turns)
	want := []Attempts{{1, 4, 1}, {2, 0, 0}, {3, 4, 0}}
	if s.Turns != 9 || s.Requests != 17 || s.Failed != 9 || !reflect.DeepEqual(s.Attempts, want) {
		t.Errorf("%+v, want attempts %v", s, want)
	}
	var out bytes.Buffer
	if err := s.Print(&out); err != nil {
		t.Fatal(err)
	}
	squeezed := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"17 requests, 9 of them failed (52.9 %)", "2 0 0 3 4 0 ####", "B 5 5 network 1, resource_affinity 4"} {
		if !strings.Contains(squeezed, want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestNothingHasAShape(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := Of(0, nil).Print(&out); err != nil || !strings.Contains(out.String(), "0 runs") {
		t.Errorf("%q, %v", out.String(), err)
	}
}
