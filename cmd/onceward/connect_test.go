package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onceward/onceward/worker"
)

const minimal = `
temporal: {address: "file.example:7233", namespace: of-file}
pool:
  resources:
    - name: one
      kind: azure
      base_url: http://127.0.0.1:9/openai/v1/
      api_key_env: SOME_KEY_NOBODY_HAS_SET
      deployments:
        - model: m
          price: {input: 1, output: 1}
          capability: {version: "1", max_input_tokens: 1000, max_output_tokens: 100}
tasks:
  t: {model: m, max_output_tokens: 50}
`

func TestWhereTemporalIs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "onceward.yaml")
	if err := os.WriteFile(file, []byte(minimal), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{addressVariable: "env.example:1", namespaceVariable: "of-env"}
	for name, c := range map[string]struct {
		o                  options
		env                map[string]string
		address, namespace string
	}{
		"nothing said: the defaults":                         {options{}, nil, "127.0.0.1:7233", "default"},
		"the environment":                                    {options{}, env, "env.example:1", "of-env"},
		"flags go before the environment":                    {options{address: "flag.example:2", namespace: "of-flag"}, env, "flag.example:2", "of-flag"},
		"the file, without the credentials of its resources": {options{config: file}, nil, "file.example:7233", "of-file"},
		"flags go before the file":                           {options{config: file, address: "flag.example:2"}, nil, "flag.example:2", "of-file"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.o.temporal(func(key string) string { return c.env[key] })
			if err != nil || got.Address != c.address || got.Namespace != c.namespace {
				t.Errorf("got %s, %s, %v, want %s, %s", got.Address, got.Namespace, err, c.address, c.namespace)
			}
		})
	}
	wrong := options{}
	if _, err := wrong.temporal(func(string) string { return "localhost" }); err == nil || !strings.Contains(err.Error(), addressVariable) {
		t.Errorf("an address without a port is taken, or its variable not named: %v", err)
	}
	if _, err := worker.Load(file); err == nil {
		t.Error("a worker takes the file without its credential, so the case above proves nothing")
	}
}
