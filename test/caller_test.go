package test

import (
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/test/harness"
)

func outputOf(t *testing.T, run *harness.Run) harness.Output {
	t.Helper()
	if result := run.Result(); result.Outcome != onceward.OutcomeCompleted {
		t.Fatalf("%s ended as %s (%s, %v)", run.ID, result.Outcome, result.Reason, result.Failure)
	}
	outputs := harness.Outputs(run.Transcript())
	return outputs[len(outputs)-1]
}

// Tools know for whom they work, and what one tenant has done under an id that
// forgets the tenant is not told to another.
func TestTenantsAreKeptApart(t *testing.T) {
	t.Parallel()
	model := calls(raw("whoami", `{}`), raw("shared", `{"title":"one"}`))
	b := harness.New(t, harness.Options{Model: &model})
	b.StartWorker(false)
	start := func(id, tenant, user string) *harness.Run {
		in := onceward.Ask("Serve.")
		in.Tenant, in.User = tenant, user
		return b.StartWith(id, "ServingWorkflow", in)
	}
	acme := start("acme", "acme-tenant", "ann")
	const ref = "acme-tenant|ann|0001-01-01T00:00:00Z"
	if out := outputOf(t, acme); out.Field("status") != "committed" || out.Field("ref") != ref {
		t.Errorf("the first tenant was told %s", out.Text)
	}
	if outputs := harness.Outputs(acme.Transcript()); outputs[0].Text != ref+" known=true" {
		t.Errorf("the read was told %s", outputs[0].Text)
	}
	again := start("again", "acme-tenant", "bob")
	if out := outputOf(t, again); out.Field("status") != "already_committed" || out.Field("ref") != ref {
		t.Errorf("the same tenant was told %s", out.Text)
	}
	for _, other := range []*harness.Run{start("beta", "beta-tenant", "ann"), start("nobody", "", "")} {
		if out := outputOf(t, other); out.Field("status") != "action_conflict" || out.Field("ref") != "" {
			t.Errorf("another tenant was told %s", out.Text)
		}
		for _, h := range other.Chain() {
			if h.Holds("acme") {
				t.Errorf("the history of %s holds something of the first tenant's", other.ID)
			}
			if err := h.Replay(); err != nil {
				t.Error(err)
			}
		}
	}
	if receipt := b.Receipt("shared/one"); receipt.Tenant != "acme-tenant" || receipt.Commits != 1 {
		t.Errorf("the action's receipt is %+v", receipt)
	}
}

// A run that a schedule started is about the schedule's time, which a backfill and a
// reset keep; one without a time makes nothing that needs it.
func TestSlotOfARun(t *testing.T) {
	t.Parallel()
	model := calls(raw("daily", `{"title":"report"}`))
	b := harness.New(t, harness.Options{Model: &model})
	b.StartWorker(false)

	in := onceward.Ask("Serve.")
	in.Tenant = b.Queue
	if out := outputOf(t, b.StartWith("none", "ServingWorkflow", in)); out.Field("error") != "invalid_arguments" {
		t.Errorf("without a slot the model was told %s", out.Text)
	}
	in.Slot = time.Date(2026, 3, 4, 1, 0, 0, 0, time.FixedZone("", 2*3600))
	named := b.StartWith("named", "ServingWorkflow", in)
	if out := outputOf(t, named); out.Field("ref") != b.Queue+"||2026-03-03T23:00:00Z" {
		t.Errorf("with a slot the model was told %s", out.Text)
	}
	b.Reset(named.ID, b.FirstTask(named.ID))
	if out := outputOf(t, named); out.Field("ref") != b.Queue+"||2026-03-03T23:00:00Z" {
		t.Errorf("after a reset the model was told %s", out.Text)
	}

	in.Slot = time.Time{}
	schedule, err := b.Client.ScheduleClient().Create(b.Context(), client.ScheduleOptions{
		ID: b.Queue, Paused: true, Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL,
		Spec:   client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: 24 * time.Hour}}},
		Action: &client.ScheduleWorkflowAction{ID: b.Queue + "/scheduled", TaskQueue: b.Queue, Workflow: "ServingWorkflow", Args: []any{in}},
	})
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)
	if err := schedule.Backfill(b.Context(), client.ScheduleBackfillOptions{Backfill: []client.ScheduleBackfill{
		{Start: day.Add(-time.Minute), End: day.Add(time.Minute), Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL},
	}}); err != nil {
		t.Fatal(err)
	}
	id := onceward.ActionID("daily/" + b.Queue + "/2026-01-15/report")
	b.Event(id.WorkflowID(), "an action about the day of the backfill", func(e *historypb.HistoryEvent) bool { return true })
	if receipt := b.Receipt(id); !strings.HasSuffix(receipt.Ref, "|2026-01-15T00:00:00Z") {
		t.Errorf("the receipt of the backfill's run is %+v", receipt)
	}
}
