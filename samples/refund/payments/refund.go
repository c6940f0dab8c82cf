package payments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"
)

const (
	maxBody     = 1 << 20
	maxID       = 200
	maxKey      = 255
	maxReason   = 4 << 10
	bodyTimeout = 30 * time.Second
)

// RefundRequest asks for the refund of one whole order. AmountCents is in hundredths of the order's currency.
// The zero value is refused with 400. It is a plain value, safe to copy and share.
type RefundRequest struct {
	ActionID    string `json:"action_id"`
	OrderID     string `json:"order_id"`
	AmountCents int64  `json:"amount_cents"`
	Reason      string `json:"reason"`
}

// Refund is one payment that was made. The zero value is no refund. It is a plain value, safe to copy and share.
type Refund struct {
	RefundID    string `json:"refund_id"`
	ActionID    string `json:"action_id"`
	OrderID     string `json:"order_id"`
	AmountCents int64  `json:"amount_cents"`
}

// refusal is a business no: nothing was paid and nothing will be.
type refusal struct {
	status int
	reason string
}

func (r *refusal) Error() string { return r.reason }

var errKeyReused = refuse(http.StatusUnprocessableEntity, "the Idempotency-Key was used with another body")

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status: status, reason: fmt.Sprintf(format, args...)}
}

func (r RefundRequest) check(key string) *refusal {
	switch {
	case key == "":
		return refuse(http.StatusBadRequest, "header Idempotency-Key is missing")
	case len(key) > maxKey:
		return refuse(http.StatusBadRequest, "header Idempotency-Key is longer than %d bytes", maxKey)
	case r.ActionID == "":
		return refuse(http.StatusBadRequest, "action_id is missing")
	case len(r.ActionID) > maxID:
		return refuse(http.StatusBadRequest, "action_id is longer than %d bytes", maxID)
	case r.OrderID == "":
		return refuse(http.StatusBadRequest, "order_id is missing")
	case r.AmountCents == 0:
		return refuse(http.StatusBadRequest, "amount_cents is missing")
	case len(r.Reason) > maxReason:
		return refuse(http.StatusBadRequest, "reason is longer than %d bytes", maxReason)
	}
	amount, known := orderAmount(r.OrderID)
	if !known {
		return refuse(http.StatusUnprocessableEntity, "there is no such order")
	}
	if r.AmountCents != amount {
		return refuse(http.StatusUnprocessableEntity, "amount_cents is %d, the order's is %d", r.AmountCents, amount)
	}
	return nil
}

func readRefundRequest(w http.ResponseWriter, r *http.Request) (RefundRequest, error) {
	// A body that trickles in would hold a connection for ever. The deadline goes away again after a whole body: left
	// in place it would end a slow refund by cancelling its request.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		_ = control.SetReadDeadline(time.Time{})
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return RefundRequest{}, refuse(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", maxBody)
	}
	if err != nil {
		return RefundRequest{}, refuse(http.StatusBadRequest, "the body ends early")
	}
	var in RefundRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return RefundRequest{}, refuse(http.StatusBadRequest, "the body is not a refund in JSON")
	}
	return in, nil
}

// postRefund reads, acts out the fault, pays, and answers, in this order.
func (s *Server) postRefund(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	in, err := readRefundRequest(w, r)
	if err == nil {
		if no := in.check(key); no != nil {
			err = no
		}
	}
	if err != nil {
		answerError(w, err)
		return
	}
	s.received.add(1)

	if status, known := s.stored.Load(key); known {
		w.Header().Set("Idempotent-Replayed", "true")
		answerReason(w, status.(int), "fault: stored_status")
		return
	}
	fault := s.writeFault.take()
	switch fault.Kind {
	case StoredStatus:
		s.stored.Store(key, fault.Status)
		answerReason(w, fault.Status, "fault: stored_status")
		return
	case DropBeforeCommit:
		reset(w)
		return
	case AnswerStatus:
		answerReason(w, fault.Status, "fault: status")
		return
	case Slow:
		// A client that hangs up does not stop a payment it has asked for, so its context is not watched here.
		if !s.pause(context.Background(), fault.Delay) {
			answerReason(w, http.StatusServiceUnavailable, "payments is stopping")
			return
		}
	}

	if s.beforeCommit != nil {
		s.beforeCommit(in)
	}
	refund, fresh, err := s.store.pay(key, in, s.dedupe, s.now())
	if err != nil {
		answerError(w, err)
		return
	}
	if fresh {
		s.committed.add(1)
		if s.afterCommit != nil {
			s.afterCommit(refund)
		}
	} else {
		w.Header().Set("Idempotent-Replayed", "true")
	}

	switch fault.Kind {
	case CommitThenDrop:
		reset(w)
		return
	case CommitThenSlow:
		s.pause(r.Context(), fault.Delay)
	}
	answer(w, http.StatusCreated, refund)
}

func (s *Server) getRefunds(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("action_id")
	if id == "" {
		answerReason(w, http.StatusBadRequest, "action_id is missing")
		return
	}
	// Only a lag looks at the clock: a clock that was set back must not hide a refund from a truthful read.
	upTo := int64(math.MaxInt64)
	switch fault := s.readFault.take(); fault.Kind {
	case AnswerStatus:
		answerReason(w, fault.Status, "fault: status")
		return
	case Lag:
		upTo = s.now().Add(-fault.Delay).UnixNano()
	}
	refunds, err := s.store.byAction(id, upTo)
	if err != nil {
		answerError(w, err)
		return
	}
	answer(w, http.StatusOK, map[string]any{"refunds": refunds})
}
