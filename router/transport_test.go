package router

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/onceward/onceward"
)

// counted counts the pieces in which a connection is written to.
type counted struct {
	net.Conn
	pieces *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	c.pieces.Add(1)
	return c.Conn.Write(p)
}

func TestRequestIsSentInOnePiece(t *testing.T) {
	s := serve(t, stream(evCreated, evAdded, evDone, evEnd))
	transport := newTransport().(*http.Transport)
	var pieces atomic.Int64
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return counted{conn, &pieces}, err
	}
	r := pool(t, Config{Transport: transport}, resource("a", s.URL))
	req := routed(t, r, "a")
	req.Items = append(req.Items, text(t, "assistant", "yes"), text(t, "user", strings.Repeat("How is my order? ", 2800)))
	for n := int64(1); n <= 3; n++ {
		mustCall(t, r, req)
		if pieces.Load() != n || s.requests.Load() != n {
			t.Fatalf("%d pieces and %d requests after %d calls", pieces.Load(), s.requests.Load(), n)
		}
	}
}

// mute is a transport that breaks its contract.
type mute struct{}

func (mute) RoundTrip(*http.Request) (*http.Response, error) { return nil, nil }

func TestTransportWithoutResponseAndErrorIsAFailure(t *testing.T) {
	r := pool(t, Config{Transport: mute{}}, resource("a", "http://resource.test"))
	_, err := r.Call(context.Background(), routed(t, r, "a"))
	if f := failed(t, err); f.Class != onceward.ClassNetwork {
		t.Fatalf("failure %+v", *f)
	}
}

// An error that came whole says what it says, also when its connection broke
// before the end that was announced.
func TestErrorWhoseEndIsMissingIsReadAllTheSame(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer func() { _ = conn.Close() }()
		body := `{"error":{"message":"You exceeded your current quota.","type":"insufficient_quota","code":"insufficient_quota"}}`
		_, _ = fmt.Fprintf(buffered, "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body)+7, body)
		_ = buffered.Flush()
	})
	r := pool(t, Config{}, resource("a", s.URL))
	_, err := r.Call(context.Background(), routed(t, r, "a"))
	if f := failed(t, err); f.Class != onceward.ClassQuotaExhausted || f.HTTPStatus != http.StatusTooManyRequests {
		t.Fatalf("failure %+v", *f)
	}
}

// leaving is a transport whose caller leaves as soon as a part of the body is there.
type leaving struct {
	next  http.RoundTripper
	leave func()
}

func (l leaving) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := l.next.RoundTrip(req)
	if err == nil {
		res.Body = leavingBody{res.Body, l.leave}
	}
	return res, err
}

type leavingBody struct {
	io.ReadCloser
	leave func()
}

func (b leavingBody) Read(p []byte) (int, error) {
	defer b.leave()
	return b.ReadCloser.Read(p)
}

// A caller who leaves while an error is still coming has not heard what it is
// about: its status alone marks nobody.
func TestCallerWhoLeavesDuringAnErrorMarksNobody(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error":{"message":"The re`))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	r := pool(t, Config{Transport: leaving{newTransport(), leave}}, resource("a", s.URL))
	_, err := r.Call(ctx, routed(t, r, "a"))
	if f := failed(t, err); f.Class != onceward.ClassCancelled || f.StateEffect != onceward.EffectNone {
		t.Fatalf("failure %+v", *f)
	}
}
