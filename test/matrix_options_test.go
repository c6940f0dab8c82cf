package test

import (
	"testing"
	"time"

	activitypb "go.temporal.io/api/activity/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/test/harness"
)

// Somebody allows a commit under way more attempts, and its worker is lost. The
// read finds nothing yet, and nothing may be sent again: neither where the server
// has no time for another attempt, nor where they have it come at once, count it
// as the first, or leave it to nobody.
func TestCommitIsMadeOnceWhateverItsOptionsSay(t *testing.T) {
	commit := onceward.CommitActivity("patient", "create_refund")
	rows := map[string]struct {
		atOnce bool
		then   func(*harness.Bench, string, string) // after the worker is gone, before another comes
	}{
		"more attempts":          {},
		"more attempts, at once": {atOnce: true},
		"more attempts, at once, and the second counts as the first": {atOnce: true, then: func(b *harness.Bench, workflowID, activityID string) {
			b.AwaitAttempt(workflowID, activityID, 2)
			_, err := b.Client.WorkflowService().ResetActivity(b.Context(), &workflowservice.ResetActivityRequest{
				Namespace: client.DefaultNamespace, Execution: &commonpb.WorkflowExecution{WorkflowId: workflowID}, Identity: "ops",
				Activity: &workflowservice.ResetActivityRequest_Id{Id: activityID},
			})
			if err != nil {
				t.Error(err)
			}
			b.AwaitAttempt(workflowID, activityID, 1)
		}},
		"more attempts, at once, and no worker for the second": {atOnce: true, then: func(b *harness.Bench, workflowID, _ string) {
			b.Event(workflowID, "the end of the lease", func(e *historypb.HistoryEvent) bool {
				return e.GetEventType() == enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT
			})
		}},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := harness.New(t, harness.Options{Heartbeat: harness.SoonLost, Lease: 20 * time.Second})
			held := newGate(t)
			b.OnBeforeCommit(held.hold)
			worker := b.StartWorker(false)
			order := b.Order()
			run := b.Start("run", "PatientWorkflow", "Please refund "+order+".")
			held.await(t, b)
			id := harness.Action(order).WorkflowID()
			activityID := changeOptions(t, b, id, commit, 1, row.atOnce)
			worker.Kill()
			if row.then != nil {
				row.then(b, id, activityID)
			}
			b.StartWorker(false)
			b.AwaitReads(2) // after which a second request would come
			held.release()
			result, _ := b.Check(run, order, paid(died))
			if got := receipt(t, result); got.Commits != 1 {
				t.Errorf("receipt %+v, want 1 commit", got)
			}
		})
	}
}

// The same is done to an attempt in flight: its request may have been sent, and
// one reservation is one request.
func TestRequestIsSentOnceWhateverItsOptionsSay(t *testing.T) {
	for name, atOnce := range map[string]bool{"more attempts": false, "more attempts, at once": true} {
		t.Run(name, func(t *testing.T) {
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
			changeOptions(t, b, run.ID, onceward.ActivityCallModel, 2, atOnce)
			killLive(b)
			held.release()
			b.Check(run, order, paid(died))
		})
	}
}

// changeOptions allows the nth activity of a type, which is under way, more
// attempts, and has the next one come at once if told to.
func changeOptions(t *testing.T, b *harness.Bench, workflowID, activityType string, n int, atOnce bool) (activityID string) {
	t.Helper()
	scheduled := b.Scheduled(workflowID, activityType, n).GetActivityTaskScheduledEventAttributes()
	paths := []string{"retry_policy.maximum_attempts"}
	if atOnce {
		paths = append(paths, "retry_policy.initial_interval")
	}
	_, err := b.Client.WorkflowService().UpdateActivityOptions(b.Context(), &workflowservice.UpdateActivityOptionsRequest{
		Namespace: client.DefaultNamespace, Execution: &commonpb.WorkflowExecution{WorkflowId: workflowID}, Identity: "ops",
		Activity: &workflowservice.UpdateActivityOptionsRequest_Id{Id: scheduled.GetActivityId()},
		ActivityOptions: &activitypb.ActivityOptions{RetryPolicy: &commonpb.RetryPolicy{
			MaximumAttempts: 5, InitialInterval: durationpb.New(100 * time.Millisecond),
		}},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: paths},
	})
	if err != nil {
		t.Fatal(err)
	}
	return scheduled.GetActivityId()
}
