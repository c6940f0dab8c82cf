package config

import (
	"errors"
	"strings"
	"testing"
)

// Whatever the file holds, Parse answers with a configuration or with mistakes.
func FuzzParse(f *testing.F) {
	f.Add(small)
	f.Add("pool: {resources: [{name: a, deployments: [{model: {}, price: []}]}]}")
	f.Add("a: &a [*a]\npool: *a")
	f.Add("tasks: {? {a: b} : c}")
	f.Add("# nothing")
	f.Add("temporal: !!binary aGk=\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		cfg, err := Parse("c.yaml", []byte(text), nil)
		if err == nil {
			if err := cfg.Check(); err != nil {
				t.Errorf("accepted, and then refused: %v", err)
			}
			return
		}
		var all *ConfigError
		if !errors.As(err, &all) || len(all.Mistakes) == 0 {
			t.Fatalf("refused with a %T of no mistakes", err)
		}
		for _, m := range all.Mistakes {
			if m.Reason == "" || m.File == "" || strings.Contains(m.String(), "%!") {
				t.Errorf("a mistake without words: %+v", m)
			}
		}
	})
}
