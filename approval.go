package onceward

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// MaxPeople is how many people one approval may ask for.
const MaxPeople = 2

// Approval says how many people have to agree before an effect is made, and what
// they are told about why they are asked. The zero value asks nobody.
type Approval struct {
	People int    `json:"people"` // 0 to MaxPeople: four eyes are two
	Why    string `json:"why,omitempty"`
}

// ApprovalPolicy says which calls of a write tool a person has to approve before
// anything is sent; see Spec.Approve. Make it with ApproveAlways or ApproveIf. The
// zero value asks nobody. It is immutable and safe for concurrent use.
type ApprovalPolicy struct {
	input  reflect.Type // nil: of any tool
	decide func(caller Caller, in any) Approval
}

// ApproveAlways asks one person about every call.
func ApproveAlways(why string) ApprovalPolicy {
	return ApprovalPolicy{decide: func(Caller, any) Approval { return Approval{People: 1, Why: why} }}
}

// ApproveIf asks the people that fn names for a call. I is the input of the tool; the
// worker refuses another one. fn must be pure: it is asked when a call is bound, and
// what it answers is recorded and holds, also after a reset. More than MaxPeople are
// MaxPeople; a panic, or fewer than none, is one.
func ApproveIf[I any](fn func(caller Caller, in I) Approval) ApprovalPolicy {
	if fn == nil {
		return ApprovalPolicy{}
	}
	return ApprovalPolicy{input: reflect.TypeFor[I](), decide: func(caller Caller, in any) Approval { return fn(caller, in.(I)) }}
}

// Asks reports whether the policy may ask anybody.
func (p ApprovalPolicy) Asks() bool { return p.decide != nil }

// check refuses a policy that was made for another tool's input.
func (p ApprovalPolicy) check(input reflect.Type) error {
	if p.input != nil && p.input != input {
		return fmt.Errorf("the policy of Approve is about %s, and the tool takes %s", p.input, input)
	}
	return nil
}

// of is what the policy asks for a bound call, nil where there is no policy.
func (p ApprovalPolicy) of(caller Caller, in any) (need *Approval) {
	if p.decide == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			need = &Approval{People: 1, Why: Cut(PrintableLine(fmt.Sprintf("the policy failed: %v", v)), MaxReason)}
		}
	}()
	a := p.decide(caller, in)
	if a.People < 0 {
		a.People = 1
	}
	return &Approval{People: min(a.People, MaxPeople), Why: Cut(a.Why, MaxReason)}
}

// Needed reports whether somebody has to agree. Nil, which nobody has evaluated, asks
// nobody: the guard before the commit looks again.
func (a *Approval) Needed() bool { return a != nil && a.People > 0 }

// Approver is a person who approved or denied. Nobody authenticates the name.
type Approver struct {
	By   string    `json:"by"`
	Note string    `json:"note,omitempty"`
	At   time.Time `json:"at"`
}

// Denial is what the model and the ledger hear of a person who denied.
func (a Approver) Denial() string { return Cut("denied by a person: "+a.Note, MaxReason) }

// Vote is what a person sends to approve or to deny. Version is that of the request
// as the person saw it: one that was sent for an earlier request, and that a reset or
// a later ask brings again, decides nothing. The zero value is refused.
type Vote struct {
	By      string `json:"by"`
	Note    string `json:"note,omitempty"` // required to deny: the model is told
	Version int    `json:"version"`
}

// Validate refuses a vote that does not say who, or denies without a reason.
func (v Vote) Validate(deny bool) error {
	what := "approve"
	if deny {
		what = "deny"
	}
	switch {
	case deny && strings.TrimSpace(v.Note) == "":
		return errors.New("deny: note is empty: say why, the model is told")
	case len(v.Note) > MaxReason:
		return fmt.Errorf("%s: note has %d bytes, at most %d", what, len(v.Note), MaxReason)
	case v.Version <= 0:
		return fmt.Errorf("%s: version is missing: name that of the request you have read", what)
	}
	return operatorText(what, v.By, v.Note)
}

// SamePerson reports whether two names are one person's as far as anybody can tell:
// the same letters in any case, with any space around them.
func SamePerson(a, b string) bool {
	return strings.EqualFold(PrintableLine(a), PrintableLine(b))
}

// GateStatus is a state of the Approval workflow, which is called a gate while it
// is open.
type GateStatus string

// The states of a gate. Approved, denied, not_decided and superseded close it.
const (
	GateChecking   GateStatus = "checking"          // whether the action exists already
	GateAwaiting   GateStatus = "awaiting_approval" // people decide
	GateDeciding   GateStatus = "deciding"          // enough people have, and whether anybody still waits is looked up
	GateApproved   GateStatus = "approved"          // the action is started
	GateDenied     GateStatus = "denied"            // nothing is started for this digest
	GateNotDecided GateStatus = "not_decided"       // nobody waits any more
	GateSuperseded GateStatus = "superseded"        // the action exists already
)

// Final reports whether the status closes the gate.
func (s GateStatus) Final() bool {
	return slices.Contains([]GateStatus{GateApproved, GateDenied, GateNotDecided, GateSuperseded}, s)
}

// Asking is a run that waits for a decision: the signal onceward.want. RunID is the
// execution that asks, so that one which a reset ended counts for nothing; Chain is
// ActInput.RunID.
type Asking struct {
	Run    string    `json:"run"`
	RunID  string    `json:"run_id"`
	Chain  string    `json:"chain,omitempty"`
	Call   string    `json:"call"` // of the run, by its id
	Digest string    `json:"digest"`
	Until  time.Time `json:"until"`
}

// Denial is a decision that holds for as long as Temporal keeps the gate: nobody is
// asked about the same effect again.
type Denial struct {
	Digest string `json:"digest"`
	Approver
}

// MaxDenials is how many denied proposals of one action are remembered.
const MaxDenials = 50

// Gate is what the query onceward.receipt of an Approval workflow answers, and its
// result, which has no arguments.
type Gate struct {
	ActionID   ActionID        `json:"action_id"`
	Agent      string          `json:"agent"`
	Tool       string          `json:"tool"`
	Arguments  json.RawMessage `json:"arguments,omitempty"`
	Caller     Caller          `json:"caller,omitzero"`
	Digest     string          `json:"digest"`
	Status     GateStatus      `json:"status"`
	Why        string          `json:"why,omitempty"`
	Needed     int             `json:"needed"`
	ApprovedBy []Approver      `json:"approved_by,omitempty"`
	DeniedBy   *Approver       `json:"denied_by,omitempty"`
	Version    int             `json:"version"` // that a vote has to name
	Until      time.Time       `json:"wanted_until"`
	Asks       []Asking        `json:"asks,omitempty"`
	Denied     []Denial        `json:"denied,omitempty"` // also those of earlier gates
	Refused    []string        `json:"refused,omitempty"`
	More       int             `json:"refused_more,omitempty"`
	At         time.Time       `json:"at"`
}
