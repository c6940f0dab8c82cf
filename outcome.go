package onceward

// Outcome is how a run ended. Degraded ends are results, not errors.
type Outcome string

// The outcomes.
const (
	OutcomeCompleted        Outcome = "completed"
	OutcomeReadOnlyFallback Outcome = "read_only_fallback"
	OutcomeManualCompletion Outcome = "manual_completion_required"
	OutcomeResultDelayed    Outcome = "result_delayed"
	OutcomeUnknown          Outcome = "outcome_unknown"
	OutcomeUnavailable      Outcome = "unavailable" // no route left
	OutcomeFailed           Outcome = "failed"      // a final failure, attached
	OutcomeBudgetExhausted  Outcome = "budget_exhausted"
	OutcomeCancelled        Outcome = "cancelled"
)

// RunStatus says what a run is doing.
type RunStatus string

// The statuses of a run.
const (
	StatusRunning         RunStatus = "running"
	StatusWaitingPerson   RunStatus = "waiting_person"
	StatusWaitingResource RunStatus = "waiting_resource"
	StatusClosed          RunStatus = "closed"
)

// Result is what a run's workflow returns. It is never a generic success: read
// Outcome first.
type Result struct {
	Outcome     Outcome         `json:"outcome"`
	Text        string          `json:"text"`
	Failure     *Failure        `json:"failure,omitempty"` // of outcome failed and unavailable
	Reason      string          `json:"reason,omitempty"`
	CompletedBy string          `json:"completed_by,omitempty"` // the person of a manual completion
	Note        string          `json:"note,omitempty"`         // theirs, for the record
	Actions     []ActionReceipt `json:"actions"`
	Turns       int             `json:"turns"`
	Use         Use             `json:"use"`
	Refused     []string        `json:"refused,omitempty"`      // what operators sent and the run did not take, and why
	More        int             `json:"refused_more,omitempty"` // refusals beyond those
}

// Status is the answer of the query onceward.status.
type Status struct {
	Agent    string          `json:"agent"`
	Status   RunStatus       `json:"status"`
	Outcome  Outcome         `json:"outcome,omitempty"` // provisional while a run waits
	Waiting  string          `json:"waiting,omitempty"` // for whom or what, for people
	Turn     int             `json:"turn"`
	Use      Use             `json:"use"`
	Budget   Budget          `json:"budget"`
	Deadline string          `json:"deadline"` // RFC 3339, of machine time as it stands
	Actions  []ActionReceipt `json:"actions"`
	Refused  []string        `json:"refused,omitempty"`      // operator signals that were refused, and why
	More     int             `json:"refused_more,omitempty"` // refusals beyond those
}
