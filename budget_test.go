package onceward_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/onceward/onceward"
)

func TestPriceCost(t *testing.T) {
	price := onceward.Price{Input: onceward.FromUSD(1.25), CachedInput: onceward.FromUSD(0.125), Output: onceward.FromUSD(10)}
	for name, c := range map[string]struct {
		usage onceward.Usage
		want  onceward.MicroUSD
	}{
		"a million in":          {onceward.Usage{InputTokens: 1_000_000}, 1_250_000},
		"cached is cheaper":     {onceward.Usage{InputTokens: 1_000_000, CachedTokens: 1_000_000}, 125_000},
		"one token rounds up":   {onceward.Usage{InputTokens: 1}, 2},
		"output":                {onceward.Usage{OutputTokens: 100}, 1000},
		"more cached than read": {onceward.Usage{InputTokens: 10, CachedTokens: 50}, 2},
		"an absurd number":      {onceward.Usage{InputTokens: 9223372036900, OutputTokens: 5}, 11529215046176},
		"the largest number":    {onceward.Usage{InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64}, onceward.MaxCost},
		"negative is nothing":   {onceward.Usage{InputTokens: -5, OutputTokens: -5}, 0},
	} {
		if got := price.Cost(c.usage); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestExhaustedNamesTheLimit(t *testing.T) {
	b := onceward.Budget{Attempts: 2, Cost: 100, AttemptCost: 60}
	for name, c := range map[string]struct {
		use     onceward.Use
		ceiling onceward.MicroUSD
		want    string
	}{
		"fresh":            {onceward.Use{}, 60, ""},
		"attempts":         {onceward.Use{Attempts: 2}, 1, "attempts"},
		"one too dear":     {onceward.Use{}, 61, "attempt_cost_usd"},
		"cost in flight":   {onceward.Use{Reserved: 50}, 51, "cost_usd"},
		"cost all spent":   {onceward.Use{Spent: 100}, 1, "cost_usd"},
		"exactly the rest": {onceward.Use{Spent: 50}, 50, ""},
	} {
		if got := c.use.Exhausted(b, c.ceiling); (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// No order of reservations, settlements and refunds lets a run have more
// attempts or more money in flight than its budget.
func TestBudgetHoldsUnderAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := onceward.Budget{
			Attempts: rapid.IntRange(1, 8).Draw(t, "attempts"), Cost: onceward.MicroUSD(rapid.IntRange(1, 1000).Draw(t, "cost")),
			AttemptCost: onceward.MicroUSD(rapid.IntRange(1, 300).Draw(t, "attempt cost")),
		}
		var use onceward.Use
		var flight []onceward.MicroUSD
		sent := 0
		t.Repeat(map[string]func(*rapid.T){
			"reserve": func(t *rapid.T) {
				ceiling := onceward.MicroUSD(rapid.IntRange(0, 400).Draw(t, "ceiling"))
				if use.Exhausted(b, ceiling) == "" {
					use.Reserve(ceiling)
					flight = append(flight, ceiling)
				}
			},
			"settle": func(t *rapid.T) {
				if len(flight) > 0 {
					cost := onceward.MicroUSD(rapid.IntRange(0, int(flight[0])).Draw(t, "cost"))
					use.Settle(flight[0], cost)
					flight, sent = flight[1:], sent+1
				}
			},
			"give back": func(*rapid.T) {
				if len(flight) > 0 {
					use.GiveBack(flight[0])
					flight = flight[1:]
				}
			},
			"": func(t *rapid.T) {
				if sent+len(flight) > b.Attempts || use.Attempts != sent+len(flight) {
					t.Fatalf("%d sent, %d in flight, %d counted, limit %d", sent, len(flight), use.Attempts, b.Attempts)
				}
				if use.Spent+use.Reserved > b.Cost || use.Reserved < 0 {
					t.Fatalf("spent %d, reserved %d, limit %d", use.Spent, use.Reserved, b.Cost)
				}
			},
		})
	})
}
