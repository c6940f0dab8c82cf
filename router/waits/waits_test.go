package waits

import (
	"testing"
	"time"
)

func TestLongest(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		fields  map[string]string
		text    string
		buckets bool
		want    time.Duration
	}{
		"nothing":                            {},
		"the longest wins":                   {fields: map[string]string{"Retry-After": "2", "retry_after_ms": "9000"}, text: "try again in 5s", want: 9 * time.Second},
		"prose alone":                        {text: "please try again in 1m26.4s.", want: 86400 * time.Millisecond},
		"a full bucket counts alone":         {fields: map[string]string{"x-ratelimit-reset-tokens": "6m"}, buckets: true, want: 6 * time.Minute},
		"not beside what is asked for":       {fields: map[string]string{"x-ratelimit-reset-tokens": "6m", "retry-after": "1"}, buckets: true, want: time.Second},
		"unless it is empty":                 {fields: map[string]string{"x-ratelimit-reset-tokens": "6m", "X-RateLimit-Remaining-Tokens": "0", "retry-after": "1"}, buckets: true, want: 6 * time.Minute},
		"and not where no limit was reached": {fields: map[string]string{"x-ratelimit-reset-tokens": "6m"}},
		"the draft's one header":             {fields: map[string]string{"RateLimit": `"default";r=0;t=50`}, buckets: true, want: 50 * time.Second},
		"a broken clock":                     {fields: map[string]string{"Retry-After": "99999999999999"}},
		"the past":                           {fields: map[string]string{"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}},
		"a header that two proxies added to": {fields: map[string]string{"Retry-After": "30, 60"}, want: time.Minute},
		"a value in quotes":                  {fields: map[string]string{"Retry-After": `"30"`}, want: 30 * time.Second},
		"a sign and a semicolon":             {fields: map[string]string{"Retry-After": "+30;"}, want: 30 * time.Second},
		"a time without its zone":            {fields: map[string]string{"Retry-After": "2026-01-02 03:05:05"}, want: time.Minute},
		"of the draft's policies the empty":  {fields: map[string]string{"RateLimit": `"a";r=5;t=600, "b";r=0;t=60`, "Retry-After": "1"}, buckets: true, want: time.Minute},
		"the draft's older header":           {fields: map[string]string{"RateLimit": "limit=100, remaining=0, reset=50", "Retry-After": "1"}, buckets: true, want: 50 * time.Second},
		"a bucket that is overdrawn":         {fields: map[string]string{"x-ratelimit-reset": "60", "x-ratelimit-remaining": "-3", "Retry-After": "1"}, buckets: true, want: time.Minute},
		"a bucket in fractions":              {fields: map[string]string{"x-ratelimit-reset": "60", "x-ratelimit-remaining": "0.0", "Retry-After": "1"}, buckets: true, want: time.Minute},
		"a wait by a bucket's name":          {fields: map[string]string{"X-RateLimit-Retry-After-Seconds": "60"}, want: time.Minute},
		"hours, minutes and seconds":         {text: "try again in 1h2m3.5s", want: time.Hour + 2*time.Minute + 3500*time.Millisecond},
		"minutes and no seconds":             {text: "try again in 6m0s.", want: 6 * time.Minute},
		"words with and":                     {text: "try again in 2 minutes and 5 seconds", want: 2*time.Minute + 5*time.Second},
		"a field in prose":                   {text: "{'retry_after': 45}", want: 45 * time.Second},
		"a header in prose":                  {text: "retry-after: 45.", want: 45 * time.Second},
		"a year is no wait":                  {text: "retry after 2026-01-02", want: 0},
		"nor is a share":                     {text: "retry after 50% of them"},
		"a span in words":                    {fields: map[string]string{"Retry-After": "1 minute, 30 seconds"}, want: 90 * time.Second},
		"a date in UTC":                      {fields: map[string]string{"Retry-After": "Fri, 02 Jan 2026 03:05:05 UTC"}, want: time.Minute},
		"a date with an offset":              {fields: map[string]string{"Retry-After": "Fri, 02 Jan 2026 04:05:05 +0100"}, want: time.Minute},
		"a time as Go prints it":             {fields: map[string]string{"x-ratelimit-reset": "2026-01-02 03:05:05 +0000 UTC"}, buckets: true, want: time.Minute},
		"no number":                          {fields: map[string]string{"Retry-After": "Infinity", "retry-after-ms": "NaN"}},
		"in another unit, and not empty":     {fields: map[string]string{"X-RateLimit-Reset-Ms": "60000", "X-RateLimit-Remaining": "5"}, buckets: true},
		"by another name, and not empty":     {fields: map[string]string{"X-RateLimit-Reset-After": "60", "X-RateLimit-Remaining": "5"}, buckets: true},
		"by another name, and empty":         {fields: map[string]string{"X-RateLimit-Reset-After": "60", "X-RateLimit-Remaining": "0", "Retry-After": "1"}, buckets: true, want: time.Minute},
		"in another order, and not empty":    {fields: map[string]string{"x-ratelimit-requests-reset": "60", "x-ratelimit-remaining-requests": "5"}, buckets: true},
		"of two buckets the empty one":       {fields: map[string]string{"x-ratelimit-reset-requests": "60", "x-ratelimit-remaining-requests": "9", "x-ratelimit-reset-tokens": "20", "x-ratelimit-remaining-tokens": "0"}, buckets: true, want: 20 * time.Second},
		"a body's end of what is not empty":  {fields: map[string]string{"reset_at": "2026-01-02T03:05:05Z", "remaining": "5"}, buckets: true},
		"a body's end of what is empty":      {fields: map[string]string{"reset_at": "2026-01-02T03:05:05Z", "remaining": "0"}, buckets: true, want: time.Minute},
		"what remains is no wait":            {fields: map[string]string{"remaining": "5"}, buckets: true},
		"an epoch of the past":               {fields: map[string]string{"x-ratelimit-reset": "1767323000", "x-ratelimit-remaining": "0"}, buckets: true},
		"a policy is no wait":                {fields: map[string]string{"RateLimit-Policy": `"a";q=10;w=86400`}, buckets: true},
		"a unit in the name, in prose":       {text: "{'retry_after_ms': 1500}", want: 1500 * time.Millisecond},
		"a minute":                           {text: "try again in a minute", want: time.Minute},
		"another minute":                     {text: "please wait another 60 seconds", want: time.Minute},
		"the time to wait":                   {text: "wait time: 30s", want: 30 * time.Second},
		"how long it is available":           {text: "support is available 24 hours a day"},
		"when it is available":               {text: "available again in 30 seconds", want: 30 * time.Second},
		"a date in prose with its zone":      {text: "resets at 2026-01-02t05:05:05+02:00", want: time.Minute},
		"an epoch behind a bar":              {text: "usage limit reached|1767323105", want: time.Minute},
		"too long to be believed, in prose":  {text: "try again in 99999999999 days"},
		"another name":                       {fields: map[string]string{"X-Request-Id": "7"}},
	} {
		t.Run(name, func(t *testing.T) {
			var f Fields
			for k, v := range c.fields {
				f.Add(k, v)
			}
			if got := f.Longest([]byte(c.text), now, c.buckets); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
