package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onceward/onceward/router"
)

func TestE23KeysAreTrimmedOrRefusedWithTheirPlace(t *testing.T) {
	dir := t.TempDir()
	for name, row := range map[string]struct {
		raw  string
		want string // in the message; empty: taken as abc-orchid
	}{
		"a key":                     {"abc-orchid", ""},
		"a trailing newline":        {"abc-orchid\n", ""},
		"a newline of Windows":      {"abc-orchid\r\n", ""},
		"E23 a byte order mark":     {"\ufeffabc-orchid\r\n", ""},
		"E23 smart quotes":          {"\u201cabc-orchid\u201d", "has U+201C (a typographic quote) at character 1"},
		"E23 a zero-width space":    {"abc\u200b-orchid", "has U+200B (a zero-width space) at character 4"},
		"E23 a Cyrillic letter":     {"\u0430bc-orchid", "has U+0430 at character 1"},
		"a byte order mark inside":  {"abc\ufeff-orchid", "has U+FEFF (a byte order mark) at character 4"},
		"a no-break space":          {"abc-orchid\u00a0", "has U+00A0 (a no-break space) at character 11"},
		"a space at the end":        {"abc-orchid ", "has U+0020 (a space) at character 11"},
		"a scheme before it":        {"Bearer abc-orchid", "has U+0020 (a space) at character 7"},
		"two lines":                 {"abc-orchid\nabc-orchid\n", "has U+000A (a line break) at character 11"},
		"plain quotes":              {`"abc-orchid"`, "stands in quotes"},
		"a line of an .env file":    {"OPENAI_API_KEY=abc-orchid\n", "holds an assignment; keep only what follows the ="},
		"nothing but a newline":     {"\n", "is empty"},
		"nothing but a mark":        {"\ufeff", "is empty"},
		"more than a header allows": {strings.Repeat("abc-orchid", 1000), "is longer than 8192 bytes"},
		"a delete character":        {"abc\x7f-orchid", "has U+007F at character 4"},
		"bytes that are no UTF-8":   {"abc\xe9-orchid", "is no text in UTF-8: byte 0xE9 at character 4"},
	} {
		if err := os.WriteFile(filepath.Join(dir, "key"), []byte(row.raw), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, source := range []string{"api_key_env: SOME_KEY", "api_key_file: key"} {
			text := strings.Replace(small, "kind: compatible", "kind: openai\n      "+source, 1)
			cfg, err := Parse(filepath.Join(dir, "c.yaml"), []byte(text), []string{"SOME_KEY=" + row.raw})
			switch {
			case row.want == "" && (err != nil || cfg.Pool.Resources[0].Key.Reveal() != "abc-orchid"):
				t.Errorf("%s by %s: %v", name, source, err)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "orchid")):
				t.Errorf("%s by %s: %v, want %q", name, source, err, row.want)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte("\xff\xfea\x00b\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Parse(filepath.Join(dir, "c.yaml"), []byte(strings.Replace(small, "kind: compatible", "kind: openai\n      api_key_file: key", 1)), nil)
	if err == nil || !strings.Contains(err.Error(), "the file is in UTF-16") {
		t.Errorf("UTF-16: %v", err)
	}
}

func TestE24EndpointsAreCheckedByKind(t *testing.T) {
	for url, want := range map[string]string{
		"https://x.openai.azure.com/openai/v1":           "",
		"https://x.openai.azure.com":                     "want https://<resource>.openai.azure.com/openai/v1/",
		"https://x.openai.azure.com/openai":              "want https://<resource>.openai.azure.com/openai/v1/",
		"https://x.openai.azure.com/openai/v1/responses": "want https://<resource>.openai.azure.com/openai/v1/",
	} {
		_, err := Parse("c.yaml", []byte(strings.NewReplacer("kind: compatible", "kind: azure\n      api_key_env: SOME_KEY", "http://127.0.0.1:1/v1", url).Replace(small)), []string{"SOME_KEY=abc"})
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
			t.Errorf("%s: %v", url, err)
		}
	}
	got := parseError(t, small, "ONCEWARD_RESOURCE_A_BASE_URL=http://127.0.0.1:1/v1/chat/completions")
	if len(got) != 1 || !strings.HasPrefix(got[0], "environment: ONCEWARD_RESOURCE_A_BASE_URL: ends in /chat/completions") {
		t.Errorf("an override: %q", got)
	}
}

const withHeaders = `kind: compatible
      headers:
        - {name: x-portkey-provider, value: openai}
        - {name: X-Gateway-Auth, value_env: GATEWAY_TOKEN}
        - {name: X-Other, value_file: other}`

func TestE25HeadersAreReadAndTheirSecretsHidden(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "other"), []byte("rose garden 13\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(small, "kind: compatible", withHeaders, 1)
	cfg, err := Parse(filepath.Join(dir, "c.yaml"), []byte(text), []string{"GATEWAY_TOKEN=Bearer tulip-meadow"})
	if err != nil {
		t.Fatal(err)
	}
	got := cfg.RouterConfig().Resources[0].Headers
	want := []router.Header{{Name: "x-portkey-provider", Value: "openai"}, {Name: "X-Gateway-Auth", Secret: "Bearer tulip-meadow"}, {Name: "X-Other", Secret: "rose garden 13"}}
	for i := range want {
		if len(got) != len(want) || got[i] != want[i] {
			t.Fatalf("header %d of %d is wrong", i, len(got))
		}
	}
	for _, printed := range printings(t, cfg) {
		if strings.Contains(printed, "tulip") || strings.Contains(printed, "rose") {
			t.Errorf("printed: %s", printed)
		}
	}
	if _, err := router.New(cfg.RouterConfig()); err != nil {
		t.Error(err)
	}
	path := configFile(t, text)
	unkeyed, err := LoadUnkeyed(path)
	if err != nil || len(unkeyed.Pool.Resources[0].Headers) != 3 || !unkeyed.Pool.Resources[0].Headers[1].Secret.Empty() {
		t.Errorf("without credentials: %+v, %v", unkeyed.Pool, err)
	}
	if report := NewPreflight(unkeyed); report.Resources[0].URL != "http://127.0.0.1:1/v1/responses" || strings.Join(report.Resources[0].Headers, " ") != "x-portkey-provider X-Gateway-Auth X-Other" {
		t.Errorf("%+v", report.Resources)
	}
}

func TestE25HeadersThatCannotBeSentAreRefusedAllAtOnce(t *testing.T) {
	got := parseError(t, strings.Replace(small, "kind: compatible", `kind: compatible
      headers:
        - {name: authorization, value: tulip}
        - {name: X-A, value: a}
        - {name: x-a, value: b}
        - {name: X-B, value: sk-test-123}
        - {name: X-C, value_env: UNSET_KEY}
        - {name: X-D, value: a, values: b}`, 1))
	for i, want := range []string{
		"c.yaml:10: pool.resources[a].headers[0].name: this header is not yours to set: the credential is named in api_key_env or api_key_file",
		"c.yaml:12: pool.resources[a].headers[2].name: has a value already; upper and lower case are the same",
		"c.yaml:13: pool.resources[a].headers[3].value: looks like a credential, which does not belong in a file; name it in value_env or value_file",
		"c.yaml:14: pool.resources[a].headers[4].value_env: the environment variable UNSET_KEY is not set",
		"c.yaml:15: pool.resources[a].headers[5]: unknown key in column 33; did you mean value?",
	} {
		if i >= len(got) || got[i] != want {
			t.Errorf("mistake %d is not %q in\n%s", i, want, strings.Join(got, "\n"))
		}
	}
}

func TestAnEndpointIsAnotherWithOtherHeaders(t *testing.T) {
	plain := Resource{BaseURL: "http://127.0.0.1:1/v1/"}
	led, hidden, other := plain, plain, plain
	led.Headers = []Header{{Name: "X-Provider", Value: "openai"}}
	hidden.Headers = []Header{{Name: "X-Auth", Secret: NewSecret("rose-garden")}}
	other.Headers = []Header{{Name: "X-Auth", Secret: NewSecret("tulip-meadow")}}
	if plain.Endpoint() == led.Endpoint() || hidden.Endpoint() != other.Endpoint() {
		t.Error("a fixed header leads elsewhere, and a credential is no part of the digest")
	}
}
