package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

func checkTask(c Config, i int, complete bool, refuse refusal) {
	t := c.Tasks[i]
	at := func(key string) string { return namePath("tasks", t.Name, i) + "." + key }
	if !plainName(t.Name) {
		refuse(namePath("tasks", t.Name, i), notAName)
	}
	known := true
	for i, name := range t.Resources {
		if firstResource(c.Pool, name) < 0 {
			refuse(at("resources"), "the pool has no resource of the name in entry %d%s", i+1, didYouMean(name, resourceNames(c.Pool)))
			known = false
		}
	}
	checkBudget(t, at, refuse)
	checkTimeouts(t, at, refuse)
	if !slices.Contains(degradedEnds, t.Degraded) {
		refuse(at("degraded"), "is not one of %s", joinOutcomes(degradedEnds))
	}
	if rate := t.Requires.MinimumPassRate; rate < 0 || rate > 1 {
		refuse(at("requires.minimum_pass_rate"), "is not between 0 and 1")
	} else if rate > 0 && t.Requires.EvalProfile == "" {
		refuse(at("requires.minimum_pass_rate"), "says nothing without eval_profile; name the profile it is about")
	}
	if t.Requires.MaxP95Latency < 0 {
		refuse(at("requires.max_p95_latency"), "is negative")
	}
	if known && checkModels(c, t, at, refuse) && complete {
		checkServed(c, t, at, refuse)
	}
}

// checkModels reports whether the task's model is known.
func checkModels(c Config, t Task, at func(string) string, refuse refusal) bool {
	models := modelNames(c.Pool, t.Resources)
	for i, model := range t.FallbackModels {
		switch {
		case !slices.Contains(models, model):
			refuse(at("fallback_models"), "no resource of the task has the model of entry %d%s", i+1, didYouMean(model, models))
		case model == t.Model || slices.Index(t.FallbackModels, model) != i:
			refuse(at("fallback_models"), "names the model of entry %d twice; the model itself comes first anyway", i+1)
		}
	}
	switch {
	case t.Model == "":
		refuse(at("model"), "is required: a model that a deployment of the pool has")
		return false
	case !slices.Contains(models, t.Model):
		refuse(at("model"), "no resource of the task has a model of this name%s", didYouMean(t.Model, models))
		return false
	}
	return true
}

// checkServed refuses a task that no deployment can serve within its limits.
func checkServed(c Config, t Task, at func(string) string, refuse refusal) {
	need := t.Requires
	need.OutputTokens = max(need.OutputTokens, t.MaxOutputTokens)
	if misses := c.Unmet(t, need); misses != nil {
		refuse(at("requires"), "no deployment of its models meets it: %s", strings.Join(misses, "; "))
		return
	}
	cheapest := onceward.MicroUSD(-1)
	for _, cand := range c.candidates(t) {
		if cost := cand.deployment.Price.Ceiling(0, t.MaxOutputTokens); cheapest < 0 || cost < cheapest {
			cheapest = cost
		}
	}
	if cheapest > t.Budget.AttemptCost && t.Budget.AttemptCost > 0 {
		refuse(at("budget.attempt_cost_usd"), "allows no attempt: the output that max_output_tokens allows may cost more on the cheapest deployment; raise it or lower max_output_tokens")
	}
}

// candidate is a deployment that may serve a task class by its name.
type candidate struct {
	resource   Resource
	deployment Deployment
}

func (c Config) candidates(t Task) []candidate {
	var out []candidate
	for _, model := range append([]string{t.Model}, t.FallbackModels...) {
		for _, r := range c.Pool.Resources {
			if len(t.Resources) > 0 && !slices.Contains(t.Resources, r.Name) {
				continue
			}
			for _, dep := range r.Deployments {
				if dep.Model == model {
					out = append(out, candidate{r, dep})
				}
			}
		}
	}
	return out
}

// Unmet says for each candidate of a task what it lacks, or returns nil when
// one of them lacks nothing.
func (c Config) Unmet(t Task, need onceward.Requirements) []string {
	var misses []string
	for _, cand := range c.candidates(t) {
		missing := need.Missing(cand.deployment.Capability, cand.resource.Region, cand.resource.SafetyPolicy)
		if len(missing) == 0 {
			return nil
		}
		for i, miss := range missing {
			missing[i], _, _ = strings.Cut(miss, ":") // the key, without the values
		}
		misses = append(misses, fmt.Sprintf("%s/%s lacks %s", said(cand.resource.Name, "a resource"), said(cand.deployment.Model, "its model"), strings.Join(missing, ", ")))
	}
	return misses
}

func checkBudget(t Task, at func(string) string, refuse refusal) {
	b := t.Budget
	if b.Attempts <= 0 {
		refuse(at("budget.attempts"), "is not positive")
	}
	for key, amount := range map[string]onceward.MicroUSD{"cost_usd": b.Cost, "attempt_cost_usd": b.AttemptCost} {
		if amount <= 0 {
			refuse(at("budget."+key), "is not positive")
		}
	}
	if b.AttemptCost > b.Cost && b.Cost > 0 {
		refuse(at("budget.attempt_cost_usd"), "is more than cost_usd, which bounds all attempts together")
	}
	positive(refuse, at("budget.deadline"), b.Deadline)
	positive(refuse, at("budget.people_deadline"), b.PeopleDeadline)
	if t.MaxOutputTokens <= 0 {
		refuse(at("max_output_tokens"), "is not positive")
	}
}

func checkTimeouts(t Task, at func(string) string, refuse refusal) {
	positive(refuse, at("timeouts.attempt"), t.Timeouts.Attempt)
	for key, d := range map[string]time.Duration{"first_event": t.Timeouts.FirstEvent, "idle": t.Timeouts.Idle} {
		positive(refuse, at("timeouts."+key), d)
		if d > t.Timeouts.Attempt && t.Timeouts.Attempt > 0 {
			refuse(at("timeouts."+key), "is longer than timeouts.attempt, which ends it before")
		}
	}
	switch s := t.Timeouts.Silence; {
	case s < 0:
		refuse(at("timeouts.silence"), "is negative; 0 is no such limit")
	case s > t.Timeouts.Idle && t.Timeouts.Idle > 0:
		refuse(at("timeouts.silence"), "is longer than timeouts.idle, which ends it before")
	}
}

func resourceNames(p Pool) []string {
	names := make([]string, len(p.Resources))
	for i, r := range p.Resources {
		names[i] = r.Name
	}
	return names
}

func modelNames(p Pool, resources []string) []string {
	var names []string
	for _, r := range p.Resources {
		if len(resources) > 0 && !slices.Contains(resources, r.Name) {
			continue
		}
		for _, dep := range r.Deployments {
			if !slices.Contains(names, dep.Model) {
				names = append(names, dep.Model)
			}
		}
	}
	return names
}

func joinOutcomes(outcomes []onceward.Outcome) string {
	words := make([]string, len(outcomes))
	for i, o := range outcomes {
		words[i] = string(o)
	}
	return strings.Join(words, ", ")
}
