package onceward

import "fmt"

// TurnLimits bound what one response may ask for, so that neither a model that
// asks for a thousand things at once nor tools that return much fill a run's
// history. A field that is zero means its default. A TurnLimits is a value.
type TurnLimits struct {
	// Calls are carried out of one response, 128 by default and at most 512.
	// Those beyond are answered too_many_calls.
	Calls int `json:"calls"`
	// ReadsInFlight run side by side, 32 by default and at most 64.
	ReadsInFlight int `json:"reads_in_flight"`
	// OutputBytes are what the reads of one response may return together, 4 MB by
	// default and at most 8 MB. A read takes its Spec.MaxOutput out of them before
	// it starts and gives back what it did not need; one for which nothing is left
	// is answered turn_output_used.
	OutputBytes int `json:"output_bytes"`
}

// Bounds of the bounds, and what zero means.
var (
	defaultLimits = TurnLimits{Calls: 128, ReadsInFlight: 32, OutputBytes: 4 << 20}
	mostLimits    = TurnLimits{Calls: 512, ReadsInFlight: 64, OutputBytes: 8 << 20}
)

// Bounds of Spec.MaxOutput, in bytes.
const (
	DefaultMaxOutput = 128 << 10
	MaxOutput        = 1 << 20 // MaxOutput is also what a read of a manifest without it may return.
)

// MaxActions bounds the actions of a run over its whole chain: its ledger has to
// travel with it. A run that proposes one more ends as budget_exhausted.
const MaxActions = 2000

// Resolve returns the limits with their defaults, or an error that names the
// field that cannot be meant.
func (l TurnLimits) Resolve() (TurnLimits, error) {
	for _, f := range []struct {
		name              string
		value             *int
		byDefault, atMost int
	}{
		{"Calls", &l.Calls, defaultLimits.Calls, mostLimits.Calls},
		{"ReadsInFlight", &l.ReadsInFlight, defaultLimits.ReadsInFlight, mostLimits.ReadsInFlight},
		{"OutputBytes", &l.OutputBytes, defaultLimits.OutputBytes, mostLimits.OutputBytes},
	} {
		if *f.value < 0 || *f.value > f.atMost {
			return l, fmt.Errorf("limits: %s is %d, want 1 to %d, or 0 for %d", f.name, *f.value, f.atMost, f.byDefault)
		}
		if *f.value == 0 {
			*f.value = f.byDefault
		}
	}
	return l, nil
}
