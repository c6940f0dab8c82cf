package payments

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

var order1842 = RefundRequest{ActionID: "refund/order-1842/v1", OrderID: "order-1842", AmountCents: 12900, Reason: "broken"}

// bundle is a running payments with a client that has a connection pool of its own.
type bundle struct {
	*Server
	*Client
	url       string
	transport *http.Transport
}

func start(t *testing.T, cfg Config) *bundle {
	t.Helper()
	server, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(server.Handler())
	transport := &http.Transport{}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
		listener.Close()
	})
	return &bundle{Server: server, Client: NewClient(listener.URL, transport), url: listener.URL, transport: transport}
}

func ctx(t *testing.T) context.Context {
	t.Helper()
	c, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return c
}

func (b *bundle) paid(t *testing.T, want int) {
	t.Helper()
	stats, err := b.Server.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if stats.Refunds != want {
		t.Fatalf("%d refunds were paid, want %d: %v", stats.Refunds, want, stats.ByAction)
	}
}

// send posts raw bytes, so that a test can say what the client never would. It returns the status and the body.
func (b *bundle) send(t *testing.T, method, path, key string, body []byte) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx(t), method, b.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := b.transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, text.String()
}
