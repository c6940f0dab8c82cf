package workflows

import (
	"errors"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// The request of a lost worker may be in the run's conversation, unless no worker
// ever took the attempt.
func TestLostWorkerMayHaveAppendedToAConversation(t *testing.T) {
	lost := temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_HEARTBEAT, nil)
	for name, c := range map[string]struct {
		err   error
		state *onceward.ProviderState
		want  bool
	}{
		"a free run":                       {lost, nil, false},
		"a pinned run":                     {lost, &onceward.ProviderState{Resource: "a", PreviousResponseID: "resp_1"}, false},
		"in a conversation":                {lost, &onceward.ProviderState{Resource: "a", Conversation: "conv_1"}, true},
		"in one, for a cause nobody knows": {errors.New("panic"), &onceward.ProviderState{Resource: "a", Conversation: "conv_1"}, true},
		"in one, taken by no worker":       {temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, nil), &onceward.ProviderState{Resource: "a", Conversation: "conv_1"}, false},
	} {
		f, _ := attemptFailure(c.err, onceward.Route{Resource: "a"}, c.state)
		if f.Class != onceward.ClassWorkerLost || f.ProviderStateCreated != c.want {
			t.Errorf("%s: %+v, want provider_state_created %v", name, f, c.want)
		}
	}
}

// Only an attempt that no worker ever had gives its reservation back.
func TestAttemptThatTimedOutUnstartedWasNotSentUnlessOneBeforeItWas(t *testing.T) {
	unstarted := enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"no worker ever":               {temporal.NewTimeoutError(unstarted, nil), true},
		"after an attempt that failed": {temporal.NewTimeoutError(unstarted, errors.New("heartbeat")), false},
		"after one that had begun":     {temporal.NewTimeoutError(unstarted, nil, "sent"), false},
	} {
		f, settled := attemptFailure(c.err, onceward.Route{Resource: "a", Ceiling: 7}, nil)
		if f.NotSent != c.want || (settled.Cost == 0) != c.want {
			t.Errorf("%s: not sent %v for %d, want %v", name, f.NotSent, settled.Cost, c.want)
		}
	}
}

func TestRunMayNotBearTheIDOfAnAction(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: "action/refund/order-1/v1"})
	patient(env)
	env.ExecuteWorkflow(func(ctx workflow.Context, in onceward.Start) (onceward.Result, error) {
		return RunAgent(ctx, onceward.Agent{Name: "a"}, in)
	}, onceward.Ask("go on"))
	var application *temporal.ApplicationError
	if err := env.GetWorkflowError(); !errors.As(err, &application) || application.Type() != onceward.ErrorInvalidStart {
		t.Errorf("%v, want %s", err, onceward.ErrorInvalidStart)
	}
}
