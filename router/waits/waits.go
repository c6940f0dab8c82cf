// Package waits reads how long a resource asks to be left alone: the one vocabulary of
// rate limits, wherever it stands. It is the same in HTTP headers, in the headers of an
// upstream inside a body, in a body's fields and in prose.
package waits

import (
	"bytes"
	"cmp"
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

// waitName are the names, as Key writes them: a wait, or the end or the rest of a bucket.
var waitName = regexp.MustCompile(`^remaining$|retry(?:after|delay|in)|reset(?:s?(?:at|in|after|time)|ms|s|seconds)?$|ratelimit|` +
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
		if !f.ofBucket(one) {
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

// ofBucket reports whether a field is of a bucket, and no request to wait. The end of
// something is one of a bucket where the same answer says what remains in it.
func (f Fields) ofBucket(one field) bool {
	bucket := strings.Contains(one.name, "ratelimit") || strings.HasPrefix(one.name, "reset") && f.left(one) != ""
	return bucket && !strings.Contains(one.name, "retryafter") || one.name == "remaining"
}

// partOf is what tells the fields of one bucket apart.
var partOf = regexp.MustCompile(`remaining|resets?(?:(?:at|in|after|time|timestamp|epoch)?(?:ms|s|secs?|seconds?|millis|milliseconds)?$)?`)

// left is what remains in the bucket whose end a field is, "" where nobody says so. Of
// several that are named so, the one that is empty has refused.
func (f Fields) left(of field) (left string) {
	bucket := partOf.ReplaceAllString(of.name, "")
	for _, other := range f {
		if strings.Contains(other.name, "remaining") && partOf.ReplaceAllString(other.name, "") == bucket && (left == "" || used(other.value)) {
			left = other.value
		}
	}
	return left
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
	case !f.ofBucket(of):
		return 0, "?"
	case strings.Contains(of.name, "reset"):
		return waitOf(of.name, of.value, now), f.left(of)
	}
	if m := structuredLeft.FindStringSubmatch(of.value); m != nil {
		left = m[1]
	}
	if m := structuredReset.FindStringSubmatch(of.value); m != nil {
		d = waitOf("reset", m[1], now)
	}
	return d, left
}

// layouts of dates. Names of zones other than these are not read: they say no offset.
var layouts = []string{
	http.TimeFormat, "Mon, 02 Jan 2006 15:04:05 UTC", time.RFC1123Z, time.RFC850, time.ANSIC, time.RFC3339,
	"2006-01-02T15:04:05", time.DateTime, time.DateTime + " UTC", time.DateTime + " -0700", time.DateTime + " -0700 UTC",
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
	for _, layout := range layouts {
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
	wholeSpan = regexp.MustCompile(`^(?:` + span + `[ ,]*(?:and )?)+$`)
	oneSpan   = regexp.MustCompile(`(\d+(?:\.\d+)?) ?(m(?:illi)?s|[a-z])`)
	// "try again in 1m26.4s", "retry after 12 seconds", "wait 20 minutes", "'retrydelay': '34s'", "resets in 3 hours". What
	// is available for some time is no wait.
	saidSpan = regexp.MustCompile(`^(?:again|retry(?:ing)?|resets?|available(?: again)? (?:in|after|within)|wait(?:ing)?(?: time)?|cooldown|replenished)` +
		`(?:ing|[ _-]?(?:after|delay)'?)?(?: your request)?` +
		`(?: again)?(?: (?:after|in|for|at least|about|approximately|another|within))*[ :='~]{1,3}((?:\d+(?:\.\d+)?[hms]){2,}|(?:` + span + `\b[ ,]*(?:and )?)+)`)
	// "try again in a minute"
	saidOne = regexp.MustCompile(`^(?:again|retry|resets?|wait)(?: (?:in|after|for|about))* (?:an?|one) (second|minute|hour|day)\b`)
	// "retry_after: 45", where nothing or only the name has a unit.
	saidSeconds = regexp.MustCompile(`^retry[ _-]?after[ _-]?(ms|milliseconds|s|secs|seconds)?'?[ :=']{1,3}(\d{1,9}(?:\.\d+)?)'?(?:[^\w.%-]|\.\W|\.?$)`)
	saidDate    = regexp.MustCompile(`^(?:access|resets?|again|available|retry)(?: again)?(?: on| at| after| until)* ` +
		`(\d{4}-\d\d-\d\d)(?:(?:[t ]| at )(\d\d:\d\d)(:\d\d)?(?:\.\d+)?([+-]\d\d:\d\d)?)?`)
	// "usage limit reached|1767323105"
	saidEpoch = regexp.MustCompile(`^reached\|(\d{10}(?:\d{3})?)\b`)
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
var Words = []string{"again", "retry", "reset", "wait", "available", "replenished", "cooldown", "access on", "reached|"}

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
			longest = longer(longest, waitAt(near, now))
		}
	}
	return longest
}

// waitAt reads the wait that a text begins with.
func waitAt(text []byte, now time.Time) time.Duration {
	if m := saidSpan.FindSubmatch(text); m != nil {
		return spanOf(string(m[1]))
	}
	if m := saidOne.FindSubmatch(text); m != nil {
		return spanOf("1" + string(m[1]))
	}
	if m := saidSeconds.FindSubmatch(text); m != nil {
		return waitOf("after"+string(m[1]), string(m[2]), now)
	}
	if m := saidEpoch.FindSubmatch(text); m != nil {
		return waitOf("reset", string(m[1]), now)
	}
	if m := saidDate.FindSubmatch(text); m != nil {
		clock, seconds, zone := cmp.Or(string(m[2]), "00:00"), cmp.Or(string(m[3]), ":00"), cmp.Or(string(m[4]), "Z")
		if t, err := time.Parse(time.RFC3339, string(m[1])+"T"+clock+seconds+zone); err == nil {
			return t.Sub(now)
		}
	}
	return 0
}
