package config

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
)

const notAName = "is not a name of 1 to 200 printable characters without spaces"

// refusal records one mistake about the value at a key path.
type refusal func(path, format string, args ...any)

var (
	resourceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	degradedEnds = []onceward.Outcome{
		onceward.OutcomeUnavailable, onceward.OutcomeReadOnlyFallback,
		onceward.OutcomeResultDelayed, onceward.OutcomeManualCompletion,
	}
)

// Check refuses a configuration that cannot work, with every mistake in it.
func (c Config) Check() error {
	var found []Mistake
	check(c, true, func(path, format string, args ...any) {
		found = append(found, Mistake{Key: path, Reason: fmt.Sprintf(format, args...)})
	})
	if len(found) > 0 {
		return &ConfigError{Mistakes: inOrder(found)}
	}
	return nil
}

// check looks at everything. complete says that all of it could be read: what
// no deployment can do is only judged then.
func check(c Config, complete bool, refuse refusal) {
	checkTemporal(c.Temporal, refuse)
	checkWorker(c, refuse)
	checkPool(c, refuse)
	for _, r := range c.Pool.Resources { // else one mistake about a deployment would be told again for each task
		complete = complete && !slices.ContainsFunc(r.Deployments, func(d Deployment) bool {
			return d.Capability.MaxInputTokens <= 0 || d.Capability.MaxOutputTokens <= 0
		})
	}
	for i, task := range c.Tasks {
		if slices.ContainsFunc(c.Tasks[:i], func(t Task) bool { return t.Name == task.Name }) {
			refuse(namePath("tasks", task.Name, i), "is given twice")
		}
		checkTask(c, i, complete, refuse)
	}
}

func checkTemporal(t Temporal, refuse refusal) {
	if err := CheckAddress(t.Address); err != nil {
		refuse("temporal.address", "%v", err)
	}
	for key, value := range map[string]string{"namespace": t.Namespace, "task_queue": t.TaskQueue, "release": t.Release} {
		if !plainName(value) {
			refuse("temporal."+key, notAName)
		}
	}
	if t.TLS != nil {
		if _, err := t.TLS.config(); err != nil {
			refuse("temporal.tls", "%v", err)
		}
	}
}

// CheckAddress refuses an address of Temporal that could never be dialled.
func CheckAddress(address string) error {
	if host, port, err := net.SplitHostPort(address); err != nil || host == "" || port == "" {
		return errors.New("is not host:port, such as 127.0.0.1:7233")
	}
	return nil
}

func checkWorker(c Config, refuse refusal) {
	longest, task := c.longestAttempt()
	positive(refuse, "worker.heartbeat", c.Worker.Heartbeat)
	positive(refuse, "worker.sticky_timeout", c.Worker.StickyTimeout)
	positive(refuse, "actions.lease", c.Actions.Lease)
	switch {
	case c.Worker.Drain < longest:
		refuse("worker.drain", "is shorter than the longest attempt (%s): a stop would cut it; make it at least that", task)
	case c.Worker.Drain < c.Actions.Lease:
		refuse("worker.drain", "is shorter than actions.lease: a stop would cut a commit; make it at least that")
	}
	if c.Worker.Heartbeat > c.Actions.Lease && c.Actions.Lease > 0 {
		refuse("worker.heartbeat", "is longer than actions.lease: a lost commit would not be noticed; make it shorter")
	}
	if c.Actions.Skew < 0 {
		refuse("actions.skew", "is negative")
	}
	if c.Worker.DeadlockTimeout < 0 {
		refuse("worker.deadlock_timeout", "is negative")
	}
	for key, n := range map[string]int{"max_activities": c.Worker.MaxActivities, "max_commits": c.Worker.MaxCommits, "sticky_cache": c.Worker.StickyCache} {
		if n < 0 {
			refuse("worker."+key, "is negative; leave it out for the default")
		}
	}
}

func checkPool(c Config, refuse refusal) {
	p := c.Pool
	if !plainName(p.Name) {
		refuse("pool.name", notAName)
	}
	oneOf(refuse, "pool.affinity", p.Affinity, "soft", "off")
	oneOf(refuse, "pool.cross_boundary", p.CrossBoundary, "strip", "wait", "fail")
	if p.Breaker.Failures <= 0 {
		refuse("pool.breaker.failures", "is not positive")
	}
	if p.Breaker.Consecutive <= 0 {
		refuse("pool.breaker.consecutive", "is not positive")
	}
	positive(refuse, "pool.breaker.open_for", p.Breaker.OpenFor)
	if p.NeutralCost < 0 {
		refuse("pool.neutral_cost_usd", "is negative")
	}
	if p.Retest.First < 0 {
		refuse("pool.retest.first", "is negative; 0s is never")
	}
	if p.Retest.Most < p.Retest.First {
		refuse("pool.retest.most", "is shorter than first")
	}
	if longest, task := c.longestAttempt(); p.Breaker.Window < longest || p.Breaker.Window <= 0 {
		refuse("pool.breaker.window", "is shorter than the longest attempt (%s): its failures would leave the window before they are counted; make it at least that", task)
	}
	if len(p.Resources) == 0 {
		refuse("pool.resources", "is empty; name at least one resource")
	}
	for i, r := range p.Resources {
		checkResource(p, i, r, refuse)
	}
}

func checkResource(p Pool, i int, r Resource, refuse refusal) {
	path := resourcePath(p, i)
	at := func(key string) string { return path + "." + key }
	if !resourceName.MatchString(r.Name) {
		refuse(at("name"), "is not a name of letters, digits, dots, _ and -, at most 64")
	} else if first := firstResource(p, r.Name); first != i {
		refuse(at("name"), "names a resource already; two resources need two names")
	}
	oneOf(refuse, at("kind"), r.Kind, router.KindAzure, router.KindOpenAI, router.KindCompatible)
	oneOf(refuse, at("api"), r.API, router.APIResponses, router.APIChatCompletions)
	if r.API == router.APIChatCompletions && r.Boundary != r.Name {
		refuse(at("encryption_boundary"), "means nothing with api %s, which carries no encrypted reasoning; leave it out", router.APIChatCompletions)
	}
	if err := r.endpoint().CheckEndpoint(); err != nil {
		refuse(at("base_url"), "%v", err)
	}
	checkHeaders(r, path, refuse)
	if r.Key.Empty() && (r.Kind == router.KindAzure || r.Kind == router.KindOpenAI) {
		refuse(at("api_key_env"), "is required, or api_key_file; only kind compatible may go without a credential")
	}
	for key, value := range map[string]string{"account": r.Account, "encryption_boundary": r.Boundary} {
		if value != r.Name && !plainName(value) {
			refuse(at(key), notAName)
		}
	}
	if r.Weight <= 0 {
		refuse(at("weight"), "is not positive; take the resource out to send it nothing")
	}
	if r.Quota.RequestsPerMinute < 0 {
		refuse(at("quota.requests_per_minute"), "is negative; leave it out for no limit")
	}
	if r.Quota.TokensPerMinute < 0 {
		refuse(at("quota.tokens_per_minute"), "is negative; leave it out for no limit")
	}
	checkNeutral(r, at, refuse)
	if len(r.Deployments) == 0 {
		refuse(at("deployments"), "is empty; name at least one deployment")
	}
	for j, dep := range r.Deployments {
		checkDeployment(path, r, j, dep, refuse)
	}
}

func checkDeployment(resource string, r Resource, j int, dep Deployment, refuse refusal) {
	first := slices.IndexFunc(r.Deployments, func(d Deployment) bool { return d.Model == dep.Model })
	path := fmt.Sprintf("%s.deployments[%s]", resource, dep.Model)
	if !sayable(dep.Model) || first != j {
		path = fmt.Sprintf("%s.deployments[%d]", resource, j)
	}
	at := func(key string) string { return path + "." + key }
	switch {
	case !plainName(dep.Model):
		refuse(at("model"), "is required: the name that agents ask for, without spaces")
	case first != j:
		refuse(at("model"), "has a deployment in this resource already; one model has one deployment a resource")
	}
	if !plainName(dep.Deployment) {
		refuse(at("deployment"), notAName)
	}
	for key, price := range map[string]onceward.MicroUSD{"input": dep.Price.Input, "cached_input": dep.Price.CachedInput, "cache_write": dep.Price.CacheWrite, "output": dep.Price.Output} {
		if price < 0 {
			refuse(at("price."+key), "is negative")
		}
	}
	if dep.Capability.MaxInputTokens <= 0 {
		refuse(at("capability.max_input_tokens"), "is required and must be positive")
	}
	if dep.Capability.MaxOutputTokens <= 0 {
		refuse(at("capability.max_output_tokens"), "is required and must be positive")
	}
	for _, key := range router.Uncarried(r.API, dep.Capability) {
		refuse(at("capability."+key), "api %s cannot carry it; leave it out, so that no run is sent there for it", router.APIChatCompletions)
	}
	if dep.Capability.P95Latency < 0 {
		refuse(at("capability.p95_latency"), "is negative")
	}
}

// resourcePath names a resource as the decoder does: by its name, or by its
// index where the name is missing, taken or not to be said.
func resourcePath(p Pool, i int) string {
	if name := p.Resources[i].Name; sayable(name) && firstResource(p, name) == i {
		return fmt.Sprintf("pool.resources[%s]", name)
	}
	return fmt.Sprintf("pool.resources[%d]", i)
}

func firstResource(p Pool, name string) int {
	return slices.IndexFunc(p.Resources, func(r Resource) bool { return r.Name == name })
}

func oneOf(refuse refusal, path, value string, allowed ...string) {
	switch {
	case value == "":
		refuse(path, "is required: one of %s", strings.Join(allowed, ", "))
	case !slices.Contains(allowed, value):
		refuse(path, "is not one of %s%s", strings.Join(allowed, ", "), didYouMean(value, allowed))
	}
}

func positive(refuse refusal, path string, d time.Duration) {
	if d <= 0 {
		refuse(path, "is not positive")
	}
}

func plainName(s string) bool {
	return s != "" && len(s) <= 200 && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
}
