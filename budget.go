package onceward

import (
	"fmt"
	"math"
	"time"
)

// MicroUSD is money in millionths of a US dollar. Sums of it are exact, so that
// a budget is the same on every replay.
type MicroUSD int64

// USD returns the amount in dollars, for people.
func (m MicroUSD) USD() float64 { return float64(m) / 1e6 }

// FromUSD returns an amount in dollars as MicroUSD, rounded up.
func FromUSD(usd float64) MicroUSD { return MicroUSD(math.Ceil(usd*1e6 - 1e-6)) }

// Budget limits a run over its whole continue-as-new chain: one budget across
// attempts and resources. Every limit must be positive.
type Budget struct {
	Attempts    int      `json:"attempts"`     // HTTP requests to resources
	Cost        MicroUSD `json:"cost"`         // of all attempts
	AttemptCost MicroUSD `json:"attempt_cost"` // ceiling of one attempt
	// Deadline bounds machine time: it stops while a person or the owner of
	// pinned state is waited for.
	Deadline time.Duration `json:"deadline"`
	// PeopleDeadline bounds one wait for a person.
	PeopleDeadline time.Duration `json:"people_deadline"`
}

// Use is what a run has used of its budget. The zero value is a fresh run. It
// belongs to workflow code, which is single-threaded; reserving in the workflow
// task that schedules the attempt makes the reservation atomic.
type Use struct {
	Attempts int      `json:"attempts"` // reserved and not given back
	Reserved MicroUSD `json:"reserved"` // of attempts in flight
	Spent    MicroUSD `json:"spent"`    // of settled attempts
	// Waited is the time spent waiting for people or owners, which the deadline
	// does not count.
	Waited time.Duration `json:"waited"`
}

// Exhausted names the limit that forbids one more attempt of the given ceiling,
// or returns "".
func (u Use) Exhausted(b Budget, ceiling MicroUSD) string {
	switch {
	case u.Attempts >= b.Attempts:
		return fmt.Sprintf("attempts: %d of %d used", u.Attempts, b.Attempts)
	case ceiling > b.AttemptCost:
		return fmt.Sprintf("attempt_cost_usd: the attempt may cost %.6f, at most %.6f", ceiling.USD(), b.AttemptCost.USD())
	case plus(u.Cost(), ceiling) > b.Cost:
		return fmt.Sprintf("cost_usd: %.6f used and %.6f more to reserve, at most %.6f", u.Cost().USD(), ceiling.USD(), b.Cost.USD())
	}
	return ""
}

// Reserve takes one attempt and its cost ceiling out of the budget.
func (u *Use) Reserve(ceiling MicroUSD) {
	u.Attempts++
	u.Reserved = plus(u.Reserved, ceiling)
}

// GiveBack returns the reservation of an attempt that provably sent nothing.
func (u *Use) GiveBack(ceiling MicroUSD) {
	u.Attempts--
	u.Reserved -= ceiling
}

// Settle replaces the reservation of an attempt by its cost.
func (u *Use) Settle(ceiling, cost MicroUSD) {
	u.Reserved -= ceiling
	u.Spent = plus(u.Spent, min(max(cost, 0), MaxCost))
}

// Cost is what the run has used of its money: settled attempts at their cost, those
// in flight at their ceiling. It is the figure that everything shows as cost.
func (u Use) Cost() MicroUSD { return plus(u.Spent, u.Reserved) }

// Remaining returns what is left for reservations.
func (u Use) Remaining(b Budget) MicroUSD { return b.Cost - u.Cost() }

// plus adds two amounts and stops where integers would wrap around: a sum of lies
// must never become a budget that grows.
func plus(a, b MicroUSD) MicroUSD {
	if b > 0 && a > math.MaxInt64/2-b {
		return math.MaxInt64 / 2
	}
	return a + b
}

// Usage is what a resource reports of an attempt, in tokens. Known is false
// when it reported nothing: absent usage is unknown, never 0.
type Usage struct {
	Known        bool `json:"known"`
	InputTokens  int  `json:"input_tokens"`
	CachedTokens int  `json:"cached_tokens"` // part of InputTokens
	// CacheWriteTokens are part of InputTokens too: what was put into a prompt cache.
	CacheWriteTokens int `json:"cache_write_tokens,omitempty"`
	OutputTokens     int `json:"output_tokens"`
	// ReasoningTokens are part of OutputTokens.
	ReasoningTokens int `json:"reasoning_tokens"`
}

// CostBasis says whether a cost was measured or is the reservation.
type CostBasis string

// The bases of a cost.
const (
	CostMeasured CostBasis = "measured"
	CostReserved CostBasis = "reserved"
)

// Price is what a deployment costs in MicroUSD per million tokens, which is the
// same number as USD per million tokens times one million.
type Price struct {
	Input       MicroUSD `json:"input"`
	CachedInput MicroUSD `json:"cached_input"`
	Output      MicroUSD `json:"output"`
	// CacheWrite is for input that is written to a prompt cache; zero is Input.
	CacheWrite MicroUSD `json:"cache_write,omitempty"`
}

// MaxCost is the most that a cost can be, a billion dollars: sums of it stay far
// from where integers wrap around.
const MaxCost MicroUSD = 1e15

// Cost returns the price of a usage, rounded up to a millionth of a dollar and
// at most MaxCost. A number that a resource reports must never make a cost wrap
// around into a budget that grows, nor make one negative.
func (p Price) Cost(u Usage) MicroUSD {
	input := max(u.InputTokens, 0)
	cached := min(max(u.CachedTokens, 0), input)
	written := min(max(u.CacheWriteTokens, 0), input-cached)
	parts := [...]struct {
		tokens int
		price  MicroUSD
	}{
		{input - cached - written, p.Input}, {cached, p.CachedInput}, {written, p.cacheWrite()}, {max(u.OutputTokens, 0), p.Output},
	}
	total, exact := 0.0, int64(0)
	for _, part := range parts {
		total += float64(part.tokens) * float64(part.price)
		exact += int64(part.tokens) * int64(part.price) // wraps around only where total is far too large
	}
	switch {
	case total >= float64(MaxCost)*1e6:
		return MaxCost
	case total > 1<<52: // beyond what a float64 counts exactly, a millionth of a dollar is no matter
		return MicroUSD(total/1e6) + 1
	}
	return MicroUSD((exact + 999_999) / 1_000_000)
}

func (p Price) cacheWrite() MicroUSD {
	if p.CacheWrite == 0 {
		return p.Input
	}
	return p.CacheWrite
}

// Ceiling returns the most an attempt can cost: all its input at the dearest of
// its prices, and all the output it may make.
func (p Price) Ceiling(inputTokens, maxOutputTokens int) MicroUSD {
	p.Input = max(p.Input, p.CachedInput, p.CacheWrite)
	return p.Cost(Usage{InputTokens: inputTokens, OutputTokens: maxOutputTokens})
}
