package onceward

import "time"

// Class names what went wrong with an attempt. The set is closed: every switch
// over it is exhaustive, and ClassUnknown is the only "something else".
type Class string

// The failure classes.
const (
	ClassInvalidRequest         Class = "invalid_request"
	ClassMissingToolOutput      Class = "missing_tool_output"
	ClassContextLength          Class = "context_length_exceeded"
	ClassRequestTooLarge        Class = "request_too_large"
	ClassUnsupportedCapability  Class = "unsupported_capability"
	ClassModelUnavailable       Class = "model_unavailable"
	ClassAuthentication         Class = "authentication"
	ClassPermission             Class = "permission"
	ClassRegionBlocked          Class = "region_blocked"
	ClassEndpointMisconfigured  Class = "endpoint_misconfigured"
	ClassBilling                Class = "billing"
	ClassQuotaExhausted         Class = "quota_exhausted"
	ClassRateLimited            Class = "rate_limited"
	ClassOverloaded             Class = "provider_overloaded"
	ClassServerError            Class = "server_error"
	ClassNetwork                Class = "network"
	ClassTimeout                Class = "timeout"
	ClassDeadlineExceeded       Class = "deadline_exceeded"
	ClassCancelled              Class = "cancelled"
	ClassContentFiltered        Class = "content_filtered"
	ClassPolicyBlocked          Class = "policy_blocked"
	ClassRefusal                Class = "refusal"
	ClassEmptyOutput            Class = "empty_output"
	ClassInvalidOutput          Class = "invalid_output"
	ClassIncompleteOutput       Class = "incomplete_output"
	ClassResourceAffinity       Class = "resource_affinity"
	ClassStaleAnchor            Class = "stale_anchor"
	ClassUndecryptableReasoning Class = "undecryptable_reasoning"
	ClassStateConflict          Class = "state_conflict"
	ClassConnectionExpired      Class = "connection_expired"
	ClassGatewayExhausted       Class = "gateway_exhausted"
	ClassNoRoute                Class = "no_route"
	ClassWorkerLost             Class = "worker_lost"
	ClassPayloadTooLarge        Class = "payload_too_large"
	ClassUnknown                Class = "unknown"
)

// Exclusion says for how long the run itself passes over a resource after a
// failure of a class, whatever the resource's shared health says.
type Exclusion string

// The exclusions.
const (
	ExcludeNever Exclusion = "never" // the route stays a candidate
	ExcludeTurn  Exclusion = "turn"  // a passing failure: not again in this turn while others are left
	ExcludeRun   Exclusion = "run"   // it would fail the same way for the rest of the run
)

// Rule is one row of the class table: the defaults of a class. A particular
// failure may differ where its text says more. The zero value is no rule.
type Rule struct {
	Class            Class
	Meaning          string
	FallbackEligible bool // may another resource be asked
	Retryable        bool // may the same resource be asked again when no other is left
	Final            bool // ends the run as failed
	Scope            Scope
	StateEffect      StateEffect
	Repair           Repair
	Exclude          Exclusion
	Window           time.Duration // how long a throttle or an unavailable pair lasts when nothing says
}

// Rule returns the row of the class table. An undeclared class has the row of
// ClassUnknown.
func (c Class) Rule() Rule {
	for i := range classTable {
		if classTable[i].Class == c {
			return classTable[i]
		}
	}
	return classTable[len(classTable)-1]
}

// Known reports whether c is a declared class.
func (c Class) Known() bool {
	for i := range classTable {
		if classTable[i].Class == c {
			return true
		}
	}
	return false
}

// Classes returns the class table in its documented order. The slice is a copy.
func Classes() []Rule { return append([]Rule(nil), classTable...) }

// classTable is the one place where a class gets its consequences;
// docs/failures.md is generated from it. ClassUnknown stays last.
var classTable = []Rule{
	{Class: ClassInvalidRequest, Meaning: "the request is malformed and every resource would say so", Final: true, Scope: ScopeRequest, StateEffect: EffectNone, Exclude: ExcludeNever},
	{Class: ClassMissingToolOutput, Meaning: "a tool call in the input has no output", Scope: ScopeRequest, StateEffect: EffectNone, Repair: RepairHistory, Final: true, Exclude: ExcludeNever},
	{Class: ClassContextLength, Meaning: "the input does not fit this model's context", FallbackEligible: true, Scope: ScopeRequest, StateEffect: EffectNone, Exclude: ExcludeRun},
	{Class: ClassRequestTooLarge, Meaning: "the request's bytes exceed what this resource takes", FallbackEligible: true, Scope: ScopeRequest, StateEffect: EffectNone, Exclude: ExcludeRun},
	{Class: ClassUnsupportedCapability, Meaning: "this deployment lacks a parameter, tool or modality of the request", FallbackEligible: true, Scope: ScopeRequest, StateEffect: EffectNone, Exclude: ExcludeRun},
	{Class: ClassModelUnavailable, Meaning: "the model is not served here or not to this account", FallbackEligible: true, Scope: ScopeDeployment, StateEffect: EffectDeploymentDown, Exclude: ExcludeRun, Window: 30 * time.Minute},
	{Class: ClassAuthentication, Meaning: "the credential is refused", FallbackEligible: true, Scope: ScopeAccount, StateEffect: EffectDisable, Exclude: ExcludeRun},
	{Class: ClassPermission, Meaning: "the credential is known but may not do this", FallbackEligible: true, Scope: ScopeAccount, StateEffect: EffectDisable, Exclude: ExcludeRun},
	{Class: ClassRegionBlocked, Meaning: "the resource does not serve this network or country", FallbackEligible: true, Scope: ScopeEgress, StateEffect: EffectDisable, Exclude: ExcludeRun},
	{Class: ClassEndpointMisconfigured, Meaning: "the address is not the API: wrong path, host, version or certificate", FallbackEligible: true, Scope: ScopeResource, StateEffect: EffectDisable, Exclude: ExcludeRun},
	{Class: ClassBilling, Meaning: "the account cannot pay", FallbackEligible: true, Scope: ScopeAccount, StateEffect: EffectDisable, Exclude: ExcludeRun},
	{Class: ClassQuotaExhausted, Meaning: "a long quota is used up", FallbackEligible: true, Scope: ScopeAccount, StateEffect: EffectDisable, Exclude: ExcludeRun},
	{Class: ClassRateLimited, Meaning: "too many requests or tokens in a short window", FallbackEligible: true, Retryable: true, Scope: ScopeResource, StateEffect: EffectThrottle, Exclude: ExcludeTurn, Window: 5 * time.Second},
	{Class: ClassOverloaded, Meaning: "the resource has no capacity now", FallbackEligible: true, Retryable: true, Scope: ScopeDeployment, StateEffect: EffectBreaker, Exclude: ExcludeTurn, Window: 2 * time.Second},
	{Class: ClassServerError, Meaning: "the resource failed inside", FallbackEligible: true, Retryable: true, Scope: ScopeDeployment, StateEffect: EffectBreaker, Exclude: ExcludeTurn},
	{Class: ClassNetwork, Meaning: "the connection failed or broke", FallbackEligible: true, Retryable: true, Scope: ScopeResource, StateEffect: EffectBreaker, Exclude: ExcludeTurn},
	{Class: ClassTimeout, Meaning: "the resource did not answer in its own time", FallbackEligible: true, Retryable: true, Scope: ScopeDeployment, StateEffect: EffectBreaker, Exclude: ExcludeTurn},
	{Class: ClassDeadlineExceeded, Meaning: "we gave up waiting", Scope: ScopeCaller, StateEffect: EffectNone, Exclude: ExcludeTurn},
	{Class: ClassCancelled, Meaning: "the caller cancelled", Scope: ScopeCaller, StateEffect: EffectNone, Exclude: ExcludeNever, Final: true},
	{Class: ClassContentFiltered, Meaning: "a content filter stopped the input or the output", Final: true, Scope: ScopeRequest, StateEffect: EffectNone, Exclude: ExcludeNever},
	{Class: ClassPolicyBlocked, Meaning: "a usage policy refused the request", Final: true, Scope: ScopeRequest, StateEffect: EffectNone, Exclude: ExcludeNever},
	{Class: ClassRefusal, Meaning: "the model declined; that is its answer", Scope: ScopeRequest, StateEffect: EffectNone, Exclude: ExcludeNever, Final: true},
	{Class: ClassEmptyOutput, Meaning: "a success without any output", FallbackEligible: true, Retryable: true, Scope: ScopeDeployment, StateEffect: EffectNone, Exclude: ExcludeTurn},
	{Class: ClassInvalidOutput, Meaning: "an answer that is not what was asked for", FallbackEligible: true, Retryable: true, Scope: ScopeRequest, StateEffect: EffectNone, Exclude: ExcludeTurn},
	{Class: ClassIncompleteOutput, Meaning: "the answer was cut at a token limit", Retryable: true, Scope: ScopeRequest, StateEffect: EffectNone, Repair: RepairRaiseOutput, Exclude: ExcludeTurn},
	{Class: ClassResourceAffinity, Meaning: "an id in the request lives on another resource", FallbackEligible: true, Scope: ScopeRequest, StateEffect: EffectNone, Repair: RepairStripIDs, Exclude: ExcludeTurn},
	{Class: ClassStaleAnchor, Meaning: "a previous response is not to be found", Retryable: true, Scope: ScopeRequest, StateEffect: EffectDropAnchor, Repair: RepairFullInput, Exclude: ExcludeTurn},
	{Class: ClassUndecryptableReasoning, Meaning: "encrypted reasoning from another boundary", FallbackEligible: true, Scope: ScopeBoundary, StateEffect: EffectNone, Repair: RepairStripReasoning, Exclude: ExcludeTurn},
	{Class: ClassStateConflict, Meaning: "provider-side state is locked by another request", Retryable: true, Scope: ScopeRequest, StateEffect: EffectNone, Exclude: ExcludeTurn},
	{Class: ClassConnectionExpired, Meaning: "a long-lived connection reached its limit", Retryable: true, Scope: ScopeResource, StateEffect: EffectNone, Exclude: ExcludeNever},
	{Class: ClassGatewayExhausted, Meaning: "a gateway in front found no upstream", FallbackEligible: true, Retryable: true, Scope: ScopeResource, StateEffect: EffectThrottle, Exclude: ExcludeTurn, Window: 5 * time.Second},
	{Class: ClassNoRoute, Meaning: "no candidate passed selection", Scope: ScopeFleet, StateEffect: EffectNone, Exclude: ExcludeNever},
	{Class: ClassWorkerLost, Meaning: "our own worker went away during the attempt", FallbackEligible: true, Retryable: true, Scope: ScopeCaller, StateEffect: EffectNone, Exclude: ExcludeNever},
	{Class: ClassPayloadTooLarge, Meaning: "a payload exceeds what Temporal carries", Scope: ScopeRequest, StateEffect: EffectNone, Final: true, Exclude: ExcludeNever},
	{Class: ClassUnknown, Meaning: "nothing in the text or the status says what happened", FallbackEligible: true, Scope: ScopeRequest, StateEffect: EffectNone, Exclude: ExcludeTurn},
}
