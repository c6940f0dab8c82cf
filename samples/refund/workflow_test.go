package refund

import (
	"testing"

	"github.com/onceward/onceward"
)

func TestActionDependsOnTheOrderAlone(t *testing.T) {
	t.Parallel()
	bound, err := Refunds.Tools[1].Bind(&Activities{})
	if err != nil {
		t.Fatal(err)
	}
	one, err := bound.Prepare(onceward.Caller{}, []byte(`{"order_id":"order-1842","amount_cents":12900,"reason":"lost"}`))
	if err != nil {
		t.Fatal(err)
	}
	two, err := bound.Prepare(onceward.Caller{}, []byte(`{"reason":"never arrived","amount_cents":12900,"order_id":"order-1842"}`))
	if err != nil {
		t.Fatal(err)
	}
	if one.ActionID != action.ID || one.ActionID != two.ActionID || one.Digest != two.Digest {
		t.Errorf("%s %s and %s %s, want one action %s", one.ActionID, one.Digest, two.ActionID, two.Digest, action.ID)
	}
	three, err := bound.Prepare(onceward.Caller{}, []byte(`{"order_id":"order-1842","amount_cents":1,"reason":"lost"}`))
	if err != nil || three.Digest == one.Digest {
		t.Errorf("another amount has the digest %s of the first, %v", three.Digest, err)
	}
}
