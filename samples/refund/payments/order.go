package payments

import (
	"hash/fnv"
	"net/http"
	"regexp"
)

// The two states of an order.
const (
	StatusPaid     = "paid"
	StatusRefunded = "refunded"
)

// Order is what the product knows about one order. AmountCents is in hundredths of Currency (ISO 4217).
// The zero value is no order. It is a plain value, safe to copy and share.
type Order struct {
	OrderID     string `json:"order_id"`
	AmountCents int64  `json:"amount_cents"`
	Currency    string `json:"currency"`
	Status      string `json:"status"`
}

var orderShape = regexp.MustCompile(`^order-[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// orderAmount makes every order exist without seeding: the amount follows from the id, between 5 and 500.
func orderAmount(id string) (cents int64, known bool) {
	if !orderShape.MatchString(id) {
		return 0, false
	}
	if id == "order-1842" {
		return 12900, true
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return 500 + int64(h.Sum32()%49501), true
}

func (s *Server) getOrder(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	amount, known := orderAmount(id)
	if !known {
		answerReason(w, http.StatusNotFound, "there is no such order")
		return
	}
	refunded, err := s.store.refunded(id)
	if err != nil {
		answerError(w, err)
		return
	}
	order := Order{OrderID: id, AmountCents: amount, Currency: "EUR", Status: StatusPaid}
	if refunded {
		order.Status = StatusRefunded
	}
	answer(w, http.StatusOK, order)
}
