package test

import (
	"testing"

	activitypb "go.temporal.io/api/activity/v1"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/test/harness"
)

// Somebody allows a commit under way more attempts, and its worker is lost: the
// server carries out the same activity again, inside the same lease and for the
// same run. The read finds nothing yet, and nothing may be sent again.
func TestCommitIsMadeOnceWhateverItsOptionsSay(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{Heartbeat: harness.SoonLost})
	held := newGate(t)
	b.OnBeforeCommit(held.hold)
	b.StartWorker(true)
	order := b.Order()
	run := b.StartRefund("run", order)
	held.await(t, b)
	id := harness.Action(order)
	allowMoreAttempts(t, b, id.WorkflowID(), onceward.CommitActivity("refunds", "create_refund"), 1)
	killLive(b)
	b.AwaitReads(2) // of the second attempt, before it would send
	held.release()
	b.Check(run, order, paid(died))
}

// The same is done to an attempt in flight: its request may have been sent, and
// one reservation is one request.
func TestRequestIsSentOnceWhateverItsOptionsSay(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{Heartbeat: harness.SoonLost})
	held := newGate(t)
	b.Pool.OnRequest(func(r harness.Request) {
		if r.Seq == 2 {
			held.hold(1)
		}
	})
	b.StartWorker(true)
	order := b.Order()
	run := b.StartRefund("run", order)
	held.await(t, b)
	allowMoreAttempts(t, b, run.ID, onceward.ActivityCallModel, 2)
	killLive(b)
	held.release()
	b.Check(run, order, paid(died))
}

// allowMoreAttempts is what an operator can do to the nth activity of a type
// while it is under way.
func allowMoreAttempts(t *testing.T, b *harness.Bench, workflowID, activityType string, n int) {
	t.Helper()
	scheduled := b.Scheduled(workflowID, activityType, n).GetActivityTaskScheduledEventAttributes()
	_, err := b.Client.WorkflowService().UpdateActivityOptions(b.Context(), &workflowservice.UpdateActivityOptionsRequest{
		Namespace: client.DefaultNamespace, Execution: &commonpb.WorkflowExecution{WorkflowId: workflowID}, Identity: "ops",
		Activity:        &workflowservice.UpdateActivityOptionsRequest_Id{Id: scheduled.GetActivityId()},
		ActivityOptions: &activitypb.ActivityOptions{RetryPolicy: &commonpb.RetryPolicy{MaximumAttempts: 5}},
		UpdateMask:      &fieldmaskpb.FieldMask{Paths: []string{"retry_policy.maximum_attempts"}},
	})
	if err != nil {
		t.Fatal(err)
	}
}
