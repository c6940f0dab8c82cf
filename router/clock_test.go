package router

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward"
)

// utterance is what a host sends, and how long it waits before.
type utterance struct {
	after time.Duration
	text  string
}

// saying is a host that says this and then nothing more, ever.
func saying(list ...utterance) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		for _, s := range list {
			select {
			case <-time.After(s.after):
			case <-r.Context().Done():
				return
			}
			_, _ = io.WriteString(w, s.text)
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	}
}

// every repeats a text n times.
func every(pause time.Duration, n int, text string) []utterance {
	var list []utterance
	for range n {
		list = append(list, utterance{pause, text})
	}
	return list
}

// Time is that of the test's own clock.
func TestSilenceAndProgressHaveClocksOfTheirOwn(t *testing.T) {
	const minute = time.Minute
	begun := utterance{time.Second, frames(evCreated)}
	end := utterance{time.Second, frames(evAdded, evDone, evEnd)}
	thinking := onceward.Timeouts{FirstEvent: 10 * minute, Idle: 10 * minute, Silence: 30 * time.Second, Attempt: 15 * minute}
	patient, impatient := thinking, thinking
	patient.Silence = 0
	impatient.Idle = minute
	for name, c := range map[string]struct {
		says   []utterance
		limits onceward.Timeouts
		took   time.Duration // until the attempt failed; zero: it did not
		why    string
	}{
		"E17 a silent connection is noticed long before idle":        {[]utterance{begun}, thinking, 31 * time.Second, "not a byte"},
		"E17 and one that brings headers only, before first_event":   {nil, thinking, 30 * time.Second, "not a byte"},
		"E17 comments show that a silent model thinks":               {append(append([]utterance{begun}, every(20*time.Second, 20, ": keepalive\n\n")...), end), thinking, 0, ""},
		"E17 so do events that say nothing":                          {append(append([]utterance{begun}, every(20*time.Second, 20, frames(`{"type":"keepalive"}`))...), end), thinking, 0, ""},
		"E17 blank lines do as well":                                 {append(append([]utterance{begun}, every(20*time.Second, 20, "\n")...), end), thinking, 0, ""},
		"E17 silence kills nobody where none was set":                {[]utterance{begun, {9 * minute, end.text}}, patient, 0, ""},
		"without it idle notices":                                    {[]utterance{begun}, patient, 10*minute + time.Second, "further event"},
		"keepalives are no progress":                                 {append([]utterance{begun}, every(10*time.Second, 90, ": keepalive\n\n")...), impatient, minute + time.Second, "further event"},
		"keepalive events are none either":                           {append([]utterance{begun}, every(10*time.Second, 90, frames(`{"type":"ping"}`))...), impatient, minute + time.Second, "further event"},
		"a state that is told again and again is none":               {append([]utterance{begun}, every(10*time.Second, 90, frames(evCreated))...), impatient, minute + time.Second, "further event"},
		"pieces of an answer are":                                    {append(append([]utterance{begun}, every(25*time.Second, 20, frames(`{"type":"response.reasoning_summary_text.delta","delta":"x"}`))...), end), impatient, 0, ""},
		"silence between the pieces of an answer is noticed as well": {append([]utterance{begun}, utterance{time.Second, frames(evAdded)}), thinking, 32 * time.Second, "not a byte"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := pool(t, Config{Transport: piped(t, saying(c.says...)), LongestAttempt: 15 * minute, Breaker: Breaker{Window: time.Hour}}, resource("a", "http://a.example/v1"))
				req := routed(t, r, "a")
				req.Timeouts = c.limits
				started := time.Now()
				res, err := r.Call(context.Background(), req)
				if c.took == 0 {
					if err != nil || res.Text != "hi" {
						t.Errorf("%q, %v after %s", res.Text, err, time.Since(started))
					}
					return
				}
				f := failed(t, err)
				if took := time.Since(started); f.Class != onceward.ClassTimeout || !strings.Contains(f.Message, c.why) || took != c.took {
					t.Errorf("failure %+v after %s, want %q after %s", *f, took, c.why, c.took)
				}
			})
		})
	}
}

func TestChatKeepalivesAreNoProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		empty := `{"id":"c1","choices":[{"index":0,"delta":{"content":""}}]}`
		to := chatResource("a", "http://a.example/v1")
		r := pool(t, Config{Transport: piped(t, saying(append([]utterance{{time.Second, frames(chRole)}}, every(10*time.Second, 20, frames(empty))...)...))}, to)
		req := routed(t, r, "a")
		req.Timeouts = onceward.Timeouts{FirstEvent: time.Minute, Idle: 30 * time.Second, Attempt: 100 * time.Second}
		started := time.Now()
		_, err := r.Call(context.Background(), req)
		if f := failed(t, err); f.Class != onceward.ClassTimeout || time.Since(started) != 31*time.Second {
			t.Errorf("failure %+v after %s", *f, time.Since(started))
		}
	})
}
