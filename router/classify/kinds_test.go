package classify

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// One vocabulary has one reader: what is understood in an HTTP header is understood
// in a headers object of the body, and as a field of the error.
func TestWaitsMeanTheSameInHeadersAndInTheBody(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	date := now.Add(90 * time.Second)
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "17", 17 * time.Second},
		{"retry-after", "0.5", 500 * time.Millisecond},
		{"Retry-After", date.Format(http.TimeFormat), 90 * time.Second},
		{"Retry-After", date.Format(time.RFC3339), 90 * time.Second},
		{"Retry-After", "1m30s", 90 * time.Second},
		{"retry-after-ms", "1500", 1500 * time.Millisecond},
		{"x-ms-retry-after-ms", "1500", 1500 * time.Millisecond},
		{"x-ms-retry-after", "3", 3 * time.Second},
		{"X-RateLimit-Reset", fmt.Sprint(date.Unix()), 90 * time.Second},
		{"X-RateLimit-Reset", fmt.Sprint(date.UnixMilli()), 90 * time.Second},
		{"x-ratelimit-reset-tokens", "1m26.4s", 86400 * time.Millisecond},
		{"x-ratelimit-reset-requests", "6ms", 6 * time.Millisecond},
		{"ratelimit-reset", "12", 12 * time.Second},
		{"RateLimit", "limit=100, remaining=0, reset=50", 50 * time.Second},
		{"RateLimit", `"default";r=0;t=50`, 50 * time.Second},
		{"anthropic-ratelimit-tokens-reset", date.Format(time.RFC3339), 90 * time.Second},
		{"Retry-After", "-5", 0}, {"Retry-After", "1e3", 0}, {"Retry-After", "3153600000", 0}, {"X-RateLimit-Limit", "20", 0},
	} {
		bodies := map[string]string{}
		for place, form := range map[string]string{
			"headers of the metadata": `{"error":{"code":429,"message":"no","metadata":{"headers":{%q:%q}}}}`,
			"headers of the error":    `{"error":{"code":429,"message":"no","headers":{%q:%q}}}`,
			"headers of a socket":     `{"type":"error","status":429,"headers":{%q:%q},"error":{"message":"no"}}`,
			"a list":                  `{"error":{"code":429,"message":"no","metadata":{"response_headers":{%q:["1",%q]}}}}`,
			"in a pasted body":        `{"error":{"code":429,"message":"upstream: {\"error\":{\"headers\":{\"%s\":\"%s\"}}}"}}`,
		} {
			if place == "a list" && c.want < time.Second || place == "in a pasted body" && c.value[0] == '"' {
				continue
			}
			bodies[place] = fmt.Sprintf(form, c.name, c.value)
		}
		h := http.Header{}
		h.Set(c.name, c.value)
		if f := Classify(Input{Status: 429, Header: h, Now: now}); f.RetryAfter != c.want {
			t.Errorf("E19 %s: %s over HTTP: %v, want %v", c.name, c.value, f.RetryAfter, c.want)
		}
		for place, body := range bodies {
			if f := Classify(Input{Status: 429, Body: []byte(body), Now: now}); f.RetryAfter != c.want {
				t.Errorf("E19 %s: %s in %s: %v, want %v", c.name, c.value, place, f.RetryAfter, c.want)
			}
		}
	}
	for body, want := range map[string]time.Duration{
		`{"error":{"code":429,"metadata":{"headers":{"X-RateLimit-Reset":1767323055000,"X-RateLimit-Remaining":0}}}}`:     10 * time.Second,
		`{"error":{"code":429,"metadata":{"headers":{"X-RateLimit-Reset":"1767323055000","X-RateLimit-Remaining":"5"}}}}`: 0,
		`{"error":{"code":429,"retry_after":7}}`:                                                          7 * time.Second,
		`{"error":{"code":429,"retryAfter":"7s"}}`:                                                        7 * time.Second,
		`{"error":{"code":429,"retry_after_ms":7000}}`:                                                    7 * time.Second,
		`{"error":{"code":429,"retryAfterMs":"7000"}}`:                                                    7 * time.Second,
		`{"error":{"code":429,"retry_after_seconds":7}}`:                                                  7 * time.Second,
		`{"error":{"code":429,"resets_in_seconds":7}}`:                                                    7 * time.Second,
		`{"error":{"code":429,"reset_at":"2026-01-02T03:04:12Z"}}`:                                        7 * time.Second,
		`{"error":{"code":429,"resets_at":1767323052}}`:                                                   7 * time.Second,
		`{"error":{"code":429,"resetAt":1767323052000}}`:                                                  7 * time.Second,
		`{"error":{"code":429,"details":[{"@type":"RetryInfo","retryDelay":"7s"}]}}`:                      7 * time.Second,
		`{"error":{"code":429,"rate_limit":{"reset_in":7}}}`:                                              7 * time.Second,
		`{"retry_after":3,"error":{"code":429,"message":"Please try again in 7s.","retry_after_ms":100}}`: 7 * time.Second,
		`{"error":{"code":429,"retry_after":-7}}`:                                                         0,
		`{"error":{"code":429,"retry_after":1e300}}`:                                                      0,
	} {
		if f := Classify(Input{Status: 429, Body: []byte(body), Now: now}); f.RetryAfter != want {
			t.Errorf("E19 %s: %v, want %v", body, f.RetryAfter, want)
		}
	}
}

func TestLongCapIsKnownByItsCodeAlone(t *testing.T) {
	for code, want := range map[string]onceward.Class{
		"daily_limit_exceeded": onceward.ClassQuotaExhausted, "tokens_per_day": onceward.ClassQuotaExhausted, "requests_per_day": onceward.ClassQuotaExhausted,
		"RPD": onceward.ClassQuotaExhausted, "TPD": onceward.ClassQuotaExhausted, "rpd_limit_exceeded": onceward.ClassQuotaExhausted,
		"free_tier_daily_limit": onceward.ClassQuotaExhausted, "weekly_quota_exhausted": onceward.ClassQuotaExhausted, "MonthlyTokenLimitReached": onceward.ClassQuotaExhausted,
		"tokens_per_minute": onceward.ClassRateLimited, "rpm_limit_exceeded": onceward.ClassRateLimited, "daily_report_tool": onceward.ClassRateLimited,
	} {
		for _, form := range []string{
			`{"error":{"message":"No.","code":%q}}`, `{"error":{"message":"No.","type":%q,"code":"429"}}`, `{"code":%q,"message":"No."}`,
			`{"error":{"message":"No.","details":[{"reason":%q}]}}`, `{"error":{"message":"No.","limit_type":%q}}`,
		} {
			f := Classify(Input{Status: 429, Body: fmt.Appendf(nil, form, code)})
			if f.Class != want {
				t.Errorf(form+": %s, want %s", code, f.Class, want)
			}
		}
	}
}

func TestStaleAnchorIsKnownInPlainWords(t *testing.T) {
	for _, words := range []string{
		"Previous response with id 'resp_1' not found.", "Previous response not found", "The previous response could not be found.", "previous_response_id not found",
		"previous_response_id 'resp_abc' does not exist", "No previous response found with id resp_abc", "No such previous response: resp_abc",
		"The previous response has expired.", "Unknown previous_response_id: resp_abc", "Response with id 'resp_abc' not found.", "Could not find response resp_abc",
		"The response resp_abc has been deleted", "Invalid previous_response_id: resp_abc was not found", "previous_response_id refers to a response that no longer exists",
		"Conversation not found", "Conversation with id 'conv_abc' not found.", "Conversation 'abc123' not found", "conversation_id not found", "Unknown conversation: conv_abc",
		"The conversation has been deleted", "Could not find conversation conv_abc",
	} {
		for name, in := range map[string]Input{
			"400":                {Status: 400, Body: fmt.Appendf(nil, `{"error":{"message":%q}}`, words)},
			"404":                {Status: 404, Body: fmt.Appendf(nil, `{"detail":%q}`, words)},
			"400 in plain words": {Status: 400, Body: []byte(words)},
			"a string in a 200":  {Status: 200, Body: fmt.Appendf(nil, `{"error":%q}`, words)},
			"an event":           {Transport: SSE, Status: 200, Body: fmt.Appendf(nil, `{"type":"error","message":%q}`, words)},
			"a failed response":  {Transport: SSE, Status: 200, Body: fmt.Appendf(nil, `{"type":"response.failed","response":{"status":"failed","error":{"message":%q}}}`, words)},
			"a frame":            {Transport: SSE, Status: 200, Body: fmt.Appendf(nil, "event: error\ndata: %s\n\n", words)},
		} {
			if f := Classify(in); f.Class != onceward.ClassStaleAnchor || f.Repair != onceward.RepairFullInput {
				t.Errorf("%s %s: %s %s", name, words, f.Class, f.Repair)
			}
		}
	}
}

func TestSizesThatA400Names(t *testing.T) {
	for words, want := range map[string]onceward.Class{
		"Request body of 12582912 bytes exceeds the limit of 10485760 bytes.":                                                       onceward.ClassRequestTooLarge,
		"The payload is 22 MB, the maximum is 20 MB.":                                                                               onceward.ClassRequestTooLarge,
		"Total request size must be below 30MB.":                                                                                    onceward.ClassRequestTooLarge,
		"Your request exceeds 32 MB":                                                                                                onceward.ClassRequestTooLarge,
		"Message size 5242880 bytes is larger than the allowed 4194304 bytes":                                                       onceward.ClassRequestTooLarge,
		"Body larger than 1mb":                                                                                                      onceward.ClassRequestTooLarge,
		"You requested 140000 tokens, but at most 128000 tokens are allowed.":                                                       onceward.ClassContextLength,
		"Your request has 131080 tokens, the limit is 128000 tokens.":                                                               onceward.ClassContextLength,
		"Input of 140000 tokens is more than this model takes (max 128000 tokens).":                                                 onceward.ClassContextLength,
		"Image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes":                                                                 onceward.ClassInvalidRequest,
		"Invalid 'metadata': string too long. Expected a string with maximum length 512, but got a string with length 600 instead.": onceward.ClassInvalidRequest,
	} {
		f := Classify(Input{Status: 400, Body: errorBody(t, "", words)})
		if f.Class != want || f.StateEffect != onceward.EffectNone {
			t.Errorf("%s: %s %s, want %s", words, f.Class, f.StateEffect, want)
		}
	}
}
