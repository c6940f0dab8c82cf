package config

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// pasted are credentials in the wrong place: with a known shape, without one,
// and such as the field would take for a number, a time, a variable or a list.
var pasted = []string{
	"sk-test-123", "orchid-gateway-42-north", "orchid gateway north", "8675309867530986753098675309", "-86753.09", "-86753098s", "8675309h",
	"TULIPMEADOW77", "https://tulip:meadow@host/v1?a=b", "!tulip", "tulip#meadow: 7\nrose: garden",
}

// giveaways are what no message may show of a pasted credential.
var giveaways = []string{"sk-test", "orchid", "8675309", "86753.09", "tulip", "meadow", "TULIP", "rose", "garden", "24104"}

// exampleWithEverything is the example file with its comments taken off keys.
func exampleWithEverything(t *testing.T) *yaml.Node {
	t.Helper()
	raw, err := os.ReadFile("../../onceward.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	commented := regexp.MustCompile(`(?m)^( +)# ((api_key_env|max_activities|max_commits|sticky_cache|sticky_timeout|deadlock_timeout|headers):|  - \{name)`)
	text := commented.ReplaceAllString(string(raw), "$1$2")
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return &doc
}

// places returns every scalar of a document, keys included.
func places(node *yaml.Node) []*yaml.Node {
	if node.Kind == yaml.ScalarNode {
		return []*yaml.Node{node}
	}
	var out []*yaml.Node
	for _, child := range node.Content {
		out = append(out, places(child)...)
	}
	return out
}

// saysNothing parses a file and fails for a message that shows what was pasted.
func saysNothing(t *testing.T, what string, doc *yaml.Node) (refused bool) {
	t.Helper()
	text, err := yaml.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Parse("c.yaml", text, []string{"ONCEWARD_SWEDENCENTRAL_KEY=a-key-of-azure", "PORTKEY_API_KEY=another-key", "TEMPORAL_API_KEY=a-third-key"})
	if err == nil {
		return false
	}
	var all *ConfigError
	if !errors.As(err, &all) {
		t.Fatalf("%s: %T", what, err)
	}
	for _, shown := range giveaways {
		if strings.Contains(err.Error(), shown) {
			t.Errorf("%s: %q is in\n%v", what, shown, err)
		}
	}
	return true
}

func TestE22NoValueOfAFileIsInAnyMessage(t *testing.T) {
	doc := exampleWithEverything(t)
	refused := 0
	scalars := places(doc)
	for i, place := range scalars {
		for _, secret := range []string{pasted[0], pasted[1], pasted[2+i%3], pasted[5+i%(len(pasted)-5)]} {
			kept := *place
			place.Value, place.Tag, place.Style = secret, "", 0
			if strings.ContainsAny(secret, "!#\n") {
				place.Tag, place.Style = "!!str", yaml.DoubleQuotedStyle
			}
			if saysNothing(t, kept.Value+" replaced by "+secret, doc) {
				refused++
			}
			*place = kept
		}
	}
	if most := len(scalars) * 4; refused < most/2 {
		t.Errorf("only %d of %d were refused, so that the test proves little", refused, most)
	}
	for _, node := range mappings(doc) { // an unknown key anywhere
		for _, secret := range []string{"sk-test-123", "orchid-gateway-42-north", "TULIPMEADOW77", "8675309h"} {
			kept := node.Content
			node.Content = append(slices.Clone(kept), &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: secret}, &yaml.Node{Kind: yaml.ScalarNode, Value: "x"})
			saysNothing(t, "an unknown key "+secret, doc)
			node.Content = append(node.Content, node.Content[len(node.Content)-2], &yaml.Node{Kind: yaml.ScalarNode, Value: "y"})
			saysNothing(t, "an unknown key twice: "+secret, doc)
			node.Content = kept
		}
	}
}

func mappings(node *yaml.Node) []*yaml.Node {
	var out []*yaml.Node
	if node.Kind == yaml.MappingNode {
		out = append(out, node)
	}
	for _, child := range node.Content {
		out = append(out, mappings(child)...)
	}
	return out
}

func TestE22NoFileThatCannotBeReadIsRepeated(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"tulip.pem": "-----BEGIN TULIP MEADOW-----\nrose\n-----END TULIP MEADOW-----\n", "orchid.key": "orchid garden"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"an alias without an anchor":     "pool: *tulip",
		"a tag that does not fit":        "pool: !!int tulip-meadow",
		"text that is no YAML":           "temporal: {address: tulip: meadow: [",
		"a key with a tab":               "tulip:\n\tmeadow: rose",
		"an unknown escape":              `pool: "tulip\qmeadow"`,
		"a folder as a key":              strings.Replace(small, "kind: compatible", "kind: openai\n      api_key_file: .", 1),
		"a certificate of other kinds":   strings.Replace(small, `"127.0.0.1:7233"`, `"127.0.0.1:7233", tls: {cert_file: tulip.pem, key_file: tulip.pem}`, 1),
		"a certificate that is not":      strings.Replace(small, `"127.0.0.1:7233"`, `"127.0.0.1:7233", tls: {ca_file: orchid.key}`, 1),
		"a certificate that is missing":  strings.Replace(small, `"127.0.0.1:7233"`, `"127.0.0.1:7233", tls: {ca_file: tulip-meadow}`, 1),
		"the key in the place of a file": strings.Replace(small, "kind: compatible", "kind: openai\n      api_key_file: tulip-meadow", 1),
		"the key in the place of a name": strings.Replace(small, "kind: compatible", "kind: openai\n      api_key_env: tulipmeadow", 1),
		"a file with a space inside":     strings.Replace(small, "kind: compatible", "kind: openai\n      api_key_file: orchid.key", 1),
	} {
		_, err := Parse(filepath.Join(dir, "c.yaml"), []byte(text), nil)
		var all *ConfigError
		if !errors.As(err, &all) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, m := range all.Mistakes {
			for _, shown := range giveaways {
				if strings.Contains(m.Key+m.Reason, shown) {
					t.Errorf("%s: %q is in %v", name, shown, m)
				}
			}
		}
	}
}

func TestE22ACredentialInTheFileIsToldWhereItBelongs(t *testing.T) {
	const want = "; a credential does not belong in the file: name an environment variable in api_key_env, or a file in api_key_file"
	for _, key := range []string{"api_key", "apikey", "api-key", "key", "token", "password", "Authorization"} {
		got := parseError(t, strings.Replace(small, "kind: compatible", "kind: compatible\n      "+key+": sk-test-123", 1))
		if len(got) != 1 || got[0] != "c.yaml:9: pool.resources[a]: unknown key in column 7"+want {
			t.Errorf("%s: %q", key, got)
		}
	}
	got := parseError(t, strings.Replace(small, "worker: {drain: 180s}", "worker: {drain: 180s, first: 1, second: 2}", 1))
	if len(got) != 2 {
		t.Errorf("two unknown keys on one line: %q", got)
	}
}

func TestE22ANameThatLooksLikeACredentialIsNotSaid(t *testing.T) {
	text := strings.NewReplacer("name: a", "name: sk-test-123", "  refund:\n", "  sk-test-123:\n", "kind: compatible", "kind: x", "model: gpt-5.6\n", "model: sk-other-123\n").Replace(small)
	for _, message := range parseError(t, text) {
		if strings.Contains(message, "sk-") {
			t.Error(message)
		}
	}
}
