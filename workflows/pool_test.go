package workflows

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"github.com/onceward/onceward"
)

// service is one of two that have a resource of the same name at addresses of
// their own.
func service(name, endpoint string) onceward.PoolRoutes {
	return onceward.PoolRoutes{
		Service: name, Retest: onceward.RetestPolicy{First: time.Minute, Most: time.Hour},
		Routes: []onceward.PoolRoute{{Resource: "a", Endpoint: endpoint, Models: []string{"m"}}},
	}
}

func TestOneNameAtTwoAddressesIsTwoRoutes(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	patient(env)
	var tested []string
	env.RegisterActivityWithOptions(func(ctx context.Context, in onceward.TestInput) (onceward.PoolTest, error) {
		tested = append(tested, activity.GetInfo(ctx).TaskQueue)
		return onceward.PoolTest{Class: onceward.ClassBilling}, nil
	}, activity.RegisterOptions{Name: onceward.ActivityTestResource})
	health := func() onceward.PoolHealth {
		answer, err := env.QueryWorkflow(onceward.QueryHealth)
		if err != nil {
			t.Fatal(err)
		}
		var h onceward.PoolHealth
		if err := answer.Get(&h); err != nil {
			t.Fatal(err)
		}
		return h
	}
	signal := func(after time.Duration, name string, arg any) {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(name, arg) }, after)
	}
	report := func(endpoint string) onceward.PoolReport {
		return onceward.PoolReport{Resource: "a", Endpoint: endpoint, Class: onceward.ClassBilling, Reason: "not paid for", At: env.Now()}
	}
	signal(time.Second, onceward.SignalRoutes, service("two", "there"))
	signal(2*time.Second, onceward.SignalReport, report("here"))
	signal(3*time.Second, onceward.SignalReport, report("there"))
	signal(4*time.Second, onceward.SignalReport, report("nowhere"))
	env.RegisterDelayedCallback(func() {
		if h := health(); len(h.Disabled) != 2 || h.Disabled[0].Endpoint != "here" || h.Disabled[1].Endpoint != "there" || len(h.Services) != 2 {
			t.Errorf("E31 the record is %+v, want an entry at each address", h)
		}
	}, 5*time.Second)
	// Another configuration of the second service has other routes: the first's stay.
	signal(90*time.Second, onceward.SignalRoutes, onceward.PoolRoutes{Service: "two", Routes: []onceward.PoolRoute{{Resource: "b", Models: []string{"m"}}}})
	env.RegisterDelayedCallback(func() {
		if h := health(); len(h.Disabled) != 1 || h.Disabled[0].Endpoint != "here" {
			t.Errorf("E31 after the second service gave the route up: %+v", h.Disabled)
		}
		if len(tested) < 2 || tested[0] == tested[1] {
			t.Errorf("E31 tested on %v, want each route where it is known", tested)
		}
		env.CancelWorkflow()
	}, 100*time.Second)
	env.ExecuteWorkflow(Pool, onceward.PoolInput{Pool: "shared", Services: []onceward.PoolRoutes{service("one", "here")}})
}

// playPool plays what happens in a pool at its times and returns how often it has
// tested a route.
func playPool(t *testing.T, in onceward.PoolInput, test func(env *testsuite.TestWorkflowEnvironment) onceward.PoolTest, play func(env *testsuite.TestWorkflowEnvironment, health func() onceward.PoolHealth)) (tests int) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterActivityWithOptions(func(context.Context, onceward.TestInput) (onceward.PoolTest, error) {
		if tests++; tests > 20 {
			env.CancelWorkflow()
		}
		return test(env), nil
	}, activity.RegisterOptions{Name: onceward.ActivityTestResource})
	play(env, func() onceward.PoolHealth {
		answer, err := env.QueryWorkflow(onceward.QueryHealth)
		if err != nil {
			t.Fatal(err)
		}
		var h onceward.PoolHealth
		if err := answer.Get(&h); err != nil {
			t.Fatal(err)
		}
		return h
	})
	env.ExecuteWorkflow(Pool, in)
	return tests
}

func TestNoPassedTestEndsAnOperatorsDecision(t *testing.T) {
	disable := func(env *testsuite.TestWorkflowEnvironment) {
		env.UpdateWorkflow(onceward.UpdateDisable, "", &testsuite.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { t.Error(err) }, OnComplete: func(any, error) {},
		}, onceward.PoolChange{Resource: "a", By: "dana", Reason: "wrong answers"})
	}
	for name, c := range map[string]struct {
		inFlight bool
		tests    int
	}{
		"it comes before the tests of two addresses": {false, 0},
		"it comes while a test is in flight":         {true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			in := onceward.PoolInput{Pool: "shared", Services: []onceward.PoolRoutes{service("one", "here"), service("two", "there")}}
			test := func(env *testsuite.TestWorkflowEnvironment) onceward.PoolTest {
				if c.inFlight {
					disable(env)
				}
				return onceward.PoolTest{Passed: true}
			}
			tests := playPool(t, in, test, func(env *testsuite.TestWorkflowEnvironment, health func() onceward.PoolHealth) {
				for i, at := range []string{"here", "there"} {
					env.RegisterDelayedCallback(func() {
						env.SignalWorkflow(onceward.SignalReport, onceward.PoolReport{Resource: "a", Endpoint: at, Class: onceward.ClassBilling, At: env.Now()})
					}, time.Duration(i+1)*time.Second)
				}
				if !c.inFlight {
					env.RegisterDelayedCallback(func() { disable(env) }, 30*time.Second)
				}
				env.RegisterDelayedCallback(func() {
					if h := health(); len(h.Disabled) != 1 || h.Disabled[0].By != "dana" || !h.Disabled[0].NextTest.IsZero() {
						t.Errorf("the record is %+v, want what the operator decided and nothing beside it", h.Disabled)
					}
					env.CancelWorkflow()
				}, time.Hour)
			})
			if tests != c.tests {
				t.Errorf("%d tests, want %d", tests, c.tests)
			}
		})
	}
}

func TestServiceThatTestsNothingIsNotAskedAgainAtOnce(t *testing.T) {
	in := onceward.PoolInput{Pool: "shared", Services: []onceward.PoolRoutes{service("one", "here")}}
	tests := playPool(t, in, func(*testsuite.TestWorkflowEnvironment) onceward.PoolTest { return onceward.PoolTest{} }, func(env *testsuite.TestWorkflowEnvironment, health func() onceward.PoolHealth) {
		env.RegisterDelayedCallback(func() {
			env.SignalWorkflow(onceward.SignalReport, onceward.PoolReport{Resource: "a", Endpoint: "here", Class: onceward.ClassBilling, At: env.Now()})
		}, time.Second)
		env.RegisterDelayedCallback(func() { // its worker comes back with pool.retest.first: 0s
			never := service("one", "here")
			never.Retest = onceward.RetestPolicy{}
			env.SignalWorkflow(onceward.SignalRoutes, never)
		}, 2*time.Second)
		env.RegisterDelayedCallback(func() {
			if h := health(); len(h.Disabled) != 1 || !h.Disabled[0].NextTest.IsZero() {
				t.Errorf("the record is %+v, want it disabled and not tested again", h.Disabled)
			}
			env.CancelWorkflow()
		}, time.Hour)
	})
	if tests != 1 {
		t.Errorf("%d tests, want the one that was due already", tests)
	}
	for failed, want := range map[int]time.Duration{1: 100 * time.Hour, 2: 200 * time.Hour, 40: 900 * time.Hour} {
		if got := nextTest(onceward.RetestPolicy{First: 50 * time.Hour, Most: 900 * time.Hour}, failed); got != want {
			t.Errorf("after %d failed tests it waits %s, want %s", failed, got, want)
		}
	}
}
