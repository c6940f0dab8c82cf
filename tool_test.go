package onceward_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

type desk struct{ got chargeArgs }

type chargeArgs struct {
	Order  string     `json:"order"`
	Amount int64      `json:"amount"`
	Note   string     `json:"note" onceward:"incidental"`
	Tags   []tag      `json:"tags,omitempty"`
	When   *time.Time `json:"when,omitempty"`
}

type tag struct {
	Name  string `json:"name"`
	Color string `json:"color" onceward:"incidental"`
}

// Normalize brings the order to one form.
func (c *chargeArgs) Normalize() { c.Order = strings.ToUpper(c.Order) }

func (d *desk) Look(_ context.Context, in chargeArgs) (string, error) { return in.Order, nil }
func (d *desk) Charge(_ context.Context, _ onceward.Action, in chargeArgs) (onceward.Receipt, error) {
	d.got = in
	return onceward.Committed("ch_" + in.Order), nil
}
func (d *desk) Find(context.Context, onceward.Action, chargeArgs) (onceward.Receipt, error) {
	return onceward.Absent(), nil
}
func (d *desk) Lie(context.Context, onceward.Action, chargeArgs) (onceward.Receipt, error) {
	return onceward.Receipt{}, nil
}

func chargeID(in chargeArgs) onceward.ActionID {
	return onceward.ActionID("charge/" + in.Order + "/v1")
}

var charge = onceward.Write(onceward.Spec{Name: "charge"}, chargeID, (*desk).Charge, (*desk).Find)

func bound(t *testing.T, tool onceward.Tool, receiver any) onceward.Bound {
	t.Helper()
	b, err := tool.Bind(receiver)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPrepareGivesOneBoundValue(t *testing.T) {
	d := &desk{}
	b := bound(t, charge, d)
	p, err := b.Prepare(onceward.Caller{}, json.RawMessage(` {"amount": 9007199254740993, "order": "a7", "note": "late <parcel>"} `))
	if err != nil {
		t.Fatal(err)
	}
	if p.ActionID != "charge/A7/v1" {
		t.Errorf("action id %s: the arguments were not normalised before it was made", p.ActionID)
	}
	receipt, err := b.Commit(context.Background(), onceward.Action{ID: p.ActionID}, p.Args)
	if err != nil || receipt.Ref != "ch_A7" {
		t.Fatalf("receipt %+v, error %v", receipt, err)
	}
	if d.got.Amount != 9007199254740993 || d.got.Note != "late <parcel>" {
		t.Errorf("the tool received %+v", d.got)
	}
	again, err := b.Prepare(onceward.Caller{}, p.Args)
	if err != nil || string(again.Args) != string(p.Args) || again.Digest != p.Digest {
		t.Errorf("binding the bound value again gave %s (%v)", again.Args, err)
	}
}

// Two tenants that propose one id do not mean the same effect, whatever the id says.
func TestDigestCoversTheTenant(t *testing.T) {
	b := bound(t, charge, &desk{})
	prepared := func(c onceward.Caller) onceward.Prepared {
		p, err := b.Prepare(c, json.RawMessage(`{"order":"a","amount":1,"note":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	nobody, acme, beta := prepared(onceward.Caller{User: "u"}), prepared(onceward.Caller{Tenant: "acme"}), prepared(onceward.Caller{Tenant: "beta"})
	if nobody.Bare != "" || acme.Bare != nobody.Digest || beta.Bare != nobody.Digest {
		t.Errorf("bare digests %q, %q, %q; want none without a tenant, and with one %q", nobody.Bare, acme.Bare, beta.Bare, nobody.Digest)
	}
	if acme.Digest == beta.Digest || acme.Digest == nobody.Digest {
		t.Error("the tenant did not change the digest")
	}
	if other := prepared(onceward.Caller{Tenant: "acme", User: "somebody else", Slot: time.Unix(1, 0)}); other.Digest != acme.Digest {
		t.Error("user or slot changed the digest: they are the id's to tell apart")
	}
	if acme.ActionID != beta.ActionID {
		t.Error("an id was changed behind its function")
	}
}

func TestIDIsMadeForTheCaller(t *testing.T) {
	tool := onceward.WriteFor(onceward.Spec{Name: "charge"}, func(c onceward.Caller, in chargeArgs) onceward.ActionID {
		if c.Slot.IsZero() {
			return ""
		}
		return onceward.ActionID(c.Tenant + "/" + c.User + "/" + c.Slot.Format(time.DateOnly) + "/" + in.Order)
	}, (*desk).Charge, (*desk).Find)
	b, args := bound(t, tool, &desk{}), json.RawMessage(`{"order":"a","amount":1,"note":""}`)
	p, err := b.Prepare(onceward.Caller{Tenant: "acme", User: "ann", Slot: time.Date(2026, 3, 4, 23, 0, 0, 0, time.UTC)}, args)
	if err != nil || p.ActionID != "acme/ann/2026-03-04/A" {
		t.Errorf("id %s (%v)", p.ActionID, err)
	}
	if _, err := b.Prepare(onceward.Caller{Tenant: "acme", User: "ann"}, args); err == nil || !strings.Contains(err.Error(), "no valid action") {
		t.Errorf("an id that needs a slot was made without: %v", err)
	}
	if _, err := onceward.WriteFor[*desk, chargeArgs](onceward.Spec{Name: "w"}, nil, (*desk).Charge, (*desk).Find).Bind(&desk{}); err == nil {
		t.Error("bound a write without an action id")
	}
}

func TestDigestCoversTheMaterialFieldsOnly(t *testing.T) {
	b := bound(t, charge, &desk{})
	digest := func(raw string) string {
		p, err := b.Prepare(onceward.Caller{}, json.RawMessage(raw))
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		return p.Digest
	}
	base := digest(`{"order":"a","amount":1,"note":"x"}`)
	for raw, same := range map[string]bool{
		`{"note":"parcel was late","amount":1,"order":"A"}`:                     true,
		`{"order":"a","amount":2,"note":"x"}`:                                   false,
		`{"order":"b","amount":1,"note":"x"}`:                                   false,
		`{"order":"a","amount":1,"note":"x","tags":[{"name":"n","color":"c"}]}`: false,
		`{"order":"a","amount":1,"note":"x","when":"2026-01-02T03:04:05Z"}`:     false,
	} {
		if got := digest(raw) == base; got != same {
			t.Errorf("%s: same digest %v, want %v", raw, got, same)
		}
	}
	if digest(`{"order":"a","amount":1,"note":"","tags":[{"name":"n","color":"red"}]}`) != digest(`{"order":"a","amount":1,"note":"","tags":[{"name":"n","color":"blue"}]}`) {
		t.Error("an incidental field inside a list changed the digest")
	}
}

func TestPrepareRefuses(t *testing.T) {
	b := bound(t, charge, &desk{})
	for name, raw := range map[string]string{
		"case variant":     `{"order":"7","amount":10,"Amount":9900,"note":""}`,
		"duplicate":        `{"order":"7","order":"8","amount":10,"note":""}`,
		"unknown key":      `{"order":"7","amount":10,"note":"","key":"k"}`,
		"wrong type":       `{"order":"7","amount":"10","note":""}`,
		"float":            `{"order":"7","amount":10.5,"note":""}`,
		"too large number": `{"order":"7","amount":92233720368547758080,"note":""}`,
		"not an object":    `["7"]`,
		"trailing data":    `{"order":"7","amount":1,"note":""} {}`,
		"id with a space":  `{"order":"a b","amount":1,"note":""}`,
		"huge":             `{"order":"` + strings.Repeat("x", onceward.MaxArguments) + `","amount":1,"note":""}`,
		"deep":             `{"order":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
	} {
		if p, err := b.Prepare(onceward.Caller{}, json.RawMessage(raw)); err == nil {
			t.Errorf("%s: bound as %.80s with id %.80s", name, p.Args, p.ActionID)
		}
	}
}

func TestBlankArgumentsAreAnEmptyObject(t *testing.T) {
	b := bound(t, onceward.Read(onceward.Spec{Name: "look"}, (*desk).Look), &desk{})
	for _, raw := range []string{"", "  ", "\n"} {
		if _, err := b.Prepare(onceward.Caller{}, json.RawMessage(raw)); err != nil {
			t.Errorf("blank arguments %q: %v", raw, err)
		}
	}
}

func TestBindRefusesAnotherReceiver(t *testing.T) {
	if _, err := charge.Bind(desk{}); err == nil || !strings.Contains(err.Error(), "*onceward_test.desk") {
		t.Errorf("bound to a value: %v", err)
	}
	if _, err := (onceward.Tool{}).Bind(&desk{}); err == nil {
		t.Error("bound the zero tool")
	}
	if _, err := onceward.Write[*desk, chargeArgs](onceward.Spec{Name: "w"}, nil, (*desk).Charge, (*desk).Find).Bind(&desk{}); err == nil {
		t.Error("bound a write without an action id")
	}
}

func TestCommitRefusesAReceiptThatSaysNothing(t *testing.T) {
	b := bound(t, onceward.Write(onceward.Spec{Name: "lie"}, chargeID, (*desk).Lie, (*desk).Lie), &desk{})
	args := json.RawMessage(`{"order":"a","amount":1,"note":""}`)
	if r, err := b.Commit(context.Background(), onceward.Action{}, args); err == nil {
		t.Errorf("the zero receipt passed as %+v", r)
	}
	if r, err := b.Find(context.Background(), onceward.Action{}, args); err == nil {
		t.Errorf("the zero receipt passed a read as %+v", r)
	}
}

func TestApprovalPolicies(t *testing.T) {
	policy := func(a onceward.Approval) onceward.ApprovalPolicy {
		return onceward.ApproveIf(func(onceward.Caller, chargeArgs) onceward.Approval { return a })
	}
	for name, c := range map[string]struct {
		policy onceward.ApprovalPolicy
		want   *onceward.Approval
	}{
		"none":                  {},
		"a nil function":        {policy: onceward.ApproveIf[chargeArgs](nil)},
		"always":                {onceward.ApproveAlways("money"), &onceward.Approval{People: 1, Why: "money"}},
		"nobody is needed":      {policy(onceward.Approval{}), &onceward.Approval{}},
		"two":                   {policy(onceward.Approval{People: 2}), &onceward.Approval{People: 2}},
		"more than two is two":  {policy(onceward.Approval{People: 9}), &onceward.Approval{People: 2}},
		"less than none is one": {policy(onceward.Approval{People: -1}), &onceward.Approval{People: 1}},
		"a panic is one": {onceward.ApproveIf(func(_ onceward.Caller, in chargeArgs) onceward.Approval { panic("boom " + in.Order) }),
			&onceward.Approval{People: 1, Why: "the policy failed: boom A"}},
		"of the caller and the bound arguments": {onceward.ApproveIf(func(caller onceward.Caller, in chargeArgs) onceward.Approval {
			return onceward.Approval{People: 1, Why: caller.Tenant + in.Order}
		}), &onceward.Approval{People: 1, Why: "acmeA"}},
	} {
		b := bound(t, onceward.Write(onceward.Spec{Name: "charge", Approve: c.policy}, chargeID, (*desk).Charge, (*desk).Find), &desk{})
		p, err := b.Prepare(onceward.Caller{Tenant: "acme"}, json.RawMessage(`{"order":"a","amount":1,"note":""}`))
		if err != nil || !reflect.DeepEqual(p.Approval, c.want) {
			t.Errorf("%s: %+v (%v), want %+v", name, p.Approval, err, c.want)
		}
		if b.Approval == nil {
			if c.want != nil {
				t.Errorf("%s: there is no second look", name)
			}
			continue
		}
		if again := b.Approval(onceward.Caller{Tenant: "acme"}, p.Args); !reflect.DeepEqual(again, c.want) {
			t.Errorf("%s: the second look says %+v, want %+v", name, again, c.want)
		}
	}
	other := onceward.ApproveIf(func(onceward.Caller, tag) onceward.Approval { return onceward.Approval{} })
	if _, err := onceward.Write(onceward.Spec{Name: "charge", Approve: other}, chargeID, (*desk).Charge, (*desk).Find).Bind(&desk{}); err == nil || !strings.Contains(err.Error(), "is about onceward_test.tag") {
		t.Errorf("a policy about another input was bound: %v", err)
	}
}
