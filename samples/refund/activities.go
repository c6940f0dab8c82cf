package refund

import (
	"context"
	"errors"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/activities"
	"github.com/onceward/onceward/samples/refund/payments"
)

// Activities talk to payments. Payments is required; the zero value is not
// usable. They are safe for concurrent use.
type Activities struct {
	Payments *payments.Client
}

// OrderArgs are the arguments of get_order.
type OrderArgs struct {
	OrderID string `json:"order_id" jsonschema:"the order, such as order-1842"`
}

// RefundArgs are the arguments of create_refund. The reason is the model's own
// wording: it differs from call to call and does not make another refund.
type RefundArgs struct {
	OrderID     string `json:"order_id" jsonschema:"the order, such as order-1842"`
	AmountCents int64  `json:"amount_cents" jsonschema:"the whole amount of the order, in cents"`
	Reason      string `json:"reason" onceward:"incidental" jsonschema:"why it is refunded, in one sentence"`
}

// Order is what the model reads: an order, or why there is none. A refusal of
// the product is an answer; returned as an error it would be retried for nothing.
type Order struct {
	*payments.Order
	Error string `json:"error,omitempty"`
}

// GetOrder reads an order.
func (a *Activities) GetOrder(ctx context.Context, in OrderArgs) (Order, error) {
	order, err := a.Payments.Order(ctx, in.OrderID)
	if refused, ok := errors.AsType[*payments.Refused](err); ok {
		return Order{Error: refused.Reason}, nil
	}
	if err != nil {
		return Order{}, err
	}
	return Order{Order: &order}, nil
}

// CreateRefund pays. An error means that nobody knows whether it was paid; a
// conflict is for a person.
func (a *Activities) CreateRefund(ctx context.Context, act onceward.Action, in RefundArgs) (onceward.Receipt, error) {
	refund, err := a.Payments.Refund(ctx, act.Key, payments.RefundRequest{
		ActionID: string(act.ID), OrderID: in.OrderID, AmountCents: in.AmountCents, Reason: in.Reason,
	})
	if err != nil {
		return receiptOf(err)
	}
	return onceward.Committed(refund.RefundID), nil
}

// receiptOf says what an answer that is no success means for the refund. Without an
// answer nobody knows.
func receiptOf(err error) (onceward.Receipt, error) {
	if refused, ok := errors.AsType[*payments.Refused](err); ok {
		return activities.CommitAnswer{Status: refused.Status, Reason: refused.Reason, Replayed: refused.Replayed}.Receipt()
	}
	if unclear, ok := errors.AsType[*payments.Unclear](err); ok && unclear.Err == nil {
		return activities.CommitAnswer{Status: unclear.Status, Replayed: unclear.Replayed}.Receipt()
	}
	return onceward.Receipt{}, err
}

// FindRefund is the reconciliation read: it looks for the refund and never pays.
func (a *Activities) FindRefund(ctx context.Context, act onceward.Action, _ RefundArgs) (onceward.Receipt, error) {
	refunds, err := a.Payments.Refunds(ctx, string(act.ID))
	switch {
	case err != nil:
		return onceward.Receipt{}, err
	case len(refunds) == 0:
		return onceward.Absent(), nil
	}
	return onceward.Committed(refunds[0].RefundID), nil
}
