//go:build unix

package router

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	sdkresponses "github.com/openai/openai-go/v3/responses"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/internal/cputime"
	"github.com/onceward/onceward/router/wire"
)

// BenchmarkCallOverhead compares four ways to make the same request of the same
// server and read its answer of 54 events to the end. A bare HTTP client throws
// the bytes away, and so does the SDK that the router sends with; the SDK's own
// stream decodes every event, and the router returns a judged answer.
//
// The ways take turns, so that what else the machine does falls on all of them.
// What counts is the processor time of this process, user and system, the
// collector's included; the server is a process of its own. The figures are
// medians of the turns, the overheads those of the differences within a turn.
func BenchmarkCallOverhead(b *testing.B) {
	url := serverProcess(b)
	for _, kb := range []int{2, 48} {
		b.Run(fmt.Sprintf("%dKB", kb), func(b *testing.B) { compareCalls(b, kb, url, newTransport) })
	}
}

// BenchmarkCallInMemory is BenchmarkCallOverhead without a network, so that the
// kernel's share, and what it does to the caches, is left out.
func BenchmarkCallInMemory(b *testing.B) {
	answer := canned(frames(longAnswer()...))
	for _, kb := range []int{2, 48} {
		b.Run(fmt.Sprintf("%dKB", kb), func(b *testing.B) {
			compareCalls(b, kb, "http://resource.test", func() http.RoundTripper { return answer })
		})
	}
}

func compareCalls(b *testing.B, kb int, url string, transport func() http.RoundTripper) {
	r := pool(b, Config{Transport: transport()}, resource("a", url+"/v1"))
	req := routed(b, r, "a")
	for range kb { // of a transcript
		req.Items = append(req.Items, text(b, "user", strings.Repeat("How is my order? ", 27)), text(b, "assistant", strings.Repeat("It is on its way. ", 21)))
	}
	rendered, err := responses{}.render(req, wire.Target{Deployment: "dep-a", Boundary: "a", Capability: capable(), MaxOutputTokens: 1000})
	if err != nil {
		b.Fatal(err)
	}
	compare(b, len(rendered.Body), []way{
		{"bare", bareCall(b, url, transport(), rendered.Body)},
		{"sdk", sdkCall(b, url, transport(), rendered.Body)},
		{"sdk-stream", sdkStream(b, url, transport(), rendered.Body)},
		{"router", routerCall(b, r, req)},
	})
}

// longAnswer is an answer of 54 events.
func longAnswer() []string {
	events := []string{evCreated, evAdded}
	for range 50 {
		events = append(events, `{"type":"response.output_text.delta","output_index":0,"delta":"hello "}`)
	}
	return append(events, evDone, evEnd)
}

// serverVariable makes a run of this test binary the benchmark's server.
const serverVariable = "ONCEWARD_BENCH_SERVER"

// TestServerOfBenchmark is that server. It ends with its standard input.
func TestServerOfBenchmark(t *testing.T) {
	if os.Getenv(serverVariable) == "" {
		t.Skip("only for benchmarks")
	}
	s := serve(t, stream(longAnswer()...))
	fmt.Println(s.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func serverProcess(b *testing.B) (url string) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestServerOfBenchmark$")
	cmd.Env = append(os.Environ(), serverVariable+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	url, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(url)
}

// way is one way to do the same.
type way struct {
	name string
	call func()
}

// turn is how many calls a way makes before the next has its turn: enough for
// the goroutines that outlast a call not to matter.
const turn = 100

// compare lets the ways take turns and reports the medians of each, and what the
// last costs beyond the first and the second.
func compare(b *testing.B, size int, ways []way) {
	spent := make([][]float64, len(ways))
	count := make([][]float64, len(ways))
	for b.Loop() {
		for _, i := range rand.Perm(len(ways)) { // after a busy way the next is cheaper: that falls on all of them
			w := ways[i]
			runtime.GC() // every turn begins with the same heap
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := cputime.Used()
			for range turn {
				w.call()
			}
			spent[i] = append(spent[i], float64(cputime.Used()-began)/turn)
			runtime.ReadMemStats(&after)
			count[i] = append(count[i], float64(after.Mallocs-before.Mallocs)/turn)
		}
	}
	last := len(ways) - 1
	beyond := func(other int) float64 {
		more := make([]float64, len(spent[last]))
		for i := range more {
			more[i] = spent[last][i] - spent[other][i]
		}
		return median(more)
	}
	b.ReportMetric(beyond(0), "cpu-ns-beyond-"+ways[0].name)
	b.ReportMetric(beyond(1), "cpu-ns-beyond-"+ways[1].name)
	for i, w := range ways {
		b.ReportMetric(median(spent[i]), w.name+"-cpu-ns")
		b.ReportMetric(median(count[i]), w.name+"-allocs")
	}
	b.ReportMetric(float64(size), "request-bytes")
	b.ReportMetric(0, "ns/op") // the time of all ways together says nothing
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

func bareCall(b *testing.B, url string, transport http.RoundTripper, body []byte) func() {
	client := &http.Client{Transport: transport}
	return func() {
		res, err := client.Post(url+"/v1/responses", "application/json", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		drainBody(b, res)
	}
}

func sdkClient(url string, transport http.RoundTripper) openai.Client {
	return openai.Client{Options: []option.RequestOption{
		option.WithHTTPClient(&http.Client{Transport: transport}), option.WithBaseURL(url + "/v1/"), option.WithMaxRetries(0),
	}}
}

func sdkCall(b *testing.B, url string, transport http.RoundTripper, body []byte) func() {
	client := sdkClient(url, transport)
	return func() {
		var res *http.Response
		if err := client.Post(context.Background(), "responses", body, &res); err != nil {
			b.Fatal(err)
		}
		drainBody(b, res)
	}
}

func sdkStream(b *testing.B, url string, transport http.RoundTripper, body []byte) func() {
	client := sdkresponses.NewResponseService(sdkClient(url, transport).Options...)
	return func() {
		events := client.NewStreaming(context.Background(), sdkresponses.ResponseNewParams{}, option.WithRequestBody("application/json", body))
		n := 0
		for events.Next() {
			n++
		}
		if err := events.Err(); err != nil || n != 54 {
			b.Fatalf("%d events, %v", n, err)
		}
		_ = events.Close()
	}
}

// routerCall is not mustCall: b.Helper walks the stack, on the router's account.
func routerCall(b *testing.B, r *Router, req onceward.ModelRequest) func() {
	return func() {
		if _, err := r.Call(context.Background(), req); err != nil {
			b.Fatal(err)
		}
	}
}

func drainBody(b *testing.B, res *http.Response) {
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		b.Fatal(err)
	}
	_ = res.Body.Close()
}

// canned answers every request at once, after reading it.
type canned []byte

// RoundTrip implements http.RoundTripper.
func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(c)), Request: req,
	}, nil
}

// BenchmarkClientFaults sends a poisoned run's requests; go test -bench
// ClientFaults -benchtime 25000x is the reported case.
func BenchmarkClientFaults(b *testing.B) {
	s := serve(b, reply(400, "application/json", missingOutput))
	r := pool(b, Config{}, resource("a", s.URL))
	req := routed(b, r, "a")
	b.ReportAllocs()
	for b.Loop() {
		_, err := r.Call(context.Background(), req)
		if f := failed(b, err); f.Class != onceward.ClassMissingToolOutput {
			b.Fatalf("failure %+v", *f)
		}
	}
	if st := status(b, r, "a"); st.Breaker != "closed" || st.Disabled != nil {
		b.Fatalf("status %+v", st)
	}
}
