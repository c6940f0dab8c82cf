package payments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
)

// warm leaves an idle connection in the pool, which is what net/http needs to send a POST again.
func (b *bundle) warm(t *testing.T) {
	t.Helper()
	if _, err := b.Order(ctx(t), "order-1842"); err != nil {
		t.Fatal(err)
	}
}

func TestRefundOnAWarmConnectionThatBreaksIsSentOnce(t *testing.T) {
	t.Parallel()
	for _, times := range []int{1, 0} {
		b := start(t, Config{Dedupe: false, Fault: Fault{Kind: CommitThenDrop, Times: times}})
		b.warm(t)
		reused := false
		traced := httptrace.WithClientTrace(ctx(t), &httptrace.ClientTrace{
			GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused },
		})
		_, err := b.Refund(traced, "k", order1842)
		wantUnclear(t, err, 0)
		if !reused {
			t.Fatal("the connection was new, so this proves nothing")
		}
		b.paid(t, 1)
	}
}

// The measurement behind Client.Refund: a plain request with the same header is paid twice by one RoundTrip.
func TestPlainRequestOnAWarmConnectionThatBreaksIsSentTwice(t *testing.T) {
	t.Parallel()
	for range 5 {
		b := start(t, Config{Dedupe: false, Fault: Fault{Kind: CommitThenDrop, Times: 1}})
		b.warm(t)
		body, err := json.Marshal(order1842)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(ctx(t), http.MethodPost, b.url+"/refunds", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Idempotency-Key", "k")
		resp, err := (&http.Client{Transport: b.transport}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		b.paid(t, 2)
	}
}

func TestAnswersOfRefund(t *testing.T) {
	t.Parallel()
	good := `{"refund_id":"rf-1","action_id":"refund/order-1842/v1","order_id":"order-1842","amount_cents":12900,"new":[1]}`
	const paid, refused, unclear = "paid", "refused", "unclear"
	cases := []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"unknown fields are tolerated", 201, good, paid},
		{"another success status is unclear", 202, good, unclear},
		{"another refund is unclear", 201, strings.Replace(good, "1842/v1", "1842/v2", 1), unclear},
		{"another amount is unclear", 201, strings.Replace(good, "12900", "1", 1), unclear},
		{"no refund id is unclear", 201, strings.Replace(good, "rf-1", "", 1), unclear},
		{"201 without a body is unclear", 201, "", unclear},
		{"201 that is cut short is unclear", 201, good[:40], unclear},
		{"201 over 1 MB is unclear", 201, good + strings.Repeat(" ", 1<<20), unclear},
		{"4xx without a reason is unclear", 404, "404 page not found", unclear},
		{"redirect is not followed", 307, "", unclear},
	}
	for _, status := range []int{400, 402, 403, 404, 410, 413, 422} {
		cases = append(cases, struct {
			name   string
			status int
			body   string
			want   string
		}{fmt.Sprint(status, " with a reason is a refusal"), status, `{"reason":"no"}`, refused})
	}
	for _, status := range []int{401, 407, 408, 409, 423, 425, 429, 500, 501, 502, 503, 504, 599} {
		cases = append(cases, struct {
			name   string
			status int
			body   string
			want   string
		}{fmt.Sprint(status, " is unclear even with a reason"), status, `{"reason":"no"}`, unclear})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			product := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer product.Close()
			_, err := NewClient(product.URL+"/", &http.Transport{DisableKeepAlives: true}).Refund(ctx(t), "k", order1842)
			got := paid
			var no *Refused
			var unknown *Unclear
			switch {
			case errors.As(err, &no):
				got = refused
				if no.Status != c.status || no.Reason != "no" {
					t.Errorf("refusal is %d %q", no.Status, no.Reason)
				}
			case errors.As(err, &unknown):
				got = unclear
				if unknown.Status != c.status {
					t.Errorf("status is %d, want %d", unknown.Status, c.status)
				}
			case err != nil:
				got = err.Error()
			}
			if got != c.want || requests.Load() != 1 {
				t.Errorf("got %s (%v) after %d requests, want %s after 1", got, err, requests.Load(), c.want)
			}
		})
	}
}

func TestReadThatDoesNotAnswerTheQuestionIsNotAbsence(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{}`, `null`, ``, `[]`, `{"refunds":null}`, `{"refunds":[{"refund_id":"rf-1","action_id":"other"}]}`, `{"refunds":[{"action_id":"a"}]}`} {
		product := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(body))
		}))
		list, err := NewClient(product.URL, nil).Refunds(ctx(t), "a")
		product.Close()
		var unclear *Unclear
		if !errors.As(err, &unclear) || list != nil {
			t.Errorf("%q: got %v, %v, want an unclear outcome", body, list, err)
		}
	}
}

func TestLongReasonIsCut(t *testing.T) {
	t.Parallel()
	err := classify(422, []byte(`{"reason":"x`+strings.Repeat("é", 4000)+`"}`))
	var no *Refused
	if !errors.As(err, &no) || len(no.Reason) != 499 {
		t.Fatalf("got %T with %d bytes, want 499", err, len(no.Reason))
	}
}
