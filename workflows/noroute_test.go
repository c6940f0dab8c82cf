package workflows

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

func TestCauseOfASelectionReachesTheResult(t *testing.T) {
	small := onceward.Dropped{Resource: "a", Model: "m", Step: "requirements", Reason: "max_input_tokens: need 900, have 500",
		Causes: []onceward.Class{onceward.ClassContextLength}, Needed: 900, Available: 500}
	bill := onceward.Dropped{Resource: "b", Model: "m", Step: "disabled", Reason: "unpaid", Causes: []onceward.Class{onceward.ClassBilling}}
	throttled := onceward.Dropped{Resource: "b", Model: "m", Step: "throttled", Reason: "until later", Causes: []onceward.Class{onceward.ClassRateLimited}}
	refused := onceward.Dropped{Resource: "a", Model: "m", Step: "excluded", Reason: "in this run after permission", Causes: []onceward.Class{onceward.ClassPermission}}
	for name, c := range map[string]struct {
		dropped  []onceward.Dropped
		degraded onceward.Outcome
		owner    string
		again    bool            // after the run's own deadline
		judged   onceward.Judged // of the first attempt, which a firewall refuses
		outcome  onceward.Outcome
		class    onceward.Class
		message  string
		needed   int
	}{
		"E20 every candidate is too small":                                {dropped: []onceward.Dropped{small, small}, outcome: onceward.OutcomeUnavailable, class: onceward.ClassContextLength, message: "needs 900 input tokens, and no candidate takes more than 500", needed: 900},
		"E20 and the outcome is what the task says":                       {dropped: []onceward.Dropped{small}, degraded: onceward.OutcomeReadOnlyFallback, outcome: onceward.OutcomeReadOnlyFallback, class: onceward.ClassContextLength, message: "needs 900", needed: 900},
		"E20 the owner is too small":                                      {dropped: []onceward.Dropped{small}, owner: "a", outcome: onceward.OutcomeUnavailable, class: onceward.ClassContextLength, message: "needs 900", needed: 900},
		"nobody pays":                                                     {dropped: []onceward.Dropped{bill}, outcome: onceward.OutcomeUnavailable, class: onceward.ClassBilling, message: "unpaid"},
		"all are throttled for too long":                                  {dropped: []onceward.Dropped{throttled}, again: true, outcome: onceward.OutcomeUnavailable, class: onceward.ClassRateLimited, message: "until later"},
		"one of each":                                                     {dropped: []onceward.Dropped{small, bill}, outcome: onceward.OutcomeUnavailable, class: onceward.ClassNoRoute, message: "1 context_length_exceeded, 1 billing"},
		"E01 refused by a firewall, and the resource passes its test":     {dropped: []onceward.Dropped{refused}, judged: onceward.JudgedAcquitted, outcome: onceward.OutcomeFailed, class: onceward.ClassPermission, message: "permission"},
		"E01 the same, and its task says what then":                       {dropped: []onceward.Dropped{refused}, judged: onceward.JudgedAcquitted, degraded: onceward.OutcomeReadOnlyFallback, outcome: onceward.OutcomeReadOnlyFallback, class: onceward.ClassPermission, message: "permission"},
		"E01 a pinned run is refused by its owner, which passes its test": {dropped: []onceward.Dropped{refused}, judged: onceward.JudgedAcquitted, owner: "a", outcome: onceward.OutcomeFailed, class: onceward.ClassPermission, message: "permission"},
		"refused, and the resource fails its test":                        {dropped: []onceward.Dropped{refused}, judged: onceward.JudgedConvicted, outcome: onceward.OutcomeUnavailable, class: onceward.ClassPermission, message: "permission"},
		"an older worker said no causes":                                  {dropped: []onceward.Dropped{{Resource: "a", Step: "requirements", Reason: "max_input_tokens"}}, outcome: onceward.OutcomeUnavailable, class: onceward.ClassNoRoute, message: "1 requirements"},
	} {
		t.Run(name, func(t *testing.T) {
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestWorkflowEnvironment()
			patient(env)
			w := &world{}
			env.RegisterActivityWithOptions(func(ctx context.Context, in onceward.OpenRequest) (onceward.Opened, error) {
				opened, err := w.open(ctx, in)
				opened.Plan.Degraded = c.degraded
				if c.owner != "" {
					opened.Plan.State = &onceward.ProviderState{Resource: c.owner}
				}
				return opened, err
			}, activity.RegisterOptions{Name: onceward.ActivityOpen})
			env.RegisterActivityWithOptions(func(_ context.Context, in onceward.RouteRequest) (onceward.Decision, error) {
				d := onceward.Decision{Dropped: c.dropped}
				if c.judged != "" && len(in.Suspects) == 0 {
					return onceward.Decision{Route: &onceward.Route{Resource: "a", Model: "m"}}, nil
				}
				for _, s := range in.Suspects {
					d.Verdicts = append(d.Verdicts, onceward.RouteVerdict{Resource: s.Resource, Model: s.Model, Judged: c.judged})
				}
				if c.again {
					d.RetryAt = in.Now.Add(time.Hour)
				}
				return d, nil
			}, activity.RegisterOptions{Name: onceward.ActivitySelectRoute})
			env.RegisterActivityWithOptions(func(_ context.Context, in onceward.CallInput) (onceward.CallResult, error) {
				f := onceward.NewFailure(onceward.ClassPermission, onceward.PhaseSent, "permission denied")
				f.Resource = in.Route.Resource
				return onceward.CallResult{}, temporal.NewNonRetryableApplicationError("refused", string(f.Class), nil, *f, onceward.Settlement{})
			}, activity.RegisterOptions{Name: onceward.ActivityCallModel})
			patient(env)
			env.ExecuteWorkflow(func(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
				return RunAgent(ctx, onceward.Agent{Name: "a"}, in)
			}, onceward.Ask("go on"))
			var result onceward.Result
			if err := env.GetWorkflowResult(&result); err != nil {
				t.Fatal(err)
			}
			f := result.Failure
			if f == nil || result.Outcome != c.outcome || f.Class != c.class || !strings.Contains(f.Message, c.message) || f.Needed != c.needed {
				t.Fatalf("outcome %s, failure %+v, want %s with %s", result.Outcome, f, c.outcome, c.class)
			}
			if c.owner == "" && !strings.Contains(result.Reason, c.message) {
				t.Errorf("reason %q", result.Reason)
			}
		})
	}
}
