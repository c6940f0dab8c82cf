package onceward

import (
	"errors"
	"fmt"
	"time"
)

// Phase says how far an attempt had come when it failed.
type Phase string

// The phases of an attempt, in order.
const (
	PhasePrepare Phase = "prepare" // nothing was written to the network
	PhaseSent    Phase = "sent"    // the request went out, no output item has come
	PhaseStream  Phase = "stream"  // the first output item has come
	PhaseBody    Phase = "body"    // the body of a JSON answer was being read
	PhaseSettled Phase = "settled" // the answer is complete and was judged unusable
)

// ModelResult says what of the model's answer exists after a failure.
type ModelResult string

// What a failed attempt has produced.
const (
	ModelResultNone    ModelResult = "none"
	ModelResultPartial ModelResult = "partial"
	ModelResultUnknown ModelResult = "unknown"
)

// Scope names what a failure is about: whom it would hit again.
type Scope string

// The scopes, from the narrowest to the widest.
const (
	ScopeRequest    Scope = "request"
	ScopeCaller     Scope = "caller"
	ScopeDeployment Scope = "deployment"
	ScopeResource   Scope = "resource"
	ScopeAccount    Scope = "account"
	ScopeBoundary   Scope = "boundary"
	ScopeFleet      Scope = "fleet"
	ScopeEgress     Scope = "egress"
)

// StateEffect is what a failure changes in the health of a resource. It is an
// axis of its own: whether the walk goes on is FallbackEligible.
type StateEffect string

// The effects on health.
const (
	EffectNone           StateEffect = "none"
	EffectThrottle       StateEffect = "throttle_until"         // a window, never a breaker count
	EffectBreaker        StateEffect = "breaker_failure"        // counts on (resource, model)
	EffectDisable        StateEffect = "disable_with_reason"    // the resource, until a test passes
	EffectDeploymentDown StateEffect = "deployment_unavailable" // the (resource, model) pair, with an expiry
	EffectDropAnchor     StateEffect = "drop_anchor"            // forget one provider-side anchor
)

// Repair names a change to the request that may cure the failure. A repair is
// tried at most once a turn and is an attempt of its own.
type Repair string

// The repairs.
const (
	RepairNone           Repair = ""
	RepairHistory        Repair = "repair_history"
	RepairStripIDs       Repair = "strip_ids"
	RepairStripReasoning Repair = "strip_reasoning"
	RepairFullInput      Repair = "full_input_without_anchor"
	RepairLowerOutput    Repair = "lower_max_output_tokens"
	RepairRaiseOutput    Repair = "raise_max_output_tokens"
)

// Known reports whether r is a repair of this release.
func (r Repair) Known() bool {
	switch r {
	case RepairNone, RepairHistory, RepairStripIDs, RepairStripReasoning, RepairFullInput, RepairLowerOutput, RepairRaiseOutput:
		return true
	default:
		return false
	}
}

// MaxFailureMessage bounds Failure.Message in bytes: a failure rides in
// Temporal error details, which the server cuts at 4 KB while it retries.
const MaxFailureMessage = 500

// Failure is a failed attempt as data: everything the run decides from. The
// router returns it as its only error type. The zero value has no class and is
// not valid. A Failure is a value; treat one that was handed out as read-only.
type Failure struct {
	Class                Class         `json:"class"`
	Phase                Phase         `json:"phase"`
	NotSent              bool          `json:"not_sent,omitempty"` // provably nothing left this process
	Retryable            bool          `json:"retryable,omitempty"`
	FallbackEligible     bool          `json:"fallback_eligible,omitempty"`
	RetryAfter           time.Duration `json:"retry_after_ns,omitempty"` // floor for this resource, never a sleep before another
	ProviderRequestID    string        `json:"provider_request_id,omitempty"`
	ResponseStarted      bool          `json:"response_started,omitempty"`
	ProviderStateCreated bool          `json:"provider_state_created,omitempty"`
	ModelResult          ModelResult   `json:"model_result,omitempty"`
	Scope                Scope         `json:"scope,omitempty"`
	StateEffect          StateEffect   `json:"state_effect,omitempty"`
	Repair               Repair        `json:"repair,omitempty"`
	Resource             string        `json:"resource,omitempty"`
	Deployment           string        `json:"deployment,omitempty"`
	// Needed and Available are input tokens, of a request that no candidate of a
	// selection has room for.
	Needed     int    `json:"needed,omitempty"`
	Available  int    `json:"available,omitempty"`
	HTTPStatus int    `json:"http_status,omitempty"`
	Message    string `json:"message,omitempty"` // redacted, at most MaxFailureMessage bytes
}

// NewFailure returns a Failure with the defaults of its class from the class
// table. The message is cut to MaxFailureMessage bytes; the caller redacts it.
func NewFailure(class Class, phase Phase, message string) *Failure {
	rule := class.Rule()
	return &Failure{
		Class:            class,
		Phase:            phase,
		Retryable:        rule.Retryable,
		FallbackEligible: rule.FallbackEligible,
		ModelResult:      ModelResultNone,
		Scope:            rule.Scope,
		StateEffect:      rule.StateEffect,
		Repair:           rule.Repair,
		Message:          Cut(message, MaxFailureMessage),
	}
}

// NotSentFailure returns a failure of the prepare phase: nothing was sent, the
// reservation is given back and no health changes.
func NotSentFailure(class Class, message string) *Failure {
	f := NewFailure(class, PhasePrepare, message)
	f.NotSent = true
	f.Retryable, f.FallbackEligible = true, true
	f.StateEffect = EffectNone
	return f
}

// Error implements error.
func (f *Failure) Error() string {
	if f.Message == "" {
		return fmt.Sprintf("%s (%s)", f.Class, f.Phase)
	}
	return fmt.Sprintf("%s (%s): %s", f.Class, f.Phase, f.Message)
}

// Is matches another *Failure of the same class, so that
// errors.Is(err, &Failure{Class: ClassBilling}) works.
func (f *Failure) Is(target error) bool {
	var other *Failure
	return errors.As(target, &other) && other.Class == f.Class
}

// Cut shortens s to at most n bytes without splitting a UTF-8 sequence.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
