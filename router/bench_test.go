//go:build unix

package router

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/onceward/onceward"
)

// BenchmarkCallOverhead compares three ways to make the same request of the same
// server and read its answer of 55 events to the end: a bare HTTP client, the
// SDK that the router sends with, and the router. The ways take turns, so that
// what else the machine does falls on all of them, and what counts is the
// processor time of this process: user and system, server and collector
// included. The figures are medians of the turns.
func BenchmarkCallOverhead(b *testing.B) {
	events := []string{evCreated, evAdded}
	for range 50 {
		events = append(events, `{"type":"response.output_text.delta","output_index":0,"delta":"hello "}`)
	}
	s := serve(b, stream(append(events, evDone, evEnd)...))
	for _, kb := range []int{2, 48} {
		b.Run(fmt.Sprintf("%dKB", kb), func(b *testing.B) {
			r := pool(b, Config{}, resource("a", s.URL+"/v1"))
			req := routed(b, r, "a")
			for range kb { // a transcript of turns, about 1 KB each
				req.Items = append(req.Items, text(b, "user", strings.Repeat("How is my order? ", 27)), text(b, "assistant", strings.Repeat("It is on its way. ", 21)))
			}
			mustCall(b, r, req)
			body := s.body.Load().([]byte)
			compare(b, len(body), []way{
				{"bare", bareCall(b, s.URL, body)},
				{"sdk", sdkCall(b, s.URL, body)},
				{"router", func() { mustCall(b, r, req) }},
			})
		})
	}
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
// last costs beyond the first.
func compare(b *testing.B, size int, ways []way) {
	spent := make([][]float64, len(ways))
	count := make([][]float64, len(ways))
	for b.Loop() {
		for i, w := range ways {
			runtime.GC() // every turn begins with the same heap
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := processorTime(b)
			for range turn {
				w.call()
			}
			spent[i] = append(spent[i], float64(processorTime(b)-began)/turn)
			runtime.ReadMemStats(&after)
			count[i] = append(count[i], float64(after.Mallocs-before.Mallocs)/turn)
		}
	}
	for i, w := range ways {
		b.ReportMetric(median(spent[i]), w.name+"-cpu-ns")
		b.ReportMetric(median(count[i]), w.name+"-allocs")
	}
	last := len(ways) - 1
	b.ReportMetric(median(spent[last])-median(spent[0]), "overhead-cpu-ns")
	b.ReportMetric(float64(size), "request-bytes")
	b.ReportMetric(0, "ns/op") // the time of all ways together says nothing
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// processorTime is what this process has used of all processors.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func bareCall(b *testing.B, url string, body []byte) func() {
	client := &http.Client{Transport: newTransport()}
	return func() {
		res, err := client.Post(url+"/v1/responses", "application/json", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		drainBody(b, res)
	}
}

func sdkCall(b *testing.B, url string, body []byte) func() {
	client := openai.Client{Options: []option.RequestOption{
		option.WithHTTPClient(&http.Client{Transport: newTransport()}), option.WithBaseURL(url + "/v1/"), option.WithMaxRetries(0),
	}}
	return func() {
		var res *http.Response
		if err := client.Post(context.Background(), "responses", body, &res); err != nil {
			b.Fatal(err)
		}
		drainBody(b, res)
	}
}

func drainBody(b *testing.B, res *http.Response) {
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		b.Fatal(err)
	}
	_ = res.Body.Close()
}

// BenchmarkClientFaults sends a poisoned run's requests; go test -bench
// ClientFaults -benchtime 25000x is the reported case.
func BenchmarkClientFaults(b *testing.B) {
	s := serve(b, reply(400, "application/json", missingOutput))
	r := pool(b, Config{}, resource("a", s.URL))
	req := routed(b, r, "a")
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
