package config

import (
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

// Config is a checked configuration: what Load returns. One that was made in
// code is checked by worker.New. It holds credentials, as Secrets, and is a value; its
// slices must not be changed after that. The zero value is refused.
//
// Environment variables override the file only under these names:
//
//	ONCEWARD_TEMPORAL_ADDRESS          temporal.address
//	ONCEWARD_TEMPORAL_NAMESPACE        temporal.namespace
//	ONCEWARD_TEMPORAL_TASK_QUEUE       temporal.task_queue
//	ONCEWARD_RELEASE                   temporal.release
//	ONCEWARD_RESOURCE_<NAME>_BASE_URL  base_url of the resource of that name,
//	                                   upper-cased, other than A-Z 0-9 as _
//
// An empty variable counts as unset. Any other variable that begins with
// ONCEWARD_ is refused by name, unless the file names it in an api_key_env or a
// value_env: a misspelt override must not be silently without effect.
type Config struct {
	Temporal Temporal
	Worker   Limits
	Actions  Actions
	Pool     Pool
	Tasks    []Task
}

// Temporal says where the Temporal service is and what this worker is there.
type Temporal struct {
	Address   string // host:port; default 127.0.0.1:7233
	Namespace string // default default
	TaskQueue string // default onceward; commits run on <task queue>-actions
	Release   string // recorded in each run's manifest; default dev
	TLS       *TLS   // nil: no TLS, unless there is an API key
	APIKey    Secret
}

// TLS names files in PEM form. Every field is optional; CertFile and KeyFile
// only go together. The zero value is TLS with the system's roots.
type TLS struct {
	CertFile string
	KeyFile  string
	CAFile   string
}

// Limits is the section worker. Zero counts mean the Temporal SDK's defaults.
type Limits struct {
	Drain           time.Duration // how long a stopping worker lets attempts and commits end; default 180 s
	Heartbeat       time.Duration // how soon a lost worker is noticed; default 10 s
	MaxActivities   int           // activities at once, commits apart
	MaxCommits      int           // commits and reconciliations at once
	StickyCache     int           // runs kept in memory, per process
	StickyTimeout   time.Duration // how long a run's tasks wait for the worker that has it in memory; default 5 s
	DeadlockTimeout time.Duration // how long workflow code may run without yielding; zero is the SDK's 1 s
}

// Actions is the defaults of write tools.
type Actions struct {
	Lease time.Duration // a commit may start and run until then; default 60 s
	Skew  time.Duration // clock difference allowed for; default 2 s
}

// Pool is the resources and how they are chosen.
type Pool struct {
	Name          string // default the task queue: services share a record only by naming it
	Affinity      string // soft (default) | off
	CrossBoundary string // strip (default) | wait | fail
	Breaker       Breaker
	Retest        Retest
	// NeutralCost is the most that one neutral request may cost by its ceiling: a route
	// that is dearer gets none. Default 0.005 USD.
	NeutralCost onceward.MicroUSD
	Resources   []Resource
}

// Retest says when a disabled route is tested with one cheap request: First
// after it was disabled, then with doubling pauses up to Most. First 0 is never.
type Retest struct {
	First time.Duration // default 5 m
	Most  time.Duration // default 6 h
}

// Breaker opens on Failures within Window or on Consecutive failures in a row.
type Breaker struct {
	Failures    int           // default 5
	Consecutive int           // default 3
	Window      time.Duration // default 300 s; at least the longest attempt
	OpenFor     time.Duration // then a neutral request decides; default 10 s
}

// Resource is an account or endpoint with its own quota and state.
type Resource struct {
	Name         string
	Kind         string // azure | openai | compatible
	API          string // responses (default) | chat_completions
	BaseURL      string // with a trailing slash
	Key          Secret
	Headers      []Header // sent with every request
	Account      string   // default Name
	Boundary     string   // default Name
	Region       string
	SafetyPolicy string
	Weight       int // default 1
	Quota        Quota
	Neutral      Neutral
	Deployments  []Deployment
}

// Neutral says how a resource is tested. The zero value is the least request that
// hosts accept.
type Neutral struct {
	Off             bool          // not at all: the resource is only ever avoided
	MaxOutputTokens int           // 0: 16
	Timeout         time.Duration // of the whole request; 0: 25 s
}

// Header is a header of every request to a resource. Its value is Value, or
// Secret where a variable or a file holds it.
type Header struct {
	Name   string
	Value  string
	Secret Secret
}

// Quota is what the owner granted per minute. Zero is no limit on our side.
type Quota struct {
	RequestsPerMinute int
	TokensPerMinute   int
}

// Deployment is one model on one resource.
type Deployment struct {
	Model      string // what agents ask for
	Deployment string // what goes on the wire; default Model
	Price      onceward.Price
	Capability onceward.Capability
}

// Task is a task class that an agent can name.
type Task struct {
	Name            string
	Model           string
	FallbackModels  []string
	Resources       []string // empty: the whole pool
	Requires        onceward.Requirements
	Budget          onceward.Budget
	MaxOutputTokens int // per request; default 4000
	Timeouts        onceward.Timeouts
	Degraded        onceward.Outcome // default unavailable
}

// Task returns the task class of a name, or an error that says which it may mean.
func (c Config) Task(name string) (Task, error) {
	names := make([]string, len(c.Tasks))
	for i, task := range c.Tasks {
		if task.Name == name {
			return task, nil
		}
		names[i] = task.Name
	}
	return Task{}, fmt.Errorf("the configuration has no task class %q%s", name, didYouMean(name, names))
}

// longestAttempt returns the longest attempt timeout of any task class, and its
// key.
func (c Config) longestAttempt() (time.Duration, string) {
	longest, key := time.Duration(0), ""
	for i, task := range c.Tasks {
		if task.Timeouts.Attempt > longest {
			longest, key = task.Timeouts.Attempt, namePath("tasks", task.Name, i)+".timeouts.attempt"
		}
	}
	return longest, key
}

// defaults returns a Config in which everything that has a default is set.
func defaults() Config {
	return Config{
		Temporal: Temporal{Address: "127.0.0.1:7233", Namespace: "default", TaskQueue: "onceward", Release: "dev"},
		Worker:   Limits{Drain: 180 * time.Second, Heartbeat: 10 * time.Second, StickyTimeout: 5 * time.Second},
		Actions:  Actions{Lease: time.Minute, Skew: 2 * time.Second},
		Pool: Pool{
			Affinity: "soft", CrossBoundary: "strip",
			Breaker: Breaker{Failures: 5, Consecutive: 3, Window: 300 * time.Second, OpenFor: 10 * time.Second},
			Retest:  Retest{First: 5 * time.Minute, Most: 6 * time.Hour}, NeutralCost: onceward.FromUSD(0.005),
		},
	}
}

// defaultTask returns the defaults of a task class.
func defaultTask(name string) Task {
	return Task{
		Name: name,
		Budget: onceward.Budget{
			Attempts: 12, Cost: onceward.FromUSD(0.50), AttemptCost: onceward.FromUSD(0.20),
			Deadline: 10 * time.Minute, PeopleDeadline: 72 * time.Hour,
		},
		MaxOutputTokens: 4000,
		Timeouts:        onceward.Timeouts{FirstEvent: 30 * time.Second, Idle: 30 * time.Second, Attempt: 120 * time.Second},
		Degraded:        onceward.OutcomeUnavailable,
	}
}
