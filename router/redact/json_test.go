package redact_test

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward/router/redact"
)

// number reports whether JSON may have a text as a number.
func number(text string) bool {
	return json.Valid([]byte(text)) && strings.Trim(text, "0123456789eE+-.") == ""
}

// E21: a number that begins, ends or is written like a key is an amount, and the
// answer around it is read by programs.
func TestANumberIsNoKey(t *testing.T) {
	for name, row := range map[string]struct{ key, text string }{
		"E21 three quarters of a key in digits": {"123456789abc", `{"amount":123456789,"n":[123456789, -123456789]}`},
		"before spaces and line breaks":         {"123456789abc", "{\n  \"amount\":\n123456789\r\n}"},
		"in JSON in JSON":                       {"123456789abc", `{"arguments":"{\"amount\":123456789}"}`},
		"in JSON in JSON in lines":              {"123456789abc", `{"arguments":"{\n\"amount\": [\n123456789\n]}"}`},
		"with an exponent":                      {"12345678e5xyz", `[12345678e5,12345678E5]`},
		"with an exponent and a sign":           {"12345678e+5xy", `[12345678e+5]`},
		"with a fraction":                       {"1234.56789ab", `[1234.56789]`},
		"longer":                                {"123456789abc", `[9123456789, 1234567890, 0.123456789]`},
		"the tail of a key":                     {"abcd1234567890123", `[1234567890123]`},
		"the hexadecimal of a key":              {"aaaaaaaa", `[6161616161616161]`},
		"the hexadecimal of a key, with an e":   {"nnnnnnnn", `[6e6e6e6e,6.16e6]`},
		"all of a key":                          {"1234567e9", `[1234567e9]`},
		"an event":                              {"123456789abc", "data: {\"amount\":123456789}\n\n"},
		"words of JSON":                         {"null,true,nu", `[null,true,null,true,null]`},
	} {
		if got, found := redact.NewSet(row.key).Bytes([]byte(row.text)); found {
			t.Errorf("%s: %s became %s", name, row.text, got)
		}
	}
}

// E21: what cannot be a number is a key, whatever it is made of.
func TestDigitsThatAreNoNumberAreAKey(t *testing.T) {
	for _, row := range []struct{ key, text, want string }{
		{"123456789abc", `{"amount":123456789abc}`, `{"amount":[redacted]}`},
		{"123456789abc", `{"id":"123456789"}`, `{"id":"[redacted]"}`},
		{"123456789abc", `{"arguments":"{\"id\":\"123456789\"}"}`, `{"arguments":"{\"id\":\"[redacted]\"}"}`},
		{"123456789abc", `no consumer '123456789'`, `no consumer '[redacted]'`},
		{"123456789abc", `no consumer 123456789ab...`, `no consumer [redacted]...`},
		{"aaaaaaaa", `{"id":"6161616161616161"}`, `{"id":"[redacted]"}`},
		{"aaaaaaaa", `id=6161616161616161`, `id=[redacted]`},
		{"1234-5678-90", `{"id":"no 1234-5678-90 "}`, `{"id":"no [redacted] "}`},
		{"fullstaff", `key fullstaff is unknown`, `key [redacted] is unknown`},
	} {
		if got := redact.NewSet(row.key).Text(row.text); got != row.want {
			t.Errorf("%s: %s became %s", row.key, row.text, got)
		}
	}
	if got := redact.NewSet("nnnnnnnn").Message("no 6e6e6e6e6e6e6e6e and no 6E6E6E6E6E6E6E6E"); got != "no [redacted] and no [redacted]" {
		t.Errorf("a message keeps %s", got)
	}
}

func TestAStringKeepsItsEnds(t *testing.T) {
	for _, row := range []struct{ key, text, want string }{
		{`abcdefgh"`, `["abcdefgh","x"]`, `["[redacted]","x"]`},
		{`"abcdefgh"`, `["abcdefgh"]`, `["[redacted]"]`},
		{`abcdefghijkl","x`, `["abcdefghijkl","x"]`, `["[redacted]","x"]`},
		{`12345678","x`, `["12345678","x"]`, `["12345678","x"]`},
		{`abcdefgh","x`, `["abcdefgh\",\"x"]`, `["[redacted]"]`},
		{`abc"defghij`, `no consumer abc"defghij`, `no consumer [redacted]`},
	} {
		if got := redact.NewSet(row.key).Text(row.text); got != row.want {
			t.Errorf("%s: %s became %s", row.key, row.text, got)
		}
	}
}

// tokens are what JSON has outside of its strings, which stand for themselves.
func tokens(t *testing.T, text []byte) (out []string) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		switch token := token.(type) {
		case string:
			out = append(out, `""`)
		case json.Number:
			out = append(out, token.String())
		default:
			raw, _ := json.Marshal(token)
			out = append(out, string(raw))
		}
	}
}

// sameInPieces reads a text cut at every place, and in pieces of every size up
// to some.
func sameInPieces(t *testing.T, set *redact.Set, text, want []byte) {
	for cut := range min(len(text), 200) + 1 {
		for _, in := range []io.Reader{
			io.MultiReader(bytes.NewReader(text[:cut]), bytes.NewReader(text[cut:])),
			&chopped{text, cut%40 + 1},
		} {
			if got, err := io.ReadAll(set.Reader(io.NopCloser(in), nil)); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("cut at %d: %q, whole %q", cut, got, want)
			}
		}
	}
}

// FuzzJSON writes pieces of a key into JSON, where $ and @ stand.
func FuzzJSON(f *testing.F) {
	for n, key := range []string{"123456789abc", shapeless, "aaaaaaaa", "1234567e9", `abcdefgh","x`, "null,true,nu", `q"uo\te/<&>'%+=x`, "4242424242424242-x", `\\\"abcdefg`} {
		f.Add(key, `{"amount":$,"n":[-$e5, @.$E+$, "@$"],"$":"\n$\\"}`, uint8(0), uint8(9), uint8(n))
		f.Add(key, "[@,$]\n{\"arguments\":\"{\\\"amount\\\":$}\"}", uint8(4), uint8(40), uint8(3*n))
		f.Add(key, `["@","$",true,null]`, uint8(1), uint8(40), uint8(5*n))
	}
	f.Fuzz(func(t *testing.T, key, text string, from, to, which uint8) {
		if len(key) < redact.Shortest || len(key) > 300 || len(text) > 1000 {
			t.Skip()
		}
		all := spellings(key)
		names := make([]string, 0, len(all))
		for name := range all {
			names = append(names, name)
		}
		slices.Sort(names)
		spelt := all[names[int(which)%len(names)]]
		low := min(int(from), len(spelt))
		text = strings.NewReplacer("$", spelt[low:min(max(low, int(to)), len(spelt))], "@", key[min(low, len(key)):]).Replace(text)
		set := redact.NewSet(key)
		got, _ := set.Bytes([]byte(text))
		if json.Valid([]byte(text)) {
			if !json.Valid(got) {
				t.Fatalf("JSON was torn: %s became %s", text, got)
			}
			if before, after := tokens(t, []byte(text)), tokens(t, got); !slices.Equal(before, after) {
				t.Fatalf("%s became %s", text, got)
			}
		}
		sameInPieces(t, set, []byte(text), got)
	})
}
