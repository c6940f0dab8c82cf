package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/onceward/onceward/router/redact"
)

// shapeless has no form that a rule about well-known keys could see.
const shapeless = "orchid-gateway-42-north"

// spellings are the ways in which hosts repeat a key, by name.
func spellings(key string) map[string]string {
	quoted, _ := json.Marshal(key)
	twice, _ := json.Marshal(string(quoted))
	escapedAll := ""
	for i := range len(key) {
		escapedAll += fmt.Sprintf(`\u%04x`, key[i])
	}
	percentAll := ""
	for i := range len(key) {
		percentAll += fmt.Sprintf("%%%02X", key[i])
	}
	out := map[string]string{
		"raw": key, "upper case": strings.ToUpper(key), "mixed case": strings.ToUpper(key[:len(key)/2]) + strings.ToLower(key[len(key)/2:]),
		"of a header": "Bearer " + key, "JSON": string(quoted), "JSON in JSON": string(twice), "every character escaped": escapedAll,
		"query": url.QueryEscape(key), "path": url.PathEscape(key), "every byte percent": percentAll, "percent twice": url.QueryEscape(percentAll),
		"HTML": html.EscapeString(key), "hexadecimal": hex.EncodeToString([]byte(key)), "HEXADECIMAL": strings.ToUpper(hex.EncodeToString([]byte(key))),
		"quoted by Go": fmt.Sprintf("%q", key),
	}
	for shift := range 3 {
		inside := strings.Repeat("u", shift) + key + "tail"
		for name, e := range map[string]*base64.Encoding{"base64": base64.StdEncoding, "base64 raw": base64.RawStdEncoding, "base64url": base64.URLEncoding, "base64url raw": base64.RawURLEncoding} {
			out[fmt.Sprintf("%s, %d before", name, shift)] = e.EncodeToString([]byte(inside))
			out[fmt.Sprintf("%s, %d before, at the end", name, shift)] = e.EncodeToString([]byte(inside[:shift+len(key)]))
		}
	}
	wrapped := base64.StdEncoding.EncodeToString([]byte("user:" + key))
	out["base64 in lines"] = wrapped[:12] + "\r\n" + wrapped[12:]
	out["base64 in lines in JSON"] = wrapped[:12] + `\r\n` + wrapped[12:]
	return out
}

// shows reports whether a text gives the key away to who undoes what hosts do.
func shows(text, key string) bool {
	lower := strings.ToLower(text)
	if strings.Contains(lower, strings.ToLower(key)) || strings.Contains(lower, hex.EncodeToString([]byte(key))) {
		return true
	}
	for range 3 {
		if decoded, err := url.PathUnescape(lower); err == nil {
			lower = decoded
		}
		var unquoted string
		if json.Unmarshal([]byte(`"`+strings.Trim(lower, `"`)+`"`), &unquoted) == nil {
			lower = unquoted
		}
		lower = html.UnescapeString(lower)
		if strings.Contains(lower, strings.ToLower(key)) {
			return true
		}
	}
	plain := strings.NewReplacer("-", "+", "_", "/", "\r\n", "", `\r\n`, "").Replace(text)
	for shift := range 3 {
		coded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + key))
		if core := coded[[]int{0, 2, 3}[shift] : (shift+len(key))*8/6]; strings.Contains(plain, core) {
			return true
		}
	}
	return false
}

func TestAKeyIsTakenOutInEverySpelling(t *testing.T) {
	for _, key := range []string{shapeless, "abcdefgh", `q"uo\te/<&>'%+=x`, "aGk/+b==cd", "%41%42%43%44", `\\\\\\\\ab`, strings.Repeat("ab", 200)} {
		set := redact.NewSet("", key)
		for name, spelt := range spellings(key) {
			for _, text := range []string{spelt, "no such consumer '" + spelt + "', ask again", `{"error":{"message":"` + spelt + `"}}`, spelt + spelt, "x" + spelt} {
				if number(text) {
					continue // which stays: see TestANumberIsNoKey
				}
				if got := set.Text(text); shows(got, key) || !strings.Contains(got, redact.Marker) {
					t.Errorf("%q, %s: %q is left of %q", key, name, got, text)
				}
			}
		}
	}
}

func TestAPieceThatAHostCutIsTakenOutToo(t *testing.T) {
	set := redact.NewSet(shapeless)
	for text, want := range map[string]string{
		"no such consumer 'orchid-gateway-42-no":  "no such consumer '[redacted]",
		"no such consumer 'orchid-gateway-42-'":   "no such consumer '[redacted]'",
		"...d-gateway-42-north is no consumer":    "...[redacted] is no consumer",
		"the orchid-gateway is down":              "the orchid-gateway is down",
		"orchid-gateway-43-north, another of its": "orchid-gateway-43-north, another of its",
	} {
		if got := set.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestAShortKeyIsTakenOutOfMessagesWhereItIsAWord(t *testing.T) {
	set := redact.NewSet("local")
	if got := set.Message("no consumer 'local', only locals and non_local"); got != "no consumer '[redacted]', only locals and non_local" {
		t.Error(got)
	}
	if got := set.Text("the local time"); got != "the local time" {
		t.Errorf("an answer was changed: %s", got)
	}
}

func TestThePartsOfAHeadersValueAreCredentials(t *testing.T) {
	set := redact.NewSet("Basic "+base64.StdEncoding.EncodeToString([]byte("gateway:tulip-77-meadow")), "Token rose-garden-1")
	for _, text := range []string{"tulip-77-meadow", "gateway:tulip-77-meadow", "Z2F0ZXdheTp0dWxpcC03Ny1tZWFkb3c=", "rose-garden-1"} {
		if got := set.Text("who is " + text + "?"); !strings.HasPrefix(got, "who is [redacted]") {
			t.Errorf("%q is left", got)
		}
	}
}

func TestJSONStaysJSON(t *testing.T) {
	for _, row := range []struct{ key, text string }{
		{"north-gate", `"a\north-gate"`}, {"abcdefg\\", `"abcdefg\\"`}, {"abcdefg\\", `"abcdefg\""`}, {"abcdefg\\", `"abcdefg\u0041"`},
		{"006f-orchid", `"\u006f-orchid"`}, {`\\\\abcd`, `"\\\\\\\\abcd\\"`}, {"abcdefgh", `"\\u0061bcdefgh\\"`},
	} {
		got, _ := redact.NewSet(row.key).Bytes([]byte(row.text))
		if !json.Valid(got) || shows(string(got), row.key) {
			t.Errorf("%q in %s: %s", row.key, row.text, got)
		}
	}
}

func TestASetIsNotPrinted(t *testing.T) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		if got := fmt.Sprintf(verb, redact.NewSet(shapeless)); got != redact.Marker {
			t.Errorf("%s: %s", verb, got)
		}
	}
}

func TestAReaderTakesOutWhatComesInPieces(t *testing.T) {
	set := redact.NewSet(shapeless)
	for name, spelt := range spellings(shapeless) {
		text := "data: {\"delta\":\"" + spelt + "\"}\n\ndata: o"
		for _, in := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)), iotest.HalfReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text))} {
			found := false
			got, err := io.ReadAll(set.Reader(io.NopCloser(in), func() { found = true }))
			if err != nil || string(got) != set.Text(text) || !found {
				t.Errorf("%s: %q, %v, want %q", name, got, err, set.Text(text))
			}
		}
	}
}

func TestAReaderHoldsNothingBackButWhatMayBeAKey(t *testing.T) {
	in, out := io.Pipe()
	r := redact.NewSet(shapeless).Reader(in, nil)
	go func() { _, _ = out.Write([]byte("data: an event\n\n")) }()
	got := make([]byte, 100)
	n, err := r.Read(got) // would wait for ever if a byte had been held back
	if err != nil || string(got[:n]) != "data: an event\n\n" {
		t.Errorf("%q, %v", got[:n], err)
	}
	_ = out.CloseWithError(io.ErrUnexpectedEOF)
	if _, err := r.Read(got); err != io.ErrUnexpectedEOF || r.Close() != nil {
		t.Errorf("the reader's error is %v", err)
	}
}

func TestAnErrorKeepsItsKindAndLosesTheKey(t *testing.T) {
	set := redact.NewSet(shapeless)
	err := set.Error(fmt.Errorf("malformed HTTP response %q: %w", shapeless, io.ErrUnexpectedEOF))
	if !errors.Is(err, io.ErrUnexpectedEOF) || err.Error() != `malformed HTTP response "[redacted]": unexpected EOF` {
		t.Error(err)
	}
	if set.Error(io.EOF) != io.EOF || set.Error(nil) != nil {
		t.Error("an error without a key was changed")
	}
}
