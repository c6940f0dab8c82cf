package workflows

import (
	"errors"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

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
