package classify

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/waits"
)

func FuzzClassify(f *testing.F) {
	for _, l := range readCases(f, "testdata/errors.jsonl") {
		status := 0
		if l.Status != nil {
			status = *l.Status
		}
		f.Add(string(l.Transport), status, "1", []byte(l.Body))
	}
	f.Add("http", 200, "-5", []byte(strings.Repeat("[", 5000)))
	f.Add("http", 400, "1e309", []byte(`{"error":"{\"error\":\"{\\\"error\\\":\\\"{}\\\"}\"}"}`))
	f.Add("sse", 200, "Wed, 21 Oct 2015 07:28:00 GMT", []byte("data: {\ndata: \n:\n\nevent: error\ndata: \\u12"))
	f.Add("connection", 0, "9999999999999", []byte("\xff\xfe\x00<"))
	f.Fuzz(func(t *testing.T, transport string, status int, retryAfter string, body []byte) {
		in := Input{Transport: Transport(transport), Status: status, Body: body, Header: http.Header{"Retry-After": {retryAfter}, "X-Ratelimit-Reset": {retryAfter}}}
		got := Classify(in)
		if !got.Class.Known() {
			t.Fatalf("class %q is not in the table", got.Class)
		}
		if len(got.Message) > onceward.MaxFailureMessage {
			t.Fatalf("message of %d bytes", len(got.Message))
		}
		if got.RetryAfter < 0 || got.RetryAfter > waits.Max {
			t.Fatalf("wait of %v", got.RetryAfter)
		}
		switch got.Class {
		case onceward.ClassContentFiltered, onceward.ClassPolicyBlocked, onceward.ClassRefusal:
			if got.FallbackEligible {
				t.Fatalf("%s is routed around", got.Class)
			}
		default:
		}
		if again := Classify(in); again.Class != got.Class {
			t.Fatalf("%s, then %s", got.Class, again.Class)
		}
		Terminal(body)
	})
}

// Work grows with the body, not with its square, and ends at MaxBody. It is counted in
// allocations and in the bytes of text that were looked at, never in time.
func TestHostileBodiesStayBounded(t *testing.T) {
	for name, piece := range map[string]string{
		"deep lists": "[", "deep objects": `{"error":`, "escapes": `\u0041`, "braces in a text": `x{"`, "nested strings": `{"message":"{\"message\":\"`,
		"open tags": "<script>", "open comments": "<!--<html>", "frames": "data: {}\n", "try again": "try again in 1", "model model model": "model 'not ",
		"long quotes": `{"error":{"message":"` + strings.Repeat("a'", 200), "errors": "AError: ", "locations": `"loc":["body","input",`,
		"forms": "invalid value '{", "pairs": `{'code': 'x', `, "colons": "tool: ",
	} {
		t.Run(name, func(t *testing.T) {
			work := func(size int) (allocs float64) {
				body := []byte(strings.Repeat(piece, size/len(piece)+1))
				return testing.AllocsPerRun(1, func() {
					for _, status := range []int{200, 400, 503} {
						if e := read(Input{Status: status, Body: body}); len(e.text) > 2*maxText {
							t.Errorf("%d bytes of text", len(e.text))
						}
						Classify(Input{Status: status, Body: body})
					}
				})
			}
			half, whole, more := work(MaxBody/2), work(MaxBody), work(160*MaxBody)
			if whole > 2.5*half+2000 || more > 1.1*whole+2000 {
				t.Errorf("%v allocations for half of MaxBody, %v for MaxBody, %v for more", half, whole, more)
			}
		})
	}
}

func TestPhrasesCanMatch(t *testing.T) {
	for _, r := range table().rules {
		if !r.class.Known() {
			t.Errorf("rule with unknown class %q", r.class)
		}
		w := wordings()[r.words]
		if w == nil {
			continue
		}
		for _, kind := range []string{"says", "all", "not"} {
			for _, p := range w.lists[kind] {
				if len(p) < 3 || p != strings.ToLower(p) || strings.ContainsAny(p, "\"`’") {
					t.Errorf("%q can never match: texts are in lower case with one kind of quote, and three bytes are looked up", p)
				}
			}
		}
	}
}

func TestTransportErrorsAreReadFromErr(t *testing.T) {
	for text, want := range map[string]onceward.Class{
		"dial tcp 127.0.0.1:1: connect: connection refused": onceward.ClassNetwork,
		"context canceled":          onceward.ClassCancelled,
		"context deadline exceeded": onceward.ClassTimeout,
		"a text nobody has seen":    onceward.ClassNetwork,
	} {
		if got := Classify(Input{Transport: Connection, Err: errors.New(text)}); got.Class != want {
			t.Errorf("%q: got %s, want %s", text, got.Class, want)
		}
	}
}
