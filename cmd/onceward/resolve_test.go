package main

import (
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/onceward/onceward"
)

const refunded = onceward.ActionID("refund/order-1/v1")

// closedAction is the history of an action that was terminated.
func closedAction(t *testing.T, workflowType string, in onceward.ActionInput) []*historypb.HistoryEvent {
	t.Helper()
	input, err := converter.GetDefaultDataConverter().ToPayloads(in)
	if err != nil {
		t.Fatal(err)
	}
	return []*historypb.HistoryEvent{
		{EventId: 1, EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{
				WorkflowType: &commonpb.WorkflowType{Name: workflowType}, TaskQueue: &taskqueuepb.TaskQueue{Name: "mine"}, Input: input,
			},
		}},
		{EventId: 2, EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED},
	}
}

func TestResolveOnlyRunKeepsTheActionAndCannotFollowAReceipt(t *testing.T) {
	t.Parallel()
	act := onceward.ActInput{ActionID: refunded, Tool: "create_refund", Digest: "d", Run: "refund-1", Agent: "refunds"}
	decision := onceward.Resolve{Status: onceward.StatusCommitted, Ref: "rf-1", By: "dana"}
	// An earlier decision, whose run was terminated too, must not decide again.
	earlier := onceward.Resolve{Status: onceward.StatusRejected, By: "lee"}
	for name, old := range map[string]*onceward.Resolve{"a first decision": nil, "a decision after one that was terminated": &earlier} {
		options, in, err := resolveOnly(closedAction(t, onceward.WorkflowAction, onceward.ActionInput{Act: act, Resolve: old}), onceward.ActionReceipt{ActionID: refunded, Commits: 2, Reconciled: 3, Refused: []string{"late"}, More: 1}, decision)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if options.ID != "action/refund/order-1/v1" || options.TaskQueue != "mine" ||
			options.WorkflowIDReusePolicy != enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY ||
			options.WorkflowIDConflictPolicy != enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL {
			t.Errorf("%s: options are %+v", name, options)
		}
		if options.Memo[onceward.MemoTool] != "create_refund" || options.Memo[onceward.MemoDigest] != "d" || options.Memo[onceward.MemoRun] != "refund-1" {
			t.Errorf("%s: memo is %v", name, options.Memo)
		}
		if in.Act.ActionID != refunded || in.Act.Digest != "d" || in.Resolve == nil || *in.Resolve != decision {
			t.Errorf("%s: input is %+v", name, in)
		}
		if len(in.Refused) != 1 || in.More != 1 {
			t.Errorf("E33 %s: it carries the refusals %v and %d, want those before", name, in.Refused, in.More)
		}
		if in.Commits != 2 || in.Reconciled != 3 {
			t.Errorf("%s: it carries %d commits and %d reads, want what was sent before: 2 and 3", name, in.Commits, in.Reconciled)
		}
	}
}

func TestCommitOfAClosedActionMayLandUntilItsLeaseSettlingAndSkewAreOver(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	activity := func(name string, at time.Time) *historypb.HistoryEvent {
		return &historypb.HistoryEvent{EventTime: timestamppb.New(at), Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{ActivityType: &commonpb.ActivityType{Name: name}},
		}}
	}
	policy := onceward.WritePolicy{Lease: time.Minute, Settle: 5 * time.Second, Skew: 2 * time.Second}
	commit, find := onceward.CommitActivity("a", "t"), onceward.FindActivity("a", "t")
	for name, c := range map[string]struct {
		events []*historypb.HistoryEvent
		want   time.Time
	}{
		"no commit was scheduled": {events: []*historypb.HistoryEvent{activity(find, at)}},
		"one was":                 {events: []*historypb.HistoryEvent{activity(commit, at)}, want: at.Add(67 * time.Second)},
		"two were, and a read": {
			events: []*historypb.HistoryEvent{activity(commit, at), activity(commit, at.Add(time.Hour)), activity(find, at.Add(2*time.Hour))},
			want:   at.Add(time.Hour + 67*time.Second),
		},
	} {
		if got := landsUntil(c.events, policy); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestResolveOnlyRunIsRefused(t *testing.T) {
	t.Parallel()
	other := onceward.ActionInput{Act: onceward.ActInput{ActionID: "refund/order-2/v1"}}
	for name, events := range map[string][]*historypb.HistoryEvent{
		"for another action":                      closedAction(t, onceward.WorkflowAction, other),
		"for a workflow that is not an action":    closedAction(t, "Mine", onceward.ActionInput{Act: onceward.ActInput{ActionID: refunded}}),
		"for a history that has been deleted":     nil,
		"for an action whose input says nothing ": closedAction(t, onceward.WorkflowAction, onceward.ActionInput{}),
	} {
		if _, _, err := resolveOnly(events, onceward.ActionReceipt{ActionID: refunded}, onceward.Resolve{}); err == nil {
			t.Errorf("%s: it was built", name)
		}
	}
}
