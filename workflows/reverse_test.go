package workflows

import (
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/onceward/onceward"
)

// E33: a reversal that comes days later, and the decision about it, lose nothing that
// operators had said before.
func TestReversedActionKeepsWhatOperatorsSaid(t *testing.T) {
	long := strings.Repeat("n", onceward.MaxOperatorText)
	for name, c := range map[string]struct {
		before, note, want string
	}{
		"E33 the note of the decision that was reversed stays": {before: "seen at the bank", note: "sent again by hand", want: "sent again by hand; anna had noted: seen at the bank"},
		"E33 also where the new decision has none":             {before: "seen at the bank", want: "anna had noted: seen at the bank"},
		"E33 there was none":                                   {note: "sent again by hand", want: "sent again by hand"},
		"E33 both are as long as may be":                       {before: long, note: long, want: long},
	} {
		t.Run(name, func(t *testing.T) {
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestWorkflowEnvironment()
			patient(env)
			env.RegisterWorkflow(Action)
			var reversed onceward.ActionReceipt
			env.RegisterDelayedCallback(func() {
				env.SignalWorkflow(onceward.UpdateResolve, onceward.Resolve{Status: onceward.StatusRejected, By: "kim", Version: 1})
			}, time.Second)
			env.RegisterDelayedCallback(func() {
				if value, err := env.QueryWorkflow(onceward.QueryReceipt); err != nil || value.Get(&reversed) != nil {
					t.Errorf("the receipt is not readable (%v)", err)
				}
				env.SignalWorkflow(onceward.UpdateResolve, onceward.Resolve{Status: onceward.StatusRejected, By: "bob", Note: c.note, Version: reversed.Version})
			}, time.Minute)
			env.ExecuteWorkflow(Action, onceward.ActionInput{
				Act:     onceward.ActInput{ActionID: "x/1", Agent: "a", Tool: "t", Digest: "d"},
				Resolve: &onceward.Resolve{Status: onceward.StatusReversed, Ref: "r1", By: "bank", Note: "sent back"},
				Commits: 1, Refused: []string{"lee said committed: too late"}, More: 2, VerifiedBy: onceward.VerifiedByOperator, ResolvedBy: "anna", Note: c.before,
			})
			if reversed.Status != onceward.StateReversed || reversed.Note != c.before || reversed.ResolvedBy != "anna" || len(reversed.Refused) != 2 || reversed.Refused[0] != "lee said committed: too late" || reversed.More != 2 || reversed.Ref != "r1" {
				t.Errorf("while it waits: %+v, want all that was on record and what was refused since", reversed)
			}
			var got onceward.ActionReceipt
			if err := env.GetWorkflowResult(&got); err != nil {
				t.Fatal(err)
			}
			if got.Status != onceward.StateRejected || got.ResolvedBy != "bob" || got.Note != c.want || len(got.Refused) != 2 || got.More != 2 || got.Reversal == nil {
				t.Errorf("receipt %+v, want bob's decision with the note %.80q", got, c.want)
			}
		})
	}
}
