package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
)

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
	for i, task := range c.Tasks {
		if slices.ContainsFunc(c.Tasks[:i], func(t Task) bool { return t.Name == task.Name }) {
			refuse("tasks."+task.Name, "is given twice")
		}
		checkTask(c, task, complete, refuse)
	}
}

func checkTemporal(t Temporal, refuse refusal) {
	if host, port, err := net.SplitHostPort(t.Address); err != nil || host == "" || port == "" {
		refuse("temporal.address", "%q is not host:port, such as 127.0.0.1:7233", t.Address)
	}
	for key, value := range map[string]string{"namespace": t.Namespace, "task_queue": t.TaskQueue, "release": t.Release} {
		if !plainName(value) {
			refuse("temporal."+key, "%q is not a name of 1 to 200 printable characters without spaces", value)
		}
	}
	if t.TLS != nil {
		if _, err := t.TLS.config(); err != nil {
			refuse("temporal.tls", "%v", err)
		}
	}
}

func checkWorker(c Config, refuse refusal) {
	longest, task := c.longestAttempt()
	positive(refuse, "worker.heartbeat", c.Worker.Heartbeat)
	positive(refuse, "worker.sticky_timeout", c.Worker.StickyTimeout)
	positive(refuse, "actions.lease", c.Actions.Lease)
	switch {
	case c.Worker.Drain < longest:
		refuse("worker.drain", "%s is shorter than the longest attempt (tasks.%s.timeouts.attempt: %s): a stop would cut it; make it at least that", c.Worker.Drain, task, longest)
	case c.Worker.Drain < c.Actions.Lease:
		refuse("worker.drain", "%s is shorter than actions.lease (%s): a stop would cut a commit; make it at least that", c.Worker.Drain, c.Actions.Lease)
	}
	if c.Worker.Heartbeat > c.Actions.Lease && c.Actions.Lease > 0 {
		refuse("worker.heartbeat", "%s is longer than actions.lease (%s): a lost commit would not be noticed; make it shorter", c.Worker.Heartbeat, c.Actions.Lease)
	}
	if c.Actions.Skew < 0 {
		refuse("actions.skew", "%s is negative", c.Actions.Skew)
	}
	if c.Worker.DeadlockTimeout < 0 {
		refuse("worker.deadlock_timeout", "%s is negative", c.Worker.DeadlockTimeout)
	}
	for key, n := range map[string]int{"max_activities": c.Worker.MaxActivities, "max_commits": c.Worker.MaxCommits, "sticky_cache": c.Worker.StickyCache} {
		if n < 0 {
			refuse("worker."+key, "%d is negative; leave it out for the default", n)
		}
	}
}

func checkPool(c Config, refuse refusal) {
	p := c.Pool
	if !plainName(p.Name) {
		refuse("pool.name", "%q is not a name of 1 to 200 printable characters without spaces", p.Name)
	}
	oneOf(refuse, "pool.affinity", p.Affinity, "soft", "off")
	oneOf(refuse, "pool.cross_boundary", p.CrossBoundary, "strip", "wait", "fail")
	if p.Breaker.Failures <= 0 {
		refuse("pool.breaker.failures", "%d is not positive", p.Breaker.Failures)
	}
	if p.Breaker.Consecutive <= 0 {
		refuse("pool.breaker.consecutive", "%d is not positive", p.Breaker.Consecutive)
	}
	positive(refuse, "pool.breaker.open_for", p.Breaker.OpenFor)
	if p.Retest.First < 0 {
		refuse("pool.retest.first", "%s is negative; 0s is never", p.Retest.First)
	}
	if p.Retest.Most < p.Retest.First {
		refuse("pool.retest.most", "%s is shorter than first (%s)", p.Retest.Most, p.Retest.First)
	}
	if longest, task := c.longestAttempt(); p.Breaker.Window < longest || p.Breaker.Window <= 0 {
		refuse("pool.breaker.window", "%s is shorter than the longest attempt (tasks.%s.timeouts.attempt: %s): its failures would leave the window before they are counted; make it at least that", p.Breaker.Window, task, longest)
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
		refuse(at("name"), "%q is not a name of letters, digits, dots, _ and -, at most 64", r.Name)
	} else if first := firstResource(p, r.Name); first != i {
		refuse(at("name"), "%s names a resource already; two resources need two names", r.Name)
	}
	oneOf(refuse, at("kind"), r.Kind, router.KindAzure, router.KindOpenAI, router.KindCompatible)
	oneOf(refuse, at("api"), r.API, router.APIResponses, router.APIChatCompletions)
	if r.API == router.APIChatCompletions && r.Boundary != r.Name {
		refuse(at("encryption_boundary"), "means nothing with api %s, which carries no encrypted reasoning; leave it out", r.API)
	}
	if err := checkURL(r.BaseURL); err != nil {
		refuse(at("base_url"), "%v", err)
	}
	if r.Key.Empty() && (r.Kind == router.KindAzure || r.Kind == router.KindOpenAI) {
		refuse(at("api_key_env"), "is required, or api_key_file; only kind compatible may go without a credential")
	}
	for key, value := range map[string]string{"account": r.Account, "encryption_boundary": r.Boundary} {
		if value != r.Name && !plainName(value) {
			refuse(at(key), "%q is not a name of 1 to 200 printable characters without spaces", value)
		}
	}
	if r.Weight <= 0 {
		refuse(at("weight"), "%d is not positive; take the resource out to send it nothing", r.Weight)
	}
	if r.Quota.RequestsPerMinute < 0 {
		refuse(at("quota.requests_per_minute"), "%d is negative; leave it out for no limit", r.Quota.RequestsPerMinute)
	}
	if r.Quota.TokensPerMinute < 0 {
		refuse(at("quota.tokens_per_minute"), "%d is negative; leave it out for no limit", r.Quota.TokensPerMinute)
	}
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
	if dep.Model == "" || first != j {
		path = fmt.Sprintf("%s.deployments[%d]", resource, j)
	}
	at := func(key string) string { return path + "." + key }
	switch {
	case !plainName(dep.Model):
		refuse(at("model"), "is required: the name that agents ask for, without spaces")
	case first != j:
		refuse(at("model"), "%s has a deployment in this resource already; one model has one deployment a resource", dep.Model)
	}
	if !plainName(dep.Deployment) {
		refuse(at("deployment"), "%q is not a name of 1 to 200 printable characters without spaces", dep.Deployment)
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
		refuse(at("capability."+key), "api %s cannot carry it; leave it out, so that no run is sent there for it", r.API)
	}
	if dep.Capability.P95Latency < 0 {
		refuse(at("capability.p95_latency"), "%s is negative", dep.Capability.P95Latency)
	}
}

func checkURL(raw string) error {
	if raw == "" {
		return errors.New("is required, such as https://example.openai.azure.com/openai/v1/")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return errors.New("is not a URL") // the parser's own text repeats what may hold a password
	case u.User != nil:
		return errors.New("holds a user or password; name the credential in api_key_env or api_key_file")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("is not an absolute http or https URL with a host")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("holds a query or fragment, which would be lost; give only the path")
	}
	return nil
}

// config reads the files.
func (t TLS) config() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	switch {
	case t.CertFile != "" && t.KeyFile != "":
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("load cert_file and key_file: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	case t.CertFile != "" || t.KeyFile != "":
		return nil, errors.New("cert_file and key_file only go together")
	}
	if t.CAFile != "" {
		pem, err := readBounded(t.CAFile, maxConfig)
		if err != nil {
			return nil, fmt.Errorf("load ca_file: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("load ca_file: it holds no certificate in PEM form")
		}
	}
	return cfg, nil
}

// resourcePath names a resource as the decoder does: by its name, or by its
// index where the name is missing or taken.
func resourcePath(p Pool, i int) string {
	if name := p.Resources[i].Name; name != "" && firstResource(p, name) == i {
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
		refuse(path, "%q is not one of %s%s", value, strings.Join(allowed, ", "), didYouMean(value, allowed))
	}
}

func positive(refuse refusal, path string, d time.Duration) {
	if d <= 0 {
		refuse(path, "%s is not positive", d)
	}
}

func plainName(s string) bool {
	return s != "" && len(s) <= 200 && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
}
