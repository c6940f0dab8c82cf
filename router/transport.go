package router

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/onceward/onceward/router/redact"
	"github.com/onceward/onceward/router/wire"
)

// maxErrorBody bounds the body of an error: a proxy's page tells nothing more
// after the first part of it.
const maxErrorBody = 1 << 20

// newTransport returns the transport of a pool. It has no limit of its own on
// how long an answer may take: the attempt's timeouts have.
func newTransport() http.RoundTripper {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAliveConfig: keepAlive}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        90 * time.Second, // below the idle limits of the balancers in front of resources
		MaxResponseHeaderBytes: 256 << 10,
		WriteBufferSize:        64 << 10, // a request of a long run in one piece, not in pieces of 4 KB and 32 KB
		DisableCompression:     true,     // an event that waits in a compressor comes late
	}
}

// keepAlive has the kernel find out within a minute that the other machine is gone.
// It says nothing of a process there that hangs, nor of what is behind a proxy.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 15 * time.Second, Count: 3}

// endpoint is a resource as requests reach it.
type endpoint struct {
	name     string
	client   openai.Client
	protocol protocol
}

func newEndpoint(r Resource, transport http.RoundTripper, secrets *redact.Set) *endpoint {
	base := r.BaseURL
	if base[len(base)-1] != '/' {
		base += "/" // without it the last part of the path would be replaced
	}
	options := []option.RequestOption{
		option.WithHTTPClient(once{newGate(r, transport, secrets)}),
		option.WithBaseURL(base),
		option.WithMaxRetries(0), // the run owns retries
		option.WithHeader("Accept", "text/event-stream, application/json"),
	}
	// Not openai.NewClient: it reads keys, organisation and headers from the
	// environment, and they would go to every host of the pool.
	return &endpoint{name: r.Name, client: openai.Client{Options: options}, protocol: protocolOf(r)}
}

// once sends a request at most once, follows no redirect, and bounds what comes
// back. It stands in for http.Client, which would copy the headers of every
// request for a redirect, and have the headers and the body written apart.
type once struct{ next http.RoundTripper }

// Do sends a request that the SDK made for this attempt alone.
func (o once) Do(req *http.Request) (*http.Response, error) {
	if req.GetBody != nil {
		// Around the SDK's own body net/http does not see that it is in memory, and
		// spends a packet on the headers.
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		req.Body = body
	}
	req.GetBody = nil // net/http would send the body again on another connection
	res, err := o.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if res == nil {
		return nil, errors.New("the transport returned no response and no error") // the SDK would panic
	}
	limit := int64(wire.MaxStream + 1)
	if res.StatusCode >= 300 {
		limit = maxErrorBody
	}
	res.Body = &bounded{body: res.Body, left: limit, cut: res.StatusCode >= 300}
	return res, nil
}

// bounded ends a body at a limit: quietly where the rest says nothing, else
// with an error.
type bounded struct {
	body io.ReadCloser
	left int64
	cut  bool
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		if b.cut {
			return 0, io.EOF
		}
		return 0, fmt.Errorf("%w: more than %d bytes", wire.ErrTooLarge, wire.MaxStream)
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.body.Read(p)
	b.left -= int64(n)
	if err != nil && b.cut {
		err = io.EOF // the SDK would throw away what came of an error, which is enough to classify it
	}
	return n, err
}

// Close implements io.Closer.
func (b *bounded) Close() error { return b.body.Close() }
