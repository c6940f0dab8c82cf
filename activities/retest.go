package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/onceward/onceward"
)

// testSlack is the part of a test's time that is left for saying how it went: a test
// that waited for its permits to the end is a result too.
const testSlack = 5 * time.Second

// TestResource makes one neutral request to a route and says how it went. A failed
// test is a result, not an error: the Pool keeps it. A worker that is not to confirm
// what it has reported itself, or has the resource at another address, leaves the test
// to another one, a few times: then there is none. A worker beside it, or itself after
// a restart, goes out as it did: that leaves it to another machine first.
func (a *Activities) TestResource(ctx context.Context, in onceward.TestInput) (onceward.PoolTest, error) {
	return a.testResource(ctx, activity.GetInfo(ctx), in)
}

func (a *Activities) testResource(ctx context.Context, info activity.Info, in onceward.TestInput) (onceward.PoolTest, error) {
	test := onceward.PoolTest{Resource: in.Resource, Model: in.Model, By: a.identity}
	elsewhere := in.Endpoint != "" && a.endpoint != nil && a.endpoint(in.Resource) != in.Endpoint
	own := in.NotBy != "" && (in.NotBy == a.identity || info.Attempt <= onceward.PoolElsewhere && onceward.SameMachine(in.NotBy, a.identity))
	if last := info.Attempt > onceward.PoolDeclines; !last && (elsewhere || own) {
		return test, temporal.NewApplicationErrorWithOptions("left to another worker", "declined", temporal.ApplicationErrorOptions{
			Category: temporal.ApplicationErrorCategoryBenign, // nothing went wrong that a log should tell
		})
	}
	if elsewhere {
		test.Verdict, test.Error = onceward.VerdictUnclear, "no worker was found that has the resource at this address"
		return test, nil
	}
	ctx, cancel := context.WithDeadline(ctx, info.Deadline.Add(-testSlack))
	defer cancel()
	found, err := a.router.Test(ctx, in.Resource, in.Model, in.Limit)
	if err != nil { // of another configuration
		test.Verdict, test.Error = onceward.VerdictUnclear, clip(err.Error())
		return test, nil
	}
	found.Resource, found.Model, found.By, found.Error = in.Resource, in.Model, a.identity, clip(found.Error)
	found.Passed = found.Verdict == onceward.VerdictPassed
	return found, nil
}
