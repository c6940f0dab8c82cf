package onceward

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

func TestPrintableTextObeysNothingAndHidesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want, line string }{
		"E41 a window's title is not set":                  {"a\x1b]0;owned\x07b", "a]0;ownedb", "a]0;ownedb"},
		"E41 a text is not turned round":                   {"invoice\u202Efdp.exe", "invoicefdp.exe", "invoicefdp.exe"},
		"E41 a space without a width is no space":          {"de\u200Blete", "delete", "delete"},
		"a colour and a move of the cursor stay text":      {"\x1b[31mred\x1b[2J\x1b[H", "[31mred[2J[H", "[31mred[2J[H"},
		"a control of eight bits is no escape":             {"a\u009b31mb", "a31mb", "a31mb"},
		"a byte that is no text is shown as one":           {"a\x9bb", "a\uFFFDb", "a\uFFFDb"},
		"a line cannot be written over":                    {"paid: 1\rpaid: 9", "paid: 1paid: 9", "paid: 1paid: 9"},
		"a backspace takes nothing away":                   {"no\b\bok\x7f", "nook", "nook"},
		"isolates and marks of direction are dropped":      {"\u2066a\u2069\u200E\u200F\u061Cb", "ab", "ab"},
		"tags carry no hidden words":                       {"a\U000E0041\U000E0042\U000E007Fb", "ab", "ab"},
		"selectors of variants carry no hidden bytes":      {"a\uFE0F\U000E0100b", "ab", "ab"},
		"fillers that are letters are dropped":             {"a\u3164\u115F\u1160\uFFA0\u034F\u2800b", "ab", "ab"},
		"private use and what is no character are dropped": {"a\uE000\U000F0000\uFFFEb", "ab", "ab"},
		"a family of emoji falls into its members":         {"\U0001F468\u200D\U0001F469", "\U0001F468\U0001F469", "\U0001F468\U0001F469"},
		"lines and tabs stay in a text":                    {"a\r\n\tb\u2028c\u2029d\u0085e", "a\n\tb\nc\nd\ne", "a b c d e"},
		"words of every writing stay":                      {"Grüße, 東京, مرحبا, नमस्ते 1\u00A0€", "Grüße, 東京, مرحبا, नमस्ते 1\u00A0€", "Grüße, 東京, مرحبا, नमस्ते 1 €"},
		"nothing is nothing":                               {"", "", ""},
	} {
		if got := Printable(c.text); got != c.want {
			t.Errorf("%s: %+q, want %+q", name, got, c.want)
		}
		if got := PrintableLine(c.text); got != c.line {
			t.Errorf("%s: the line is %+q, want %+q", name, got, c.line)
		}
	}
}

// A list of characters has holes; their categories have none.
func TestPrintableDropsEveryCharacterOfTheCategories(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r == '\n' || r == '\t' || !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Join_Control) {
			continue
		}
		if strings.ContainsRune(Printable("a"+string(r)+"b"), r) {
			t.Fatalf("%U is printed", r)
		}
		if got := PrintableLine("a" + string(r) + "b"); got != "ab" && got != "a b" {
			t.Fatalf("a line with %U is %+q", r, got)
		}
	}
}

func TestPrintableJSONSaysTheSameInPlainCharacters(t *testing.T) {
	t.Parallel()
	const text = "E41 \x1b]0;owned\x07 \u202E\u200B\u2028 \U000E0041 \uE000 é \"\\"
	raw, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		t.Fatal(err)
	}
	printed := PrintableJSON(append(raw, "\r\n"...))
	if Printable(strings.ReplaceAll(string(printed), "\r", "")) != strings.ReplaceAll(string(printed), "\r", "") {
		t.Errorf("%+q has something to clean", printed)
	}
	var back map[string]string
	if err := json.Unmarshal(printed, &back); err != nil || back["text"] != text {
		t.Errorf("%s says %+q, %v, want %+q", printed, back["text"], err, text)
	}
	if plain := []byte(`{"a":"é"}`); string(PrintableJSON(plain)) != string(plain) {
		t.Errorf("%s was changed", plain)
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\x1b]0;x\x07\u202e\u200b\u2028")
	f.Fuzz(func(t *testing.T, text string) {
		once := Printable(text)
		if Printable(once) != once || strings.IndexFunc(once, concealed) >= 0 {
			t.Errorf("%+q is printed as %+q, which has something to clean", text, once)
		}
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		printed := PrintableJSON(raw)
		var want, got string
		if json.Unmarshal(raw, &want) != nil || json.Unmarshal(printed, &got) != nil || got != want || strings.IndexFunc(string(printed), concealed) >= 0 {
			t.Errorf("%s is printed as %s", raw, printed)
		}
	})
}
