package classify

import (
	"bytes"
	"encoding/binary"
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

func TestPhraseTableFits(t *testing.T) {
	tab := table()
	if n := len(tab.phraseRules); n > maxBits {
		t.Errorf("%d phrases, room for %d", n, maxBits)
	}
	if n := len(tab.rules); n > maxRules {
		t.Errorf("%d rules, room for %d", n, maxRules)
	}
	if n := len(tab.index.out); n >= 1<<16 {
		t.Errorf("%d states do not fit 16 bits", n)
	}
	if n := tab.index.most; n > math.MaxUint8 {
		t.Errorf("a phrase of %d bytes: the depth of a state has 8 bits", n)
	}
	for _, r := range tab.rules {
		if !r.class.Known() {
			t.Errorf("rule with unknown class %q", r.class)
		}
		for _, list := range [][]string{r.any, r.all, r.none} {
			for _, p := range list {
				if p != strings.ToLower(p) || strings.ContainsAny(p, "\"`’") {
					t.Errorf("%q can never match: texts are in lower case with one kind of quote", p)
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

// foldEight is a copy of fold for eight bytes; this holds them together.
func FuzzEightBytesAreFoldedAsOne(f *testing.F) {
	for _, s := range []string{"ABCxyz@[", "a  b c d", " leading", "\"quoted`", "tab\there", "99.9 {|}", "caf\xc3\xa9 ok", "trailing "} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, in []byte, after bool) {
		if len(in) < 8 {
			return
		}
		last := uint8(0)
		if after {
			last = 1
		}
		got, ok := foldEight(binary.LittleEndian.Uint64(in), last)
		var want [8]byte
		plain, blank := true, after
		for i, c := range in[:8] {
			want[i] = fold[c]
			lower := c >= 'A' && c <= 'Z'
			plain = plain && c < 0x80 && (want[i] == c || lower) && c >= ' ' && !(blank && c == ' ')
			blank = c == ' '
		}
		if ok != plain || ok && got != binary.LittleEndian.Uint64(want[:]) {
			t.Fatalf("%q after a blank %v: %x %v, want %x %v", in[:8], after, got, ok, want, plain)
		}
	})
}
