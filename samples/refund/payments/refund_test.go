package payments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestOrderExistsForEveryIDOfTheShape(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	got, err := b.Order(ctx(t), "order-1842")
	if want := (Order{"order-1842", 12900, "EUR", "paid"}); err != nil || got != want {
		t.Fatalf("got %+v, %v, want %+v", got, err, want)
	}
	first, err := b.Order(ctx(t), "order-77")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := b.Order(ctx(t), "order-77"); err != nil || again != first || first.AmountCents < 500 || first.AmountCents > 50000 {
		t.Fatalf("order-77 was %+v, then %+v, %v", first, again, err)
	}
	for _, id := range []string{"", "1842", "order-", "order-a b", "order-1/2", "order-" + strings.Repeat("9", 65)} {
		var refused *Refused
		if _, err := b.Order(ctx(t), id); !errors.As(err, &refused) || refused.Status != 404 || refused.Reason == "" {
			t.Errorf("order %q: got %v, want a refusal with 404", id, err)
		}
	}
}

func TestRefundIsPaidAndShownEverywhere(t *testing.T) {
	t.Parallel()
	b := start(t, Config{Dedupe: true})
	paid, err := b.Refund(ctx(t), "k1", order1842)
	if err != nil {
		t.Fatal(err)
	}
	list, err := b.Refunds(ctx(t), order1842.ActionID)
	if err != nil || len(list) != 1 || list[0] != paid {
		t.Fatalf("listed %v, %v, want %v", list, err, paid)
	}
	order, err := b.Order(ctx(t), "order-1842")
	if err != nil || order.Status != StatusRefunded {
		t.Fatalf("order is %+v, %v", order, err)
	}
	stats, err := b.Client.Stats(ctx(t))
	if err != nil || stats.Refunds != 1 || stats.ByAction[order1842.ActionID] != 1 {
		t.Fatalf("stats are %+v, %v", stats, err)
	}
	if status, body := b.send(t, "GET", "/healthz", "", nil); status != 200 {
		t.Fatalf("healthz answered %d %s", status, body)
	}
}

// The contract's field names, read without this package's types.
func TestAnswersHaveExactlyTheContractsFields(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	body, _ := json.Marshal(order1842)
	refund := `{"refund_id":"rf-000001","action_id":"refund/order-1842/v1","order_id":"order-1842","amount_cents":12900}`
	for _, c := range []struct {
		method, path, want string
		status             int
		body               []byte
	}{
		{"GET", "/orders/order-1842", `{"order_id":"order-1842","amount_cents":12900,"currency":"EUR","status":"paid"}`, 200, nil},
		{"GET", "/refunds?action_id=none", `{"refunds":[]}`, 200, nil},
		{"GET", "/stats", `{"refunds":0,"by_action":{}}`, 200, nil},
		{"POST", "/refunds", refund, 201, body},
		{"GET", "/refunds?action_id=refund%2Forder-1842%2Fv1", `{"refunds":[` + refund + `]}`, 200, nil},
		{"GET", "/refunds?action_id=refund/order-1842/v1", `{"refunds":[` + refund + `]}`, 200, nil},
		{"GET", "/stats", `{"refunds":1,"by_action":{"refund/order-1842/v1":1}}`, 200, nil},
	} {
		status, got := b.send(t, c.method, c.path, "k", c.body)
		if status != c.status || strings.TrimSpace(got) != c.want {
			t.Errorf("%s %s answered %d %s, want %d %s", c.method, c.path, status, got, c.status, c.want)
		}
	}
}

func TestInvalidRefundIsRefusedAndNothingIsPaid(t *testing.T) {
	t.Parallel()
	// The fault must survive the refusals: they are not the requests it is counted for.
	b := start(t, Config{Dedupe: true, Fault: Fault{Kind: DropBeforeCommit, Times: 1}})
	for name, c := range map[string]struct {
		key, body string
		status    int
	}{
		"no key":             {"", `{"action_id":"a","order_id":"order-1842","amount_cents":12900,"reason":"r"}`, 400},
		"long key":           {strings.Repeat("k", 256), `{"action_id":"a","order_id":"order-1842","amount_cents":12900}`, 400},
		"no action_id":       {"k", `{"order_id":"order-1842","amount_cents":12900,"reason":"r"}`, 400},
		"long action_id":     {"k", `{"action_id":"` + strings.Repeat("a", 201) + `","order_id":"order-1842","amount_cents":12900}`, 400},
		"no order_id":        {"k", `{"action_id":"a","amount_cents":12900,"reason":"r"}`, 400},
		"no amount_cents":    {"k", `{"action_id":"a","order_id":"order-1842","reason":"r"}`, 400},
		"unknown order":      {"k", `{"action_id":"a","order_id":"1842","amount_cents":12900,"reason":"r"}`, 422},
		"wrong amount":       {"k", `{"action_id":"a","order_id":"order-1842","amount_cents":12901,"reason":"r"}`, 422},
		"negative amount":    {"k", `{"action_id":"a","order_id":"order-1842","amount_cents":-12900,"reason":"r"}`, 422},
		"not JSON":           {"k", `{"action_id":`, 400},
		"more after JSON":    {"k", `{"action_id":"a","order_id":"order-1842","amount_cents":12900}{}`, 400},
		"amount is text":     {"k", `{"action_id":"a","order_id":"order-1842","amount_cents":"12900"}`, 400},
		"amount is fraction": {"k", `{"action_id":"a","order_id":"order-1842","amount_cents":12900.5}`, 400},
		"body over 1 MB":     {"k", `{"reason":"` + strings.Repeat("x", 1<<20) + `"}`, 413},
	} {
		status, body := b.send(t, "POST", "/refunds", c.key, []byte(c.body))
		var said struct{ Reason string }
		if err := json.Unmarshal([]byte(body), &said); status != c.status || err != nil || said.Reason == "" {
			t.Errorf("%s: answered %d %q, want %d with a reason", name, status, body, c.status)
		}
	}
	b.paid(t, 0)
	if got := b.writeFault.get().Times; got != 1 {
		t.Errorf("the fault has %d times left, want 1", got)
	}
}

func TestBodyOfExactlyOneMBIsRead(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	body := []byte(`{"action_id":"a","order_id":"order-1842","amount_cents":12900,"reason":"r"}`)
	body = append(body, bytes.Repeat([]byte(" "), maxBody-len(body))...)
	if status, answer := b.send(t, "POST", "/refunds", "k", body); status != 201 {
		t.Fatalf("answered %d %s, want 201", status, answer)
	}
}

func TestRepeatedKeyAnswersTheFirstRefundWithDedupe(t *testing.T) {
	t.Parallel()
	b := start(t, Config{Dedupe: true})
	first, err := b.Refund(ctx(t), "k", order1842)
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.Refund(ctx(t), "k", order1842)
	if err != nil || second != first {
		t.Fatalf("got %v, %v, want the first refund %v", second, err, first)
	}
	other := order1842
	other.ActionID = "refund/order-1842/v2"
	var refused *Refused
	if _, err := b.Refund(ctx(t), "k", other); !errors.As(err, &refused) || refused.Status != 422 {
		t.Fatalf("got %v, want a refusal with 422", err)
	}
	b.paid(t, 1)
	if _, err := b.Refund(ctx(t), "k2", order1842); err != nil {
		t.Fatal(err)
	}
	b.paid(t, 2)
}

func TestEveryRequestIsPaidWithoutDedupe(t *testing.T) {
	t.Parallel()
	b := start(t, Config{Dedupe: false})
	ids := map[string]bool{}
	for range 3 {
		refund, err := b.Refund(ctx(t), "k", order1842)
		if err != nil {
			t.Fatal(err)
		}
		ids[refund.RefundID] = true
	}
	if len(ids) != 3 {
		t.Fatalf("refund ids are %v, want 3 different ones", ids)
	}
	b.paid(t, 3)
}

func TestActionIDComesBackAsItWasSent(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	for i, id := range []string{"refund/order-1842/v1", "a&action_id=b", "a+b c", "a%2Fb", "#?=;", "größe/1", `"'\<>`} {
		in := order1842
		in.ActionID = id
		if _, err := b.Refund(ctx(t), fmt.Sprint("k", i), in); err != nil {
			t.Errorf("%q: %v", id, err)
		}
		list, err := b.Refunds(ctx(t), id)
		if err != nil || len(list) != 1 || list[0].ActionID != id {
			t.Errorf("%q: listed %v, %v", id, list, err)
		}
	}
}

func TestFiftyPostsAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dedupe bool
		want   int
	}{{true, 1}, {false, 50}} {
		t.Run(fmt.Sprintf("dedupe %v pays %d", c.dedupe, c.want), func(t *testing.T) {
			t.Parallel()
			b := start(t, Config{DB: t.TempDir() + "/p.db", Dedupe: c.dedupe})
			var wg sync.WaitGroup
			var mu sync.Mutex
			ids := map[string]bool{}
			for range 50 {
				wg.Go(func() {
					refund, err := b.Refund(ctx(t), "k", order1842)
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					ids[refund.RefundID] = true
				})
			}
			wg.Wait()
			b.paid(t, c.want)
			if len(ids) != c.want {
				t.Errorf("%d different refunds were answered, want %d", len(ids), c.want)
			}
			if list, err := b.Refunds(ctx(t), order1842.ActionID); err != nil || len(list) != c.want {
				t.Errorf("listed %d, %v, want %d", len(list), err, c.want)
			}
		})
	}
}
