package onceward

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"
)

// MaxActionID bounds an action id in bytes.
const MaxActionID = 200

// KeyLength is the length of the key handed to the product, in bytes. Its
// alphabet is 0-9 and a-v, which every published idempotency header accepts.
const KeyLength = 32

// ActionID names one business effect, such as refund/order-1842/v1. It is made
// from business arguments, never from a run, a turn or a call id: two runs that
// mean the same effect must arrive at the same id.
type ActionID string

// Validate refuses an id that is empty, longer than MaxActionID bytes, or holds
// anything but printable ASCII without spaces: the SDK puts the workflow id into
// a header that carries nothing else, and such an action could never start.
func (id ActionID) Validate() error {
	switch {
	case id == "":
		return fmt.Errorf("action id is empty")
	case len(id) > MaxActionID:
		return fmt.Errorf("action id has %d bytes, at most %d", len(id), MaxActionID)
	}
	for _, r := range string(id) {
		if r <= ' ' || r > '~' {
			return fmt.Errorf("action id holds the character %U, it may hold printable ASCII without spaces", r)
		}
	}
	return nil
}

// WorkflowID returns the id of the Action's workflow.
func (id ActionID) WorkflowID() string { return "action/" + string(id) }

// GateID returns the id of the workflow in which people approve the action.
func (id ActionID) GateID() string { return "approval/" + string(id) }

// ParseActionWorkflowID is the inverse of ActionID.WorkflowID; it also accepts a
// bare action id, as an operator types it.
func ParseActionWorkflowID(s string) (ActionID, error) {
	id := ActionID(strings.TrimPrefix(s, "action/"))
	return id, id.Validate()
}

// Key returns the idempotency key of the id: KeyLength characters of a digest
// over the whole id, so that ids which differ anywhere have different keys and
// no character of the id reaches a header.
func (id ActionID) Key() string {
	sum := sha256.Sum256([]byte("onceward/action/" + string(id)))
	return strings.ToLower(base32.HexEncoding.EncodeToString(sum[:20]))
}

// Action is what a write tool's functions are told about the effect they make
// or look for. The zero value is no action. It is a value, safe to copy.
type Action struct {
	ID       ActionID  `json:"id"`
	Key      string    `json:"key"`             // for the product's idempotency header
	NotAfter time.Time `json:"not_after"`       // the lease: the context ends then, and nothing may be sent later
	Caller   Caller    `json:"caller,omitzero"` // for whom: of the run that proposed it first
}

// ActionState is a state of the Action workflow.
type ActionState string

// The states of an action. Committed, rejected and unknown can close it.
const (
	StateProposed         ActionState = "proposed"
	StateAwaitingApproval ActionState = "awaiting_approval" // of a proposal that has no action yet: people decide
	StateCommitting       ActionState = "committing"
	StateAccepted         ActionState = "accepted" // pending at the product
	StateReconciling      ActionState = "reconciling"
	StateAwaitingOperator ActionState = "awaiting_operator"
	StateCommitted        ActionState = "committed"
	StateRejected         ActionState = "rejected"
	StateUnknown          ActionState = "unknown"  // closed from outside, without a receipt
	StateReversed         ActionState = "reversed" // told as made or submitted, and failed after all: a person decides
)

// Final reports whether the state carries a receipt that never changes.
func (s ActionState) Final() bool { return s == StateCommitted || s == StateRejected }
