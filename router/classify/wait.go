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

// field is a name and a value of the vocabulary of rate limits. It is the same in
// HTTP headers, in the headers of an upstream inside a body, and in a body's fields.
type field struct{ name, value string }

// maxFields bounds how many are kept of one answer.
const maxFields = 64

// waitName are the names, as codeKey writes them: a wait, or the end of a bucket.
var waitName = regexp.MustCompile(`retry(?:after|delay|in)|reset(?:s?(?:at|in|after|time)|ms|s|seconds)?$|ratelimit|` +
	`resets?(?:at|in|after)(?:ms|s|sec|secs|seconds|millis|milliseconds)$`)

// addWait takes a field, wherever it stood.
func (e *envelope) addWait(name, value string) {
	if len(name) > 2 && len(name) <= 64 && len(value) <= 256 && len(e.waits) < maxFields {
		if key := codeKey(name); waitName.MatchString(key) {
			e.waits = append(e.waits, field{key, strings.TrimSpace(value)})
		}
	}
}

// retryAfter is the longest of all waits that headers, body and prose name.
// Buckets tell when they are full again, not when the next request fits, so they
// count only where nothing else speaks or they are empty.
func (e *envelope) retryAfter(in Input, c onceward.Class) time.Duration {
	now := in.Now
	if now.IsZero() {
		now = time.Now()
	}
	if t, err := http.ParseTime(header(in.Header, "Date")); err == nil {
		now = t // the resource's clock set the dates below, ours may be off
	}
	var longest, bucket time.Duration
	for _, f := range e.waits {
		if !strings.Contains(f.name, "ratelimit") {
			longest = longer(longest, waitOf(f.name, f.value, now))
		}
	}
	if e.says(table().waitWords) {
		longest = longer(longest, proseWait(e.text, now))
	}
	switch c {
	case onceward.ClassRateLimited, onceward.ClassQuotaExhausted, onceward.ClassOverloaded:
		for _, f := range e.waits {
			if d, left := e.bucket(f, now); left == "0" || left == "" && longest == 0 {
				bucket = longer(bucket, d)
			}
		}
	default:
	}
	return longer(longest, bucket)
}

func longer(a, b time.Duration) time.Duration {
	if b > maxDelay {
		return a
	}
	return max(a, b)
}

// structured are the reset and the rest in the draft's one header: "limit=100,
// remaining=0, reset=50" and `"default";r=0;t=50`.
var structuredReset, structuredLeft = regexp.MustCompile(`\b(?:reset|t)=(\d+)`), regexp.MustCompile(`\b(?:remaining|r)=(\d+)`)

// bucket reads x-ratelimit-reset-<bucket>, anthropic-ratelimit-<bucket>-reset,
// ratelimit-reset and ratelimit, with what remains in that bucket.
func (e *envelope) bucket(f field, now time.Time) (d time.Duration, left string) {
	switch {
	case !strings.Contains(f.name, "ratelimit"):
		return 0, "?"
	case strings.Contains(f.name, "reset"):
		rest := strings.Replace(f.name, "reset", "remaining", 1)
		for _, other := range e.waits {
			if other.name == rest {
				left = other.value
			}
		}
		return waitOf(f.name, f.value, now), left
	}
	if m := structuredLeft.FindStringSubmatch(f.value); m != nil {
		left = m[1]
	}
	if m := structuredReset.FindStringSubmatch(f.value); m != nil {
		d = waitOf("reset", m[1], now)
	}
	return d, left
}

// waitOf reads a value: a number in the unit that the name ends in, an epoch in
// seconds or milliseconds, a date, or a duration such as 1m26.4s.
func waitOf(name, v string, now time.Time) time.Duration {
	if strings.Trim(v, "0123456789.") == "" { // 1e3 and 0x10 are no delays that a header may name
		n, err := strconv.ParseFloat(v, 64)
		unit := time.Second
		if strings.HasSuffix(name, "ms") || strings.HasSuffix(name, "millis") || strings.HasSuffix(name, "milliseconds") {
			unit = time.Millisecond
		}
		switch {
		case err != nil, math.IsInf(n, 0), n > 1e14:
			return 0
		case n > 1e12:
			return time.UnixMilli(int64(n)).Sub(now)
		case n > 1e9 && unit == time.Second:
			return time.Unix(int64(n), 0).Sub(now)
		}
		return time.Duration(min(n*float64(unit), math.MaxInt64/2))
	}
	for _, layout := range []string{http.TimeFormat, time.RFC850, time.ANSIC, time.RFC3339, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, v); err == nil {
			return t.Sub(now)
		}
	}
	v = strings.TrimPrefix(strings.ToLower(v), "pt")
	if wholeSpan.MatchString(v) {
		return spanOf(v)
	}
	return 0
}

const span = `\d+(?:\.\d+)? ?(?:milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)`

var (
	wholeSpan = regexp.MustCompile(`^(?:` + span + ` ?)+$`)
	oneSpan   = regexp.MustCompile(`(\d+(?:\.\d+)?) ?(m(?:illi)?s|[a-z])`)
	// "try again in 1m26.4s", "retry after 12 seconds", "wait 20 minutes", "'retrydelay': '34s'", "resets in 3 hours".
	saidSpan = regexp.MustCompile(`^(?:again|retry(?:ing)?|resets?|available|wait(?:ing)?|replenished)(?:ing|[ _-]?(?:after|delay)'?)?(?: your request)?` +
		`(?: again)?(?: (?:after|in|for|at least|about|within))*[ :='~]{1,3}((?:` + span + `(?:\b|\d)[ ,]*(?:and )?)+|(?:\d+(?:\.\d+)?[hms])+)`)
	saidDate = regexp.MustCompile(`^(?:access|resets?|again|available|retry)(?: again)?(?: on| at| after| until)* ` +
		`(\d{4}-\d\d-\d\d)(?:[t ]| at )?(\d\d:\d\d(?::\d\d)?)?`)
)

// spanOf adds up the parts of a duration.
func spanOf(s string) (d time.Duration) {
	units := map[string]time.Duration{"ms": time.Millisecond, "millis": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour,
		"d": 24 * time.Hour}
	for _, m := range oneSpan.FindAllStringSubmatch(s, 8) {
		if n, err := strconv.ParseFloat(m[1], 64); err == nil {
			d += time.Duration(min(n*float64(units[m[2]]), float64(2*maxDelay)))
		}
	}
	return d
}

// waitWords are where a wait of a text begins, maxWaits how many are looked at.
var waitWords = []string{"again", "retry", "reset", "wait", "available", "replenished", "access on"}

const maxWaits = 16

// proseWait reads the longest wait that a text (in lower case) names.
func proseWait(text []byte, now time.Time) (longest time.Duration) {
	for _, word := range waitWords {
		rest := text
		for range maxWaits {
			at := bytes.Index(rest, []byte(word))
			if at < 0 {
				break
			}
			near := clipBytes(rest[at:], 96)
			rest = rest[at+len(word):]
			if m := saidSpan.FindSubmatch(near); m != nil {
				longest = longer(longest, spanOf(string(m[1])))
			} else if m := saidDate.FindSubmatch(near); m != nil {
				clock := string(append(m[2], "00:00"[min(len(m[2]), 5):]...))[:5]
				if t, err := time.Parse("2006-01-02 15:04", string(m[1])+" "+clock); err == nil {
					longest = longer(longest, t.Sub(now))
				}
			}
		}
	}
	return longest
}
