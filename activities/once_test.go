package activities

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// dropping serves HTTP by hand: the first request of a connection is answered
// and the connection kept, the second is read whole and answered by closing it.
// That is a product that commits and loses its answer on a warm connection.
func dropping(t *testing.T) (url string, posts *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	posts = new(atomic.Int64)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				in := bufio.NewReader(conn)
				for n := 0; ; n++ {
					req, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					if req.Method == http.MethodPost {
						posts.Add(1)
					}
					if n > 0 {
						return
					}
					_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				}
			}()
		}
	}()
	return "http://" + listener.Addr().String(), posts
}

// post sends a request on a connection that an earlier answer left behind.
func post(t *testing.T, client *http.Client, url string, body io.Reader) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for kept := false; !kept; { // net/http drops a connection whose writer was slow to report
		trace := &httptrace.ClientTrace{PutIdleConn: func(err error) { kept = err == nil }}
		req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		warm, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, warm.Body) // its end comes after PutIdleConn
		_ = warm.Body.Close()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Idempotency-Key", "k")
	res, err := client.Do(req)
	if err == nil {
		_ = res.Body.Close()
	}
	return err
}

func TestSendOnceSendsOnceOnAWarmConnectionThatBreaks(t *testing.T) {
	for name, body := range map[string]func() io.Reader{
		"with a body":    func() io.Reader { return strings.NewReader(`{"amount":1}`) },
		"without a body": func() io.Reader { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			url, posts := dropping(t)
			if err := post(t, &http.Client{Transport: SendOnce(&http.Transport{})}, url, body()); err == nil {
				t.Error("a lost answer was reported as success")
			}
			if n := posts.Load(); n != 1 {
				t.Errorf("%d posts reached the product, want 1", n)
			}
		})
	}
}

// The fault that SendOnce prevents: should net/http ever stop re-sending, this
// test says so and SendOnce can go.
func TestNetHTTPAloneSendsTwice(t *testing.T) {
	url, posts := dropping(t)
	_ = post(t, &http.Client{Transport: &http.Transport{}}, url, strings.NewReader(`{"amount":1}`))
	if n := posts.Load(); n < 2 {
		t.Errorf("%d posts: net/http no longer re-sends by itself", n)
	}
}

// A process that was stopped wakes up with a deadline in the past and a context
// whose timer has not fired yet.
func TestSendOnceSendsNothingAfterTheDeadline(t *testing.T) {
	url, posts := dropping(t)
	late := lateContext{context.Background(), time.Now().Add(-time.Second)}
	req, err := http.NewRequestWithContext(late, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if res, err := SendOnce(&http.Transport{}).RoundTrip(req); !errors.Is(err, context.DeadlineExceeded) {
		if err == nil {
			_ = res.Body.Close()
		}
		t.Errorf("error %v, want that the deadline passed", err)
	}
	if n := posts.Load(); n != 0 {
		t.Errorf("%d posts were sent late", n)
	}
}

type lateContext struct {
	context.Context
	deadline time.Time
}

func (c lateContext) Deadline() (time.Time, bool) { return c.deadline, true }
