package routertest

// Share is Fail of every Of requests, spread evenly and always the same ones:
// of 2 in 5 the third and the fifth. The zero value is all requests.
type Share struct {
	Fail int `json:"fail"`
	Of   int `json:"of"`
}

// falls tells whether the n-th request, counted from 1, is one of the share.
func (s Share) falls(n int) bool {
	return s.Of == 0 || n*s.Fail/s.Of > (n-1)*s.Fail/s.Of
}

// tally counts the requests of one sort that a fault chose and acted on.
type tally struct{ seen, fired int }

// due counts a chosen request and tells whether the fault acts on it.
func (a *activeFault) due(neutral bool) bool {
	spent := func(t tally) bool { return a.Times > 0 && t.fired >= a.Times }
	mine := &a.runs
	if neutral {
		mine = &a.neutrals
		if a.Only == "" && (a.Nth > 0 || spent(a.runs)) {
			return false
		}
	}
	if spent(*mine) {
		return false
	}
	mine.seen++
	if (a.Nth > 0 && mine.seen != a.Nth) || !a.Fault.Share.falls(mine.seen) {
		return false
	}
	mine.fired++
	return true
}
