package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/activities"
	"github.com/onceward/onceward/worker/config"
	"github.com/onceward/onceward/worker/schema"
)

// Defaults of a tool's Spec.
const (
	defaultReadTimeout  = 30 * time.Second
	defaultReadAttempts = 3
	defaultKeyTTL       = 24 * time.Hour
	defaultReadHorizon  = 30 * 24 * time.Hour
)

var identifier = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// resolve makes the manifest of an agent and binds its tools. It returns every
// mistake it finds.
func resolve(cfg Config, agent onceward.Agent, receiver any) (*activities.Agent, error) {
	if !identifier.MatchString(agent.Name) {
		return nil, fmt.Errorf("name %q is not 1 to 64 characters of A-Z a-z 0-9 _ -", agent.Name)
	}
	task, err := cfg.Task(agent.Task)
	if err != nil {
		return nil, err
	}
	out := &activities.Agent{Tools: map[string]activities.Tool{}}
	out.Manifest = onceward.Manifest{Type: onceward.ItemManifest, Plan: plan(cfg, agent.Name, task), Instructions: agent.Instructions}
	var mistakes []error
	if out.Manifest.Plan.Limits, err = limits(agent); err != nil {
		mistakes = append(mistakes, err)
	}
	for _, tool := range agent.Tools {
		if err := addTool(cfg, out, tool, receiver); err != nil {
			mistakes = append(mistakes, fmt.Errorf("tool %s: %w", tool.Spec.Name, err))
		}
	}
	shape, err := outputSchema(agent.Output)
	if err != nil {
		mistakes = append(mistakes, err)
	} else if shape != nil {
		out.Manifest.Output = &onceward.OutputDecl{Name: agent.Output.Name, Schema: shape.JSON}
	}
	out.Check = checkAnswer(shape, agent.Accept)
	if out.Manifest.AcceptCut = agent.AcceptCut; agent.AcceptCut && agent.Output != nil {
		mistakes = append(mistakes, errors.New("AcceptCut goes with a text; JSON that was cut is never of the type that Output asks for"))
	}
	if out.Manifest.Plan.Requirements, err = requirements(cfg, task, agent); err != nil {
		mistakes = append(mistakes, err)
	}
	out.Manifest.Plan.Version = out.Manifest.Plan.Needs()
	if len(mistakes) == 0 {
		mistakes = append(mistakes, checkSize(out.Manifest))
	}
	return out, errors.Join(mistakes...)
}

func plan(cfg Config, agent string, task config.Task) onceward.Plan {
	return onceward.Plan{
		Agent: agent, Task: task.Name,
		Models:    append([]string{task.Model}, task.FallbackModels...),
		Resources: task.Resources, Budget: task.Budget, Timeouts: task.Timeouts, Degraded: task.Degraded,
		CrossBoundary: cfg.Pool.CrossBoundary, Affinity: cfg.Pool.Affinity, Figures: true,
		Heartbeat: cfg.Worker.Heartbeat, Release: cfg.Temporal.Release,
	}
}

// limits resolves what bounds a turn, and refuses one in which a read could never
// start.
func limits(agent onceward.Agent) (onceward.TurnLimits, error) {
	l, err := agent.Limits.Resolve()
	if err != nil {
		return l, err
	}
	for _, tool := range agent.Tools {
		if need := or(tool.Spec.MaxOutput, onceward.DefaultMaxOutput); tool.Kind == onceward.KindRead && need > l.OutputBytes {
			return l, fmt.Errorf("limits: OutputBytes is %d, less than MaxOutput of the tool %s (%d), which could never be called", l.OutputBytes, tool.Spec.Name, need)
		}
	}
	return l, nil
}

// requirements tightens the task class by the agent and by what it declares,
// and refuses what no deployment can meet.
func requirements(cfg Config, task config.Task, agent onceward.Agent) (onceward.Requirements, error) {
	need, err := task.Requires.Tighten(agent.Requires)
	if err != nil {
		return need, fmt.Errorf("requires of the agent and of task class %s: %w", task.Name, err)
	}
	need, err = need.Tighten(onceward.Requirements{
		OutputTokens: task.MaxOutputTokens,
		ToolCalling:  len(agent.Tools) > 0,
		StrictSchema: agent.Output != nil,
	})
	if err != nil {
		return need, err
	}
	if misses := cfg.Unmet(task, need); misses != nil {
		return need, fmt.Errorf("no deployment of task class %s can serve it: %s", task.Name, strings.Join(misses, "; "))
	}
	return need, nil
}

// addTool checks a tool, makes its schema and binds it.
func addTool(cfg Config, out *activities.Agent, tool onceward.Tool, receiver any) error {
	spec := tool.Spec
	if !identifier.MatchString(spec.Name) {
		return fmt.Errorf("the name %q is not 1 to 64 characters of A-Z a-z 0-9 _ -", spec.Name)
	}
	if _, taken := out.Tools[spec.Name]; taken {
		return errors.New("two tools have this name")
	}
	if err := checkSpec(cfg, tool); err != nil {
		return err
	}
	if v := reflect.ValueOf(receiver); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("there is no instance of %s to carry it out", tool.Receiver)
	}
	bound, err := tool.Bind(receiver)
	if err != nil {
		return err
	}
	input, err := schema.New(tool.Input, tool.Kind == onceward.KindWrite)
	if err != nil {
		return err
	}
	out.Tools[spec.Name] = activities.Tool{Bound: bound, Validate: input.Validate}
	out.Manifest.Tools = append(out.Manifest.Tools, onceward.ToolDecl{Name: spec.Name, Description: spec.Description, Schema: input.JSON})
	out.Manifest.Plan.Tools = append(out.Manifest.Plan.Tools, toolPlan(cfg, tool))
	return nil
}

// submitAfter is how long a run waits for an effect that the product has accepted:
// most settle within seconds, and what takes longer may take days.
const submitAfter = 10 * time.Second

func toolPlan(cfg Config, tool onceward.Tool) onceward.ToolPlan {
	spec := tool.Spec
	p := onceward.ToolPlan{Name: spec.Name, Kind: tool.Kind}
	if tool.Kind == onceward.KindRead {
		p.Timeout, p.MaxAttempts = or(spec.Timeout, defaultReadTimeout), or(spec.MaxAttempts, defaultReadAttempts)
		p.MaxOutput = or(spec.MaxOutput, onceward.DefaultMaxOutput)
		return p
	}
	p.Once, p.Approve = spec.Once, spec.Approve.Asks()
	p.Write = onceward.WritePolicy{
		Queue: onceward.ActionsQueue(cfg.Temporal.TaskQueue),
		Lease: or(spec.Lease, cfg.Actions.Lease), Heartbeat: cfg.Worker.Heartbeat,
		Settle: spec.Settle, Skew: cfg.Actions.Skew, Keyed: spec.Keyed,
		KeyTTL: or(spec.KeyTTL, defaultKeyTTL), ReadHorizon: or(spec.ReadHorizon, defaultReadHorizon),
		VerifyByRead: spec.VerifyByRead, Submit: submitAfter,
	}
	return p
}

func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// checkSpec refuses what cannot be meant, and a field of the other kind of tool:
// who sets one believes in a protection that is not there.
func checkSpec(cfg Config, tool onceward.Tool) error {
	spec := tool.Spec
	for _, d := range []struct {
		key   string
		value time.Duration
	}{{"Timeout", spec.Timeout}, {"Settle", spec.Settle}, {"KeyTTL", spec.KeyTTL}, {"ReadHorizon", spec.ReadHorizon}, {"Lease", spec.Lease}} {
		if d.value < 0 {
			return fmt.Errorf("%s is negative: %s", d.key, d.value)
		}
	}
	if spec.MaxAttempts < 0 {
		return fmt.Errorf("MaxAttempts is negative: %d", spec.MaxAttempts)
	}
	if spec.MaxOutput < 0 || spec.MaxOutput > onceward.MaxOutput {
		return fmt.Errorf("MaxOutput is %d, want 1 to %d, or 0 for %d", spec.MaxOutput, onceward.MaxOutput, onceward.DefaultMaxOutput)
	}
	switch tool.Kind {
	case onceward.KindRead:
		if spec.Settle != 0 || spec.KeyTTL != 0 || spec.ReadHorizon != 0 || spec.Lease != 0 || spec.Keyed || spec.VerifyByRead || spec.Once || spec.Approve.Asks() {
			return errors.New("a Spec's Settle, Keyed, KeyTTL, ReadHorizon, Lease, VerifyByRead, Once and Approve belong to Write; a Read may be carried out more than once")
		}
	case onceward.KindWrite:
		switch {
		case spec.Timeout != 0 || spec.MaxAttempts != 0 || spec.MaxOutput != 0:
			return errors.New("a Spec's Timeout, MaxAttempts and MaxOutput belong to Read; a Write is bounded by Lease, never retried blindly, and answers with a receipt")
		case spec.Lease > cfg.Worker.Drain:
			return fmt.Errorf("a Spec's Lease %s is longer than worker.drain (%s): a stop would cut the commit", spec.Lease, cfg.Worker.Drain)
		case spec.Lease != 0 && spec.Lease < cfg.Worker.Heartbeat:
			return fmt.Errorf("a Spec's Lease %s is shorter than worker.heartbeat (%s): a lost commit would not be noticed", spec.Lease, cfg.Worker.Heartbeat)
		}
	default:
		return errors.New("it was not made by Read or Write")
	}
	return nil
}

func outputSchema(output *onceward.Output) (*schema.Schema, error) {
	if output == nil {
		return nil, nil
	}
	if !identifier.MatchString(output.Name) {
		return nil, fmt.Errorf("output: the name %q is not 1 to 64 characters of A-Z a-z 0-9 _ -", output.Name)
	}
	s, err := schema.New(output.Type, false)
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	return s, nil
}

// checkAnswer judges a final answer by its schema and then by the agent.
func checkAnswer(shape *schema.Schema, accept func(context.Context, string) error) func(context.Context, string) error {
	if shape == nil && accept == nil {
		return nil
	}
	return func(ctx context.Context, text string) (err error) {
		if shape != nil {
			if err := shape.ValidateAnswer(text); err != nil {
				return fmt.Errorf("output: %w", err)
			}
		}
		if accept == nil {
			return nil
		}
		defer func() { // a panic here must cost an attempt, not the worker
			if p := recover(); p != nil {
				err = fmt.Errorf("accept: panic: %v", p)
			}
		}()
		return accept(ctx, text)
	}
}

// checkSize refuses a manifest that no run could carry as its first item.
func checkSize(m onceward.Manifest) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode manifest: %w", err)
	}
	if _, err := onceward.NewItem(raw, ""); err != nil {
		return fmt.Errorf("instructions and schemas are too large: %w", err)
	}
	return nil
}
