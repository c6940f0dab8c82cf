package onceward

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// ReceiptStatus is what is known of one side effect.
type ReceiptStatus string

// What a commit or a reconciliation read can say.
const (
	StatusCommitted ReceiptStatus = "committed" // the effect exists
	StatusRejected  ReceiptStatus = "rejected"  // the product refused it; it does not exist
	StatusAccepted  ReceiptStatus = "accepted"  // the product took it and has not finished
	StatusAbsent    ReceiptStatus = "absent"    // a read found nothing
	StatusUnknown   ReceiptStatus = "unknown"   // nobody can say
	StatusConflict  ReceiptStatus = "conflict"  // neither made nor refused as asked: a person decides
	StatusReversed  ReceiptStatus = "reversed"  // it failed after all; of reports, never of a commit or a read
)

// Bounds of the free fields of a receipt, in bytes.
const (
	MaxRef    = 200
	MaxReason = 1000
)

// Receipt is a tool's answer about a side effect. Ref is the product's own name
// for it. The zero value says nothing and is refused where a receipt is due.
type Receipt struct {
	Status ReceiptStatus `json:"status"`
	Ref    string        `json:"ref,omitempty"`
	Reason string        `json:"reason,omitempty"`
}

// Committed returns the receipt of an effect that exists under ref.
func Committed(ref string) Receipt { return Receipt{Status: StatusCommitted, Ref: ref} }

// Rejected returns the receipt of a business refusal: the effect does not
// exist, and the model is told why.
func Rejected(reason string) Receipt { return Receipt{Status: StatusRejected, Reason: reason} }

// Accepted returns the receipt of an effect that the product has taken and not
// finished; the reconciliation read goes on until it is committed or rejected.
func Accepted(ref string) Receipt { return Receipt{Status: StatusAccepted, Ref: ref} }

// Conflict returns the receipt of an answer that is neither yes nor no and that
// asking again will not change: the key was used with other content, or the
// product has stored a failure under it. It is no refusal, because the effect may
// exist, and nothing is sent again: a person looks at the product and decides.
func Conflict(reason string) Receipt { return Receipt{Status: StatusConflict, Reason: reason} }

// Absent returns the receipt of a reconciliation read that found nothing.
func Absent() Receipt { return Receipt{Status: StatusAbsent} }

// Validate refuses a receipt whose status is not allowed where it was returned,
// a committed one without a ref, and oversized or ill-formed fields.
func (r Receipt) Validate(allowed ...ReceiptStatus) error {
	ok := false
	for _, s := range allowed {
		ok = ok || s == r.Status
	}
	switch {
	case !ok:
		return fmt.Errorf("receipt status %q, want one of %v", r.Status, allowed)
	case r.Status == StatusCommitted && r.Ref == "":
		return fmt.Errorf("committed receipt without a ref")
	case len(r.Ref) > MaxRef:
		return fmt.Errorf("receipt ref has %d bytes, at most %d", len(r.Ref), MaxRef)
	case strings.ContainsFunc(r.Ref, func(c rune) bool { return !unicode.IsPrint(c) }):
		return fmt.Errorf("receipt ref %q holds a character that cannot be printed on one line", r.Ref)
	case !utf8.ValidString(r.Ref) || !utf8.ValidString(r.Reason):
		return fmt.Errorf("receipt is not UTF-8")
	}
	return nil
}

// VerifiedBy says what a receipt rests on.
type VerifiedBy string

// The grounds of a receipt.
const (
	VerifiedByResponse VerifiedBy = "response" // the product's answer to the commit
	VerifiedByRead     VerifiedBy = "read"     // a reconciliation read
	VerifiedByOperator VerifiedBy = "operator" // a person's decision
)

// ActionReceipt is the entry of the tool ledger for one action: what the Action
// workflow returns, what its query answers and what a run keeps. Status is the
// state of the action, final or not.
type ActionReceipt struct {
	ActionID   ActionID    `json:"action_id"`
	Agent      string      `json:"agent"`
	Run        string      `json:"run"`              // the workflow id of the run that started it
	RunID      string      `json:"run_id,omitempty"` // which of the runs of that id: see ActInput.RunID
	Tool       string      `json:"tool"`
	Digest     string      `json:"digest"`           // of tool name, material arguments and tenant
	Tenant     string      `json:"tenant,omitempty"` // of the run that proposed it first
	Status     ActionState `json:"status"`
	Ref        string      `json:"ref,omitempty"`
	Reason     string      `json:"reason,omitempty"`
	Commits    int         `json:"commits"`    // commit activities that passed the guard, or may have
	Reconciled int         `json:"reconciled"` // reads after a commit
	VerifiedBy VerifiedBy  `json:"verified_by,omitempty"`
	ResolvedBy string      `json:"resolved_by,omitempty"`
	ApprovedBy []Approver  `json:"approved_by,omitempty"`
	DeniedBy   string      `json:"denied_by,omitempty"` // of a proposal that a person has denied
	Note       string      `json:"note,omitempty"`      // the operator's
	Version    int         `json:"version"`             // of the state; a decision names the version it decides
	Refused    []string    `json:"refused,omitempty"`
	More       int         `json:"refused_more,omitempty"` // refusals beyond those that Refused lists
	Reversal   *Reversal   `json:"reversal,omitempty"`     // nil: nobody has reported that it failed after all
	At         time.Time   `json:"at"`
}

// Reversal is the news that an effect which was told as committed or submitted
// failed after all. The zero value is refused.
type Reversal struct {
	By     string    `json:"by"` // who reports it
	Reason string    `json:"reason"`
	At     time.Time `json:"at,omitzero"` // when it was recorded
}

// Outcome returns the receipt a tool would have given, for a final state.
func (r ActionReceipt) Outcome() Receipt {
	switch r.Status {
	case StateCommitted:
		return Receipt{Status: StatusCommitted, Ref: r.Ref, Reason: r.Reason}
	case StateRejected:
		return Receipt{Status: StatusRejected, Ref: r.Ref, Reason: r.Reason}
	case StateAccepted:
		return Receipt{Status: StatusAccepted, Ref: r.Ref}
	case StateProposed, StateAwaitingApproval, StateCommitting, StateReconciling, StateAwaitingOperator, StateUnknown, StateReversed:
		return Receipt{Status: StatusUnknown, Reason: r.Reason}
	default:
		return Receipt{Status: StatusUnknown, Reason: r.Reason}
	}
}
