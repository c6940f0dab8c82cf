package activities

import (
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func TestRepetitionIsToldWithItsTimeByTheRunThatMadeIt(t *testing.T) {
	at := time.Date(2026, 11, 29, 22, 23, 34, 5e8, time.FixedZone("", 3600))
	made := onceward.ActionReceipt{Status: onceward.StateCommitted, Ref: "r1", Run: "w", RunID: "one", At: at}
	change := func(f func(*onceward.ActionReceipt)) onceward.ActionReceipt {
		r := made
		f(&r)
		return r
	}
	const when = "2026-11-29T21:23:34Z"
	for name, c := range map[string]struct {
		receipt onceward.ActionReceipt
		in      onceward.ActInput
		want    told
	}{
		"E38 the run that made it":                                {made, onceward.ActInput{Run: "w", RunID: "one"}, told{Status: "committed", Ref: "r1"}},
		"E38 the same run again":                                  {made, onceward.ActInput{Run: "w", RunID: "one", Repeated: true}, told{Status: "already_committed", Ref: "r1", At: when}},
		"E38 a later run with the same workflow id":               {made, onceward.ActInput{Run: "w", RunID: "two"}, told{Status: "already_committed", Ref: "r1", At: when}},
		"E38 another run":                                         {made, onceward.ActInput{Run: "v", RunID: "three"}, told{Status: "already_committed", Ref: "r1", At: when}},
		"E38 a receipt of an earlier build, the same workflow id": {change(func(r *onceward.ActionReceipt) { r.RunID = "" }), onceward.ActInput{Run: "w", RunID: "two"}, told{Status: "committed", Ref: "r1"}},
		"E38 a proposal of an earlier build":                      {made, onceward.ActInput{Run: "w"}, told{Status: "committed", Ref: "r1"}},
		"E38 a refusal is told as it was":                         {change(func(r *onceward.ActionReceipt) { r.Status, r.Ref, r.Reason = onceward.StateRejected, "", "no" }), onceward.ActInput{Run: "w", RunID: "two"}, told{Status: "rejected", Reason: "no"}},
		"E37 what the product has accepted is submitted":          {change(func(r *onceward.ActionReceipt) { r.Status = onceward.StateAccepted }), onceward.ActInput{Run: "w", RunID: "one"}, told{Status: "submitted", Ref: "r1", Reason: "the product has taken it and has not finished; it goes on by itself"}},
	} {
		if got := tell(c.receipt, c.in); got != c.want {
			t.Errorf("%s: told %+v, want %+v", name, got, c.want)
		}
	}
}

// What is compared is the whole effect, tenant included; and where it is another's,
// nothing of that one is told.
func TestProposalIsTheActionOrAConflict(t *testing.T) {
	acme := onceward.ActInput{ActionID: "a/1", Tool: "pay", Digest: "acme", Bare: "bare", Caller: onceward.Caller{Tenant: "acme"}}
	nobody := onceward.ActInput{ActionID: "a/1", Tool: "pay", Digest: "bare"}
	recorded := func(tool, digest, tenant string) onceward.ActionReceipt {
		return onceward.ActionReceipt{ActionID: "a/1", Agent: "shop", Tool: tool, Digest: digest, Tenant: tenant, Run: "w", Ref: "r1", Reason: "why", Status: onceward.StateCommitted}
	}
	memo := func(digest string) onceward.ActionReceipt {
		return onceward.ActionReceipt{ActionID: "a/1", Tool: "pay", Digest: digest, Run: "w", Status: onceward.StateProposed}
	}
	for name, c := range map[string]struct {
		receipt    onceward.ActionReceipt
		in         onceward.ActInput
		same, told bool // told: of what is there
	}{
		"the same":                                     {recorded("pay", "acme", "acme"), acme, true, true},
		"recorded without a tenant":                    {recorded("pay", "bare", ""), acme, true, true},
		"another tenant's":                             {recorded("pay", "beta", "beta"), acme, false, false},
		"a tenant's, proposed for nobody":              {recorded("pay", "acme", "acme"), nobody, false, false},
		"other arguments of the same tenant":           {recorded("pay", "acme-2", "acme"), acme, false, true},
		"other arguments, recorded without a tenant":   {recorded("pay", "bare-2", ""), acme, false, false},
		"other arguments for nobody":                   {recorded("pay", "bare-2", ""), nobody, false, true},
		"another tool's":                               {recorded("buy", "acme", "acme"), acme, false, true},
		"another tool's, without a tenant":             {recorded("buy", "bare", ""), acme, false, false},
		"a memo alone does not say whose":              {memo("beta"), acme, false, false},
		"nor to a run that works for nobody":           {memo("beta"), nobody, false, false},
		"a proposal without a tenant has no bare form": {recorded("pay", "", ""), nobody, false, true},
	} {
		if got := same(c.receipt, c.in); got != c.same {
			t.Errorf("%s: same is %v", name, got)
		}
		if c.same {
			continue
		}
		result := conflict(c.receipt, c.in)
		if !result.Conflict || result.Pending || result.Output == nil || result.Receipt.ActionID != "a/1" || result.Receipt.Status != c.receipt.Status {
			t.Errorf("%s: %+v", name, result)
		}
		if text := string(result.Output.Raw); !strings.Contains(text, "action_conflict") || strings.Contains(text, "r1") != (c.told && c.receipt.Ref != "") {
			t.Errorf("%s: the model is told %s", name, text)
		}
		if told := result.Receipt.Run != "" || result.Receipt.Ref != "" || result.Receipt.Reason != "" || result.Receipt.Digest != ""; told != c.told {
			t.Errorf("%s: the history holds %+v", name, result.Receipt)
		}
	}
}
