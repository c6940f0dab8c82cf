// Package waits reads how long a resource asks to be left alone: the one vocabulary of
// rate limits, wherever it stands. It is the same in HTTP headers, in the headers of an
// upstream inside a body, in a body's fields and in prose.
package waits

import (
	"bytes"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Max is the longest wait that is believed: a month's quota and a little.
// What is longer, negative or not a number is a broken clock, and is ignored.
const Max = 35 * 24 * time.Hour

// Fields are what one answer says of waits, by name. The zero value is empty; it
// belongs to one goroutine.
type Fields []field

type field struct{ name, value string }

// maxFields bounds how many are kept of one answer.
const maxFields = 64

// waitName are the names, as codeKey writes them: a wait, or the end of a bucket.
var waitName = regexp.MustCompile(`retry(?:after|delay|in)|reset(?:s?(?:at|in|after|time)|ms|s|seconds)?$|ratelimit|` +
	`resets?(?:at|in|after)(?:ms|s|sec|secs|seconds|millis|milliseconds)$`)

// Add takes a field, wherever it stood, if its name is one of a wait.
func (f *Fields) Add(name, value string) {
	if len(name) > 2 && len(name) <= 64 && len(value) <= 256 && len(*f) < maxFields {
		if key := Key(name); waitName.MatchString(key) {
			for _, one := range listed(value) {
				*f = append(*f, field{key, strings.Trim(one, " \t\";")})
			}
		}
	}
}

// numbers are delays that proxies on the way have added to one header; policies are
// those of the draft's header.
var numbers, policies = regexp.MustCompile(`^[\d.]+(?:\s*,\s*[\d.]+)+$`), regexp.MustCompile(`;\s*[rt]=\d`)

// listed are the values of a field that names several.
func listed(value string) []string {
	if value = strings.TrimSpace(value); numbers.MatchString(value) || policies.MatchString(value) {
		return strings.Split(value, ",")
	}
	return []string{value}
}

// Key is a name as it is compared: its letters and digits in lower case.
func Key(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(s))
}

// Longest is the longest of all waits that the fields and a text in lower case name,
// zero where there is none. Buckets tell when they are full again, not when the next
// request fits, so they count, where they count at all, only if nothing else speaks or
// they are empty. now is the resource's clock, if it told it.
func (f Fields) Longest(text []byte, now time.Time, buckets bool) time.Duration {
	var longest, bucket time.Duration
	for _, one := range f {
		if !one.ofBucket() {
			longest = longer(longest, waitOf(one.name, one.value, now))
		}
	}
	longest = longer(longest, proseWait(text, now))
	for _, one := range f {
		if !buckets {
			break
		}
		if d, left := f.bucket(one, now); used(left) || left == "" && longest == 0 {
			bucket = longer(bucket, d)
		}
	}
	return longer(longest, bucket)
}

// ofBucket reports whether a field is of a bucket, and no request to wait.
func (one field) ofBucket() bool {
	return strings.Contains(one.name, "ratelimit") && !strings.Contains(one.name, "retryafter")
}

// used reports whether nothing remains of a bucket.
func used(left string) bool {
	n, err := strconv.ParseFloat(left, 64)
	return err == nil && n <= 0
}

func longer(a, b time.Duration) time.Duration {
	if b > Max {
		return a
	}
	return max(a, b)
}

// structured are the reset and the rest in the draft's one header: "limit=100,
// remaining=0, reset=50" and `"default";r=0;t=50`.
var structuredReset, structuredLeft = regexp.MustCompile(`\b(?:reset|t)=(\d+)`), regexp.MustCompile(`\b(?:remaining|r)=(\d+)`)

// bucket reads x-ratelimit-reset-<bucket>, anthropic-ratelimit-<bucket>-reset,
// ratelimit-reset and ratelimit, with what remains in that bucket.
func (f Fields) bucket(of field, now time.Time) (d time.Duration, left string) {
	switch {
	case !of.ofBucket():
		return 0, "?"
	case strings.Contains(of.name, "reset"):
		rest := strings.Replace(of.name, "reset", "remaining", 1)
		for _, other := range f {
			if other.name == rest {
				left = other.value
			}
		}
		return waitOf(of.name, of.value, now), left
	}
	if m := structuredLeft.FindStringSubmatch(of.value); m != nil {
		left = m[1]
	}
	if m := structuredReset.FindStringSubmatch(of.value); m != nil {
		d = waitOf("reset", m[1], now)
	}
	return d, left
}

// waitOf reads a value: a number in the unit that the name ends in, an epoch in
// seconds or milliseconds, a date, or a duration such as 1m26.4s.
func waitOf(name, v string, now time.Time) time.Duration {
	v = strings.TrimPrefix(v, "+")
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
	for _, layout := range []string{http.TimeFormat, time.RFC850, time.ANSIC, time.RFC3339, "2006-01-02T15:04:05", time.DateTime} {
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
		`(?: again)?(?: (?:after|in|for|at least|about|within))*[ :='~]{1,3}((?:\d+(?:\.\d+)?[hms]){2,}|(?:` + span + `\b[ ,]*(?:and )?)+)`)
	// "retry_after: 45", where nothing names a unit.
	saidSeconds = regexp.MustCompile(`^retry[ _-]?after'?[ :=']{1,3}(\d{1,7}(?:\.\d+)?)'?(?:[^\w.%-]|\.\W|\.?$)`)
	saidDate    = regexp.MustCompile(`^(?:access|resets?|again|available|retry)(?: again)?(?: on| at| after| until)* ` +
		`(\d{4}-\d\d-\d\d)(?:[t ]| at )?(\d\d:\d\d(?::\d\d)?)?`)
)

// spanOf adds up the parts of a duration.
func spanOf(s string) (d time.Duration) {
	units := map[string]time.Duration{"ms": time.Millisecond, "millis": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour,
		"d": 24 * time.Hour}
	for _, m := range oneSpan.FindAllStringSubmatch(s, 8) {
		if n, err := strconv.ParseFloat(m[1], 64); err == nil {
			d += time.Duration(min(n*float64(units[m[2]]), float64(2*Max)))
		}
	}
	return d
}

// Words are where a wait of a text begins: without one of them there is none.
var Words = []string{"again", "retry", "reset", "wait", "available", "replenished", "access on"}

// maxWaits is how many of each are looked at.
const maxWaits = 16

// proseWait reads the longest wait that a text (in lower case) names.
func proseWait(text []byte, now time.Time) (longest time.Duration) {
	for _, word := range Words {
		rest := text
		for range maxWaits {
			at := bytes.Index(rest, []byte(word))
			if at < 0 {
				break
			}
			near := rest[at:min(at+96, len(rest))]
			rest = rest[at+len(word):]
			if m := saidSpan.FindSubmatch(near); m != nil {
				longest = longer(longest, spanOf(string(m[1])))
			} else if m := saidSeconds.FindSubmatch(near); m != nil {
				longest = longer(longest, spanOf(string(m[1])+"s"))
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
