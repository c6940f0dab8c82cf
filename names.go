package onceward

// Workflow and activity types that cross the border between workflows and
// activities, so that neither package imports the other.
const (
	WorkflowAction   = "onceward.Action"
	WorkflowApproval = "onceward.Approval"

	ActivityOpen        = "onceward.Open"        // local: resolve agent and configuration into the manifest
	ActivitySelectRoute = "onceward.SelectRoute" // local: choose a route, read-only
	ActivityWriteItem   = "onceward.WriteItem"   // local: write an output item that workflow code must not encode
	ActivityWriteItems  = "onceward.WriteItems"  // local: the same answer to several calls
	ActivityCallModel   = "onceward.CallModel"   // one HTTP request to one resource
	ActivityAct         = "onceward.Act"         // start an action or attach to it
	ActivityLookAround  = "onceward.LookAround"  // whether an action exists, and who still waits for it
	ActivityWithdraw    = "onceward.Withdraw"    // take an ask for an approval back
)

// Types of application errors that cross the same border.
const (
	// ErrorNoAgent is of a run whose agent this worker does not have. The run
	// waits: another worker, or the next release, may have it.
	ErrorNoAgent = "agent_not_registered"
	// ErrorInvalidStart is of a run that was started with an argument no run can
	// work on.
	ErrorInvalidStart = "invalid_start"
)

// EncodingRefused marks the payload that stands for a signal which never decodes,
// such as one under an unknown key: its data says why. Workflow code lists it as
// refused; without it the SDK would drop the signal unseen.
const EncodingRefused = "onceward/refused"

// Handlers. Each takes one JSON object, which is all that the Temporal UI sends.
const (
	UpdateComplete = "onceward.complete" // run: update and signal
	UpdateResolve  = "onceward.resolve"  // action: update and signal
	UpdateApprove  = "onceward.approve"  // gate: update and signal; action that waits for it: the same
	UpdateDeny     = "onceward.deny"     // gate: update and signal
	UpdateWithdraw = "onceward.withdraw" // gate: update, of runs

	SignalReceipt   = "onceward.receipt"   // run: an action tells the run that started it
	SignalSubmitted = "onceward.submitted" // action: a model heard that it is submitted
	SignalWant      = "onceward.want"      // gate: a run waits for a decision

	QueryStatus     = "onceward.status"
	QueryTranscript = "onceward.transcript"
	QueryLedger     = "onceward.ledger"
	QueryAttempts   = "onceward.attempts"
	QueryReceipt    = "onceward.receipt" // action and gate
)

// Memo keys of an Action, read back when a run attaches to it.
const (
	MemoTool   = "onceward_tool"
	MemoDigest = "onceward_digest"
	MemoRun    = "onceward_run" // the run that started it
)

// Search attributes of a run. They are used only where the namespace has them.
const (
	AttributeAgent          = "OncewardAgent"
	AttributeStatus         = "OncewardStatus"
	AttributeOutcome        = "OncewardOutcome"
	AttributeResource       = "OncewardResource"
	AttributeAttempts       = "OncewardAttempts"
	AttributeCostUSD        = "OncewardCostUSD"
	AttributePendingActions = "OncewardPendingActions"
)

// ActionsQueue returns the task queue of commits and reconciliations. They have
// slots of their own, so that waiting Acts cannot starve the commits they wait for.
func ActionsQueue(queue string) string { return queue + "-actions" }
