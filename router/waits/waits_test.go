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
