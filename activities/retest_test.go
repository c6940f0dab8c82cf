package activities

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/onceward/onceward"
)

// tester is a router that answers tests alone.
type tester struct {
	Router
	asked    int
	limit    int
	deadline time.Time
	err      error
}

func (r *tester) Test(ctx context.Context, _, _ string, limit int) (onceward.PoolTest, error) {
	r.asked++
	r.limit = limit
	r.deadline, _ = ctx.Deadline()
	return onceward.PoolTest{Verdict: onceward.VerdictPassed, InputTokens: 21}, r.err
}

func TestConfirmingTestIsLeftToAnotherWorkerWhileThereMayBeOne(t *testing.T) {
	for name, c := range map[string]struct {
		in      onceward.TestInput
		attempt int32
		err     error
		asked   int
		verdict onceward.Verdict // empty: left to another
	}{
		"another has reported it":                 {onceward.TestInput{NotBy: "w2"}, 1, nil, 1, onceward.VerdictPassed},
		"nobody has":                              {onceward.TestInput{}, 1, nil, 1, onceward.VerdictPassed},
		"this worker has reported it":             {onceward.TestInput{NotBy: "host/1/w"}, 1, nil, 0, ""},
		"it has, and was asked often":             {onceward.TestInput{NotBy: "host/1/w"}, onceward.PoolDeclines, nil, 0, ""},
		"it has, and no other takes it":           {onceward.TestInput{NotBy: "host/1/w"}, onceward.PoolDeclines + 1, nil, 1, onceward.VerdictPassed},
		"one of this machine has":                 {onceward.TestInput{NotBy: "host/0/x"}, 1, nil, 0, ""},
		"one has, and no other machine takes it":  {onceward.TestInput{NotBy: "host/0/x"}, onceward.PoolElsewhere + 1, nil, 1, onceward.VerdictPassed},
		"it has, and no other machine takes it":   {onceward.TestInput{NotBy: "host/1/w"}, onceward.PoolElsewhere + 1, nil, 0, ""},
		"one of another machine has":              {onceward.TestInput{NotBy: "hostess/1/w"}, 1, nil, 1, onceward.VerdictPassed},
		"it is of this address":                   {onceward.TestInput{Endpoint: "here"}, 1, nil, 1, onceward.VerdictPassed},
		"it is of another address":                {onceward.TestInput{Endpoint: "there"}, 1, nil, 0, ""},
		"it is of an address that no worker has":  {onceward.TestInput{Endpoint: "there"}, onceward.PoolDeclines + 1, nil, 0, onceward.VerdictUnclear},
		"it is of a model that this worker lacks": {onceward.TestInput{}, 1, errors.New("no such model"), 1, onceward.VerdictUnclear},
	} {
		t.Run(name, func(t *testing.T) {
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			router := &tester{err: c.err}
			a := &Activities{router: router, identity: "host/1/w", endpoint: func(string) string { return "here" }}
			env.RegisterActivityWithOptions(func(ctx context.Context, in onceward.TestInput) (onceward.PoolTest, error) {
				info := activity.GetInfo(ctx)
				info.Attempt = c.attempt
				return a.testResource(ctx, info, in)
			}, activity.RegisterOptions{Name: "test"})
			c.in.Resource, c.in.Model, c.in.Limit = "a", "m", 200
			value, err := env.ExecuteActivity("test", c.in)
			var left *temporal.ApplicationError
			if c.verdict == "" {
				if !errors.As(err, &left) || left.NonRetryable() {
					t.Errorf("%v, want it left to another worker", err)
				}
			} else {
				var test onceward.PoolTest
				if err != nil || value.Get(&test) != nil || test.Verdict != c.verdict || test.By != "host/1/w" || test.Resource != "a" || test.Passed != (c.verdict == onceward.VerdictPassed) {
					t.Errorf("%+v, %v", test, err)
				}
			}
			if router.asked != c.asked || c.asked > 0 && (router.limit != 200 || router.deadline.IsZero()) {
				t.Errorf("asked %d times with %d tokens until %v", router.asked, router.limit, router.deadline)
			}
		})
	}
}
