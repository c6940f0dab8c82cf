package payments

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Client talks to payments. It never sends a refund twice and never follows a redirect. The zero value is not usable:
// call NewClient. It is safe for concurrent use.
type Client struct {
	base string
	http *http.Client
}

// NewClient makes a client of the service at that URL. A nil RoundTripper means http.DefaultTransport. There is no
// time limit but the context's.
func NewClient(baseURL string, rt http.RoundTripper) *Client {
	return &Client{base: strings.TrimRight(baseURL, "/"), http: &http.Client{
		Transport: rt,
		// A redirected refund would be a second request, and the page behind the redirect an answer to another question.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Order reads one order. An unknown one is a *Refused with status 404; every other trouble is an *Unclear.
func (c *Client) Order(ctx context.Context, id string) (Order, error) {
	var out Order
	if err := c.get(ctx, "/orders/"+url.PathEscape(id), &out); err != nil {
		return Order{}, fmt.Errorf("get order: %w", err)
	}
	if out.OrderID != id {
		return Order{}, fmt.Errorf("get order: %w", unreadable("the answer is about another order"))
	}
	return out, nil
}

// Refund sends one request to pay, under that Idempotency-Key. A *Refused says that nothing was paid; after any other
// error the refund may or may not exist, and only Refunds can tell. That includes an idle connection which the server
// had closed already: it is not tried again on a new one.
func (c *Client) Refund(ctx context.Context, key string, in RefundRequest) (Refund, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return Refund{}, fmt.Errorf("encode refund: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/refunds", bytes.NewReader(body))
	if err != nil {
		return Refund{}, fmt.Errorf("build refund: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	// With the body at hand net/http sends a POST that carries an Idempotency-Key again, by itself, when a reused
	// connection breaks: one call, two payments. Without GetBody it cannot.
	req.GetBody = nil
	var out Refund
	if err := c.do(req, http.StatusCreated, &out); err != nil {
		return Refund{}, fmt.Errorf("post refund: %w", err)
	}
	if out.RefundID == "" || out.ActionID != in.ActionID || out.OrderID != in.OrderID || out.AmountCents != in.AmountCents {
		return Refund{}, fmt.Errorf("post refund: %w", &Unclear{Status: http.StatusCreated, Err: errors.New("the answer is about another refund")})
	}
	return out, nil
}

// Refunds reads what was paid for an action, oldest first. It is empty, without an error, only if the product said so.
func (c *Client) Refunds(ctx context.Context, actionID string) ([]Refund, error) {
	var out struct {
		Refunds *[]Refund `json:"refunds"`
	}
	if err := c.get(ctx, "/refunds?action_id="+url.QueryEscape(actionID), &out); err != nil {
		return nil, fmt.Errorf("get refunds: %w", err)
	}
	// A proxy's {} must not read as "nothing was paid": the commit that follows would be the second one.
	if out.Refunds == nil {
		return nil, fmt.Errorf("get refunds: %w", unreadable("the answer has no refunds field"))
	}
	for _, r := range *out.Refunds {
		if r.ActionID != actionID || r.RefundID == "" {
			return nil, fmt.Errorf("get refunds: %w", unreadable("the answer is about another action"))
		}
	}
	return *out.Refunds, nil
}

// Stats reads how many refunds were paid, by action. Read faults do not touch it.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	var out Stats
	if err := c.get(ctx, "/stats", &out); err != nil {
		return Stats{}, fmt.Errorf("get stats: %w", err)
	}
	return out, nil
}

func (c *Client) get(ctx context.Context, path string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return err
	}
	return c.do(req, http.StatusOK, out)
}

// do sends one request and decodes the answer if it has the one status that means success.
func (c *Client) do(req *http.Request, want int, out any) error {
	resp, err := c.http.Do(req)
	if err != nil {
		return &Unclear{Err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return &Unclear{Status: resp.StatusCode, Err: err}
	}
	if len(body) > maxBody {
		return &Unclear{Status: resp.StatusCode, Err: fmt.Errorf("the answer is larger than %d bytes", maxBody)}
	}
	if resp.StatusCode != want {
		return replayed(classify(resp.StatusCode, body), resp.Header.Get("Idempotent-Replayed") == "true")
	}
	if err := json.Unmarshal(body, out); err != nil {
		return &Unclear{Status: resp.StatusCode, Err: fmt.Errorf("decode answer: %w", err)}
	}
	return nil
}

func unreadable(why string) error { return &Unclear{Status: http.StatusOK, Err: errors.New(why)} }

// CheckURL refuses a base URL that no client could use. Its text goes after the
// name of the flag or key that holds the URL.
func CheckURL(base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return errors.New("is not an absolute http or https URL, such as http://127.0.0.1:9200")
	}
	return nil
}
