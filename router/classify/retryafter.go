package classify

import (
	"bytes"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// maxDelay is the longest wait that is believed: a month's quota and a little.
// What is longer, negative or not a number is a broken clock, and is ignored.
const maxDelay = 35 * 24 * time.Hour

// delay is a wait found in the body.
type delay = time.Duration

// retryAfter is the longest of all waits that headers, body and prose name.
// Reset headers tell when a bucket is full again, not when the next request
// fits, so they count only where nothing else speaks or their bucket is empty.
func (e *envelope) retryAfter(in Input, c onceward.Class) time.Duration {
	now := in.Now
	if now.IsZero() {
		now = time.Now()
	}
	if date := header(in.Header, "Date"); date != "" {
		if t, err := http.ParseTime(date); err == nil {
			now = t // the resource's clock set the dates below, ours may be off
		}
	}
	var longest time.Duration
	take := func(d time.Duration, ok bool) {
		if ok && d > longest && d <= maxDelay {
			longest = d
		}
	}
	for _, d := range e.delays {
		take(d, true)
	}
	if e.resetsAt > 1e9 && e.resetsAt < 1e11 {
		take(time.Unix(int64(e.resetsAt), 0).Sub(now), true)
	}
	if ids := table().waitPhrases; e.phrases.hasAny(ids) {
		take(proseDelay(e.text, now, func(word int) bool { return e.phrases.has(ids[word]) }))
	}
	if len(in.Header) == 0 {
		return longest
	}
	take(retryAfterValue(header(in.Header, "Retry-After"), now))
	for _, name := range []string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		take(number(header(in.Header, name), time.Millisecond))
	}
	switch c {
	case onceward.ClassRateLimited, onceward.ClassQuotaExhausted, onceward.ClassOverloaded:
		take(resetHeaders(in.Header, now, longest == 0))
	default:
	}
	return longest
}

// retryAfterValue reads seconds, an HTTP date or a duration such as "34s".
func retryAfterValue(v string, now time.Time) (time.Duration, bool) {
	v = strings.TrimSpace(v)
	if v == "" || len(v) > 64 {
		return 0, false
	}
	if d, ok := number(v, time.Second); ok {
		return d, true
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(t.Sub(now), 0), true
	}
	if t, err := time.Parse(time.RFC3339, v); err == nil {
		return max(t.Sub(now), 0), true
	}
	if d, err := time.ParseDuration(strings.ToLower(v)); err == nil && d >= 0 {
		return d, true
	}
	return 0, false
}

// number reads a finite number that is not negative, in the given unit.
func number(v string, unit time.Duration) (time.Duration, bool) {
	v = strings.TrimSpace(v)
	if strings.Trim(v, "0123456789.") != "" {
		return 0, false // 1e3 and 0x10 are no delays that a header may name
	}
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(n) || n < 0 || n*float64(unit) > float64(math.MaxInt64)/2 {
		return 0, false
	}
	return time.Duration(n * float64(unit)), true
}

func (e *envelope) addDelay(raw []byte) {
	if d, ok := retryAfterValue(string(clipBytes(raw, 65)), time.Time{}); ok && len(e.delays) < 16 {
		e.delays = append(e.delays, d)
	}
}

func (e *envelope) addMillis(n float64) {
	if n > 0 && n < float64(maxDelay/time.Millisecond) && len(e.delays) < 16 {
		e.delays = append(e.delays, time.Duration(n*float64(time.Millisecond)))
	}
}

// resetHeaders reads x-ratelimit-reset-<bucket>, anthropic-ratelimit-<bucket>-reset
// and ratelimit-reset. With all it takes buckets that do not say what remains.
func resetHeaders(h http.Header, now time.Time, all bool) (time.Duration, bool) {
	var longest time.Duration
	found := false
	for name, values := range h {
		lower := strings.ToLower(name)
		if len(values) == 0 || !strings.Contains(lower, "ratelimit") || !strings.Contains(lower, "reset") {
			continue
		}
		remaining := strings.TrimSpace(header(h, http.CanonicalHeaderKey(strings.Replace(lower, "reset", "remaining", 1))))
		if remaining == "" && !all || remaining != "" && remaining != "0" {
			continue
		}
		if d, ok := resetValue(values[0], now); ok && d <= maxDelay && d >= longest {
			longest, found = d, true
		}
	}
	return longest, found
}

// resetValue reads a duration (1m26.4s, 6ms), a date, seconds, or an epoch in
// seconds or milliseconds.
func resetValue(v string, now time.Time) (time.Duration, bool) {
	if n, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil {
		switch {
		case n > 1e12 && n < 1e14:
			return max(time.UnixMilli(int64(n)).Sub(now), 0), true
		case n > 1e9 && n < 1e11:
			return max(time.Unix(int64(n), 0).Sub(now), 0), true
		}
	}
	return retryAfterValue(v, now)
}

var (
	// Texts say "try again in 1m26.4s", "retry after 12 seconds", "wait 20 minutes",
	// "'retrydelay': '34s'", "resets in 3 hours", "available again in 5 min".
	proseWait = regexp.MustCompile(`^(?:again|retry(?:ing)?|resets?|available|wait(?:ing)?|replenished)(?:ing|[ _-]?(?:after|delay)'?)?(?: your request)?(?: again)?(?: (?:after|in|for|at least|about|within))*[ :='~]{1,3}((?:\d+(?:\.\d+)? ?(?:milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)\b[ ,]*(?:and )?)+|(?:\d+(?:\.\d+)?[hms])+(?:\d+(?:\.\d+)?[hms]s?)*)`)
	proseSpan = regexp.MustCompile(`(\d+(?:\.\d+)?) ?(milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)`)
	proseDate = regexp.MustCompile(`^(?:access|resets?|again|available|retry)(?: again)?(?: on| at| after| until)* (\d{4}-\d\d-\d\d)(?:[t ]| at )?(\d\d:\d\d(?::\d\d)?)?`)
)

// waitPhrases are the words without which a text names no wait; waitWords are
// where such a wait begins.
var (
	waitPhrases = []string{"again", "retry", "reset", "wait", "available", "replenished", "regain access"}
	waitWords   = [][]byte{[]byte("again"), []byte("retry"), []byte("reset"), []byte("wait"), []byte("available"), []byte("replenished"), []byte("access on")}
)

// maxWaits bounds how many places of a text are looked at for a wait.
const maxWaits = 16

// proseDelay reads the longest wait that a text (in lower case) names. has reports
// whether one of the waitPhrases is there: those that are not need no search.
func proseDelay(text []byte, now time.Time, has func(phrase int) bool) (time.Duration, bool) {
	var longest time.Duration
	found := false
	for i, word := range waitWords {
		if string(word) == waitPhrases[i] && !has(i) {
			continue
		}
		rest := text
		for n := 0; n < maxWaits; n++ {
			at := bytes.Index(rest, word)
			if at < 0 {
				break
			}
			near := clipBytes(rest[at:], 96)
			rest = rest[at+len(word):]
			if !bytes.ContainsAny(near, "0123456789") {
				continue
			}
			if d, ok := waitHere(near, now); ok && d <= maxDelay && d >= longest {
				longest, found = d, true
			}
		}
	}
	return longest, found
}

// waitHere reads the wait that begins with the first word of text.
func waitHere(text []byte, now time.Time) (time.Duration, bool) {
	if m := proseWait.FindSubmatch(text); m != nil {
		var d time.Duration
		for _, part := range proseSpan.FindAllSubmatch(m[1], 8) {
			n, ok := number(string(part[1]), unitOf(string(part[2])))
			if !ok {
				return 0, false
			}
			d += n
		}
		return d, true
	}
	m := proseDate.FindSubmatch(text)
	if m == nil {
		return 0, false
	}
	clock := "00:00"
	if len(m[2]) > 0 {
		clock = string(m[2][:5])
	}
	t, err := time.Parse("2006-01-02 15:04", string(m[1])+" "+clock)
	if err != nil {
		return 0, false
	}
	return max(t.Sub(now), 0), true
}

func unitOf(u string) time.Duration {
	switch {
	case u == "ms", strings.HasPrefix(u, "milli"), strings.HasPrefix(u, "msec"):
		return time.Millisecond
	case strings.HasPrefix(u, "s"):
		return time.Second
	case strings.HasPrefix(u, "m"):
		return time.Minute
	case strings.HasPrefix(u, "h"):
		return time.Hour
	}
	return 24 * time.Hour
}
