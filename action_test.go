package onceward_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func TestActionIDValidate(t *testing.T) {
	for id, ok := range map[string]bool{
		"refund/order-1842/v1":   true,
		"rückzahlung/7":          false, // the SDK could not start it
		"refund/7~!":             true,
		"refund/7\x7f":           false,
		"":                       false,
		"refund/ 7":              false,
		"refund/\u00a07":         false,
		"refund/7\n":             false,
		"refund/\x00":            false,
		"refund/\xff":            false,
		"refund/\u200b7":         false,
		strings.Repeat("a", 200): true,
		strings.Repeat("a", 201): false,
	} {
		if err := onceward.ActionID(id).Validate(); (err == nil) != ok {
			t.Errorf("%q: error %v, want ok %v", id, err, ok)
		}
	}
}

func TestActionKeyIsSafeAndCoversTheWholeID(t *testing.T) {
	alphabet := regexp.MustCompile(`^[0-9a-v]{32}$`)
	long := strings.Repeat("a", 899)
	seen := map[string]onceward.ActionID{}
	for _, id := range []onceward.ActionID{"refund/order-1842/v1", "refund/order-1842/v2", "refund/order-1842/V1", onceward.ActionID(long + "1"), onceward.ActionID(long + "2")} {
		key := id.Key()
		if !alphabet.MatchString(key) || len(key) != onceward.KeyLength {
			t.Errorf("key %q of %.30s is not in the safe alphabet", key, id)
		}
		if strings.Contains(key, "order") {
			t.Errorf("key %q shows the id", key)
		}
		if other, ok := seen[key]; ok {
			t.Errorf("%.30s and %.30s share a key", id, other)
		}
		seen[key] = id
	}
	if got := onceward.ActionID("refund/order-1842/v1").Key(); got != "tmtu1h2lkeqjjei2rtv7qeh6p37728ml" {
		t.Errorf("key changed to %s: a product that remembers old keys would pay again", got)
	}
}

func TestReceiptValidate(t *testing.T) {
	for name, c := range map[string]struct {
		receipt onceward.Receipt
		ok      bool
	}{
		"committed":             {onceward.Committed("r1"), true},
		"committed without ref": {onceward.Committed(""), false},
		"rejected":              {onceward.Rejected("order unknown"), true},
		"absent not allowed":    {onceward.Absent(), false},
		"zero":                  {onceward.Receipt{}, false},
		"ref too long":          {onceward.Committed(strings.Repeat("r", 201)), false},
	} {
		if err := c.receipt.Validate(onceward.StatusCommitted, onceward.StatusRejected); (err == nil) != c.ok {
			t.Errorf("%s: error %v, want ok %v", name, err, c.ok)
		}
	}
}
