package refund

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/activities"
	"github.com/onceward/onceward/samples/refund/payments"
)

var (
	action = onceward.Action{ID: "refund/order-1842/v1", Key: onceward.ActionID("refund/order-1842/v1").Key()}
	args   = RefundArgs{OrderID: "order-1842", AmountCents: 12900, Reason: "The parcel never arrived."}
)

func start(t *testing.T, cfg payments.Config) (*Activities, *payments.Server) {
	t.Helper()
	service, err := payments.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(service.Handler())
	t.Cleanup(func() {
		if err := service.Close(); err != nil {
			t.Error(err)
		}
		listener.Close()
	})
	return &Activities{Payments: payments.NewClient(listener.URL, activities.SendOnce(nil))}, service
}

func paid(t *testing.T, service *payments.Server, want int) {
	t.Helper()
	stats, err := service.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if stats.Refunds != want {
		t.Errorf("%d refunds were paid, want %d", stats.Refunds, want)
	}
}

func TestCommit(t *testing.T) {
	t.Parallel()
	used := func(service *payments.Server) { // by another refund, with this very key
		url := httptest.NewServer(service.Handler())
		defer url.Close()
		if _, err := payments.NewClient(url.URL, nil).Refund(context.Background(), action.Key, payments.RefundRequest{
			ActionID: "refund/another/v1", OrderID: args.OrderID, AmountCents: args.AmountCents, Reason: "another",
		}); err != nil {
			t.Error(err)
		}
	}
	other := args
	other.AmountCents = 1
	for name, c := range map[string]struct {
		fault  payments.Fault
		before func(*payments.Server)
		args   RefundArgs
		status onceward.ReceiptStatus // empty: an error
		paid   int
	}{
		"a payment is committed":                                               {args: args, status: onceward.StatusCommitted, paid: 1},
		"a business refusal is rejected":                                       {args: other, status: onceward.StatusRejected},
		"a lost answer is unclear, though it was paid":                         {fault: payments.Fault{Kind: payments.CommitThenDrop}, args: args, paid: 1},
		"a lost request is unclear":                                            {fault: payments.Fault{Kind: payments.DropBeforeCommit}, args: args},
		"a broken product is unclear":                                          {fault: payments.Fault{Kind: payments.AnswerStatus, Status: 503}, args: args},
		"E36 a key that was used with other content is a conflict, no refusal": {before: used, args: args, status: onceward.StatusConflict, paid: 1},
		"a request still at work is unclear":                                   {fault: payments.Fault{Kind: payments.AnswerStatus, Status: 409}, args: args},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, service := start(t, payments.Config{Fault: c.fault, Dedupe: c.before != nil})
			if c.before != nil {
				c.before(service)
			}
			receipt, err := a.CreateRefund(context.Background(), action, c.args)
			if (err != nil) != (c.status == "") || receipt.Status != c.status {
				t.Errorf("got %+v, %v, want status %q", receipt, err, c.status)
			}
			paid(t, service, c.paid)
		})
	}
}

// E36: payments has stored its failure under the key, and will say it for ever.
func TestFailureThatIsStoredUnderTheKeyIsAConflictTheSecondTime(t *testing.T) {
	t.Parallel()
	for _, status := range []int{500, 503, 429, 402} {
		a, service := start(t, payments.Config{Fault: payments.Fault{Kind: payments.StoredStatus, Status: status, Times: 1}})
		first, err := a.CreateRefund(context.Background(), action, args)
		if (err == nil) != (first.Status == onceward.StatusRejected) || first.Status == onceward.StatusConflict {
			t.Errorf("%d: the first answer is %+v, %v, want unclear or a refusal", status, first, err)
		}
		if second, err := a.CreateRefund(context.Background(), action, args); err != nil || second.Status != onceward.StatusConflict {
			t.Errorf("%d: the second answer is %+v, %v, want a conflict", status, second, err)
		}
		paid(t, service, 0)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	a, service := start(t, payments.Config{Fault: payments.Fault{Kind: payments.CommitThenDrop, Times: 1}})
	if receipt, err := a.FindRefund(context.Background(), action, args); err != nil || receipt.Status != onceward.StatusAbsent {
		t.Fatalf("before the payment: %+v, %v, want absent", receipt, err)
	}
	if _, err := a.CreateRefund(context.Background(), action, args); err == nil {
		t.Fatal("a dropped answer gave a receipt")
	}
	receipt, err := a.FindRefund(context.Background(), action, args)
	if err != nil || receipt.Status != onceward.StatusCommitted || receipt.Ref == "" {
		t.Errorf("after the payment: %+v, %v, want committed with a ref", receipt, err)
	}
	if err := service.SetReadFault(payments.Fault{Kind: payments.AnswerStatus, Status: 503}); err != nil {
		t.Fatal(err)
	}
	if receipt, err := a.FindRefund(context.Background(), action, args); err == nil {
		t.Errorf("a failed read says %+v, want an error: it proves nothing", receipt)
	}
	paid(t, service, 1)
}

func TestOrder(t *testing.T) {
	t.Parallel()
	a, _ := start(t, payments.Config{})
	order, err := a.GetOrder(context.Background(), OrderArgs{OrderID: "order-1842"})
	if err != nil || order.Order == nil || order.AmountCents != 12900 {
		t.Errorf("got %+v, %v, want an amount of 12900", order, err)
	}
	unknown, err := a.GetOrder(context.Background(), OrderArgs{OrderID: "nothing"})
	if err != nil || unknown.Order != nil || unknown.Error == "" {
		t.Errorf("got %+v, %v, want a reason for the model and no error", unknown, err)
	}
}
