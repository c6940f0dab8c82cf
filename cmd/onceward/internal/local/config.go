package local

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Model is the model that the scripted resources serve.
const Model = "gpt-5.6"

// Timing is how soon a fault is noticed. The zero value is that of the product.
type Timing struct {
	Heartbeat     time.Duration
	StickyTimeout time.Duration
	Lease         time.Duration
	Attempt       time.Duration
}

func (t Timing) orDefaults() Timing {
	for _, d := range []struct {
		v         *time.Duration
		otherwise time.Duration
	}{{&t.Heartbeat, 10 * time.Second}, {&t.StickyTimeout, 5 * time.Second}, {&t.Lease, time.Minute}, {&t.Attempt, 2 * time.Minute}} {
		if *d.v <= 0 {
			*d.v = d.otherwise
		}
	}
	return t
}

// writeKeys makes a credential for each resource, as a file that only this user
// can read: in the environment every child would carry it.
func writeKeys(dir string) (map[string]string, error) {
	keys := map[string]string{}
	for _, name := range Resources {
		keys[name] = rand.Text()
		if err := os.WriteFile(filepath.Join(dir, name+".key"), []byte(keys[name]+"\n"), 0o600); err != nil {
			return nil, fmt.Errorf("write credential of %s: %w", name, err)
		}
	}
	return keys, nil
}

// configuration writes the file that worker, starter and onceward read.
func configuration(s *Stack, timing Timing) []byte {
	t := timing.orDefaults()
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Written by onceward for a stack on this machine; gone when it stops.
temporal: {address: %q, namespace: default, task_queue: onceward, release: local}
worker: {drain: %s, heartbeat: %s, sticky_timeout: %s}
actions: {lease: %s, skew: 1s}
pool:
  name: main
  resources:
`, s.Temporal.Address, max(t.Attempt, t.Lease), t.Heartbeat, t.StickyTimeout, t.Lease)
	for _, r := range s.Pool.Resources() {
		fmt.Fprintf(&b, `    - name: %s
      kind: azure
      base_url: %s
      api_key_file: %s.key
      region: eu
      safety_policy: product-v12
      deployments:
        - model: %s
          price: {input: 1.25, cached_input: 0.125, output: 10.00}
          capability:
            version: "1"
            max_input_tokens: 272000
            max_output_tokens: 32000
            tool_calling: true
            parallel_tools: true
            strict_schema: true
            encrypted_reasoning: true
`, r.Name(), r.URL(), r.Name(), Model)
	}
	fmt.Fprintf(&b, `tasks:
  refund:
    model: %s
    requires: {tool_calling: true, strict_schema: true, region: [eu], safety_policy: product-v12}
    budget: {attempts: 12, cost_usd: 0.50, attempt_cost_usd: 0.20, deadline: 10m, people_deadline: 72h}
    timeouts: {first_event: %s, idle: %s, attempt: %s}
`, Model, min(t.Attempt, 30*time.Second), min(t.Attempt, 30*time.Second), t.Attempt)
	return b.Bytes()
}
