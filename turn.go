package onceward

// Turn is one model response and the tool calls it asks for. A turn without
// calls, or with an Outcome, is the run's last. The zero value is no turn.
type Turn struct {
	N     int
	Text  string
	Calls []Call
	// Outcome is set when the run ends with this turn.
	Outcome Outcome
	Failure *Failure
	Reason  string
}

// Ended reports whether the run has nothing more to do.
func (t Turn) Ended() bool { return t.Outcome != "" }
