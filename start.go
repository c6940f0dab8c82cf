package onceward

import (
	"encoding/json"
	"time"
)

// Start is the one argument of a run's workflow. Request is what the run is
// about: a JSON string becomes the first message verbatim, anything else is
// given to the model as JSON text. Carry is set by continue-as-new only.
type Start struct {
	Request json.RawMessage `json:"request"`
	// Tenant and User say for whom the run works, and Slot about which time: see
	// Caller. They are recorded in the manifest, and tools are told.
	Tenant string    `json:"tenant,omitempty"`
	User   string    `json:"user,omitempty"`
	Slot   time.Time `json:"slot,omitzero"`
	// State names what a resource already holds and the run cannot do without.
	State *ProviderState `json:"state,omitempty"`
	Carry *Carry         `json:"carry,omitempty"`
}

// ProviderState is state that lives on one resource and cannot be exported. A
// run with it is pinned: only that resource is asked, it is waited for while it
// cannot answer, and the run ends truthfully when it is gone. The zero value is
// refused; a run without provider-side state has a nil *ProviderState. Resource
// alone pins a run for a reason of the caller's own.
//
// Hosted containers and background responses cannot be named: hosted tools are
// no part of an agent, and the id of a background response would be known only
// from an answer that a killed worker never recorded.
type ProviderState struct {
	Resource string `json:"resource"` // the owner, by its name in the pool
	// PreviousResponseID is sent with every request of the run: the stored
	// response its transcript goes on from. It excludes Conversation.
	PreviousResponseID string `json:"previous_response_id,omitempty"`
	// Conversation is sent with every request of the run. The resource puts the
	// conversation's items before the request's input and appends input and
	// answer to it, so a request holds only what is not there yet. An attempt
	// after which nobody can tell whether the resource appended ends the run as
	// failed: asking again could append twice.
	Conversation string `json:"conversation,omitempty"`
	// Files are ids of files that were uploaded to the owner, at most MaxFiles.
	// They stand in the run's first message, after its text.
	Files []string `json:"files,omitempty"`
}

// MaxFiles bounds ProviderState.Files.
const MaxFiles = 20

// Ask returns the Start of a run about a plain text.
func Ask(text string) Start {
	raw, err := json.Marshal(text)
	if err != nil { // a string always encodes
		raw = []byte(`""`)
	}
	return Start{Request: raw}
}

// Plan is the part of the manifest that workflow code decides from. It is fixed
// when a run opens: a deploy does not change a run in flight.
type Plan struct {
	Version       int            `json:"version"`
	Agent         string         `json:"agent"`
	Task          string         `json:"task"`
	Models        []string       `json:"models"`
	Resources     []string       `json:"resources,omitempty"`
	Requirements  Requirements   `json:"requirements"`
	Budget        Budget         `json:"budget"`
	Timeouts      Timeouts       `json:"timeouts"`
	Tools         []ToolPlan     `json:"tools,omitempty"`
	Degraded      Outcome        `json:"degraded"`
	CrossBoundary string         `json:"cross_boundary"`
	Affinity      string         `json:"affinity"`
	Heartbeat     time.Duration  `json:"heartbeat"`
	Release       string         `json:"release"`
	Tenant        string         `json:"tenant,omitempty"`
	User          string         `json:"user,omitempty"`
	Slot          time.Time      `json:"slot,omitzero"`
	State         *ProviderState `json:"state,omitempty"`
	Figures       bool           `json:"figures,omitempty"` // whether the attributes follow every figure, also without a change of status
	Attributes    bool           `json:"attributes"`        // whether the namespace has the search attributes
	Limits        TurnLimits     `json:"limits,omitzero"`   // all above zero; zero in a manifest of version 1
}

// Caller returns for whom the run works.
func (p Plan) Caller() Caller { return Caller{Tenant: p.Tenant, User: p.User, Slot: p.Slot} }

// ToolPlan is what workflow code knows of a tool.
type ToolPlan struct {
	Name        string        `json:"name"`
	Kind        ToolKind      `json:"kind"`
	Once        bool          `json:"once,omitempty"`
	Approve     bool          `json:"approve,omitempty"`      // some calls have to be approved
	Timeout     time.Duration `json:"timeout,omitempty"`      // read
	MaxAttempts int           `json:"max_attempts,omitempty"` // read
	MaxOutput   int           `json:"max_output,omitempty"`   // read; zero is MaxOutput, the bound of manifests without it
	Write       WritePolicy   `json:"write,omitzero"`         // write
}

// Manifest is item 0 of every transcript: everything that was resolved for the
// run when it opened. Its digest is in every attempt.
type Manifest struct {
	Type         string      `json:"type"` // ItemManifest
	Plan         Plan        `json:"plan"`
	Instructions string      `json:"instructions"`
	Tools        []ToolDecl  `json:"tools,omitempty"`
	Output       *OutputDecl `json:"output,omitempty"`
	AcceptCut    bool        `json:"accept_cut,omitempty"`
}

// MaxCarry bounds what continue-as-new carries, in bytes as the JSON converter
// writes them: plan, items, receipts and what else there is. The server takes 2 MB,
// so a payload codec may add a quarter, and base64 its third.
const MaxCarry = 1500 << 10

// Carry is what a run hands to its next execution.
type Carry struct {
	Version   int             `json:"version"`
	Plan      Plan            `json:"plan"`
	Items     []Item          `json:"items"`
	Actions   []ActionReceipt `json:"actions,omitempty"` // the ledger
	Withdrawn []string        `json:"withdrawn,omitempty"`
	Excluded  []ExcludedRoute `json:"excluded,omitempty"`
	Suspects  []RunSuspect    `json:"suspects,omitempty"`
	Warm      string          `json:"warm,omitempty"`
	Use       Use             `json:"use"`
	Turn      int             `json:"turn"`
	Started   time.Time       `json:"started"` // of the chain
	Committed bool            `json:"committed"`
	Repair    Repair          `json:"repair,omitempty"` // that every attempt needs
	RunID     string          `json:"run_id,omitempty"` // of the chain: see ActInput.RunID
	Refused   []string        `json:"refused,omitempty"`
	More      int             `json:"refused_more,omitempty"`
}

// TranscriptQuery is the argument of the query onceward.transcript: items
// [From, To). To 0 means to the end. A page ends early at 1 MB.
type TranscriptQuery struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// TranscriptPage is its answer. Next is where the following page begins.
type TranscriptPage struct {
	Items  []Item `json:"items"`
	Next   int    `json:"next"`
	Length int    `json:"length"`
}
