package onceward_test

import (
	"math"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func TestBreachIsReadBackFromItsNotice(t *testing.T) {
	for _, b := range onceward.Breaches() {
		if got := onceward.BreachOf(b.Notice("something: else")); got != b {
			t.Errorf("%s is read as %q", b, got)
		}
	}
	for notice, want := range map[string]onceward.Breach{
		"lint: left out a call":            "",
		"store: true":                      "",
		"drift: served model of m differs": onceward.BreachMembers,
		"drift: invented: by a resource":   onceward.BreachMembers, // never a label of a resource's own making
	} {
		if got := onceward.BreachOf(notice); got != want {
			t.Errorf("%q is about %q, want %q", notice, got, want)
		}
	}
	if n := len(onceward.BreachUsage.Notice(strings.Repeat("x", 5000))); n > 250 {
		t.Errorf("a notice of %d bytes", n)
	}
}

func TestCacheWritesHaveAPriceOfTheirOwn(t *testing.T) {
	price := onceward.Price{Input: 1_000_000, CachedInput: 100_000, Output: 10_000_000, CacheWrite: 1_250_000}
	plain := price
	plain.CacheWrite = 0
	u := onceward.Usage{InputTokens: 1000, CachedTokens: 300, CacheWriteTokens: 600, OutputTokens: 10}
	if got := price.Cost(u); got != 100+30+750+100 { // E13
		t.Errorf("E13 cost %d", got)
	}
	if got := plain.Cost(u); got != 700+30+100 { // without a price of their own they are input
		t.Errorf("E13 without a price for writes: %d", got)
	}
	if got := price.Ceiling(1000, 10); got != 1250+100 {
		t.Errorf("E13 ceiling %d: it must cover that all of the input is written", got)
	}
	u.CacheWriteTokens = 5000
	if got := price.Cost(u); got != 30+875+100 {
		t.Errorf("E13 more written than read: %d", got)
	}
}

func TestSumsOfLiesNeverWrapAround(t *testing.T) {
	var u onceward.Use
	for range 20_000 { // E13: 20,000 times a billion dollars is more than an int64 holds
		u.Reserve(onceward.MaxCost)
		u.Settle(onceward.MaxCost, math.MaxInt64)
	}
	b := onceward.Budget{Attempts: 1 << 30, Cost: onceward.MaxCost, AttemptCost: onceward.MaxCost}
	if u.Spent < 0 || u.Remaining(b) > 0 || u.Exhausted(b, 1) == "" {
		t.Errorf("E13 use %+v leaves %d", u, u.Remaining(b))
	}
}
