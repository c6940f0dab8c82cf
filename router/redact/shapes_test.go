package redact

import (
	"strings"
	"testing"
)

func TestCredentialsAreReplaced(t *testing.T) {
	for _, secret := range []string{
		"sk-proj-abcDEF1234567890abcDEF", "xai-abcdef123456", "AIzaSyA1234567890abcdefg", "gsk_abcdefgh12345678", "hf_abcdefghij", "AKIAIOSFODNN7EXAMPLE",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_DEF-123", "0123456789abcdef0123456789abcdef", "c29tZSBsb25nIGJhc2U2NCBzdHJpbmcgMTIzNDU2Nzg5MA==", "jane.doe@example.com",
	} {
		for _, text := range []string{
			"Incorrect API key provided: " + secret + ". You can find", "(" + secret + ")", "key=" + secret, `{"x":"` + secret + `"}`, secret,
			"https://api.example.com/v1?model=a&key=" + secret + "&alt=sse",
		} {
			if got := Shapes(text, 500); strings.Contains(got, secret) {
				t.Errorf("%q is left in %q", secret, got)
			}
		}
	}
	for text, want := range map[string]string{
		"Authorization: Bearer hunter2 refused":                  "Authorization: Bearer [redacted] refused",
		`{"api-key": "short"} refused`:                           `{"api-key": "[redacted]"} refused`,
		"Incorrect API key provided: invalid. See":               "Incorrect API key provided: [redacted] See",
		"GET https://x.example/?sig=a%2Bb&sv=2024 failed":        "GET https://x.example/?sig=[redacted]&sv=2024 failed",
		"dial https://user:pass@x.example/v1 failed":             "dial https://[redacted]@x.example/v1 failed",
		"Item 'rs_68af00112233445566778899aabbccddeeff' missing": "Item 'rs_68af00112233445566778899aabbccddeeff' missing",
		"request 123e4567-e89b-12d3-a456-426614174000 failed":    "request 123e4567-e89b-12d3-a456-426614174000 failed",
		"The model `gpt-5.6` does not exist":                     "The model `gpt-5.6` does not exist",
		"maximum context length is 128000 tokens, param=x":       "maximum context length is 128000 tokens, param=x",
	} {
		if got := Shapes(text, 500); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestMessageIsCutWithoutLeakingAKeyAtTheEdge(t *testing.T) {
	for pad := 440; pad < 520; pad++ {
		got := Shapes(strings.Repeat("é ", pad/3)+strings.Repeat("x", pad%3)+" sk-proj-abcDEF1234567890abcDEF tail", 500)
		if len(got) > 500 || strings.Contains(got, "sk-proj") {
			t.Fatalf("pad %d: %d bytes: %q", pad, len(got), got)
		}
	}
}
