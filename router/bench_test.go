package router

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/onceward/onceward"
)

// BenchmarkCallOverhead compares an attempt with a bare HTTP client that sends
// the same bytes to the same server and reads the answer to its end.
func BenchmarkCallOverhead(b *testing.B) {
	events := []string{evCreated, evAdded}
	for range 50 {
		events = append(events, `{"type":"response.output_text.delta","output_index":0,"delta":"hello "}`)
	}
	s := serve(b, stream(append(events, evDone, evEnd)...))
	r := pool(b, Config{}, resource("a", s.URL+"/v1"))
	req := routed(b, r, "a")
	mustCall(b, r, req)
	body := s.body.Load().([]byte)
	b.Run("bare client", func(b *testing.B) {
		client := &http.Client{Transport: newTransport()}
		b.ReportAllocs()
		for b.Loop() {
			res, err := client.Post(s.URL+"/v1/responses", "application/json", bytes.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, res.Body); err != nil {
				b.Fatal(err)
			}
			_ = res.Body.Close()
		}
	})
	b.Run("router", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			mustCall(b, r, req)
		}
	})
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
