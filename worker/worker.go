package worker

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/activities"
	"github.com/onceward/onceward/worker/guard"
)

// Worker runs agents: it owns one SDK worker on the task queue, one on
// <task queue>-actions, where commits and reconciliations have slots of their
// own, and one on the queue of the pool. Make it with New, register agents, then Run it once. Register and Run are
// safe for concurrent use; the zero value is refused by both.
type Worker struct {
	client       client.Client
	cfg          Config
	log          *slog.Logger
	interceptors []interceptor.WorkerInterceptor
	metrics      client.MetricsHandler
	identity     string // as no other process is called
	attributes   attributes
	convert      converter.DataConverter // of the client; set by Run
	sdk          client.Client           // of the SDK workers: the client, or one of its connection that Run makes

	mu        sync.Mutex
	started   bool
	workflows []registration
	agents    map[string]*activities.Agent
	order     []string // of agents, as they were registered
}

// registration is a workflow of the user's.
type registration struct {
	name string
	fn   any
}

// Option changes a Worker as it is made.
type Option func(*Worker)

// WithInterceptors adds interceptors to both SDK workers.
func WithInterceptors(list ...interceptor.WorkerInterceptor) Option {
	return func(w *Worker) { w.interceptors = append(w.interceptors, list...) }
}

// WithLogger sets the logger of the worker's own messages; the default is that
// of log/slog. The SDK logs where the client does.
func WithLogger(logger *slog.Logger) Option {
	return func(w *Worker) { w.log = logger }
}

// WithMetrics sets where the worker counts onceward_health, with the tags resource,
// model and event: give it the handler of the client's options. Without it these are
// not counted; what the SDK and attempts count goes where the client says.
func WithMetrics(handler client.MetricsHandler) Option {
	return func(w *Worker) { w.metrics = handler }
}

// New checks the configuration and returns a worker without agents. The client
// stays the caller's: Run does not close it. It must be of the configuration's
// namespace.
func New(c client.Client, cfg Config, options ...Option) (*Worker, error) {
	if c == nil {
		return nil, errors.New("make worker: there is no client")
	}
	if err := cfg.Check(); err != nil {
		return nil, fmt.Errorf("make worker: %w", err)
	}
	if err := guard.Alone(c); err != nil {
		return nil, fmt.Errorf("make worker: %w", err)
	}
	w := &Worker{client: c, sdk: c, cfg: cfg, log: slog.Default(), identity: identity(), agents: map[string]*activities.Agent{}}
	for _, option := range options {
		option(w)
	}
	return w, nil
}

// identity names this process in the pool's record. Host and number alone are no name:
// containers of one image have both in common.
func identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%s", onceward.Cut(host, 60), os.Getpid(), strings.ToLower(rand.Text()[:6]))
}

// Register adds an agent and the workflow function that runs it, a top-level
// func(workflow.Context, onceward.Start) (T, error). The function's name is the
// workflow type; nil adds the agent alone, for a workflow that runs several.
// receiver carries out the agent's tools. Register refuses now what would fail
// in the middle of a run: names, task class, schemas, bindings, requirements.
func (w *Worker) Register(workflowFunc any, agent onceward.Agent, receiver any) error {
	if w == nil || w.client == nil {
		return errors.New("register agent: the worker was not made with New")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started {
		return fmt.Errorf("register agent %s: the worker runs already", agent.Name)
	}
	if _, taken := w.agents[agent.Name]; taken {
		return fmt.Errorf("register agent %s: an agent of this name is registered already", agent.Name)
	}
	var name string
	if workflowFunc != nil {
		var err error
		if name, err = workflowName(workflowFunc); err != nil {
			return fmt.Errorf("register agent %s: %w", agent.Name, err)
		}
		for _, other := range w.workflows {
			if other.name == name {
				return fmt.Errorf("register agent %s: a workflow of the name %s is registered already", agent.Name, name)
			}
		}
	}
	resolved, err := resolve(w.cfg, agent, receiver)
	if err != nil {
		return fmt.Errorf("register agent %s: %w", agent.Name, err)
	}
	if workflowFunc != nil {
		w.workflows = append(w.workflows, registration{name, workflowFunc})
	}
	w.agents[agent.Name] = resolved
	w.order = append(w.order, agent.Name)
	return nil
}

var generatedName = regexp.MustCompile(`^func\d+(\.\d+)*$|^\d+$`)

// workflowName checks a workflow function and returns its name.
func workflowName(fn any) (string, error) {
	t := reflect.TypeOf(fn)
	if t.Kind() != reflect.Func || t.NumIn() != 2 || t.NumOut() != 2 ||
		t.In(0) != reflect.TypeFor[workflow.Context]() || t.In(1) != reflect.TypeFor[onceward.Start]() || t.Out(1) != reflect.TypeFor[error]() {
		return "", fmt.Errorf("the workflow is a %s, want func(workflow.Context, onceward.Start) (onceward.Result, error)", t)
	}
	if reflect.ValueOf(fn).IsNil() {
		return "", errors.New("the workflow function is nil")
	}
	full := runtime.FuncForPC(reflect.ValueOf(fn).Pointer()).Name()
	name := strings.TrimSuffix(full[strings.LastIndex(full, ".")+1:], "-fm")
	if generatedName.MatchString(name) {
		return "", fmt.Errorf("the workflow function %s has no name of its own, and the name is the workflow type: declare it at top level", full)
	}
	return name, nil
}
