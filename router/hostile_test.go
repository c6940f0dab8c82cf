package router

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// hostiles are refusals that repeat a caller's words, and other answers that a caller
// can bring about: every code and phrase that would disable a resource, in his mouth.
func hostiles(t *testing.T) (list []struct {
	Status int    `json:"status"`
	Body   string `json:"body"`
}) {
	t.Helper()
	for _, name := range []string{"hostile", "errors", "more"} {
		f, err := os.Open("classify/testdata/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var line struct {
				Status int             `json:"status"`
				Body   json.RawMessage `json:"body"`
			}
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				t.Fatal(err)
			}
			var body string
			if json.Unmarshal(line.Body, &body) != nil {
				body = string(line.Body)
			}
			if line.Status >= 200 && body != "" {
				list = append(list, struct {
					Status int    `json:"status"`
					Body   string `json:"body"`
				}{line.Status, body})
			}
		}
		_ = f.Close()
	}
	return list
}

// Whatever a resource answers one run with, others are served, and no word of it is in
// what goes to the pool's record.
func TestNoAnswerOfARunSwitchesAResourceOff(t *testing.T) {
	list := hostiles(t)
	t.Logf("%d answers", len(list))
	if len(list) < 300 {
		t.Fatalf("only %d answers", len(list))
	}
	inLab(t, []string{"a"}, nil, func(l *lab) {
		for i, h := range list {
			l.set("a", runsOnly(always(h.Status, h.Body)))
			l.call("a", fmt.Sprint("hostile ", i), "x")
			l.settle(0)
			st := status(t, l.r, "a")
			if st.Disabled != nil || st.Breaker != "closed" {
				t.Errorf("%d %.300s: %+v", h.Status, h.Body, st)
			}
			l.set("a", fine)
			l.settle(6 * time.Minute) // strikes, windows and pauses are over
			if f := l.call("a", fmt.Sprint("another ", i), "x"); f != nil {
				t.Fatalf("after %d %.300s: %+v", h.Status, h.Body, f)
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, c := range l.changes {
			if c.Event == EventDisabled || c.Event == EventConvicted || c.Event == EventOpened || c.Test != nil && c.Test.Error != "" || strings.Contains(c.Reason, "{") {
				t.Fatalf("told %+v", c)
			}
		}
	})
}
