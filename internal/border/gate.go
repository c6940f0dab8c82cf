// Package border has what crosses between workflows and activities and no author of an
// agent ever sees, so that neither package imports the other.
package border

import "github.com/onceward/onceward"

// Withdrawal takes an ask back, as the update onceward.withdraw. Runs send it. An
// empty Call takes back all that the execution asks.
type Withdrawal struct {
	Run   string `json:"run"`
	RunID string `json:"run_id"`
	Call  string `json:"call,omitempty"`
}

// Of reports whether an ask is taken back by the withdrawal.
func (w Withdrawal) Of(a onceward.Asking) bool {
	return w.Run == a.Run && w.RunID == a.RunID && (w.Call == "" || w.Call == a.Call)
}

// GateInput is the input of the Approval workflow: the proposal, and the run id of the
// gate before, open or closed when it was asked for, whose denials hold.
type GateInput struct {
	Act    onceward.ActInput `json:"act"`
	Before string            `json:"before,omitempty"`
}

// GateLook asks who of those that wait for a decision still runs, whether the action
// exists, and what the gate before has denied.
type GateLook struct {
	ActionID onceward.ActionID `json:"action_id"`
	Before   string            `json:"before,omitempty"` // its run id
	Asks     []onceward.Asking `json:"asks,omitempty"`
}

// GateSeen is the answer to a GateLook.
type GateSeen struct {
	Exists  bool              `json:"exists"`            // the action
	Running []onceward.Asking `json:"running,omitempty"` // of those that were asked about
	Denied  []onceward.Denial `json:"denied,omitempty"`
}
