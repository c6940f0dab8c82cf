package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
)

// small is the smallest sensible configuration. Rows of tables replace a part.
const small = `temporal: {address: "127.0.0.1:7233"}
worker: {drain: 180s}
actions: {lease: 60s}
pool:
  breaker: {window: 300s}
  resources:
    - name: a
      kind: compatible
      base_url: http://127.0.0.1:1/v1
      deployments:
        - model: gpt-5.6
          price: {input: 1, output: 2}
          capability: {max_input_tokens: 1000, max_output_tokens: 8000}
tasks:
  refund:
    model: gpt-5.6
`

func TestPoolIsNamedByTheTaskQueueUnlessTheFileNamesIt(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		env  []string
		want string
	}{
		"E31 nothing said: the default task queue":     {small, nil, "onceward"},
		"E31 the task queue of the file":               {strings.Replace(small, "temporal: {", "temporal: {task_queue: refunds, ", 1), nil, "refunds"},
		"E31 the task queue of the environment":        {small, []string{"ONCEWARD_TEMPORAL_TASK_QUEUE=returns"}, "returns"},
		"E31 a name that services share is the file's": {strings.Replace(small, "pool:", "pool:\n  name: shared", 1), nil, "shared"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := Parse("c.yaml", []byte(c.text), c.env)
			if err != nil || cfg.Pool.Name != c.want {
				t.Errorf("got %q, %v, want %q", cfg.Pool.Name, err, c.want)
			}
		})
	}
}

func TestSmallConfigurationGetsTheDefaults(t *testing.T) {
	cfg, err := Parse("c.yaml", []byte(small), nil)
	if err != nil {
		t.Fatal(err)
	}
	task, err := cfg.Task("refund")
	if err != nil {
		t.Fatal(err)
	}
	r := cfg.Pool.Resources[0]
	for _, check := range []struct {
		key       string
		got, want any
	}{
		{"namespace", cfg.Temporal.Namespace, "default"},
		{"task_queue", cfg.Temporal.TaskQueue, "onceward"},
		{"release", cfg.Temporal.Release, "dev"},
		{"heartbeat", cfg.Worker.Heartbeat, 10 * time.Second},
		{"sticky_timeout", cfg.Worker.StickyTimeout, 5 * time.Second},
		{"skew", cfg.Actions.Skew, 2 * time.Second},
		{"pool.name", cfg.Pool.Name, "onceward"},
		{"affinity", cfg.Pool.Affinity, "soft"},
		{"cross_boundary", cfg.Pool.CrossBoundary, "strip"},
		{"breaker", cfg.Pool.Breaker, Breaker{5, 3, 300 * time.Second, 10 * time.Second}},
		{"neutral_cost_usd", cfg.Pool.NeutralCost, onceward.MicroUSD(5000)},
		{"neutral", r.Neutral, Neutral{}},
		{"api", r.API, "responses"},
		{"base_url", r.BaseURL, "http://127.0.0.1:1/v1/"},
		{"account", r.Account, "a"},
		{"boundary", r.Boundary, "a"},
		{"weight", r.Weight, 1},
		{"deployment", r.Deployments[0].Deployment, "gpt-5.6"},
		{"cached_input", r.Deployments[0].Price.CachedInput, onceward.MicroUSD(1_000_000)},
		{"attempts", task.Budget.Attempts, 12},
		{"cost", task.Budget.Cost, onceward.MicroUSD(500_000)},
		{"attempt_cost", task.Budget.AttemptCost, onceward.MicroUSD(200_000)},
		{"deadline", task.Budget.Deadline, 10 * time.Minute},
		{"people_deadline", task.Budget.PeopleDeadline, 72 * time.Hour},
		{"max_output_tokens", task.MaxOutputTokens, 4000},
		{"timeouts", task.Timeouts, onceward.Timeouts{FirstEvent: 30 * time.Second, Idle: 30 * time.Second, Attempt: 2 * time.Minute}},
		{"degraded", task.Degraded, onceward.OutcomeUnavailable},
	} {
		if check.got != check.want {
			t.Errorf("%s = %v, want %v", check.key, check.got, check.want)
		}
	}
}

func TestChatCompletionsIsReadAndClaimsOnlyWhatItCarries(t *testing.T) {
	chat := strings.Replace(small, "kind: compatible", "kind: compatible\n      api: chat_completions", 1)
	cfg, err := Parse("c.yaml", []byte(chat), nil)
	if err != nil {
		t.Fatal(err)
	}
	pool := cfg.RouterConfig()
	if r := pool.Resources[0]; r.API != router.APIChatCompletions || r.Boundary != "a" {
		t.Errorf("resource %+v", r)
	}
	if _, err := router.New(pool); err != nil {
		t.Error(err)
	}
	for key, value := range map[string]string{"encrypted_reasoning": "true", "image_input": "true", "list_output": "true", "hosted_tools": "[web_search]"} {
		got := parseError(t, strings.Replace(chat, "max_output_tokens: 8000", "max_output_tokens: 8000, "+key+": "+value, 1))
		want := "c.yaml:14: pool.resources[a].deployments[gpt-5.6].capability." + key + ": api chat_completions cannot carry it; leave it out, so that no run is sent there for it"
		if len(got) != 1 || got[0] != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestNeutralRequestsAreAsTheFileSays(t *testing.T) {
	for value, want := range map[string]Neutral{
		"off": {Off: true}, `"off"`: {Off: true}, "{max_output_tokens: 64}": {MaxOutputTokens: 64},
		"{timeout: 45s}": {Timeout: 45 * time.Second}, "{}": {}, "": {}, "{max_output_tokens: }": {},
	} {
		cfg, err := Parse("c.yaml", []byte(strings.Replace(small, "kind: compatible", "kind: compatible\n      neutral: "+value, 1)), nil)
		if err != nil || cfg.Pool.Resources[0].Neutral != want {
			t.Errorf("neutral: %s is %+v, %v; want %+v", value, cfg.Pool.Resources[0].Neutral, err, want)
			continue
		}
		if r := cfg.RouterConfig().Resources[0].Neutral; r.Off != want.Off || r.MaxOutputTokens != want.MaxOutputTokens || r.Timeout != want.Timeout {
			t.Errorf("neutral: %s reaches the router as %+v", value, r)
		}
	}
	dear, err := Parse("c.yaml", []byte(strings.Replace(small, "pool:\n", "pool:\n  neutral_cost_usd: 0.00001\n", 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if report := NewPreflight(dear); len(report.Untested) != 1 || report.Untested[0].Route != "a/gpt-5.6" || !strings.Contains(report.Untested[0].Why, "too dear") {
		t.Errorf("untested %+v, want a/gpt-5.6 for its price", report.Untested)
	}
}

func TestExampleFileLoads(t *testing.T) {
	t.Setenv("ONCEWARD_SWEDENCENTRAL_KEY", "k")
	cfg, err := Load("../../onceward.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := cfg.Pool.Resources[0]
	if r.Key.Reveal() != "k" || r.Account != "contoso" || r.Quota.TokensPerMinute != 300000 {
		t.Errorf("resource read wrongly: %+v", r)
	}
	if rate := r.Deployments[0].Capability.EvalProfiles["support-refunds-v8"]; rate != 0.98 {
		t.Errorf("eval profile rate = %v, want 0.98", rate)
	}
	if p := r.Deployments[0].Price; p != (onceward.Price{Input: 1_250_000, CachedInput: 125_000, Output: 10_000_000}) {
		t.Errorf("price = %+v", p)
	}
}

// parseError returns the mistakes of a text; none fails the test.
func parseError(t *testing.T, text string, environ ...string) []string {
	t.Helper()
	_, err := Parse("c.yaml", []byte(text), environ)
	if err == nil {
		t.Fatal("the configuration was accepted")
	}
	var all *ConfigError
	if !errors.As(err, &all) {
		t.Fatalf("error is a %T, want *ConfigError: %v", err, err)
	}
	return strings.Split(err.Error(), "\n")
}

func TestMistakesAreRefusedWithFileKeyAndReason(t *testing.T) {
	const res, dep, task = "pool.resources[a].", "pool.resources[a].deployments[gpt-5.6].", "tasks.refund."
	for _, row := range []struct {
		name, old, new string
		want           string // the whole message, once, alone
	}{
		{"unknown key of the file", "actions:", "action: {}\nactions:", "c.yaml:3: unknown key in column 1; did you mean actions?"},
		{"unknown key of a section", "kind: compatible", "kind: compatible\n      regio: x", "c.yaml:9: pool.resources[a]: unknown key in column 7; did you mean region?"},
		{"unknown key unlike any", "worker: {drain: 180s}", "worker: {drain: 180s, colour: red}", "c.yaml:2: worker: unknown key in column 23"},
		{"duplicate key", "    model: gpt-5.6", "    model: gpt-5.6\n    model: other", "c.yaml:17: tasks.refund.model: given twice, first on line 16; keep one"},
		{"duplicate task", "tasks:\n", "tasks:\n  refund: {model: gpt-5.6}\n", "c.yaml:16: tasks.refund: given twice, first on line 15; keep one"},
		{"section that is a text", "worker: {drain: 180s}", "worker: fast", "c.yaml:2: worker: want keys and values, not a text"},
		{"list that is a mapping", "    model: gpt-5.6", "    model: gpt-5.6\n    resources: {a: b}", "c.yaml:17: tasks.refund.resources: want a list such as [a, b], not keys and values"},
		{"duration without a unit", "drain: 180s", "drain: 180", "c.yaml:2: worker.drain: is not a duration; write a number and a unit, such as 30s, 10m or 72h"},
		{"number that is a text", "max_output_tokens: 8000", "max_output_tokens: many", "c.yaml:13: pool.resources[a].deployments[gpt-5.6].capability.max_output_tokens: want a whole number, not a text"},
		{"flag that is a text", "max_output_tokens: 8000", "max_output_tokens: 8000, tool_calling: maybe", "c.yaml:13: pool.resources[a].deployments[gpt-5.6].capability.tool_calling: want true or false, not a text"},
		{"address without a port", "127.0.0.1:7233", "localhost", "c.yaml:1: temporal.address: is not host:port, such as 127.0.0.1:7233"},
		{"half a TLS pair", `"127.0.0.1:7233"`, `"127.0.0.1:7233", tls: {cert_file: x.pem}`, "c.yaml:1: temporal.tls: cert_file and key_file only go together"},
		{"drain under the attempt", "drain: 180s", "drain: 90s", "c.yaml:2: worker.drain: is shorter than the longest attempt (tasks.refund.timeouts.attempt): a stop would cut it; make it at least that"},
		{"drain under the lease", "lease: 60s", "lease: 200s", "c.yaml:2: worker.drain: is shorter than actions.lease: a stop would cut a commit; make it at least that"},
		{"heartbeat over the lease", "lease: 60s", "lease: 5s", "c.yaml:2: worker.heartbeat: is longer than actions.lease: a lost commit would not be noticed; make it shorter"},
		{"lease of zero", "lease: 60s", "lease: 0s", "c.yaml:3: actions.lease: is not positive"},
		{"negative skew", "lease: 60s", "lease: 60s, skew: -1s", "c.yaml:3: actions.skew: is negative"},
		{"negative slots", "drain: 180s", "drain: 180s, max_commits: -1", "c.yaml:2: worker.max_commits: is negative; leave it out for the default"},
		{"affinity outside its set", "pool:\n", "pool:\n  affinity: hard\n", "c.yaml:5: pool.affinity: is not one of soft, off"},
		{"cross_boundary outside its set", "pool:\n", "pool:\n  cross_boundary: stripe\n", `c.yaml:5: pool.cross_boundary: is not one of strip, wait, fail; did you mean strip?`},
		{"window under the attempt", "window: 300s", "window: 60s", "c.yaml:5: pool.breaker.window: is shorter than the longest attempt (tasks.refund.timeouts.attempt): its failures would leave the window before they are counted; make it at least that"},
		{"resource name with a space", "name: a", "name: a b", "c.yaml:7: pool.resources[0].name: is not a name of letters, digits, dots, _ and -, at most 64"},
		{"missing kind", "      kind: compatible\n", "", "c.yaml:7: " + res + "kind: is required: one of azure, openai, compatible"},
		{"kind outside its set", "kind: compatible", "kind: Azure", "c.yaml:8: pool.resources[a].kind: is not one of azure, openai, compatible; did you mean azure?"},
		{"api outside its set", "kind: compatible", "kind: compatible\n      api: chat_completion", "c.yaml:9: pool.resources[a].api: is not one of responses, chat_completions; did you mean chat_completions?"},
		{"boundary of an API without sealed reasoning", "kind: compatible", "kind: compatible\n      api: chat_completions\n      encryption_boundary: shared", `c.yaml:10: ` + res + `encryption_boundary: means nothing with api chat_completions, which carries no encrypted reasoning; leave it out`},
		{"missing URL", "      base_url: http://127.0.0.1:1/v1\n", "", "c.yaml:7: pool.resources[a].base_url: is required, such as https://<host>/v1/"},
		{"URL without a scheme", "http://127.0.0.1:1/v1", "example.com/v1", "c.yaml:9: pool.resources[a].base_url: is not an absolute http or https URL with a host; want https://<host>/v1/"},
		{"URL with a password", "http://127.0.0.1:1/v1", "http://u:hunter2@127.0.0.1/v1", "c.yaml:9: " + res + "base_url: holds a user or password; name the credential in api_key_env or api_key_file"},
		{"URL with a query", "http://127.0.0.1:1/v1", "http://127.0.0.1/v1?api-version=1", "c.yaml:9: pool.resources[a].base_url: has an api-version, which the v1 API does without; want https://<host>/v1/"},
		{"credential missing", "kind: compatible", "kind: openai", "c.yaml:7: " + res + "api_key_env: is required, or api_key_file; only kind compatible may go without a credential"},
		{"variable not set", "kind: compatible", "kind: openai\n      api_key_env: MY_KEY", "c.yaml:9: " + res + "api_key_env: the environment variable MY_KEY is not set"},
		{"credential in the file", "kind: compatible", "kind: compatible\n      api_key_env: sk-proj-secret", "c.yaml:9: " + res + "api_key_env: is not the name of an environment variable (the credential itself does not belong in the file)"},
		{"key file unreadable", "kind: compatible", "kind: compatible\n      api_key_file: no-such-file", "c.yaml:9: pool.resources[a].api_key_file: the file does not exist; relative paths start beside the configuration"},
		{"both credentials", "kind: compatible", "kind: compatible\n      api_key_file: f\n      api_key_env: E", "c.yaml:10: " + res + "api_key_env: is given beside api_key_file; keep one"},
		{"weight of zero", "kind: compatible", "kind: compatible\n      weight: 0", "c.yaml:9: pool.resources[a].weight: is not positive; take the resource out to send it nothing"},
		{"neutral requests of no tokens", "kind: compatible", "kind: compatible\n      neutral: {max_output_tokens: 0}", "c.yaml:9: " + res + "neutral.max_output_tokens: " + noTokens},
		{"neutral requests of fewer", "kind: compatible", "kind: compatible\n      neutral: {max_output_tokens: -16}", "c.yaml:9: " + res + "neutral.max_output_tokens: " + noTokens},
		{"neutral requests beyond a deployment", "kind: compatible", "kind: compatible\n      neutral: {max_output_tokens: 8001}", "c.yaml:9: " + res + "neutral.max_output_tokens: is more than a deployment of the resource may put out, 8000 (capability.max_output_tokens); make it at most that"},
		{"neutral requests in no time", "kind: compatible", "kind: compatible\n      neutral: {timeout: 0s}", "c.yaml:9: " + res + "neutral.timeout: is not positive; leave it out for 25s"},
		{"neutral requests in less", "kind: compatible", "kind: compatible\n      neutral: {timeout: -1s}", "c.yaml:9: " + res + "neutral.timeout: is not positive; leave it out for 25s"},
		{"neutral requests longer than a test", "kind: compatible", "kind: compatible\n      neutral: {timeout: 46s}", "c.yaml:9: " + res + "neutral.timeout: is longer than 45s, and a test of the pool's has no more time"},
		{"neutral maybe", "kind: compatible", "kind: compatible\n      neutral: maybe", "c.yaml:9: " + res + "neutral: is neither off nor keys and values such as {max_output_tokens: 64}; leave it out for the default"},
		{"neutral false", "kind: compatible", "kind: compatible\n      neutral: false", "c.yaml:9: " + res + "neutral: is neither off nor keys and values such as {max_output_tokens: 64}; leave it out for the default"},
		{"neutral of a list", "kind: compatible", "kind: compatible\n      neutral: [off]", "c.yaml:9: " + res + "neutral: want keys and values, not a list"},
		{"unknown key of neutral", "kind: compatible", "kind: compatible\n      neutral: {max_tokens: 16}", "c.yaml:9: " + res + "neutral: unknown key in column 17"},
		{"neutral requests that may cost nothing", "pool:\n", "pool:\n  neutral_cost_usd: 0\n", "c.yaml:5: pool.neutral_cost_usd: is not an amount in US dollars above 0; leave it out for 0.005, and write neutral: off at a resource that is not to be tested"},
		{"neutral requests that may cost less", "pool:\n", "pool:\n  neutral_cost_usd: -0.01\n", "c.yaml:5: pool.neutral_cost_usd: is not an amount in US dollars above 0; leave it out for 0.005, and write neutral: off at a resource that is not to be tested"},
		{"neutral requests that may cost next to nothing", "pool:\n", "pool:\n  neutral_cost_usd: 1e-13\n", "c.yaml:5: pool.neutral_cost_usd: is less than 0.000001, the least that is counted; leave it out for 0.005, and write neutral: off at a resource that is not to be tested"},
		{"neutral requests that may cost half of the least", "pool:\n", "pool:\n  neutral_cost_usd: 0.0000005\n", "c.yaml:5: pool.neutral_cost_usd: is less than 0.000001, the least that is counted; leave it out for 0.005, and write neutral: off at a resource that is not to be tested"},
		{"neutral cost that is a text", "pool:\n", "pool:\n  neutral_cost_usd: cheap\n", "c.yaml:5: pool.neutral_cost_usd: want a number, not a text"},
		{"negative quota", "kind: compatible", "kind: compatible\n      quota: {requests_per_minute: -1}", "c.yaml:9: pool.resources[a].quota.requests_per_minute: is negative; leave it out for no limit"},
		{"missing price", "          price: {input: 1, output: 2}\n", "", "c.yaml:11: " + dep + "price: is required, as {input: ..., cached_input: ..., output: ...} in USD per million tokens: without it no attempt can be bounded by a budget"},
		{"half a price", "price: {input: 1, output: 2}", "price: {input: 1}", "c.yaml:12: " + dep + "price.output: is required, in USD per million tokens; 0 for a deployment that costs nothing"},
		{"empty price", "price: {input: 1, output: 2}", "price: {input: , output: 2}", "c.yaml:12: " + dep + "price.input: is required, in USD per million tokens; 0 for a deployment that costs nothing"},
		{"negative price", "price: {input: 1, output: 2}", "price: {input: 1, output: -2}", "c.yaml:12: pool.resources[a].deployments[gpt-5.6].price.output: is not an amount in US dollars between 0 and 1000000"},
		{"cache writes for nothing", "price: {input: 1, output: 2}", "price: {input: 1, cache_write: 0, output: 2}", "c.yaml:12: " + dep + "price.cache_write: is 0, and what is written to a cache is input; leave it out for the price of input"},
		{"negative price of cache writes", "price: {input: 1, output: 2}", "price: {input: 1, cache_write: -1, output: 2}", "c.yaml:12: " + dep + "price.cache_write: is not an amount in US dollars between 0 and 1000000"},
		{"no input limit", "max_input_tokens: 1000, ", "", "c.yaml:13: " + dep + "capability.max_input_tokens: is required and must be positive"},
		{"negative input limit", "max_input_tokens: 1000", "max_input_tokens: -1", "c.yaml:13: " + dep + "capability.max_input_tokens: is required and must be positive"},
		{"negative output limit", "max_output_tokens: 8000", "max_output_tokens: -1", "c.yaml:13: " + dep + "capability.max_output_tokens: is required and must be positive"},
		{"header without a value", "kind: compatible", "kind: compatible\n      headers: [{name: X-A}]", "c.yaml:9: pool.resources[a].headers[0].value: is required: value, value_env or value_file"},
		{"reasoning_id outside its set", "max_output_tokens: 8000", "max_output_tokens: 8000, reasoning_id: drop", `c.yaml:13: ` + dep + `capability.reasoning_id: is not one of keep, omit`},
		{"pass rate over one", "max_output_tokens: 8000", "max_output_tokens: 8000, eval_profiles: {v8: 98}", "c.yaml:13: pool.resources[a].deployments[gpt-5.6].capability.eval_profiles[0]: is not a pass rate between 0 and 1"},
		{"missing model", "    model: gpt-5.6\n", "    degraded: unavailable\n", "c.yaml:15: " + task + "model: is required: a model that a deployment of the pool has"},
		{"unknown model", "    model: gpt-5.6\n", "    model: GPT-5.6\n", "c.yaml:16: tasks.refund.model: no resource of the task has a model of this name; did you mean gpt-5.6?"},
		{"unknown resource", "    model: gpt-5.6\n", "    model: gpt-5.6\n    resources: [A]\n", "c.yaml:17: tasks.refund.resources: the pool has no resource of the name in entry 1; did you mean a?"},
		{"unknown fallback model", "    model: gpt-5.6\n", "    model: gpt-5.6\n    fallback_models: [gpt-5]\n", "c.yaml:17: tasks.refund.fallback_models: no resource of the task has the model of entry 1; did you mean gpt-5.6?"},
		{"fallback to itself", "    model: gpt-5.6\n", "    model: gpt-5.6\n    fallback_models: [gpt-5.6]\n", "c.yaml:17: tasks.refund.fallback_models: names the model of entry 1 twice; the model itself comes first anyway"},
		{"degraded outside its set", "    model: gpt-5.6\n", "    model: gpt-5.6\n    degraded: shrug\n", "c.yaml:17: tasks.refund.degraded: is not one of unavailable, read_only_fallback, result_delayed, manual_completion_required"},
		{"requirement nobody meets", "    model: gpt-5.6\n", "    model: gpt-5.6\n    requires: {tool_calling: true, region: [eu-west]}\n", "c.yaml:17: tasks.refund.requires: no deployment of its models meets it: a/gpt-5.6 lacks tool_calling, region"},
		{"output nobody can make", "    model: gpt-5.6\n", "    model: gpt-5.6\n    max_output_tokens: 9000\n", "c.yaml:15: tasks.refund.requires: no deployment of its models meets it: a/gpt-5.6 lacks max_output_tokens"},
		{"rate without a profile", "    model: gpt-5.6\n", "    model: gpt-5.6\n    requires: {minimum_pass_rate: 0.9}\n", "c.yaml:17: " + task + "requires.minimum_pass_rate: says nothing without eval_profile; name the profile it is about"},
		{"budget of no attempts", "    model: gpt-5.6\n", "    model: gpt-5.6\n    budget: {attempts: 0}\n", "c.yaml:17: tasks.refund.budget.attempts: is not positive"},
		{"attempt dearer than the run", "    model: gpt-5.6\n", "    model: gpt-5.6\n    budget: {attempt_cost_usd: 0.6}\n", "c.yaml:17: tasks.refund.budget.attempt_cost_usd: is more than cost_usd, which bounds all attempts together"},
		{"budget that allows no attempt", "    model: gpt-5.6\n", "    model: gpt-5.6\n    budget: {attempt_cost_usd: 0.001}\n", "c.yaml:17: tasks.refund.budget.attempt_cost_usd: allows no attempt: the output that max_output_tokens allows may cost more on the cheapest deployment; raise it or lower max_output_tokens"},
		{"idle over the attempt", "    model: gpt-5.6\n", "    model: gpt-5.6\n    timeouts: {idle: 3m}\n", "c.yaml:17: tasks.refund.timeouts.idle: is longer than timeouts.attempt, which ends it before"},
		{"E17 silence over idle", "    model: gpt-5.6\n", "    model: gpt-5.6\n    timeouts: {idle: 1m, silence: 90s}\n", "c.yaml:17: " + task + "timeouts.silence: is longer than timeouts.idle, which ends it before"},
		{"E17 silence below zero", "    model: gpt-5.6\n", "    model: gpt-5.6\n    timeouts: {silence: -1s}\n", "c.yaml:17: " + task + "timeouts.silence: is negative; 0 is no such limit"},
		{"alias without an anchor", "    model: gpt-5.6\n", "    model: *gpt\n", "c.yaml:16: is not YAML: an alias, which begins with *, has no anchor of its name"},
		{"two documents", "tasks:", "---\ntasks:", "c.yaml: more than one YAML document; keep one"},
	} {
		t.Run(row.name, func(t *testing.T) {
			text := strings.Replace(small, row.old, row.new, 1)
			if text == small {
				t.Fatalf("%q is not in the configuration", row.old)
			}
			if got := parseError(t, text); len(got) != 1 || got[0] != row.want {
				t.Errorf("refused with\n%s\nwant\n%s", strings.Join(got, "\n"), row.want)
			}
		})
	}
}

func TestPriceOfCacheWritesIsRead(t *testing.T) {
	cfg, err := Parse("c.yaml", []byte(strings.Replace(small, "price: {input: 1, output: 2}", "price: {input: 1, cache_write: 1.25, output: 2}", 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if p := cfg.Pool.Resources[0].Deployments[0].Price; p.CacheWrite != 1_250_000 || p != cfg.RouterConfig().Resources[0].Deployments[0].Price {
		t.Errorf("E13 price %+v", p)
	}
}

func TestTwoOfOneNameAreRefused(t *testing.T) {
	resource := small[strings.Index(small, "    - name: a"):strings.Index(small, "tasks:")]
	got := parseError(t, strings.Replace(small, "tasks:", resource+"tasks:", 1))
	if want := "c.yaml:14: pool.resources[1].name: names a resource already; two resources need two names"; len(got) != 1 || got[0] != want {
		t.Errorf("resources: refused with %q, want %q", got, want)
	}
	deployment := small[strings.Index(small, "        - model"):strings.Index(small, "tasks:")]
	got = parseError(t, strings.Replace(small, "tasks:", deployment+"tasks:", 1))
	if want := "c.yaml:14: pool.resources[a].deployments[1].model: has a deployment in this resource already; one model has one deployment a resource"; len(got) != 1 || got[0] != want {
		t.Errorf("deployments: refused with %q, want %q", got, want)
	}
}

func TestAllMistakesAreReportedAtOnce(t *testing.T) {
	text := strings.NewReplacer("kind: compatible", "kind: x", "price: {input: 1, output: 2}", "price: {input: -1}", "drain: 180s", "drian: 180s", "  refund:\n    model: gpt-5.6", "  refund: {}").Replace(small)
	got := parseError(t, text, "ONCEWARD_NOPE=1")
	if len(got) != 6 {
		t.Errorf("%d mistakes, want 6:\n%s", len(got), strings.Join(got, "\n"))
	}
}

func TestNamesKeepCaseAndDots(t *testing.T) {
	text := strings.NewReplacer("name: a", "name: EU.west-1", "  refund:", "  Refund: {model: gpt-5.6}\n  refund.v2: {model: gpt-5.6}\n  refund:").Replace(small)
	cfg, err := Parse("c.yaml", []byte(text), []string{"ONCEWARD_RESOURCE_EU_WEST_1_BASE_URL=https://example.com/v1"})
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.Pool.Resources[0]; got.Name != "EU.west-1" || got.BaseURL != "https://example.com/v1/" {
		t.Errorf("resource %s at %s", got.Name, got.BaseURL)
	}
	for _, name := range []string{"Refund", "refund", "refund.v2"} {
		if _, err := cfg.Task(name); err != nil {
			t.Errorf("task %s is missing", name)
		}
	}
}

func TestEnvironmentOverridesOnlyByDocumentedNames(t *testing.T) {
	cfg, err := Parse("c.yaml", []byte(small), []string{
		"ONCEWARD_TEMPORAL_ADDRESS=temporal.example:7233", "ONCEWARD_TEMPORAL_NAMESPACE=Prod", "ONCEWARD_TEMPORAL_TASK_QUEUE=Q",
		"ONCEWARD_RELEASE=v1.2", "ONCEWARD_RESOURCE_A_BASE_URL=http://127.0.0.1:9/x", "PATH=/bin", "=odd",
	})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Temporal.Address != "temporal.example:7233" || cfg.Temporal.Namespace != "Prod" || cfg.Temporal.TaskQueue != "Q" || cfg.Temporal.Release != "v1.2" {
		t.Errorf("temporal = %+v", cfg.Temporal)
	}
	if got := cfg.Pool.Resources[0].BaseURL; got != "http://127.0.0.1:9/x/" {
		t.Errorf("base_url = %s", got)
	}
	if cfg, err = Parse("c.yaml", []byte(small), []string{"ONCEWARD_TEMPORAL_ADDRESS="}); err != nil || cfg.Temporal.Address != "127.0.0.1:7233" {
		t.Errorf("an empty variable: %q, %v; want it unset", cfg.Temporal.Address, err)
	}
	for _, row := range []struct{ name, pair, want string }{
		{"misspelt name", "ONCEWARD_TEMPORAL_ADRESS=x:1", "environment: ONCEWARD_TEMPORAL_ADRESS: unknown variable; did you mean ONCEWARD_TEMPORAL_ADDRESS?"},
		{"path with an index", "ONCEWARD_POOL_RESOURCES_0_BASE_URL=http://x", "environment: ONCEWARD_POOL_RESOURCES_0_BASE_URL: unknown variable; the base_url of a resource is set by ONCEWARD_RESOURCE_<NAME>_BASE_URL with the name of a resource in the file, everything else of the pool in the file only"},
		{"whole list", "ONCEWARD_POOL_RESOURCES=[]", "environment: ONCEWARD_POOL_RESOURCES: unknown variable; the base_url of a resource is set by ONCEWARD_RESOURCE_<NAME>_BASE_URL with the name of a resource in the file, everything else of the pool in the file only"},
		{"unreferenced credential", "ONCEWARD_SPARE_CREDENTIAL=hunter2", "environment: ONCEWARD_SPARE_CREDENTIAL: unknown variable; unset it, or name it in an api_key_env or value_env of the file"},
		{"bad override", "ONCEWARD_TEMPORAL_ADDRESS=nowhere", "environment: ONCEWARD_TEMPORAL_ADDRESS: is not host:port, such as 127.0.0.1:7233"},
		{"bad URL", "ONCEWARD_RESOURCE_A_BASE_URL=nowhere", "environment: ONCEWARD_RESOURCE_A_BASE_URL: is not an absolute http or https URL with a host; want https://<host>/v1/"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := parseError(t, small, row.pair); len(got) != 1 || got[0] != row.want {
				t.Errorf("refused with\n%s\nwant\n%s", strings.Join(got, "\n"), row.want)
			}
		})
	}
}

func TestResourcesThatShareAVariableAreRefused(t *testing.T) {
	resource := small[strings.Index(small, "    - name: a"):strings.Index(small, "tasks:")]
	text := strings.Replace(small, "tasks:", strings.Replace(resource, "name: a", "name: eu-1", 1)+strings.Replace(resource, "name: a", "name: eu.1", 1)+"tasks:", 1)
	got := parseError(t, text)
	if want := "c.yaml:21: pool.resources[eu.1].name: shares the variable for its base_url with eu-1; rename one"; len(got) != 1 || got[0] != want {
		t.Errorf("refused with %q, want %q", got, want)
	}
}

func TestCredentialsComeFromVariableOrFileAndNeverPrint(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{"api_key_env: ONCEWARD_SPARE", "api_key_file: key"} {
		text := strings.Replace(small, "kind: compatible", "kind: openai\n      "+source, 1)
		cfg, err := Parse(filepath.Join(dir, "c.yaml"), []byte(text), []string{"ONCEWARD_SPARE=hunter2"})
		if source == "api_key_file: key" {
			cfg, err = Parse(filepath.Join(dir, "c.yaml"), []byte(text), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Pool.Resources[0].Key.Reveal(); got != "hunter2" {
			t.Errorf("%s: key has %d bytes, want 7", source, len(got))
		}
		for _, printed := range printings(t, cfg) {
			if strings.Contains(printed, "hunter2") || strings.Contains(printed, fmt.Sprintf("%x", "hunter2")) {
				t.Errorf("%s: the credential is printed: %s", source, printed)
			}
		}
	}
	got := parseError(t, strings.Replace(small, "kind: compatible", "kind: openai\n      api_key_env: K", 1), "K=hunter2\nX-Evil: 1")
	if len(got) != 1 || strings.Contains(got[0], "hunter2") || !strings.Contains(got[0], "has U+000A (a line break) at character 8") {
		t.Errorf("a credential with a line break: %q", got)
	}
}

func TestConfigMadeInCodeIsChecked(t *testing.T) {
	err := Config{}.Check()
	if err == nil || !strings.Contains(err.Error(), "pool.resources: is empty") || !strings.Contains(err.Error(), "actions.lease: is not positive") {
		t.Errorf("the zero Config: %v", err)
	}
}
