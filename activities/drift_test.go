package activities

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"github.com/onceward/onceward"
)

// counts is a metrics handler that keeps its counters.
type counts struct {
	client.MetricsHandler
	tags string
	seen *sync.Map // by name and tags
}

func (c counts) WithTags(tags map[string]string) client.MetricsHandler {
	return counts{client.MetricsNopHandler, fmt.Sprint(tags), c.seen}
}

func (c counts) Counter(name string) client.MetricsCounter {
	return counter(func(n int64) {
		had, _ := c.seen.LoadOrStore(name+" "+c.tags, int64(0))
		c.seen.Store(name+" "+c.tags, had.(int64)+n)
	})
}

type counter func(int64)

func (c counter) Inc(n int64) { c(n) }

// A resource that breaks the contract is counted under names of the configuration
// and kinds of ours, or a host could make a series of each of its answers.
func TestDriftIsCountedByResourceAndKind(t *testing.T) {
	seen := counts{client.MetricsNopHandler, "", &sync.Map{}}
	var suite testsuite.WorkflowTestSuite
	suite.SetMetricsHandler(seen)
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(func(ctx context.Context) error {
		countDrift(ctx, onceward.Route{Resource: "a", Deployment: "m"}, []string{
			onceward.BreachStore.Notice("stored"), onceward.BreachStore.Notice("stored again"), onceward.BreachTruncation.Notice("auto"),
			"drift: invented: by a resource", "the text was cut",
		})
		return nil
	}, activity.RegisterOptions{Name: "drift"})
	if _, err := env.ExecuteActivity("drift"); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[onceward.Breach]any{onceward.BreachStore: int64(2), onceward.BreachTruncation: int64(1), onceward.BreachMembers: int64(1), "invented": nil, "": nil} {
		name := "onceward_drift " + fmt.Sprint(map[string]string{"resource": "a", "deployment": "m", "kind": string(kind)})
		if got, _ := seen.seen.Load(name); got != want {
			t.Errorf("%s: counted %v, want %v", name, got, want)
		}
	}
}
