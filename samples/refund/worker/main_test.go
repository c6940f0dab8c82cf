package main

import (
	"strings"
	"testing"
)

// A configuration that is not there shows how far a command line came.
func TestPaymentsMustBeAnAbsoluteURL(t *testing.T) {
	t.Parallel()
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
		cmd := command()
		cmd.SetArgs([]string{"--config", "nowhere.yaml", "--payments", base})
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", base, err, want)
		}
	}
}
