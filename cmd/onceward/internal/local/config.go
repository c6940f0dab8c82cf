package local

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
func writeKeys(dir string, members []Member) (map[string]string, error) {
	keys := map[string]string{}
	for _, m := range members {
		name := m.Name
		keys[name] = rand.Text()
		if err := os.WriteFile(filepath.Join(dir, name+".key"), []byte(keys[name]+"\n"), 0o600); err != nil {
			return nil, fmt.Errorf("write credential of %s: %w", name, err)
		}
	}
	return keys, nil
}

// view is what differs between the files of one stack.
type view struct {
	queue, pool string
	only        []string // names of resources; empty: all
}

// whole is the view that workers have who are told nothing else.
var whole = view{queue: "onceward", pool: "main"}

// configuration writes the file that worker, starter and onceward read.
func configuration(s *Stack, timing Timing, v view) []byte {
	t := timing.orDefaults()
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Written by onceward for a stack on this machine; gone when it stops.
temporal: {address: %q, namespace: default, task_queue: %s, release: local}
worker: {drain: %s, heartbeat: %s, sticky_timeout: %s}
actions: {lease: %s, skew: 1s}
pool:
  name: %s
  resources:
`, s.Temporal.Address, v.queue, max(t.Attempt, t.Lease), t.Heartbeat, t.StickyTimeout, t.Lease, v.pool)
	for i, r := range s.Pool.Resources() {
		if len(v.only) > 0 && !slices.Contains(v.only, r.Name()) {
			continue
		}
		fmt.Fprintf(&b, `    - name: %s
      kind: azure
      weight: %d
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
`, r.Name(), max(s.members[i].Weight, 1), r.URL(), r.Name(), Model)
	}
	b.WriteString("tasks:\n")
	for _, task := range []struct{ name, requires string }{{"refund", "tool_calling: true, strict_schema: true"}, {"quiz", "strict_schema: true"}} {
		fmt.Fprintf(&b, `  %s:
    model: %s
    requires: {%s, region: [eu], safety_policy: product-v12}
    budget: {attempts: 12, cost_usd: 0.50, attempt_cost_usd: 0.20, deadline: 10m, people_deadline: 72h}
    timeouts: {first_event: %s, idle: %s, attempt: %s}
`, task.name, Model, task.requires, min(t.Attempt, 30*time.Second), min(t.Attempt, 30*time.Second), t.Attempt)
	}
	return b.Bytes()
}
