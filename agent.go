package onceward

import (
	"context"
	"reflect"
)

// Agent declares an agent: what it is told, what it may do, and the task class
// that decides which models and resources may serve it. Declare it as a package
// variable: building one inside a workflow function is not deterministic, and
// workflowcheck refuses it. An Agent must not be changed after its registration;
// then it is safe for concurrent use. The zero value is refused by the worker.
type Agent struct {
	Name         string // [A-Za-z0-9_-]{1,64}; activity types begin with it
	Instructions string
	Task         string // a task class of the configuration
	Tools        []Tool

	// Output asks for an answer in JSON of this type, made with JSON[T](). The
	// answer is checked against its schema inside the attempt: one that misses
	// is a failed attempt and the rotation goes on. Nil: text.
	Output *Output

	// Accept judges a final answer, after Output's schema. Its error makes the
	// attempt fail as invalid_output, and the rotation goes on; the error's text
	// is recorded. It must not block and must have no effects. Nil accepts all.
	Accept func(ctx context.Context, text string) error

	// Limits bound what one response may ask for and what its reads may return.
	Limits TurnLimits

	// AcceptCut takes a text that was cut at max_output_tokens for the answer, once
	// Accept agrees; the trail says that it was cut. False: a cut answer is a failed
	// attempt, repaired once with a larger limit. An answer with a call is never
	// taken when it was cut. It excludes Output.
	AcceptCut bool

	// Requires tightens what the task class requires; it can never loosen it.
	Requires Requirements
}

// Output is the type of a structured answer. The zero value is refused.
type Output struct {
	Name string
	Type reflect.Type
}

// JSON declares a structured answer of type T, a struct.
func JSON[T any](name string) *Output {
	return &Output{Name: name, Type: reflect.TypeFor[T]()}
}

// Activity types of an agent's tools: <agent>.<tool>.read, .commit and .find.
func ReadActivity(agent, tool string) string   { return agent + "." + tool + ".read" }
func CommitActivity(agent, tool string) string { return agent + "." + tool + ".commit" }
func FindActivity(agent, tool string) string   { return agent + "." + tool + ".find" }
