package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// workersFile is a worker's file: its credentials are in the worker's environment.
const workersFile = `temporal: {address: "t.example:7233", task_queue: q}
pool:
  name: eu
  resources:
    - name: a
      kind: azure
      base_url: http://127.0.0.1:1/v1
      api_key_env: A_KEY_THAT_NOBODY_HAS_SET
      deployments:
        - model: m
          price: {input: 1, output: 2}
          capability: {max_input_tokens: 1000, max_output_tokens: 8000}
tasks:
  refund: {model: m}
`

func configFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "onceward.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPartsOfAWorkersFileAreReadWithoutItsCredentials(t *testing.T) {
	path := configFile(t, workersFile)
	if _, err := Load(path); err == nil {
		t.Fatal("a worker takes the file without its credential, so what follows proves nothing")
	}
	temporal, err := LoadTemporal(path)
	if err != nil || temporal.Address != "t.example:7233" || temporal.TaskQueue != "q" || temporal.Namespace != "default" {
		t.Errorf("temporal %+v, %v", temporal, err)
	}
	cfg, err := LoadUnkeyed(path)
	if err != nil || cfg.Pool.Name != "eu" || !cfg.Pool.Resources[0].Key.Empty() {
		t.Errorf("unkeyed %+v, %v", cfg.Pool, err)
	}
	if err := cfg.Check(); err == nil {
		t.Error("a worker would take a configuration without credentials")
	}
}

func TestPartsOfAFileAreReadAsStrictlyAsTheWhole(t *testing.T) {
	variable := func(name string) func(*testing.T) { return func(t *testing.T) { t.Setenv(name, "x") } }
	for name, c := range map[string]struct {
		replace, with     string
		setenv            func(*testing.T)
		temporal, unkeyed string // what the error says; empty: none
	}{
		"an unknown key of temporal":             {"task_queue: q", "tusk_queue: q", nil, "did you mean task_queue?", "did you mean task_queue?"},
		"an address that is none":                {"t.example:7233", "t.example", nil, "temporal.address", "temporal.address"},
		"a misspelt section":                     {"temporal:", "temporel:", nil, "did you mean temporal?", "did you mean temporal?"},
		"a text that is no YAML":                 {"temporal: {", "temporal: {{", nil, "onceward.yaml", "onceward.yaml"},
		"a credential of Temporal that is unset": {"task_queue: q", "api_key_env: NOBODY_SET_THIS", nil, "temporal.api_key_env: the environment variable that it names is not set", ""},
		"a certificate that is not there":        {"task_queue: q", "tls: {ca_file: none.pem}", nil, "temporal.tls", ""},
		"a mistake in the pool":                  {"kind: azure", "kind: azur", nil, "", "kind"},
		"a mistake in a task":                    {"refund: {model: m}", "refund: {model: n}", nil, "", "tasks.refund.model"},
		"a credential written into the file":     {"A_KEY_THAT_NOBODY_HAS_SET", "sk-1234", nil, "", "api_key_env"},
		"a misspelt variable":                    {"", "", variable("ONCEWARD_TEMPORAL_ADRESS"), "ONCEWARD_TEMPORAL_ADRESS", "ONCEWARD_TEMPORAL_ADRESS"},
		"a variable of a resource that is gone":  {"", "", variable("ONCEWARD_RESOURCE_B_BASE_URL"), "", "ONCEWARD_RESOURCE_B_BASE_URL"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.setenv != nil {
				c.setenv(t)
			}
			text := strings.Replace(workersFile, c.replace, c.with, 1)
			if text == workersFile && c.setenv == nil {
				t.Fatal("the row changes nothing")
			}
			path := configFile(t, text)
			_, errTemporal := LoadTemporal(path)
			_, errUnkeyed := LoadUnkeyed(path)
			for _, got := range []struct {
				who  string
				err  error
				want string
			}{{"LoadTemporal", errTemporal, c.temporal}, {"LoadUnkeyed", errUnkeyed, c.unkeyed}} {
				var wrong *ConfigError
				if got.want == "" && got.err != nil || got.want != "" && (!errors.As(got.err, &wrong) || !strings.Contains(got.err.Error(), got.want)) {
					t.Errorf("%s: %v, want %q", got.who, got.err, got.want)
				}
			}
		})
	}
}
