package test

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/test/harness"
)

// gateOf waits until an action's gate awaits people, and somebody waits behind it.
func gateOf(b *harness.Bench, id onceward.ActionID) onceward.Gate {
	return harness.Until(b, id.GateID(), onceward.QueryReceipt, "awaiting_approval", func(g onceward.Gate) bool {
		return g.Status == onceward.GateAwaiting && len(g.Asks) > 0
	})
}

// gateResult waits for the end of the newest gate.
func gateResult(t *testing.T, b *harness.Bench, id onceward.ActionID) onceward.Gate {
	t.Helper()
	var gate onceward.Gate
	if err := b.Client.GetWorkflow(b.Context(), id.GateID(), "").Get(b.Context(), &gate); err != nil {
		t.Fatalf("result of %s: %v", id.GateID(), err)
	}
	return gate
}

// asking starts a worker and a run of a workflow that asks about the refund of an order
// of this test alone.
func asking(t *testing.T, workflow string) (b *harness.Bench, run *harness.Run, order string, id onceward.ActionID) {
	t.Helper()
	b = harness.New(t, harness.Options{})
	b.StartWorker(false)
	order = b.Order()
	return b, askFor(b, "run", workflow, order), order, harness.Action(order)
}

// askFor starts a run that asks about the refund of an order.
func askFor(b *harness.Bench, id, workflow, order string) *harness.Run {
	return b.Start(id, workflow, "Please refund "+order+".")
}

func approve(b *harness.Bench, id onceward.ActionID, by string, version int) error {
	return b.Update(id.GateID(), onceward.UpdateApprove, onceward.Vote{By: by, Version: version}, nil)
}

func refunds(t *testing.T, b *harness.Bench) int {
	t.Helper()
	stats, err := b.Payments.Stats()
	if err != nil {
		t.Fatal(err)
	}
	return stats.Refunds
}

// hurried is the configuration with so long for people.
func hurried(b *harness.Bench, people time.Duration) string {
	return "--config=" + b.OtherConfig(func(s string) string {
		return strings.ReplaceAll(s, "people_deadline: 1h", "people_deadline: "+people.String())
	})
}

// replayGates replays every execution of an action's gate.
func replayGates(t *testing.T, b *harness.Bench, id onceward.ActionID) {
	t.Helper()
	for _, h := range b.Chain(id.GateID()) {
		if err := h.Replay(); err != nil {
			t.Error(err)
		}
	}
}

func TestNothingIsSentBeforePeopleHaveApproved(t *testing.T) {
	decided := func(gate onceward.GateStatus) func(*testing.T, *harness.Bench, *harness.Run, onceward.ActionID) {
		return func(t *testing.T, b *harness.Bench, _ *harness.Run, id onceward.ActionID) {
			if got := gateResult(t, b, id); got.Status != gate {
				t.Errorf("the gate ended as %s, want %s: %+v", got.Status, gate, got)
			}
		}
	}
	by := func(t *testing.T, b *harness.Bench, id onceward.ActionID, names ...string) {
		t.Helper()
		receipt := b.Receipt(id)
		if len(receipt.ApprovedBy) != len(names) {
			t.Fatalf("approved by %+v, want %v", receipt.ApprovedBy, names)
		}
		for i, name := range names {
			if receipt.ApprovedBy[i].By != name || receipt.ApprovedBy[i].At.IsZero() {
				t.Errorf("approved by %+v, want %v", receipt.ApprovedBy, names)
			}
		}
	}
	for name, row := range map[string]struct {
		workflow string
		people   time.Duration
		during   func(t *testing.T, b *harness.Bench, run *harness.Run, gate onceward.Gate)
		want     harness.Want
		check    func(t *testing.T, b *harness.Bench, run *harness.Run, id onceward.ActionID)
	}{
		"one person approves by update": {
			during: func(t *testing.T, b *harness.Bench, _ *harness.Run, g onceward.Gate) {
				if err := approve(b, g.ActionID, " dana ", g.Version); err != nil {
					t.Error(err)
				}
			},
			want: paid(),
			check: func(t *testing.T, b *harness.Bench, run *harness.Run, id onceward.ActionID) {
				decided(onceward.GateApproved)(t, b, run, id)
				by(t, b, id, "dana")
			}},
		"one person approves by signal": {
			during: func(t *testing.T, b *harness.Bench, _ *harness.Run, g onceward.Gate) {
				if err := b.Client.SignalWorkflow(b.Context(), g.ActionID.GateID(), "", onceward.UpdateApprove, onceward.Vote{By: "dana", Version: g.Version}); err != nil {
					t.Error(err)
				}
			},
			want: paid(), check: decided(onceward.GateApproved)},
		"a person denies, and the model hears why": {
			during: func(t *testing.T, b *harness.Bench, _ *harness.Run, g onceward.Gate) {
				if err := b.Update(g.ActionID.GateID(), onceward.UpdateDeny, onceward.Vote{By: "dana", Note: "the customer was paid in cash", Version: g.Version}, nil); err != nil {
					t.Error(err)
				}
			},
			want: harness.Want{Outcome: onceward.OutcomeCompleted, Text: "rejected"},
			check: func(t *testing.T, b *harness.Bench, run *harness.Run, id onceward.ActionID) {
				decided(onceward.GateDenied)(t, b, run, id)
				outputs := harness.Outputs(run.Transcript())
				if last := outputs[len(outputs)-1]; last.Field("status") != "rejected" || last.Field("denied_by") != "dana" || !strings.Contains(last.Field("reason"), "paid in cash") {
					t.Errorf("the model was told %s", last.Text)
				}
				b.Start("again", "AskingWorkflow", "Please refund "+strings.Split(string(id), "/")[1]+".").Result()
				if n := len(b.Chain(id.GateID())); n != 1 {
					t.Errorf("%d gates, want one: what was denied is not asked again", n)
				}
			}},
		"nobody decides in time, and the run goes on": {
			people: 2 * time.Second,
			want:   harness.Want{Outcome: onceward.OutcomeCompleted, Text: "not_decided"},
			check: func(t *testing.T, b *harness.Bench, run *harness.Run, id onceward.ActionID) {
				decided(onceward.GateNotDecided)(t, b, run, id)
				if result := run.Result(); len(result.Actions) != 0 {
					t.Errorf("the ledger holds %+v, want nothing", result.Actions)
				}
			}},
		"the run is cancelled while it waits": {
			during: func(t *testing.T, b *harness.Bench, run *harness.Run, _ onceward.Gate) {
				if err := b.Client.CancelWorkflow(b.Context(), run.ID, ""); err != nil {
					t.Error(err)
				}
			},
			want: harness.Want{Outcome: onceward.OutcomeCancelled}, check: decided(onceward.GateNotDecided)},
		"two people approve": {
			workflow: "FourEyesWorkflow",
			during: func(t *testing.T, b *harness.Bench, _ *harness.Run, g onceward.Gate) {
				if err := approve(b, g.ActionID, "dana", g.Version); err != nil {
					t.Error(err)
				}
				if err := approve(b, g.ActionID, " DANA", g.Version); err == nil || !strings.Contains(err.Error(), "has approved already") {
					t.Errorf("the same person was heard twice: %v", err)
				}
				if n := refunds(t, b); n != 0 {
					t.Errorf("%d refunds after one of two approvals", n)
				}
				if err := approve(b, g.ActionID, "eve", g.Version); err != nil {
					t.Error(err)
				}
			},
			want: paid(),
			check: func(t *testing.T, b *harness.Bench, _ *harness.Run, id onceward.ActionID) {
				by(t, b, id, "dana", "eve")
			}},
		"a vote that is not complete, or for another version, decides nothing": {
			during: func(t *testing.T, b *harness.Bench, _ *harness.Run, g onceward.Gate) {
				for _, bad := range []struct {
					update string
					vote   onceward.Vote
					says   string
				}{
					{onceward.UpdateApprove, onceward.Vote{Version: g.Version}, "by is empty"},
					{onceward.UpdateApprove, onceward.Vote{By: "dana"}, "version is missing"},
					{onceward.UpdateApprove, onceward.Vote{By: "dana", Version: g.Version - 1}, fmt.Sprintf("version %d is not the request's version, which is %d", g.Version-1, g.Version)},
					{onceward.UpdateDeny, onceward.Vote{By: "dana", Version: g.Version}, "note is empty"},
					{onceward.UpdateApprove, onceward.Vote{By: "dana", Version: g.Version, Note: strings.Repeat("x", 1001)}, "note has 1001 bytes"},
				} {
					if err := b.Update(g.ActionID.GateID(), bad.update, bad.vote, nil); err == nil || !strings.Contains(err.Error(), bad.says) {
						t.Errorf("%+v: %v, want %q", bad.vote, err, bad.says)
					}
					if err := b.Client.SignalWorkflow(b.Context(), g.ActionID.GateID(), "", bad.update, bad.vote); err != nil {
						t.Error(err)
					}
				}
				listed := harness.Until(b, g.ActionID.GateID(), onceward.QueryReceipt, "five refusals", func(g onceward.Gate) bool { return len(g.Refused) == 5 })
				if err := approve(b, g.ActionID, "dana", listed.Version); err != nil {
					t.Error(err)
				}
			},
			want: paid()},
		"the run is reset while it waits": {
			during: func(t *testing.T, b *harness.Bench, run *harness.Run, g onceward.Gate) {
				b.Reset(run.ID, b.TaskBefore(run.ID, onceward.ActivityAct, 1))
				asked := harness.Until(b, g.ActionID.GateID(), onceward.QueryReceipt, "another version", func(now onceward.Gate) bool { return now.Version != g.Version })
				if err := approve(b, g.ActionID, "dana", g.Version); err == nil || !strings.Contains(err.Error(), "is not the request's version") {
					t.Errorf("a decision about what was asked before the reset was taken: %v", err)
				}
				if err := approve(b, g.ActionID, "dana", asked.Version); err != nil {
					t.Error(err)
				}
			},
			want: func() harness.Want { w := paid(); w.Reset, w.NotSent = true, -1; return w }(), check: decided(onceward.GateApproved)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := harness.New(t, harness.Options{})
			config := "--config=" + b.Config()
			if row.people > 0 {
				config = hurried(b, row.people)
			}
			b.StartWorker(false, config)
			order := b.Order()
			id := harness.Action(order)
			run := askFor(b, "run", cmp.Or(row.workflow, "AskingWorkflow"), order)
			if row.people == 0 {
				gate := gateOf(b, id)
				if n := refunds(t, b); n != 0 {
					t.Errorf("%d refunds before anybody approved", n)
				}
				status := harness.Until(b, run.ID, onceward.QueryStatus, "waiting_person", func(s onceward.Status) bool { return s.Status == onceward.StatusWaitingPerson })
				if len(status.Actions) != 1 || status.Actions[0].Status != onceward.StateAwaitingApproval || status.Outcome != "" {
					t.Errorf("the run says %+v, want its action to await approval", status)
				}
				row.during(t, b, run, gate)
			}
			b.Check(run, order, row.want)
			if row.check != nil {
				row.check(t, b, run, id)
			}
			replayGates(t, b, id)
		})
	}
}

// Nobody waits behind a run that was terminated: its approval is refused, and told so.
func TestApprovalForARunThatIsGoneDecidesNothing(t *testing.T) {
	t.Parallel()
	b, run, order, id := asking(t, "AskingWorkflow")
	gate := gateOf(b, id)
	if err := b.Client.TerminateWorkflow(b.Context(), run.ID, "", "test"); err != nil {
		t.Fatal(err)
	}
	if err := approve(b, id, "dana", gate.Version); err == nil || !strings.Contains(err.Error(), "nobody waits") {
		t.Errorf("the approval was answered %v", err)
	}
	if got := gateResult(t, b, id); got.Status != onceward.GateNotDecided {
		t.Errorf("the gate ended as %s", got.Status)
	}
	later := askFor(b, "later", "AskingWorkflow", order)
	if err := approve(b, id, "dana", gate.Version); err == nil {
		t.Error("the approval of before opened a later gate")
	}
	if err := approve(b, id, "dana", gateOf(b, id).Version); err != nil {
		t.Error(err)
	}
	if result := later.Result(); result.Outcome != onceward.OutcomeCompleted || refunds(t, b) != 1 {
		t.Errorf("%s (%s), %d refunds", result.Outcome, result.Reason, refunds(t, b))
	}
	replayGates(t, b, id)
}

// Two runs that want the same effect ask once, and one decision makes it once.
func TestTwoRunsAskForOneEffect(t *testing.T) {
	t.Parallel()
	b, one, order, id := asking(t, "AskingWorkflow")
	two := askFor(b, "two", "AskingWorkflow", order)
	gate := harness.Until(b, id.GateID(), onceward.QueryReceipt, "two asks", func(g onceward.Gate) bool { return len(g.Asks) == 2 })
	if err := approve(b, id, "dana", gate.Version); err != nil {
		t.Fatal(err)
	}
	for _, run := range []*harness.Run{one, two} {
		if result := run.Result(); result.Outcome != onceward.OutcomeCompleted || !strings.Contains(result.Text, "rf-000001") {
			t.Errorf("%s ended as %s with %q", run.ID, result.Outcome, result.Text)
		}
	}
	if n := refunds(t, b); n != 1 {
		t.Errorf("%d refunds, want one", n)
	}
	if n := len(b.Chain(id.GateID())); n != 1 {
		t.Errorf("%d gates, want one", n)
	}
	replayGates(t, b, id)
}

// A worker that is killed at any point of an approval loses nothing of it, and makes
// nothing twice.
func TestWorkerIsKilledDuringAnApproval(t *testing.T) {
	signalled := func(b *harness.Bench, id onceward.ActionID, version int) error {
		return b.Client.SignalWorkflow(b.Context(), id.GateID(), "", onceward.UpdateApprove, onceward.Vote{By: "dana", Version: version})
	}
	for name, between := range map[string]func(t *testing.T, b *harness.Bench, id onceward.ActionID, gate onceward.Gate){
		"approved while no worker runs": func(t *testing.T, b *harness.Bench, id onceward.ActionID, gate onceward.Gate) {
			b.Live().Kill()
			if err := signalled(b, id, gate.Version); err != nil {
				t.Fatal(err)
			}
		},
		"killed as it looks for whoever waits": func(t *testing.T, b *harness.Bench, id onceward.ActionID, gate onceward.Gate) {
			if err := signalled(b, id, gate.Version); err != nil {
				t.Fatal(err)
			}
			b.Scheduled(id.GateID(), onceward.ActivityLookAround, 2)
			b.Live().Kill()
		},
		"killed as the action is started": func(t *testing.T, b *harness.Bench, id onceward.ActionID, gate onceward.Gate) {
			if err := signalled(b, id, gate.Version); err != nil {
				t.Fatal(err)
			}
			b.Event(id.GateID(), "the action's start", func(e *historypb.HistoryEvent) bool {
				return e.GetEventType() == enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED
			})
			b.Live().Kill()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, run, order, id := asking(t, "AskingWorkflow")
			between(t, b, id, gateOf(b, id))
			b.StartWorker(false)
			want := paid()
			want.NotSent, want.Deaths = -1, 1
			b.Check(run, order, want)
			replayGates(t, b, id)
		})
	}
}

// A gate that is reset to any of its tasks, with what people said applied again, makes
// no second effect.
func TestGateIsResetToEachOfItsTasks(t *testing.T) {
	t.Parallel()
	b, run, order, id := asking(t, "AskingWorkflow")
	if err := approve(b, id, "dana", gateOf(b, id).Version); err != nil {
		t.Fatal(err)
	}
	b.Check(run, order, paid())
	closed := b.History(id.GateID(), "")
	resets := 0
	for _, e := range closed.Events {
		if e.GetWorkflowTaskCompletedEventAttributes() == nil {
			continue
		}
		if _, err := b.TryReset(id.GateID(), closed.RunID, e.GetEventId()); err != nil {
			continue // the last task closed it
		}
		resets++
		// What was said is applied again, to a request of another version: then the gate
		// waits, and whoever approves anew hears that there is nothing to approve.
		open := harness.Until(b, id.GateID(), onceward.QueryReceipt, "a state that lasts", func(g onceward.Gate) bool {
			return g.Status.Final() || g.Status == onceward.GateAwaiting
		})
		for open.Status == onceward.GateAwaiting {
			err := approve(b, id, "eve", open.Version)
			if err != nil && strings.Contains(err.Error(), "is not the request's version") { // an ask that was applied again came after the look
				open = gateOf(b, id)
				continue
			}
			if err == nil || !strings.Contains(err.Error(), "exists already") && !strings.Contains(err.Error(), "superseded") {
				t.Errorf("reset to event %d the approval was answered %v", e.GetEventId(), err)
			}
			break
		}
		if got := gateResult(t, b, id); got.Status != onceward.GateSuperseded && got.Status != onceward.GateApproved {
			t.Errorf("reset to event %d the gate ended as %s", e.GetEventId(), got.Status)
		}
	}
	if resets < 3 {
		t.Errorf("%d resets, want one for each task", resets)
	}
	if n := refunds(t, b); n != 1 {
		t.Errorf("%d refunds, want one", n)
	}
}

// A four-eyes gate with one approval that is reset has none: nothing is made.
func TestResetOfAGateWithOneOfTwoApprovals(t *testing.T) {
	t.Parallel()
	b, run, order, id := asking(t, "FourEyesWorkflow")
	gate := gateOf(b, id)
	if err := approve(b, id, "dana", gate.Version); err != nil {
		t.Fatal(err)
	}
	b.Reset(id.GateID(), b.FirstTask(id.GateID()))
	again := gateOf(b, id)
	if err := approve(b, id, "eve", gate.Version); err == nil {
		t.Error("an approval of the request before the reset was taken")
	}
	if n := refunds(t, b); n != 0 || len(again.ApprovedBy) != 0 {
		t.Errorf("%d refunds, approved by %+v; want none", n, again.ApprovedBy)
	}
	for _, who := range []string{"dana", "eve"} {
		if err := approve(b, id, who, again.Version); err != nil {
			t.Error(err)
		}
	}
	b.Check(run, order, paid())
}

// An action that nobody was asked about stops before it sends, and people can release
// it.
func TestActionThatWasStartedWithoutAnApprovalWaitsForIt(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{})
	b.StartWorker(false)
	order := b.Order()
	id := harness.Action(order)
	run := b.StartRefund("template", b.Order()+"-other") // its action shows what an input looks like
	run.Result()
	var input onceward.ActionInput
	b.Input(harness.Action(b.Order()+"-other").WorkflowID(), &input)
	input.Act.ActionID, input.Act.Agent, input.Act.Run = id, "asking", ""
	input.Act.Args = []byte(`{"order_id":"` + order + `","amount_cents":` + fmt.Sprint(b.Amount(order)) + `,"reason":"by hand"}`)
	before := refunds(t, b)
	if _, err := b.Client.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{ID: id.WorkflowID(), TaskQueue: b.Queue}, onceward.WorkflowAction, input); err != nil {
		t.Fatal(err)
	}
	waiting := awaitsOperator(b, id)
	if !strings.Contains(waiting.Reason, "has to approve") || refunds(t, b) != before {
		t.Errorf("it waits because %q, after %d refunds", waiting.Reason, refunds(t, b)-before)
	}
	if err := b.Update(id.WorkflowID(), onceward.UpdateApprove, onceward.Vote{By: "dana", Version: waiting.Version - 1}, nil); err == nil {
		t.Error("an approval of another version was taken")
	}
	if out, said, err := b.Command("approve", string(id), "--by", "dana", fmt.Sprint("--version=", waiting.Version)); err != nil || !strings.Contains(out, "has to approve") {
		t.Errorf("approve: %v\n%s%s", err, out, said)
	}
	if receipt := b.Receipt(id); receipt.Status != onceward.StateCommitted || len(receipt.ApprovedBy) != 1 || refunds(t, b) != before+1 {
		t.Errorf("%+v after %d refunds", receipt, refunds(t, b)-before)
	}
}

// Whatever is told of an approval that comes at the very deadline is what was done.
func TestApprovalsAroundTheDeadline(t *testing.T) {
	t.Parallel()
	const runs = 100
	b := harness.New(t, harness.Options{})
	b.StartWorker(false, hurried(b, 5*time.Second))
	var all sync.WaitGroup
	var mu sync.Mutex
	tally := map[string]int{}
	places := make(chan struct{}, 25)
	for i := range runs {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			order := fmt.Sprintf("%s-%d", b.Order(), i)
			id := harness.Action(order)
			run := askFor(b, fmt.Sprint("run-", i), "AskingWorkflow", order)
			gate := harness.Until(b, id.GateID(), onceward.QueryReceipt, "a gate", func(g onceward.Gate) bool { return g.Status.Final() || len(g.Asks) > 0 })
			timer := time.NewTimer(time.Until(gate.Until) + time.Duration(i%17-8)*10*time.Millisecond)
			<-timer.C
			err := approve(b, id, "dana", gate.Version)
			result := run.Result()
			if result.Outcome != onceward.OutcomeCompleted {
				t.Errorf("%s ended as %s (%s)", run.ID, result.Outcome, result.Reason)
			}
			outputs := harness.Outputs(run.Transcript())
			status := outputs[len(outputs)-1].Field("status")
			if told := err == nil; told != (status == "committed") {
				t.Errorf("%s: the person heard %v, the model %s", run.ID, err, status)
			}
			mu.Lock()
			tally[status]++
			mu.Unlock()
		})
	}
	all.Wait()
	t.Logf("%v", tally)
	if tally["committed"]+tally["not_decided"] != runs || refunds(t, b) != tally["committed"] {
		t.Errorf("%v with %d refunds, want %d told as they were done", tally, refunds(t, b), runs)
	}
}
