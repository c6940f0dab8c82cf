package classify

import (
	"net/http"
	"testing"
	"time"
)

func TestLongestWaitWins(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for name, c := range map[string]struct {
		header map[string]string
		body   string
		want   time.Duration
	}{
		"seconds":                           {header: map[string]string{"Retry-After": "17"}, want: 17 * time.Second},
		"fractions of a second":             {header: map[string]string{"Retry-After": "0.5"}, want: 500 * time.Millisecond},
		"a date":                            {header: map[string]string{"Retry-After": date(90 * time.Second)}, want: 90 * time.Second},
		"a date against the other's clock":  {header: map[string]string{"Retry-After": date(time.Hour), "Date": date(time.Hour - 10*time.Second)}, want: 10 * time.Second},
		"a date in the past is no wait":     {header: map[string]string{"Retry-After": date(-time.Hour)}, want: 0},
		"milliseconds":                      {header: map[string]string{"Retry-After-Ms": "1500"}, want: 1500 * time.Millisecond},
		"zero milliseconds beside a second": {header: map[string]string{"Retry-After": "1", "retry-after-ms": "0"}, want: time.Second},
		"negative is ignored":               {header: map[string]string{"Retry-After": "-5"}, want: 0},
		"a century is ignored":              {header: map[string]string{"Retry-After": "3153600000"}, want: 0},
		"not a number is ignored":           {header: map[string]string{"Retry-After": "NaN"}, want: 0},
		"an exponent is ignored":            {header: map[string]string{"Retry-After": "1e3"}, want: 0},
		"a day is believed":                 {header: map[string]string{"Retry-After": "86400"}, want: 24 * time.Hour},
		"an empty bucket":                   {header: map[string]string{"X-Ratelimit-Reset-Tokens": "1m26.4s", "X-Ratelimit-Remaining-Tokens": "0"}, want: 86400 * time.Millisecond},
		"a bucket that is not empty":        {header: map[string]string{"X-Ratelimit-Reset-Tokens": "6m0s", "X-Ratelimit-Remaining-Tokens": "100", "Retry-After": "2"}, want: 2 * time.Second},
		"a bucket that says no more":        {header: map[string]string{"X-Ratelimit-Reset-Requests": "6ms"}, want: 6 * time.Millisecond},
		"an epoch in seconds":               {header: map[string]string{"X-Ratelimit-Reset": "1767323055"}, want: 10 * time.Second},
		"an epoch in milliseconds":          {header: map[string]string{"X-Ratelimit-Reset": "1767323055000"}, want: 10 * time.Second},
		"prose beats a shorter header":      {header: map[string]string{"Retry-After": "1"}, body: "Rate limit reached. Please try again in 11.054s.", want: 11054 * time.Millisecond},
		"prose in milliseconds":             {body: "Please try again in 28ms. Visit", want: 28 * time.Millisecond},
		"prose like Go's":                   {body: "Please try again in 1m26.4s. Visit", want: 86400 * time.Millisecond},
		"prose in minutes":                  {body: "Try again in 20m", want: 20 * time.Minute},
		"prose in words":                    {body: "Please retry after 12 seconds.", want: 12 * time.Second},
		"prose in two words":                {body: "Please try again in 1 hour and 5 minutes", want: 65 * time.Minute},
		"a delay in the details":            {body: `{"error":{"code":429,"details":[{"@type":"RetryInfo","retryDelay":"34s"}]}}`, want: 34 * time.Second},
		"a delay in pasted JSON":            {body: `{"message":"upstream said {\"retryDelay\": \"34s\"}"}`, want: 34 * time.Second},
		"a number that is no wait":          {body: "You requested 30601 tokens, try fewer", want: 0},
		"a day on which access comes back":  {body: "You will regain access on 2026-01-03 at 00:00 UTC.", want: now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now)},
	} {
		t.Run(name, func(t *testing.T) {
			h := http.Header{}
			for k, v := range c.header {
				h[k] = []string{v}
			}
			got := Classify(Input{Transport: HTTP, Status: 429, Header: h, Body: []byte(c.body), Now: now})
			if got.RetryAfter != c.want {
				t.Errorf("got %v, want %v", got.RetryAfter, c.want)
			}
		})
	}
}
