package main

import (
	"strings"
	"testing"

	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward/worker/config"
)

const ablePool = `
pool:
  resources:
    - {name: one, kind: compatible, base_url: http://127.0.0.1:9/v1/, deployments: [
        {model: m, price: {input: 1, output: 1}, capability: {tool_calling: true, strict_schema: true, max_input_tokens: 1000, max_output_tokens: 100}}]}
tasks:
`

func TestWorkerRegistersTheSamplesThatTheConfigurationHasATaskFor(t *testing.T) {
	c, err := client.NewLazyClient(client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for tasks, want := range map[string]string{
		"refund":      "",
		"quiz":        "",
		"refund quiz": "",
		"other":       "neither a task class refund nor quiz",
	} {
		text := ablePool
		for task := range strings.FieldsSeq(tasks) {
			text += "  " + task + ": {model: m, max_output_tokens: 50}\n"
		}
		cfg, err := config.Parse("onceward.yaml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = samples(c, cfg, sampleOptions{payments: "http://127.0.0.1:1", approveAbove: -1})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", tasks, err, want)
		}
	}
}

// A configuration that is not there shows how far a command line came.
func TestPaymentsMustBeAnAbsoluteURL(t *testing.T) {
	for base, want := range map[string]string{
		"":                      "--payments",
		"127.0.0.1:9200":        "--payments",
		"localhost:9200":        "--payments",
		"/refunds":              "--payments",
		"ftp://payments":        "--payments",
		"http://":               "--payments",
		"http://:9200":          "--payments",
		"http://a b":            "--payments",
		"http://127.0.0.1:9200": "nowhere.yaml",
		"https://pay.example/v": "nowhere.yaml",
	} {
		code, _, errs := call(t, "", "worker", "--config", "nowhere.yaml", "--payments", base)
		if !strings.Contains(errs, want) || (code == 2) != (want == "--payments") {
			t.Errorf("%q: exit %d, %q, want %q", base, code, errs, want)
		}
	}
}
