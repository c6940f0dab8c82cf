package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/worker/config"
)

// pair is two resources of two accounts in one region; none of their
// credentials is set anywhere.
const pair = `
temporal: {address: "127.0.0.1:1"}
pool:
  resources:
    - {name: one, kind: azure, region: eu, base_url: http://127.0.0.1:9/v1/, api_key_env: NOBODY_SET_ONE, deployments: [
        {model: m, price: {input: 1, output: 1}, capability: {tool_calling: true, max_input_tokens: 1000, max_output_tokens: 100}}]}
    - {name: two, kind: azure, REGION base_url: http://127.0.0.1:9/v1/, api_key_file: none.key, deployments: [
        {model: m, price: {input: 1, output: 1}, capability: {TOOLS max_input_tokens: 1000, max_output_tokens: 100}}]}
tasks:
  t: {model: m, max_output_tokens: 50, requires: {tool_calling: true}}
`

func pairFile(t *testing.T, region, tools string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "onceward.yaml")
	text := strings.NewReplacer("REGION", region, "TOOLS", tools).Replace(pair)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPreflightSaysWhatASingleLossLeaves(t *testing.T) {
	for name, c := range map[string]struct {
		region, tools string
		code          int
		out, errs     []string
	}{
		"two of everything": {
			"region: us,", "tool_calling: true,", 0,
			[]string{"one azure responses http://127.0.0.1:9/v1/responses none", "task t: one/m, two/m", "route one/m 1 two/m", "region us 1 one/m"}, nil,
		},
		"one region": {
			"region: eu,", "tool_calling: true,", 1,
			[]string{"region eu 0 none"}, []string{"task t has no route left without the region eu"},
		},
		"a resource that cannot serve it": {
			"region: us,", "", 1,
			[]string{"task t: one/m", "cannot serve it: two/m", "tool_calling"},
			[]string{"without the route one/m", "without the resource one", "without the account one", "without the boundary one", "without the region eu"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := call(t, "", "preflight", "--config", pairFile(t, c.region, c.tools))
			if code != c.code {
				t.Errorf("exit %d, want %d: %s", code, c.code, errs)
			}
			for _, want := range c.out {
				if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			for _, want := range c.errs {
				if !strings.Contains(errs, want) {
					t.Errorf("no %q in\n%s", want, errs)
				}
			}
			code, out, _ = call(t, "", "preflight", "--json", "--config", pairFile(t, c.region, c.tools))
			var report config.Preflight
			if err := json.Unmarshal([]byte(out), &report); err != nil || report.OK != (c.code == 0) || len(report.Resources) != 2 || report.Resources[1].URL != "http://127.0.0.1:9/v1/responses" || code != c.code {
				t.Errorf("exit %d, JSON %s, %v", code, out, err)
			}
		})
	}
}

func TestPreflightSaysWhichResourcesAreReachedInClear(t *testing.T) {
	path := pairFile(t, "region: us,", "tool_calling: true,")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "http://127.0.0.1:9/", "http://gateway.example/", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := call(t, "", "preflight", "--config", path); code != 0 || !strings.Contains(out, "  one: plain http") || strings.Contains(out, "  two: plain http") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
}

func TestPreflightFailsWithoutATaskClass(t *testing.T) {
	text, _, _ := strings.Cut(pair, "tasks:")
	for name, tasks := range map[string]string{"no key": "", "an empty key": "tasks: {}\n"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "onceward.yaml")
			if err := os.WriteFile(path, []byte(strings.NewReplacer("REGION", "", "TOOLS", "").Replace(text)+tasks), 0o600); err != nil {
				t.Fatal(err)
			}
			code, out, errs := call(t, "", "preflight", "--config", path, "--json")
			if code != 1 || !strings.Contains(out, `"tasks": []`) || !strings.Contains(out, `"ok": false`) || !strings.Contains(errs, "no task class") {
				t.Errorf("exit %d, %s%s", code, out, errs)
			}
			if code, out, errs = call(t, "", "preflight", "--config", path); code != 1 || !strings.Contains(out, "http://127.0.0.1:9/v1/responses") || !strings.Contains(errs, "no task class") {
				t.Errorf("exit %d, %s%s", code, out, errs)
			}
		})
	}
}

// answered is the configuration of a scripted pool with a task class.
func answered(t *testing.T, with string, resources ...routertest.Resource) (pool *routertest.Pool, file string) {
	t.Helper()
	pool, file = probed(t, resources...)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "kind: compatible", "kind: compatible"+with, 1) + "tasks: {t: {model: m, max_output_tokens: 50}}\n"
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	return pool, file
}

func TestPreflightAsksEachRouteWhatANeutralRequestTells(t *testing.T) {
	both := []routertest.Resource{{Name: "A"}, {Name: "B"}}
	for name, c := range map[string]struct {
		with, flag string
		faults     []routertest.Fault
		asked      int
		code       int
		out, errs  []string
	}{
		"all pass":                           {flag: "--probe", asked: 2, out: []string{"A/m", "passed", "B/m"}},
		"one cannot pay":                     {flag: "--probe", faults: []routertest.Fault{routertest.FailWith(402, "").On("B")}, asked: 2, code: 1, out: []string{"failed billing"}, errs: []string{"the neutral request to B/m did not pass: failed billing"}},
		"one says to wait":                   {flag: "--probe", faults: []routertest.Fault{routertest.FailWith(429, "").On("B")}, asked: 2, code: 1, out: []string{"throttled"}, errs: []string{"the neutral request to B/m did not pass: throttled"}},
		"one refuses its form":               {flag: "--probe", faults: []routertest.Fault{routertest.FailWith(400, "").On("B")}, asked: 2, code: 1, out: []string{"B/m: neutral requests tell nothing of it", "max_output_tokens: N"}, errs: []string{"did not pass: unclear"}},
		"one gets none":                      {flag: "--probe", with: ", neutral: off", asked: 1, out: []string{"A/m gets no neutral requests and is only ever avoided: neutral: off", "B/m", "passed"}},
		"one gets none, and nobody is asked": {with: ", neutral: off", out: []string{"A/m gets no neutral requests and is only ever avoided: neutral: off"}},
	} {
		t.Run(name, func(t *testing.T) {
			pool, file := answered(t, c.with, both...)
			if err := pool.SetFaults(c.faults...); err != nil {
				t.Fatal(err)
			}
			args := []string{"preflight", "--config", file}
			if c.flag != "" {
				args = append(args, c.flag)
			}
			code, out, errs := call(t, "", args...)
			if code != c.code {
				t.Errorf("exit %d, want %d: %s", code, c.code, errs)
			}
			for _, want := range c.out {
				if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			for _, want := range c.errs {
				if !strings.Contains(errs, want) {
					t.Errorf("no %q in\n%s", want, errs)
				}
			}
			if sent := len(pool.Neutrals()); sent != c.asked || pool.Attempts() != 0 {
				t.Errorf("%d neutral requests and %d others, want %d and none", sent, pool.Attempts(), c.asked)
			}
			code, out, _ = call(t, "", append(args, "--json")...)
			var report preflight
			if err := json.Unmarshal([]byte(out), &report); err != nil || code != c.code || len(report.Neutral) != c.asked {
				t.Errorf("exit %d, JSON %s, %v", code, out, err)
			}
		})
	}
}
