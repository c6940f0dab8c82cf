package onceward_test

import (
	"encoding/json"
	"strings"
	"testing"

	"go.temporal.io/sdk/converter"

	"github.com/onceward/onceward"
)

func TestCanonicalSurvivesTemporalsConverter(t *testing.T) {
	for name, raw := range map[string]string{
		"white space and html":  `{ "a" : "<b>&" , "n" : 1.50e3 }`,
		"lone high surrogate":   `{"a":"x\ud800y"}`,
		"lone low surrogate":    `{"a":"\udc00"}`,
		"pair kept":             `{"a":"\ud83d\ude00"}`,
		"two high surrogates":   `{"a":"\ud83d\ud83d\ude00"}`,
		"invalid utf-8":         "{\"a\":\"\xff\xfe\"}",
		"line separator":        "{\"a\":\"\u2028\"}",
		"64-bit integer":        `{"a":9007199254740993}`,
		"escaped backslash u":   `{"a":"\\ud800"}`,
		"key order is kept":     `{"z":1,"a":2}`,
		"huge string":           `{"a":"` + strings.Repeat("x", 1<<19) + `"}`,
		"duplicate keys remain": `{"a":1,"a":2}`,
	} {
		t.Run(name, func(t *testing.T) {
			item, err := onceward.NewItem([]byte(raw), "")
			if err != nil {
				t.Fatal(err)
			}
			payload, err := converter.GetDefaultDataConverter().ToPayload(item)
			if err != nil {
				t.Fatal(err)
			}
			var back onceward.Item
			if err := converter.GetDefaultDataConverter().FromPayload(payload, &back); err != nil {
				t.Fatal(err)
			}
			if string(back.Raw) != string(item.Raw) || onceward.DigestBytes(back.Raw) != item.Digest {
				t.Fatalf("went in as %s, came back as %s", item.Raw, back.Raw)
			}
			var v map[string]any
			if err := json.Unmarshal(item.Raw, &v); err != nil {
				t.Fatalf("not JSON any more: %v", err)
			}
		})
	}
}

func TestCanonicalKeepsMeaning(t *testing.T) {
	got, err := onceward.Canonical([]byte(`{ "emoji": "\ud83d\ude00", "lone": "a\ud800b", "n": 9007199254740993 }`))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"emoji":"\ud83d\ude00","lone":"a\ufffdb","n":9007199254740993}`; string(got) != want {
		t.Fatalf("got %s, want %s", got, want)
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for name, raw := range map[string]string{
		"array":       `[1]`,
		"number":      `1`,
		"null":        `null`,
		"empty":       ``,
		"unfinished":  `{"a":`,
		"two values":  `{} {}`,
		"deep object": strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300),
		"deep array":  `{"a":` + strings.Repeat(`[`, 100000) + strings.Repeat("]", 100000) + `}`,
	} {
		if got, err := onceward.Canonical([]byte(raw)); err == nil {
			t.Errorf("%s: accepted as %.60s", name, got)
		}
	}
}

func TestCheckKeys(t *testing.T) {
	for raw, wantRefused := range map[string]bool{
		`{"order":"7","amount":10,"Amount":9900}`: true,
		`{"a":1,"a":1}`:                  true,
		`{"a":{"b":1,"B":2}}`:            true,
		`{"a":[{"b":1},{"b":2}]}`:        false,
		`{"a":[{"b":1,"\u0042":2}]}`:     true,
		`{"a":{"b":1},"c":{"b":2}}`:      false,
		`{"k":1,"` + "\u212a" + `":2}`:   true, // the Kelvin sign folds to k, as encoding/json does
		`{"s":1,"` + "\u017f" + `":2}`:   true, // the long s folds to s
		`{"a":"{\"b\":1,\"b\":2}"}`:      false,
		`{"a":[[],[1,2,[3]],{}],"b":{}}`: false,
	} {
		if err := onceward.CheckKeys([]byte(raw)); (err != nil) != wantRefused {
			t.Errorf("%s: error %v, want refused %v", raw, err, wantRefused)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"a":"\ud800\ud83d\ude00"}`))
	f.Add([]byte("{\"\xff\":[1,2,{}]}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		once, err := onceward.Canonical(raw)
		if err != nil {
			return
		}
		twice, err := onceward.Canonical(once)
		if err != nil || string(twice) != string(once) {
			t.Fatalf("not stable: %s then %s (%v)", once, twice, err)
		}
	})
}
