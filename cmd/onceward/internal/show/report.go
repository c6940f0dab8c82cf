// Package show turns the histories of a run and of its actions into the report
// that onceward show prints. [Build] is pure; [Read] fetches what it needs.
package show

import "github.com/onceward/onceward"

// Report is the output of onceward show --json. A field that has nothing to say
// yet is null. It is a plain value.
type Report struct {
	WorkflowID string             `json:"workflow_id"`
	RunID      string             `json:"run_id"` // of the newest execution
	Agent      *string            `json:"agent"`
	Status     onceward.RunStatus `json:"status"`
	Outcome    *onceward.Outcome  `json:"outcome"` // provisional while the run waits for a person
	Text       *string            `json:"text"`
	Budget     Budget             `json:"budget"`
	Attempts   []Attempt          `json:"attempts"` // of the whole chain, in order of time
	Actions    []Action           `json:"actions"`
	History    History            `json:"history"`
	// What people said of the run itself: who completed it and with what note, and
	// what was sent and not taken, with the reason. Left out where nobody did.
	CompletedBy *string  `json:"completed_by,omitempty"`
	Note        *string  `json:"note,omitempty"`
	Refused     []string `json:"refused,omitempty"`
	More        int      `json:"refused_more,omitempty"` // refusals beyond those

	waiting string // for people
	closed  string // how an execution ended that has no result
}

// Budget is what was used of the run's limits over the whole chain. Limits are
// null until the run has opened.
type Budget struct {
	Attempts AttemptsUse `json:"attempts"`
	CostUSD  CostUse     `json:"cost_usd"`
	Deadline *string     `json:"deadline"` // RFC 3339, of machine time
}

// AttemptsUse counts the attempts that were reserved and not given back.
type AttemptsUse struct {
	Used  int  `json:"used"`
	Limit *int `json:"limit"`
}

// CostUse is in US dollars; attempts in flight count with their ceiling.
type CostUse struct {
	Used  float64  `json:"used"`
	Limit *float64 `json:"limit"`
}

// Attempt is one HTTP request to a resource, or a selection that found none.
type Attempt struct {
	Turn       int                `json:"turn"`
	Attempt    int                `json:"attempt"`
	Resource   *string            `json:"resource"`
	Model      *string            `json:"model"`
	Deployment *string            `json:"deployment"`
	Class      *onceward.Class    `json:"class"` // null: in flight or succeeded
	Phase      *onceward.Phase    `json:"phase"` // null: in flight
	NotSent    bool               `json:"not_sent"`
	HTTPStatus *int               `json:"http_status"`
	RequestID  *string            `json:"request_id"`
	DurationMS *int64             `json:"duration_ms"`
	Usage      *onceward.Usage    `json:"usage"` // null: nothing was reported, which is not 0
	CostUSD    float64            `json:"cost_usd"`
	CostBasis  onceward.CostBasis `json:"cost_basis"`
	Reasoning  string             `json:"reasoning"` // kept | stripped
	Dropped    []Dropped          `json:"dropped"`
	// Verdicts are what was known before the attempt of the routes that the run suspects.
	Verdicts []onceward.RouteVerdict `json:"verdicts,omitempty"`

	message string // of the failure, for people
	reason  string // of the route, for people
}

// Dropped is a candidate that the selection before the attempt passed over.
type Dropped struct {
	Resource string `json:"resource"`
	Step     string `json:"step"`
	Reason   string `json:"reason"`
}

// Action is one entry of the tool ledger.
type Action struct {
	ActionID   onceward.ActionID    `json:"action_id"`
	Tool       string               `json:"tool"`
	Status     onceward.ActionState `json:"status"`
	Ref        *string              `json:"ref"`
	Commits    int                  `json:"commits"`    // commit activities that passed the guard, or may have
	Reconciled int                  `json:"reconciled"` // reads after a commit
	VerifiedBy *onceward.VerifiedBy `json:"verified_by"`
	ResolvedBy *string              `json:"resolved_by"`
	Version    int                  `json:"version"`
	// ApprovedBy and DeniedBy are the people who were asked before anything was sent.
	ApprovedBy []onceward.Approver `json:"approved_by,omitempty"`
	DeniedBy   *string             `json:"denied_by,omitempty"`
	// Remark says why nobody could look, where unknown says only that.
	Remark *string `json:"remark,omitempty"`
	// What people said of it: the note of who decided, and what was sent and not
	// taken, with the reason. Left out where nobody did.
	Note     *string            `json:"note,omitempty"`
	Refused  []string           `json:"refused,omitempty"`
	More     int                `json:"refused_more,omitempty"`
	Reversal *onceward.Reversal `json:"reversal,omitempty"`

	reason string // for people
}

// History is the size of the newest execution's history.
type History struct {
	Events int64 `json:"events"`
	Bytes  int64 `json:"bytes"`
}

// text returns nil for an empty string: null says "nothing" and "" does not.
func text[T ~string](s T) *T {
	if s == "" {
		return nil
	}
	return &s
}

// ActionOf returns a receipt as the report prints it.
func ActionOf(r onceward.ActionReceipt) Action {
	return Action{
		ActionID: r.ActionID, Tool: r.Tool, Status: r.Status, Ref: text(r.Ref), Commits: r.Commits, Reconciled: r.Reconciled,
		VerifiedBy: text(r.VerifiedBy), ResolvedBy: text(r.ResolvedBy), Version: r.Version, reason: r.Reason,
		Note: text(r.Note), Refused: r.Refused, More: r.More, Reversal: r.Reversal,
		ApprovedBy: r.ApprovedBy, DeniedBy: text(r.DeniedBy),
	}
}
