package onceward

import (
	"encoding/json"
	"time"
)

// OpenRequest is the input of the local activity that opens a run.
type OpenRequest struct {
	Agent   string          `json:"agent"`
	Request json.RawMessage `json:"request"`
	Tenant  string          `json:"tenant,omitempty"`
	User    string          `json:"user,omitempty"`
	Slot    time.Time       `json:"slot,omitzero"`
	State   *ProviderState  `json:"state,omitempty"`
}

// Opened is a run's beginning: its plan, and the first items of its transcript
// (the manifest and the request).
type Opened struct {
	Plan  Plan   `json:"plan"`
	Items []Item `json:"items"`
}

// CallInput is the input of CallModel. It never holds the transcript, only its
// length and digest: the activity keeps what it has seen and asks the run's
// query for the rest.
type CallInput struct {
	Agent     string    `json:"agent"`
	RunKey    string    `json:"run_key"`
	RunID     string    `json:"run_id"` // the run that scheduled it: a reset re-dispatches pending activities
	Turn      int       `json:"turn"`
	Attempt   int       `json:"attempt"`
	Route     Route     `json:"route"`
	Length    int       `json:"length"`
	Digest    string    `json:"digest"`   // chain digest of the transcript
	Manifest  string    `json:"manifest"` // digest of item 0
	Repair    Repair    `json:"repair,omitempty"`
	NotAfter  time.Time `json:"not_after"`           // the run's machine deadline
	Withdrawn []string  `json:"withdrawn,omitempty"` // write tools already used up
}

// CallResult is the result of CallModel: ready items, and each call bound. The
// text is that of item TextItem, counted from 1, so that a history holds what was
// said once; Text is set instead where no item has just this text.
type CallResult struct {
	Items    []Item     `json:"items"`
	TextItem int        `json:"text_item,omitempty"`
	Text     string     `json:"text,omitempty"`
	Calls    []Call     `json:"calls,omitempty"`
	Settled  Settlement `json:"settled"`
}

// Said returns the answer's text. It is a pure function of the result.
func (r CallResult) Said() string {
	if r.TextItem > 0 && r.TextItem <= len(r.Items) {
		return r.Items[r.TextItem-1].MessageText()
	}
	return r.Text
}

// Settlement is what an attempt cost and how it is found again at the resource.
// It rides with the result of an attempt and in the details of a failed one.
type Settlement struct {
	Usage             Usage         `json:"usage"`
	Cost              MicroUSD      `json:"cost"`
	CostBasis         CostBasis     `json:"cost_basis"`
	ProviderRequestID string        `json:"request_id,omitempty"`
	ResponseModel     string        `json:"response_model,omitempty"`
	HTTPStatus        int           `json:"http_status,omitempty"`
	Duration          time.Duration `json:"duration"`
	ReasoningStripped bool          `json:"reasoning_stripped,omitempty"`
	Notices           []string      `json:"notices,omitempty"`
}

// Call is one tool call of a response, bound once: what is digested, recorded
// and carried out is Args. Its key in the run's ledger is (turn, index). Output
// is set instead when the call cannot be carried out; it tells the model why.
type Call struct {
	Index    int             `json:"index"`
	CallID   string          `json:"call_id"`
	Tool     string          `json:"tool"`
	Kind     ToolKind        `json:"kind,omitempty"` // empty where nothing is bound: an answer, or beyond TurnLimits.Calls
	Args     json.RawMessage `json:"args,omitempty"`
	ActionID ActionID        `json:"action_id,omitempty"`
	Digest   string          `json:"digest,omitempty"`
	Bare     string          `json:"bare,omitempty"` // the digest without the tenant; empty where there is none
	// Approval is what the tool's policy says of the call. Nil: nobody has evaluated
	// it; the zero value: nobody is needed.
	Approval *Approval `json:"approval,omitempty"`
	Note     string    `json:"note,omitempty"`
	Output   *Item     `json:"output,omitempty"`
}

// ReadInput is the input of a read tool's activity; its result is an Item.
type ReadInput struct {
	CallID      string          `json:"call_id"`
	Args        json.RawMessage `json:"args"`
	MaxAttempts int             `json:"max_attempts"`
	MaxOutput   int             `json:"max_output,omitempty"` // zero: MaxOutput
	Caller      Caller          `json:"caller,omitzero"`
}

// ActInput is the input of Act and, with what Act adds, of the Action workflow.
type ActInput struct {
	ActionID ActionID `json:"action_id"`
	Agent    string   `json:"agent"`
	Tool     string   `json:"tool"`
	Digest   string   `json:"digest"`
	// Bare is the digest without the tenant, in which an action of an earlier build,
	// or of a run without a tenant, was recorded. Empty: there is no tenant.
	Bare   string `json:"bare,omitempty"`
	Caller Caller `json:"caller,omitzero"`
	// Approval is Call.Approval, and ApprovedBy who has agreed. Until is how long the
	// run waits for people.
	Approval   *Approval       `json:"approval,omitempty"`
	ApprovedBy []Approver      `json:"approved_by,omitempty"`
	Until      time.Time       `json:"until,omitzero"`
	Args       json.RawMessage `json:"args"`
	CallID     string          `json:"call_id"`
	Run        string          `json:"run"` // the workflow id of the run that proposes it
	// RunID tells the runs of one workflow id apart. It is the same over resets,
	// continue-as-new and workflow retries; empty in inputs of earlier builds.
	RunID  string      `json:"run_id,omitempty"`
	Policy WritePolicy `json:"policy"`
	// Repeated: this run has proposed the id before.
	Repeated bool `json:"repeated,omitempty"`
	// Submit: the run waits no longer for an effect that the product has accepted;
	// the model hears submitted, and the Action is told that it does.
	Submit bool `json:"submit,omitempty"`
	// Version is that of the manifest. A worker that does not know it leaves the
	// action to another: it would drop what it cannot read.
	Version int `json:"version,omitempty"`
	// AttachOnly reads an action and never starts it: the run is ending.
	AttachOnly bool `json:"attach_only,omitempty"`
}

// WritePolicy is what the tool's Spec and the configuration say of a write,
// fixed in the run's manifest.
type WritePolicy struct {
	Queue        string        `json:"queue"` // of commit and find
	Lease        time.Duration `json:"lease"`
	Heartbeat    time.Duration `json:"heartbeat"`
	Settle       time.Duration `json:"settle,omitempty"`
	Skew         time.Duration `json:"skew"`
	Keyed        bool          `json:"keyed,omitempty"`
	KeyTTL       time.Duration `json:"key_ttl"`
	ReadHorizon  time.Duration `json:"read_horizon"`
	VerifyByRead bool          `json:"verify_by_read,omitempty"`
	// Submit is how long a run waits for an effect that the product has accepted
	// before the model hears submitted. Zero, in manifests of earlier builds: until
	// its deadline.
	Submit time.Duration `json:"submit,omitempty"`
}

// ActResult is the result of Act. Pending means that the run has to wait; Output
// is set otherwise. An action that was submitted goes on all the same.
type ActResult struct {
	Pending bool          `json:"pending,omitempty"`
	Receipt ActionReceipt `json:"receipt"`
	Output  *Item         `json:"output,omitempty"`
	// Conflict: the id is taken by other material arguments; Receipt is of those.
	Conflict bool `json:"conflict,omitempty"`
}

// ActionInput is the input of the Action workflow. With Resolve set it only
// records something about an action that was closed, and never commits or reads: an
// operator's decision where there was no receipt or, as status reversed, the news
// that a committed effect failed after all, about which a person then decides.
type ActionInput struct {
	Act     ActInput `json:"act"`
	Resolve *Resolve `json:"resolve,omitempty"`
	// Commits and Reconciled are those of the executions before a recording one:
	// a decision must not make an effect look as if nobody had sent it.
	Commits    int `json:"commits,omitempty"`
	Reconciled int `json:"reconciled,omitempty"`
	// Refused and More, and the decision that is reversed with its note, are those of
	// the receipt before: what operators said stays on record.
	Refused    []string   `json:"refused,omitempty"`
	More       int        `json:"refused_more,omitempty"`
	VerifiedBy VerifiedBy `json:"verified_by,omitempty"`
	ResolvedBy string     `json:"resolved_by,omitempty"`
	Note       string     `json:"note,omitempty"`
}

// Begin returns the receipt that the action begins with.
func (in ActionInput) Begin() ActionReceipt {
	return ActionReceipt{
		ActionID: in.Act.ActionID, Agent: in.Act.Agent, Run: in.Act.Run, RunID: in.Act.RunID, Tool: in.Act.Tool, Digest: in.Act.Digest,
		Tenant: in.Act.Caller.Tenant, ApprovedBy: in.Act.ApprovedBy,
		Status: StateProposed, Commits: in.Commits, Reconciled: in.Reconciled,
		Refused: in.Refused, More: in.More, VerifiedBy: in.VerifiedBy, ResolvedBy: in.ResolvedBy, Note: in.Note,
	}
}

// CommitInput is the input of a write tool's commit and find activities.
type CommitInput struct {
	Action        Action          `json:"action"`
	Args          json.RawMessage `json:"args"`
	RunID         string          `json:"run_id"`          // of the Action's run that scheduled it
	OriginalRunID string          `json:"original_run_id"` // differs from RunID in a run that a reset made
	VerifyByRead  bool            `json:"verify_by_read,omitempty"`
	// Approval and ApprovedBy are those of the proposal: without enough of them the
	// guard asks the tool's policy itself.
	Approval   *Approval  `json:"approval,omitempty"`
	ApprovedBy []Approver `json:"approved_by,omitempty"`
	// Version is ActInput.Version. A worker that does not know it sends nothing.
	Version int `json:"version,omitempty"`
}

// CommitResult is the result of a commit activity that could say something. An
// error of the activity means unknown.
type CommitResult struct {
	Receipt    Receipt    `json:"receipt"`
	VerifiedBy VerifiedBy `json:"verified_by,omitempty"`
	// Sent reports that the guard let the commit through. False with a receipt:
	// the read before it found the effect. False without: NotSent says why.
	Sent    bool          `json:"sent"`
	NotSent NotSentReason `json:"not_sent,omitempty"`
	Detail  string        `json:"detail,omitempty"`
	People  int           `json:"people,omitempty"` // of NotSentUnapproved: how many have to approve
}

// ErrorCommitUnclear is the type of the application error of a commit that may
// have been sent: nobody knows its outcome.
const ErrorCommitUnclear = "commit_unclear"

// ErrorNotRegistered is the type of the error with which the SDK refuses an activity
// that a worker does not have, and this library one of a newer release: nothing was
// carried out, and another worker may.
const ErrorNotRegistered = "ActivityNotRegisteredError"

// NotSentReason says why the guard kept a commit from being sent.
type NotSentReason string

// The reasons of the guard.
const (
	NotSentReset      NotSentReason = "reset"       // the Action or its pending activity was reset
	NotSentLease      NotSentReason = "lease"       // the lease had ended
	NotSentReadFailed NotSentReason = "read_failed" // the read before the commit could not say
	NotSentStopping   NotSentReason = "stopping"    // the worker was being stopped
	NotSentUnapproved NotSentReason = "unapproved"  // a person has to approve it, and none is on record
)

// AttemptRecord is one attempt as the run's query and onceward show print it.
type AttemptRecord struct {
	RunID   string    `json:"run_id"`
	Turn    int       `json:"turn"`
	Attempt int       `json:"attempt"`
	Route   *Route    `json:"route,omitempty"` // nil: a selection that found nothing
	Dropped []Dropped `json:"dropped,omitempty"`
	// Verdicts are what its selection knew of the run's suspects.
	Verdicts []RouteVerdict `json:"verdicts,omitempty"`
	Failure  *Failure       `json:"failure,omitempty"`
	Settled  *Settlement    `json:"settled,omitempty"` // nil while in flight
	Repair   Repair         `json:"repair,omitempty"`
}

// WriteItemsInput asks for one answer to each of several calls.
type WriteItemsInput struct {
	CallIDs []string `json:"call_ids"`
	Code    string   `json:"code"`
	Message string   `json:"message"`
}

// WriteItemInput asks for the output item of a call that was never carried out
// or whose activity was lost.
type WriteItemInput struct {
	CallID string `json:"call_id"`
	Code   string `json:"code,omitempty"`
	// Status is set instead of Code for an output that is no error.
	Status  string `json:"status,omitempty"`
	Message string `json:"message"`
}
