package activities

import (
	"reflect"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// E33: what people said of an action stays on record when it is reversed.
func TestReversalCarriesAllThatWasOnRecord(t *testing.T) {
	before := onceward.ActionReceipt{
		ActionID: "refund/1", Agent: "refunds", Run: "run", RunID: "chain", Tool: "refund", Digest: "d", Status: onceward.StateCommitted, Ref: "r1",
		Commits: 2, Reconciled: 3, VerifiedBy: onceward.VerifiedByOperator, ResolvedBy: "anna", Note: "seen at the bank", Version: 7,
		Refused: []string{"kim said rejected: too late"}, More: 4, At: time.Now(),
	}
	in := reversing(before, onceward.Reversal{By: "bank", Reason: "sent back"})
	if in.Resolve == nil || *in.Resolve != (onceward.Resolve{Status: onceward.StatusReversed, Ref: "r1", By: "bank", Note: "sent back"}) {
		t.Errorf("the report is %+v", in.Resolve)
	}
	got, want := in.Begin(), before
	want.Status, want.Ref, want.Version, want.At = onceward.StateProposed, "", 0, time.Time{} // the ref comes with the report
	if !reflect.DeepEqual(got, want) {
		t.Errorf("E33 it begins with %+v, want %+v", got, want)
	}
}
