package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onceward/onceward/router/probe"
	"github.com/onceward/onceward/router/routertest"
)

// probed writes the configuration of a scripted pool in which every resource is
// said to return encrypted reasoning and to enforce strict schemas.
func probed(t *testing.T, resources ...routertest.Resource) (pool *routertest.Pool, file string) {
	t.Helper()
	pool = routertest.Start(t, routertest.Config{Model: routertest.QuizModel(routertest.Quiz{}), Resources: resources})
	var b strings.Builder
	b.WriteString("pool:\n  resources:\n")
	for _, s := range pool.Resources() {
		fmt.Fprintf(&b, `    - {name: %s, kind: compatible, base_url: %q, deployments: [{model: m, price: {input: 1, output: 1},
       capability: {strict_schema: true, encrypted_reasoning: true, max_input_tokens: 100000, max_output_tokens: 1000}}]}
`, s.Name(), s.URL())
	}
	file = filepath.Join(t.TempDir(), "onceward.yaml")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return pool, file
}

func TestProbeExitsWith1WhenSomethingDiffersOrCannotBeAsked(t *testing.T) {
	for name, c := range map[string]struct {
		resources []routertest.Resource
		faults    []routertest.Fault
		code      int
		out, errs string
	}{
		"all is as it is written":        {resources: []routertest.Resource{{Name: "A"}, {Name: "B"}}, out: "nothing differs"},
		"one boundary said to be two":    {resources: []routertest.Resource{{Name: "A", EncryptionBoundary: "x"}, {Name: "B", EncryptionBoundary: "x"}}, code: 1, out: "B - encryption_boundary B A", errs: "says 1 things"},
		"a capability that is not there": {resources: []routertest.Resource{{Name: "A", NoEncryptedReasoning: true}}, code: 1, out: "A m capability.encrypted_reasoning true false"},
		"another snapshot": {
			resources: []routertest.Resource{{Name: "A"}, {Name: "B", Drift: routertest.Drift{Model: "m-2026"}}}, code: 1,
			out: "m served model B m-2026", errs: "differ in 1 facts",
		},
		"a resource that refuses the key": {
			resources: []routertest.Resource{{Name: "A"}, {Name: "B"}}, faults: []routertest.Fault{routertest.FailWith(401, "").On("B")}, code: 1,
			out: "B/m could not be asked", errs: "B/m could not be asked",
		},
	} {
		t.Run(name, func(t *testing.T) {
			pool, file := probed(t, c.resources...)
			if err := pool.SetFaults(c.faults...); err != nil {
				t.Fatal(err)
			}
			code, out, errs := call(t, "", "probe", "--config", file)
			if code != c.code || !strings.Contains(strings.Join(strings.Fields(out), " "), c.out) || !strings.Contains(errs, c.errs) {
				t.Errorf("exit %d, want %d, with %q and %q\n%s\n%s", code, c.code, c.out, c.errs, out, errs)
			}
			code, out, errs = call(t, "", "probe", "--json", "--config", file)
			var report probe.Report
			if err := json.Unmarshal([]byte(out), &report); err != nil || code != c.code || len(report.Resources) != len(c.resources) {
				t.Errorf("exit %d, JSON %s, %v", code, out, err)
			}
			if !strings.Contains(errs, "A/m: one answer with reasoning") {
				t.Errorf("no progress on standard error: %s", errs)
			}
		})
	}
}
