package router

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/onceward/onceward/router/redact"
)

// gate is the only way to a resource and back. Requests get the resource's
// credential and headers here, and what comes back leaves every credential of
// the pool here: in the status line, the headers, the body and the errors. A
// gateway that several resources share may repeat another's key, and whatever is
// made of an answer later, for a history, a log or a person, is made of that.
type gate struct {
	next    http.RoundTripper
	header  http.Header
	secrets *redact.Set
}

// Gate returns what carries requests to a resource of this pool as the router
// does: with its credential and headers, and without any credential of the pool
// in what comes back. next carries them on; nil is Transport, or a new one.
func (c Config) Gate(r Resource, next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = c.Transport
	}
	if next == nil {
		next = newTransport()
	}
	return newGate(r, next, c.Redactor())
}

// Redactor returns the set of every credential of the pool.
func (c Config) Redactor() *redact.Set {
	return redact.NewSet(c.credentials()...)
}

// credentials are the values that must appear nowhere.
func (c Config) credentials() []string {
	var all []string
	for _, s := range c.Secrets {
		all = append(all, string(s))
	}
	for _, r := range c.Resources {
		all = append(all, string(r.Key))
		for _, h := range r.Headers {
			all = append(all, string(h.Secret))
		}
	}
	return all
}

func newGate(r Resource, next http.RoundTripper, secrets *redact.Set) *gate {
	g := &gate{next: next, header: http.Header{}, secrets: secrets}
	for _, h := range r.Headers {
		value := h.Value
		if h.Secret != "" {
			value = string(h.Secret)
		}
		g.header.Set(h.Name, value)
	}
	switch {
	case r.Key == "":
	case r.Kind == KindAzure:
		g.header.Set("Api-Key", string(r.Key))
	default:
		g.header.Set("Authorization", "Bearer "+string(r.Key))
	}
	return g
}

// RoundTrip implements http.RoundTripper.
func (g *gate) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.WithContext(req.Context()) // the caller's own request stays without the credential
	out.Header = req.Header.Clone()
	if out.Header == nil {
		out.Header = http.Header{}
	}
	for name, values := range g.header {
		out.Header[name] = values
	}
	res, err := g.next.RoundTrip(out)
	if err != nil {
		return nil, g.secrets.Error(err)
	}
	if res == nil {
		return nil, nil // refused by who asked
	}
	clean := *res // the transport adds trailers to its own, which nobody reads
	clean.Request, clean.Trailer = req, nil
	clean.Status = g.secrets.Text(res.Status)
	clean.Header = make(http.Header, len(res.Header))
	for name, values := range res.Header {
		if g.secrets.Text(name) != name {
			continue
		}
		kept := make([]string, len(values))
		for i, value := range values {
			kept[i] = g.secrets.Text(value)
		}
		clean.Header[name] = kept
	}
	if res.Body != nil {
		clean.Body = g.secrets.Reader(res.Body, finder(req.Context()))
	}
	return &clean, nil
}

type finderKey struct{}

// withFinder has found set when a credential is taken out of the body that
// answers a request of this context.
func withFinder(ctx context.Context, found *atomic.Bool) context.Context {
	return context.WithValue(ctx, finderKey{}, found)
}

func finder(ctx context.Context) func() {
	found, ok := ctx.Value(finderKey{}).(*atomic.Bool)
	if !ok {
		return nil
	}
	return func() { found.Store(true) }
}
