package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/onceward/onceward"
)

// Bounds of what is read from files, in bytes.
const (
	maxConfig = 1 << 20
	maxSecret = 64 << 10
)

// Load reads and checks the configuration of a file, with the environment of
// this process. A configuration with mistakes gives a *ConfigError that lists
// all of them.
func Load(path string) (Config, error) {
	raw, err := readConfiguration(path)
	if err != nil {
		return Config{}, err
	}
	return Parse(path, raw, os.Environ())
}

// LoadTemporal reads the section temporal of a file as Load does, for programs
// that only talk to Temporal, such as a starter. The credentials of resources may
// be missing, and mistakes in what only a worker uses are none of its business.
func LoadTemporal(path string) (Temporal, error) {
	cfg, err := loadFor(path, loader{unkeyed: true}, func(m Mistake) bool {
		for _, section := range []string{"worker", "actions", "pool", "tasks"} {
			if strings.HasPrefix(m.Key+".", section+".") {
				return false
			}
		}
		return !strings.HasPrefix(m.Key, envResource)
	})
	return cfg.Temporal, err
}

// LoadUnkeyed is Load for programs that ask nobody, such as a preflight: no
// credential is read, so none has to be there. The Config holds no credential,
// and New refuses it where one is needed.
func LoadUnkeyed(path string) (Config, error) {
	return loadFor(path, loader{unkeyed: true, anonymous: true}, func(m Mistake) bool { return m.Key != "temporal.tls" })
}

// loadFor reads a file with a loader's own leave to pass over things, and
// reports the mistakes that matter.
func loadFor(path string, l loader, matters func(Mistake) bool) (Config, error) {
	raw, err := readConfiguration(path)
	if err != nil {
		return Config{}, err
	}
	cfg, mistakes := l.load(path, raw, os.Environ())
	mistakes = slices.DeleteFunc(mistakes, func(m Mistake) bool { return !matters(m) })
	if len(mistakes) > 0 {
		return Config{}, &ConfigError{Mistakes: mistakes}
	}
	for i := range cfg.Pool.Resources {
		cfg.Pool.Resources[i].Key = Secret{}
		for j := range cfg.Pool.Resources[i].Headers {
			cfg.Pool.Resources[i].Headers[j].Secret = Secret{}
		}
	}
	if l.anonymous {
		cfg.Temporal.APIKey = Secret{}
	}
	return cfg, nil
}

// Parse is Load for a text and an environment in the form of os.Environ. name
// stands in messages for the file; an api_key_file that is not absolute is
// looked for beside it.
func Parse(name string, text []byte, environ []string) (Config, error) {
	cfg, mistakes := loader{}.load(name, text, environ)
	if len(mistakes) > 0 {
		return Config{}, &ConfigError{Mistakes: mistakes}
	}
	return cfg, nil
}

// load returns what could be read, and every mistake.
func (l loader) load(name string, text []byte, environ []string) (Config, []Mistake) {
	d := newDecoder(name)
	l.d, l.env, l.dir = d, environmentOf(environ), filepath.Dir(name)
	cfg := defaults()
	root, ok := d.document(text)
	if !ok {
		return cfg, d.mistakes
	}
	l.root(root, &cfg)
	l.env.layer(d, map[string]*string{
		"temporal.address": &cfg.Temporal.Address, "temporal.namespace": &cfg.Temporal.Namespace,
		"temporal.task_queue": &cfg.Temporal.TaskQueue, "temporal.release": &cfg.Temporal.Release,
	})
	if cfg.Pool.Name == "" { // two services must not share a record by chance
		cfg.Pool.Name = cfg.Temporal.TaskQueue
	}
	l.overrideURLs(cfg.Pool)
	complete := len(d.mistakes) == 0
	l.env.refuseStrangers(d, cfg.Pool, l.referenced)
	check(cfg, complete, d.refuse)
	return cfg, inOrder(d.mistakes)
}

type loader struct {
	d          *decoder
	env        environment
	dir        string
	referenced []string

	unkeyed   bool // the credentials of resources are not read
	anonymous bool // nor is that of Temporal
}

func (l *loader) root(o *object, cfg *Config) {
	if s, ok := o.child("temporal"); ok {
		l.temporal(s, &cfg.Temporal)
	}
	if s, ok := o.child("worker"); ok {
		s.duration("drain", &cfg.Worker.Drain)
		s.duration("heartbeat", &cfg.Worker.Heartbeat)
		s.integer("max_activities", &cfg.Worker.MaxActivities)
		s.integer("max_commits", &cfg.Worker.MaxCommits)
		s.integer("sticky_cache", &cfg.Worker.StickyCache)
		s.duration("sticky_timeout", &cfg.Worker.StickyTimeout)
		s.duration("deadlock_timeout", &cfg.Worker.DeadlockTimeout)
		s.end()
	}
	if s, ok := o.child("actions"); ok {
		s.duration("lease", &cfg.Actions.Lease)
		s.duration("skew", &cfg.Actions.Skew)
		s.end()
	}
	if s, ok := o.child("pool"); ok {
		l.pool(s, &cfg.Pool)
	}
	if s, ok := o.names("tasks"); ok {
		for _, name := range s.keys {
			section, ok := s.d.mapping(s.at(name), s.nodes[name], false)
			if !ok {
				continue // it is refused by now
			}
			task := defaultTask(name)
			l.task(section, &task)
			cfg.Tasks = append(cfg.Tasks, task)
		}
	}
	o.end()
}

func (l *loader) temporal(o *object, t *Temporal) {
	o.str("address", &t.Address)
	o.str("namespace", &t.Namespace)
	o.str("task_queue", &t.TaskQueue)
	o.str("release", &t.Release)
	t.APIKey = l.credential(o, "api_key", false, !l.anonymous)
	if s, ok := o.child("tls"); ok {
		t.TLS = &TLS{}
		s.str("cert_file", &t.TLS.CertFile)
		s.str("key_file", &t.TLS.KeyFile)
		s.str("ca_file", &t.TLS.CAFile)
		for _, file := range []*string{&t.TLS.CertFile, &t.TLS.KeyFile, &t.TLS.CAFile} {
			*file = l.beside(*file)
		}
		s.end()
	}
	o.end()
}

func (l *loader) pool(o *object, p *Pool) {
	o.str("name", &p.Name)
	o.str("affinity", &p.Affinity)
	o.str("cross_boundary", &p.CrossBoundary)
	if s, ok := o.child("breaker"); ok {
		s.integer("failures", &p.Breaker.Failures)
		s.integer("consecutive", &p.Breaker.Consecutive)
		s.duration("window", &p.Breaker.Window)
		s.duration("open_for", &p.Breaker.OpenFor)
		s.end()
	}
	if s, ok := o.child("retest"); ok {
		s.duration("first", &p.Retest.First)
		s.duration("most", &p.Retest.Most)
		s.end()
	}
	l.neutralCost(o, &p.NeutralCost)
	o.each("resources", "name", func(s *object) { p.Resources = append(p.Resources, l.resource(s)) })
	o.end()
}

func (l *loader) resource(o *object) Resource {
	r := Resource{API: "responses", Weight: 1}
	o.str("name", &r.Name)
	r.Account, r.Boundary = r.Name, r.Name
	o.str("kind", &r.Kind)
	o.str("api", &r.API)
	o.str("base_url", &r.BaseURL)
	r.BaseURL = withSlash(r.BaseURL)
	o.str("account", &r.Account)
	o.str("encryption_boundary", &r.Boundary)
	o.str("region", &r.Region)
	o.str("safety_policy", &r.SafetyPolicy)
	o.integer("weight", &r.Weight)
	r.Key = l.credential(o, "api_key", false, !l.unkeyed)
	o.each("headers", "", func(s *object) { r.Headers = append(r.Headers, l.header(s)) })
	if s, ok := o.child("quota"); ok {
		s.integer("requests_per_minute", &r.Quota.RequestsPerMinute)
		s.integer("tokens_per_minute", &r.Quota.TokensPerMinute)
		s.end()
	}
	l.neutral(o, &r.Neutral)
	o.each("deployments", "model", func(s *object) { r.Deployments = append(r.Deployments, l.deployment(s)) })
	o.end()
	return r
}

func (l *loader) deployment(o *object) Deployment {
	var dep Deployment
	o.str("model", &dep.Model)
	dep.Deployment = dep.Model
	o.str("deployment", &dep.Deployment)
	if s, ok := o.child("price"); ok {
		for key, dst := range map[string]*onceward.MicroUSD{"input": &dep.Price.Input, "output": &dep.Price.Output} {
			if !s.money(key, dst) {
				l.d.refuse(s.at(key), "is required, in USD per million tokens; 0 for a deployment that costs nothing")
			}
		}
		if !s.money("cached_input", &dep.Price.CachedInput) {
			dep.Price.CachedInput = dep.Price.Input // never less than what it may cost
		}
		if s.money("cache_write", &dep.Price.CacheWrite) && dep.Price.CacheWrite == 0 && dep.Price.Input > 0 {
			l.d.refuse(s.at("cache_write"), "is 0, and what is written to a cache is input; leave it out for the price of input")
		}
		s.end()
	} else {
		l.d.refuse(o.at("price"), "is required, as {input: ..., cached_input: ..., output: ...} in USD per million tokens: without it no attempt can be bounded by a budget")
	}
	if s, ok := o.child("capability"); ok {
		l.capability(s, &dep.Capability)
	}
	o.end()
	return dep
}

func (l *loader) capability(o *object, c *onceward.Capability) {
	o.str("version", &c.Version)
	o.integer("max_input_tokens", &c.MaxInputTokens)
	o.integer("max_output_tokens", &c.MaxOutputTokens)
	o.flag("tool_calling", &c.ToolCalling)
	o.flag("parallel_tools", &c.ParallelTools)
	o.flag("strict_schema", &c.StrictSchema)
	o.flag("encrypted_reasoning", &c.EncryptedReasoning)
	o.flag("image_input", &c.ImageInput)
	o.flag("list_output", &c.ListOutput)
	ids := "keep"
	o.str("reasoning_id", &ids)
	if ids != "keep" && ids != "omit" {
		l.d.refuse(o.at("reasoning_id"), "is not one of keep, omit")
	}
	c.OmitReasoningIDs = ids == "omit"
	o.list("hosted_tools", &c.HostedTools)
	o.list("locales", &c.Locales)
	o.duration("p95_latency", &c.P95Latency)
	if s, ok := o.names("eval_profiles"); ok {
		c.EvalProfiles = map[string]float64{}
		for _, profile := range s.keys {
			var rate float64
			if s.number(profile, &rate) && (rate < 0 || rate > 1) {
				l.d.refuse(s.at(profile), "is not a pass rate between 0 and 1")
			}
			c.EvalProfiles[profile] = rate
		}
	}
	o.end()
}

func (l *loader) task(o *object, t *Task) {
	o.str("model", &t.Model)
	o.list("fallback_models", &t.FallbackModels)
	o.list("resources", &t.Resources)
	o.integer("max_output_tokens", &t.MaxOutputTokens)
	degraded := string(t.Degraded)
	o.str("degraded", &degraded)
	t.Degraded = onceward.Outcome(degraded)
	if s, ok := o.child("requires"); ok {
		r := &t.Requires
		s.flag("tool_calling", &r.ToolCalling)
		s.flag("parallel_tools", &r.ParallelTools)
		s.flag("strict_schema", &r.StrictSchema)
		s.flag("image_input", &r.ImageInput)
		s.flag("list_output", &r.ListOutput)
		s.list("hosted_tools", &r.HostedTools)
		s.list("region", &r.Region)
		s.str("safety_policy", &r.SafetyPolicy)
		s.str("locale", &r.Locale)
		s.str("eval_profile", &r.EvalProfile)
		s.number("minimum_pass_rate", &r.MinimumPassRate)
		s.duration("max_p95_latency", &r.MaxP95Latency)
		s.end()
	}
	if s, ok := o.child("budget"); ok {
		s.integer("attempts", &t.Budget.Attempts)
		s.money("cost_usd", &t.Budget.Cost)
		s.money("attempt_cost_usd", &t.Budget.AttemptCost)
		s.duration("deadline", &t.Budget.Deadline)
		s.duration("people_deadline", &t.Budget.PeopleDeadline)
		s.end()
	}
	if s, ok := o.child("timeouts"); ok {
		s.duration("first_event", &t.Timeouts.FirstEvent)
		s.duration("idle", &t.Timeouts.Idle)
		s.duration("silence", &t.Timeouts.Silence)
		s.duration("attempt", &t.Timeouts.Attempt)
		s.end()
	}
	o.end()
}

// overrideURLs applies ONCEWARD_RESOURCE_<NAME>_BASE_URL. Two resources that
// share the variable would silently share the endpoint: refused.
func (l *loader) overrideURLs(pool Pool) {
	owner := map[string]string{}
	for i, r := range pool.Resources {
		name := resourceVariable(r.Name)
		if other, taken := owner[name]; taken && other != r.Name {
			l.d.refuse(resourcePath(pool, i)+".name", "shares the variable for its base_url with %s; rename one", said(other, "another resource"))
		}
		owner[name] = r.Name
		if value := l.env[name]; value != "" && r.Name != "" {
			pool.Resources[i].BaseURL = withSlash(value)
			l.d.origin[resourcePath(pool, i)+".base_url"] = name
		}
	}
}

func (l *loader) beside(file string) string {
	if file == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(l.dir, file)
}

// withSlash makes relative paths resolve below the URL and not beside its end.
func withSlash(url string) string {
	if url == "" || strings.HasSuffix(url, "/") {
		return url
	}
	return url + "/"
}

// readConfiguration reads the file itself, whose path the user gave by hand.
func readConfiguration(path string) ([]byte, error) {
	raw, err := readFile(path, maxConfig+1)
	if err == nil && len(raw) > maxConfig {
		err = fmt.Errorf("%s has more than %d bytes", path, maxConfig)
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return raw, nil
}

// readBounded reads a file. Its errors do not repeat the path, which may be a
// credential in the wrong place.
func readBounded(path string, limit int64) ([]byte, error) {
	raw, err := readFile(path, limit+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("the file does not exist; relative paths start beside the configuration")
	case errors.Is(err, fs.ErrPermission):
		return nil, errors.New("the file may not be read by this user")
	case errors.Is(err, syscall.EISDIR):
		return nil, errors.New("it is a folder, not a file")
	case err != nil:
		return nil, errors.New("the file cannot be read")
	case int64(len(raw)) > limit:
		return nil, fmt.Errorf("the file has more than %d bytes", limit)
	}
	return raw, nil
}

func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, limit))
}
