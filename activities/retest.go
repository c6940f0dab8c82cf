package activities

import (
	"context"
	"errors"

	"github.com/onceward/onceward"
)

// TestResource makes one cheap request to a disabled route and says how it went.
// A failed test is a result, not an error: the Pool keeps it.
func (a *Activities) TestResource(ctx context.Context, in onceward.TestInput) (onceward.PoolTest, error) {
	test := onceward.PoolTest{Resource: in.Resource, Model: in.Model}
	err := a.router.Test(ctx, in.Resource, in.Model)
	var f *onceward.Failure
	switch {
	case err == nil:
		test.Passed = true
	case errors.As(err, &f):
		test.Class, test.Error = f.Class, f.Message
	default:
		test.Error = clip(err.Error())
	}
	return test, nil
}
