package activities

import (
	"context"

	"github.com/onceward/onceward"
)

// TestResource makes one neutral request to a route and says how it went. A failed
// test is a result, not an error: the Pool keeps it.
func (a *Activities) TestResource(ctx context.Context, in onceward.TestInput) (onceward.PoolTest, error) {
	test, err := a.router.Test(ctx, in.Resource, in.Model, in.Limit)
	if err != nil { // of another configuration
		test = onceward.PoolTest{Verdict: onceward.VerdictUnclear, Error: err.Error()}
	}
	test.Resource, test.Model, test.Error = in.Resource, in.Model, clip(test.Error)
	return test, nil
}
