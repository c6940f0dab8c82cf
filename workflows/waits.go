package workflows

import "time"

const (
	// firstAsk and lastAsk bound the back-off between two looks at what somebody
	// is at work on.
	firstAsk = time.Second
	lastAsk  = 30 * time.Second
	// longestPause bounds every pause between two looks, also while a person is
	// waited for. What ends such a wait wakes the run by a signal; the timer is for
	// a signal that was lost, which is found out within this time.
	longestPause = 24 * time.Hour
)

// stretched lengthens a pause to a twentieth of what was waited already: how often a
// run looks grows with the logarithm of its wait, or months without the worker it
// needs would fill its history. What comes back is noticed within a twentieth of
// the time it was away, and within longestPause.
func stretched(pause, waited time.Duration) time.Duration {
	return max(pause, min(waited/20, longestPause))
}

// patience is the back-off of one wait for a receipt. Its zero value begins.
type patience struct {
	person, told bool
	begun        time.Time
	last         time.Duration
}

// next returns the pause before the next ask. While a person is waited for whose
// decision the action tells this run, it doubles to longestPause. An action tells
// only the run that started it: any other looks as it does for a machine. The wait
// begins again when it becomes another one. left is what the wait may still take:
// the run must not sleep past its own end.
func (p *patience) next(now time.Time, person, told bool, left time.Duration) time.Duration {
	if p.last == 0 || p.person != person || p.told != told {
		*p = patience{person: person, told: told, begun: now, last: firstAsk / 2}
	}
	limit := lastAsk
	if person && told {
		limit = longestPause
	}
	p.last = min(2*p.last, limit)
	return max(minWait, min(stretched(p.last, now.Sub(p.begun)), left))
}
