package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Config is the path of the bench's configuration file.
func (b *Bench) Config() string { return b.config }

// OtherConfig writes the configuration of another release, which change makes
// from the bench's own, and returns its path.
func (b *Bench) OtherConfig(change func(string) string) string {
	b.t.Helper()
	own, err := os.ReadFile(b.config)
	if err != nil {
		b.t.Fatal(err)
	}
	text := change(string(own))
	if text == string(own) {
		b.t.Fatal("the other configuration is the bench's own")
	}
	path := filepath.Join(b.dir, "other.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// configuration is the text of the configuration file.
func (b *Bench) configuration(o Options) string {
	var s strings.Builder
	lease, heartbeat, attempts, degraded := o.Lease, o.Heartbeat, o.Attempts, o.Degraded
	if lease == 0 {
		lease = Lease
	}
	if heartbeat == 0 {
		heartbeat = min(Heartbeat, lease)
	}
	if attempts == 0 {
		attempts = 12
	}
	if degraded == "" {
		degraded = "unavailable"
	}
	address := b.Temporal.Address
	if link := b.links["temporal"]; link != nil {
		address = link.Address()
	}
	fmt.Fprintf(&s, `temporal: {address: %q, task_queue: %q, release: test}
worker: {drain: 2m, heartbeat: %s, sticky_timeout: 1s, sticky_cache: %d, max_commits: %d}
actions: {lease: %s, skew: %s}
pool:
  name: %s
  retest: {first: 0s}
  breaker: {failures: 50, consecutive: 50, window: 5m, open_for: 1s}
  resources:
`, address, b.Queue, heartbeat, o.StickyCache, o.MaxCommits, lease, Skew, b.Queue)
	for _, r := range b.Pool.Resources() {
		fmt.Fprintf(&s, `    - name: %s
      kind: openai
      base_url: %s
      api_key_env: %s
      encryption_boundary: one
      deployments:
        - model: gpt-5.6
          price: {input: 1.25, cached_input: 0.125, output: 10}
          capability: {max_input_tokens: 8000000, max_output_tokens: 128000, tool_calling: true, parallel_tools: true, strict_schema: true, encrypted_reasoning: true}
`, r.Name(), b.through(r.Name(), r.URL()), KeyVariable)
	}
	fmt.Fprintf(&s, `tasks:
  refund:
    model: gpt-5.6
    budget: {attempts: %d, cost_usd: 2, attempt_cost_usd: 0.20, deadline: 20m, people_deadline: 1h}
    max_output_tokens: 4000
    timeouts: {first_event: 1m, idle: 1m, attempt: 2m}
    degraded: %s
  long:
    model: gpt-5.6
    budget: {attempts: 400, cost_usd: 500, attempt_cost_usd: 5, deadline: 20m, people_deadline: 1h}
    max_output_tokens: 60000
    timeouts: {first_event: 1m, idle: 1m, attempt: 2m}
  quiz:
    model: gpt-5.6
    budget: {attempts: 12, cost_usd: 5, attempt_cost_usd: 1, deadline: 20m, people_deadline: 1h}
    max_output_tokens: 4000
    timeouts: {first_event: 1m, idle: 1m, attempt: 2m}
`, attempts, degraded)
	return s.String()
}
