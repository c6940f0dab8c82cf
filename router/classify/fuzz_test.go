package classify

import (
	"bytes"
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
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
		if got.RetryAfter < 0 || got.RetryAfter > maxDelay {
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

func TestHostileBodiesStayBounded(t *testing.T) {
	for name, body := range map[string][]byte{
		"deep lists":        bytes.Repeat([]byte("["), 10<<20),
		"deep objects":      bytes.Repeat([]byte(`{"error":`), 1<<20),
		"one long string":   append([]byte(`{"error":{"message":"`), bytes.Repeat([]byte("a"), 10<<20)...),
		"escapes":           append([]byte(`{"message":"`), bytes.Repeat([]byte(`\u0041`), 1<<20)...),
		"braces in a text":  append([]byte(`x`), bytes.Repeat([]byte(`{"`), 1<<20)...),
		"nested strings":    bytes.Repeat([]byte(`{"message":"{\"message\":\"`), 1<<18),
		"open tags":         bytes.Repeat([]byte("<script>"), 1<<20),
		"frames":            bytes.Repeat([]byte("data: {}\n"), 1<<20),
		"try again":         bytes.Repeat([]byte("try again in 1"), 1<<18),
		"model model model": bytes.Repeat([]byte("model 'not "), 1<<18),
	} {
		t.Run(name, func(t *testing.T) {
			took := time.Duration(math.MaxInt64) // the fastest of a few: what else the machine does only adds
			allocs := math.Inf(1)
			for try := 0; try < 5 && (took > 2*time.Second || allocs > 100_000); try++ {
				start := time.Now()
				allocs = min(allocs, testing.AllocsPerRun(1, func() {
					for _, status := range []int{200, 400, 503} {
						Classify(Input{Status: status, Body: body})
					}
				}))
				took = min(took, time.Since(start))
			}
			if took > 2*time.Second {
				t.Errorf("took %v", took)
			}
			if allocs > 100_000 {
				t.Errorf("%v allocations", allocs)
			}
		})
	}
}

func TestPhrasesCanMatch(t *testing.T) {
	for _, r := range table().rules {
		if !r.class.Known() {
			t.Errorf("rule with unknown class %q", r.class)
		}
		for _, list := range [][]string{r.any, r.all, r.none} {
			for _, p := range list {
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
