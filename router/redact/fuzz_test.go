package redact_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/onceward/onceward/router/redact"
)

func FuzzRedact(f *testing.F) {
	for _, key := range []string{shapeless, "abcdefgh", `q"uo\te/<&>'%+=x`, "north-gate", "sk-proj-abcDEF1234567890"} {
		f.Add(key, `{"message":"no such consumer `, `"}`, uint8(0))
		f.Add(key, `\`, `\u00`, uint8(9))
		f.Add(key, "data: ", "%25", uint8(14))
	}
	f.Fuzz(func(t *testing.T, key, before, after string, which uint8) {
		if len(key) < redact.Shortest || len(key) > 300 || len(before)+len(after) > 1000 || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) ||
			strings.Contains(redact.Marker, strings.ToLower(key[:1])) || !utf8.ValidString(before) ||
			strings.ContainsAny(key, `"`) || strings.Trim(key, "0123456789.+-eE,:[]{}trufalsn") == "" {
			t.Skip() // no key, one that the marker may spell together with its neighbours, or one that JSON may need
		}
		names := []string{
			"raw", "JSON", "JSON in JSON", "every character escaped", "query", "path", "every byte percent", "percent twice", "HTML", "hexadecimal",
			"base64, 0 before", "base64, 1 before", "base64, 2 before", "base64url raw, 1 before", "base64 in lines", "upper case",
		}
		set, spelt := redact.NewSet(key), spellings(key)[names[int(which)%len(names)]]
		text := before + spelt + after
		got, found := set.Bytes([]byte(text))
		if strings.Contains(strings.ToLower(string(got)), strings.ToLower(key)) {
			t.Errorf("the key is left in %q", got)
		}
		if !strings.HasSuffix(before, `\`) && !strings.HasSuffix(before, "%") && !found && strings.Trim(spelt, "0123456789eE") != "" {
			t.Errorf("%q was not seen in %q", key, text)
		}
		if json.Valid([]byte(text)) && !json.Valid(got) {
			t.Errorf("JSON was torn: %s became %s", text, got)
		}
		sameInPieces(t, set, []byte(text), got)
		if clean := before + after; !shows(clean, key[:min(len(key), 6)]) && !strings.ContainsAny(clean, `\%&`) {
			if same := set.Text(clean); same != clean && !strings.Contains(strings.ToLower(clean), strings.ToLower(key[len(key)/4:])) {
				t.Errorf("%q became %q", clean, same)
			}
		}
	})
}

// chopped gives a text in pieces of one size.
type chopped struct {
	left []byte
	size int
}

func (c *chopped) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.size)], c.left)
	c.left = c.left[n:]
	return n, nil
}
