package show

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/onceward/onceward"
)

const (
	open   = enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	ended  = enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	refund = onceward.ActionID("refund/order-1842/v1")
)

func build(t *testing.T, status enumspb.WorkflowExecutionStatus, histories ...*history) Report {
	t.Helper()
	in := Input{WorkflowID: "refund-1842", Status: status, Actions: map[onceward.ActionID]onceward.ActionReceipt{}}
	for _, h := range histories {
		in.Executions = append(in.Executions, h.execution())
	}
	report, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// outcomes writes turn, attempt and what became of it.
func outcomes(r Report) string {
	var out []string
	for _, a := range r.Attempts {
		out = append(out, strings.Join([]string{string(rune('0' + a.Turn)), string(rune('0' + a.Attempt)), result(a)}, " "))
	}
	return strings.Join(out, "; ")
}

// An attempt of a closed run is not in flight, also where its history has no more of
// it than that it was scheduled.
func TestAttemptInFlightWhenTheRunEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end      func(h *history, id int64)
		outcomes string
	}{
		"E32 the run is open: in flight":  {end: func(*history, int64) {}, outcomes: "1 1 in flight"},
		"E32 the run was cancelled":       {end: func(h *history, _ int64) { h.end(onceward.Result{Outcome: onceward.OutcomeCancelled}) }, outcomes: "1 1 cancelled"},
		"the run was terminated":          {end: func(h *history, _ int64) { h.event(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED) }, outcomes: "1 1 cancelled"},
		"the run ran out of its own time": {end: func(h *history, _ int64) { h.event(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT) }, outcomes: "1 1 cancelled"},
		"the attempt told how it ended": {end: func(h *history, id int64) {
			h.fail(id, "cancelled", onceward.NewFailure(onceward.ClassCancelled, onceward.PhaseStream, "cut"), settled(700))
			h.end(onceward.Result{Outcome: onceward.OutcomeCancelled})
		}, outcomes: "1 1 cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := opened(t)
			c.end(h, h.call("A", 1, 1))
			if got := outcomes(build(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, h)); got != c.outcomes {
				t.Errorf("%s, want %s", got, c.outcomes)
			}
		})
	}
}

func TestAttempts(t *testing.T) {
	t.Parallel()
	failure := onceward.NewFailure(onceward.ClassRateLimited, onceward.PhaseSent, "slow down")
	failure.HTTPStatus = 429
	for name, c := range map[string]struct {
		write    func(h *history)
		outcomes string
		used     int
		cost     onceward.MicroUSD
	}{
		"an attempt in flight is reserved": {
			write:    func(h *history) { h.call("A", 1, 1) },
			outcomes: "1 1 in flight", used: 1, cost: ceiling,
		},
		"a success is settled": {
			write:    func(h *history) { h.complete(h.call("A", 1, 1), onceward.CallResult{Settled: settled(900)}) },
			outcomes: "1 1 ok", used: 1, cost: 900,
		},
		"a failure has its class": {
			write:    func(h *history) { h.fail(h.call("A", 1, 1), "rate_limited", failure, settled(0)) },
			outcomes: "1 1 rate_limited", used: 1,
		},
		"what was not sent is given back": {
			write: func(h *history) {
				h.fail(h.call("A", 1, 1), "worker_lost", onceward.NotSentFailure(onceward.ClassWorkerLost, "stopping"), onceward.Settlement{})
				h.complete(h.call("A", 1, 2), onceward.CallResult{Settled: settled(900)})
			},
			outcomes: "1 1 worker_lost, not sent; 1 2 ok", used: 1, cost: 900,
		},
		"a lost worker costs what was reserved": {
			write: func(h *history) {
				id := h.call("A", 1, 1)
				h.timeOut(id, h.start(id), enumspb.TIMEOUT_TYPE_HEARTBEAT)
			},
			outcomes: "1 1 worker_lost", used: 1, cost: ceiling,
		},
		"an attempt nobody took is given back": {
			write:    func(h *history) { h.timeOut(h.call("A", 1, 1), 0, enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START) },
			outcomes: "1 1 worker_lost, not sent",
		},
		"a worker without the activity sent nothing": {
			write:    func(h *history) { h.fail(h.call("A", 1, 1), "ActivityNotRegisteredError") },
			outcomes: "1 1 worker_lost, not sent",
		},
		"selections that found nothing keep their numbers": {
			write: func(h *history) {
				h.complete(h.call("A", 1, 1), onceward.CallResult{Settled: settled(900)})
				h.local(onceward.ActivitySelectRoute, onceward.Decision{Dropped: []onceward.Dropped{{Resource: "east", Step: "breaker", Reason: "open"}}})
				h.local(onceward.ActivitySelectRoute, onceward.Decision{})
				h.complete(h.call("A", 2, 3), onceward.CallResult{Settled: settled(100)})
			},
			outcomes: "1 1 ok; 2 1 no_route, not sent; 2 2 no_route, not sent; 2 3 ok", used: 2, cost: 1000,
		},
		"other activities and markers are passed over": {
			write: func(h *history) {
				h.complete(h.schedule("refunds.get_order.read", map[string]string{}), map[string]string{})
				h.fail(h.schedule("refunds.get_order.read", map[string]string{}), "boom")
				h.local("mine", 1)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := opened(t)
			c.write(h)
			r := build(t, open, h)
			if outcomes(r) != c.outcomes {
				t.Errorf("got %q, want %q", outcomes(r), c.outcomes)
			}
			if r.Budget.Attempts.Used != c.used || r.Budget.CostUSD.Used != c.cost.USD() {
				t.Errorf("used %d attempts and $%f, want %d and $%f", r.Budget.Attempts.Used, r.Budget.CostUSD.Used, c.used, c.cost.USD())
			}
			if r.Status != onceward.StatusRunning || r.Outcome != nil || r.Text != nil {
				t.Errorf("status %s, outcome %v, text %v, want running and nulls", r.Status, r.Outcome, r.Text)
			}
		})
	}
}

func TestVerdictsBelongToTheAttemptAfterThem(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.fail(h.call("A", 1, 1), "permission")
	h.local(onceward.ActivitySelectRoute, onceward.Decision{Verdicts: []onceward.RouteVerdict{
		{Resource: "east", Model: "m", Judged: onceward.JudgedAcquitted}, {Resource: "west", Model: "m", Judged: onceward.JudgedConvicted, Class: onceward.ClassBilling, Reason: "no money"},
		{Resource: "north", Model: "m", Judged: onceward.JudgedSuspected},
	}})
	r := build(t, open, h)
	if n := len(r.Attempts); n != 2 || len(r.Attempts[0].Verdicts) != 0 || len(r.Attempts[1].Verdicts) != 3 {
		t.Fatalf("%d attempts: %+v", n, r.Attempts)
	}
	var said []string
	for _, v := range r.Attempts[1].Verdicts {
		said = append(said, verdict(v))
	}
	if got, want := strings.Join(said, "; "), "east/m is acquitted: its neutral request passed; west/m is convicted by its neutral request: billing (no money); north/m is suspected: its neutral request has not answered"; got != want {
		t.Error(got)
	}
}

func TestDroppedCandidatesBelongToTheAttemptAfterThem(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.fail(h.call("A", 1, 1, onceward.Dropped{Resource: "west", Step: "requirements", Reason: "region"}), "network",
		onceward.NewFailure(onceward.ClassNetwork, onceward.PhaseStream, "cut"), settled(5))
	h.call("A", 1, 2, onceward.Dropped{Resource: "east", Step: "excluded", Reason: "network"})
	r := build(t, open, h)
	for i, want := range []string{"west", "east"} {
		if d := r.Attempts[i].Dropped; len(d) != 1 || d[0].Resource != want {
			t.Errorf("attempt %d passed over %v, want %s", i+1, d, want)
		}
	}
}

func TestChains(t *testing.T) {
	t.Parallel()
	ok := onceward.CallResult{Settled: settled(100)}
	guard := onceward.NotSentFailure(onceward.ClassWorkerLost, "another run scheduled it")
	for name, c := range map[string]struct {
		histories func(t *testing.T) []*history
		outcomes  string
		used      int
	}{
		"copied attempts count once": {
			histories: func(t *testing.T) []*history {
				a := opened(t)
				a.complete(a.call("A", 1, 1), ok)
				b := a.reset("B")
				b.complete(b.call("B", 2, 1), ok)
				return []*history{a, b}
			},
			outcomes: "1 1 ok; 2 1 ok", used: 2,
		},
		"what a reset left behind still counts": {
			histories: func(t *testing.T) []*history {
				a := opened(t)
				b := a.reset("B")
				a.complete(a.call("A", 1, 1), ok)
				b.at = a.at
				b.complete(b.call("B", 1, 1), ok)
				return []*history{a, b}
			},
			outcomes: "1 1 ok; 1 1 ok", used: 2,
		},
		"an attempt in flight at a reset may have been sent, whatever the guard says of the second dispatch": {
			histories: func(t *testing.T) []*history {
				a := opened(t)
				id := a.call("A", 1, 1)
				b := a.reset("B")
				b.fail(id, "worker_lost", guard, onceward.Settlement{})
				b.complete(b.call("B", 1, 2), ok)
				return []*history{a, b}
			},
			outcomes: "1 1 worker_lost; 1 2 ok", used: 2,
		},
		"an outcome before the reset point is the attempt's own, though its execution is gone": {
			histories: func(t *testing.T) []*history {
				a := opened(t)
				a.fail(a.call("A", 1, 1), "worker_lost", guard, onceward.Settlement{})
				b := a.reset("B")
				b.complete(b.call("B", 1, 2), ok)
				return []*history{b}
			},
			outcomes: "1 1 worker_lost, not sent; 1 2 ok", used: 1,
		},
		"continue-as-new goes on counting": {
			histories: func(t *testing.T) []*history {
				a := opened(t)
				a.complete(a.call("A", 1, 1), ok)
				b := newHistory(t, "B", onceward.Start{Carry: &onceward.Carry{Version: 1, Plan: plan(), Turn: 1, Started: noon}})
				b.at = a.at
				b.local(onceward.ActivitySelectRoute, onceward.Decision{})
				b.complete(b.call("B", 2, 2), ok)
				return []*history{a, b}
			},
			outcomes: "1 1 ok; 2 1 no_route, not sent; 2 2 ok", used: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := build(t, open, c.histories(t)...)
			if outcomes(r) != c.outcomes || r.Budget.Attempts.Used != c.used {
				t.Errorf("got %q with %d used, want %q with %d", outcomes(r), r.Budget.Attempts.Used, c.outcomes, c.used)
			}
		})
	}
}

func act(h *history, receipt onceward.ActionReceipt) {
	h.complete(h.schedule(onceward.ActivityAct, onceward.ActInput{ActionID: refund, Tool: "create_refund"}), onceward.ActResult{Pending: !receipt.Status.Final(), Receipt: receipt})
}

func TestStatusOfAnOpenRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		write   func(h *history)
		live    *onceward.Status
		status  onceward.RunStatus
		outcome onceward.Outcome
	}{
		"it runs": {write: func(h *history) { h.call("A", 1, 1) }, status: onceward.StatusRunning},
		"it waits for an operator's decision": {
			write: func(h *history) {
				act(h, onceward.ActionReceipt{ActionID: refund, Status: onceward.StateAwaitingOperator})
			},
			status: onceward.StatusWaitingPerson, outcome: onceward.OutcomeUnknown,
		},
		"an action that was closed from outside needs a person": {
			write:  func(h *history) { act(h, onceward.ActionReceipt{ActionID: refund, Status: onceward.StateUnknown}) },
			status: onceward.StatusWaitingPerson, outcome: onceward.OutcomeUnknown,
		},
		"an action on its way needs nobody": {
			write:  func(h *history) { act(h, onceward.ActionReceipt{ActionID: refund, Status: onceward.StateReconciling}) },
			status: onceward.StatusRunning,
		},
		"it waits for a completion": {
			write:  func(h *history) { h.timer("1", "wait for onceward.complete") },
			status: onceward.StatusWaitingPerson, outcome: onceward.OutcomeManualCompletion,
		},
		"it waits for a resource": {
			write: func(h *history) { h.timer("1", "wait for a resource") }, status: onceward.StatusWaitingResource,
		},
		"a wait that is over is none": {
			write: func(h *history) {
				h.timer("1", "wait for a resource")
				h.add(timerFired("1"))
			},
			status: onceward.StatusRunning,
		},
		"the run's own word goes before": {
			write:  func(h *history) {},
			live:   &onceward.Status{Status: onceward.StatusWaitingPerson, Outcome: onceward.OutcomeManualCompletion},
			status: onceward.StatusWaitingPerson, outcome: onceward.OutcomeManualCompletion,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := opened(t)
			c.write(h)
			r, err := Build(Input{WorkflowID: "w", Status: open, Executions: []Execution{h.execution()}, Live: c.live})
			if err != nil {
				t.Fatal(err)
			}
			if r.Status != c.status || or(r.Outcome, "") != string(c.outcome) || r.Text != nil {
				t.Errorf("got %s, %s, want %s, %s and no text", r.Status, or(r.Outcome, "null"), c.status, c.outcome)
			}
		})
	}
}

// An action that nobody can read hides neither the run nor the actions beside it.
func TestActionsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	broken, gone := errors.New("decode its input: unknown encoding"), fmt.Errorf("read workflow x: %w", ErrNotFound)
	propose := func(h *history) { h.schedule(onceward.ActivityAct, onceward.ActInput{ActionID: refund}) }
	told := func(state onceward.ActionState) func(*history) {
		return func(h *history) { act(h, onceward.ActionReceipt{ActionID: refund, Status: state, Commits: 1}) }
	}
	for name, c := range map[string]struct {
		write  func(h *history)
		status enumspb.WorkflowExecutionStatus
		unread error
		want   onceward.ActionState
		remark string
	}{
		"unreadable":                                        {propose, open, broken, onceward.StateUnknown, "unknown encoding"},
		"unreadable, and the run knows its end":             {told(onceward.StateCommitted), open, broken, onceward.StateCommitted, ""},
		"unreadable, and the run knows a stage":             {told(onceward.StateReconciling), open, broken, onceward.StateUnknown, "unknown encoding"},
		"not there, of a run that may be about to start it": {propose, open, gone, onceward.StateProposed, ""},
		"not there, of a closed run":                        {propose, ended, gone, onceward.StateUnknown, "never started"},
		"not there any more, and the run knows its end":     {told(onceward.StateRejected), ended, gone, onceward.StateRejected, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := opened(t)
			c.write(h)
			r, err := Build(Input{WorkflowID: "w", Status: c.status, Executions: []Execution{h.execution()}, Unread: map[onceward.ActionID]error{refund: c.unread}})
			if err != nil || len(r.Actions) != 1 {
				t.Fatalf("got %d actions, %v", len(r.Actions), err)
			}
			if a := r.Actions[0]; a.Status != c.want || !strings.Contains(or(a.Remark, ""), c.remark) || (a.Remark == nil) != (c.remark == "") {
				t.Errorf("got %s, remark %q, want %s, %q", a.Status, or(a.Remark, ""), c.want, c.remark)
			}
			if r.Status == onceward.StatusWaitingPerson {
				t.Error("it is said to wait for a decision that nobody knows to be due")
			}
			var b bytes.Buffer
			if err := Print(&b, r); err != nil || !strings.Contains(b.String(), c.remark) {
				t.Errorf("printed %q, %v", b.String(), err)
			}
		})
	}
}

func TestClosedRunWithoutAResultHasNoText(t *testing.T) {
	t.Parallel()
	for status, want := range map[enumspb.WorkflowExecutionStatus]string{
		enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED: "null",
		enumspb.WORKFLOW_EXECUTION_STATUS_FAILED:     "failed",
		enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:   "cancelled",
	} {
		r := build(t, status, opened(t))
		if got := or(r.Outcome, "null"); got != want || r.Status != onceward.StatusClosed || r.Text != nil {
			t.Errorf("%s: outcome %s, status %s, text %v, want %s, closed, null", status, got, r.Status, r.Text, want)
		}
	}
}

func TestJSONWordForWord(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.complete(h.call("A", 1, 1, onceward.Dropped{Resource: "west", Step: "breaker", Reason: "open"}), onceward.CallResult{Settled: settled(900)})
	receipt := onceward.ActionReceipt{ActionID: refund, Tool: "create_refund", Status: onceward.StateCommitted, Ref: "rf-1", Commits: 1, Reconciled: 2, VerifiedBy: onceward.VerifiedByRead, Version: 7}
	act(h, receipt)
	h.end(onceward.Result{Outcome: onceward.OutcomeCompleted, Text: "done", Actions: []onceward.ActionReceipt{receipt}, Use: onceward.Use{Waited: time.Minute}})
	got, err := json.Marshal(build(t, ended, h))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"workflow_id":"refund-1842","run_id":"A","agent":"refunds","status":"closed","outcome":"completed","text":"done",` +
		`"budget":{"attempts":{"used":1,"limit":12},"cost_usd":{"used":0.0009,"limit":0.5},"deadline":"2026-11-29T12:11:01Z"},` +
		`"attempts":[{"turn":1,"attempt":1,"resource":"east","model":"gpt-5.6","deployment":"gpt-5.6-east","class":null,"phase":"settled","not_sent":false,` +
		`"http_status":200,"request_id":"req-1","duration_ms":1234,"usage":{"known":true,"input_tokens":100,"cached_tokens":0,"output_tokens":7,"reasoning_tokens":0},` +
		`"cost_usd":0.0009,"cost_basis":"measured","reasoning":"kept","dropped":[{"resource":"west","step":"breaker","reason":"open"}]}],` +
		`"actions":[{"action_id":"refund/order-1842/v1","tool":"create_refund","status":"committed","ref":"rf-1","commits":1,"reconciled":2,"verified_by":"read","resolved_by":null,"version":7}],` +
		`"history":{"events":0,"bytes":0}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestEmptyRunHasListsAndNulls(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(build(t, open, newHistory(t, "A", onceward.Ask("x"))))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"workflow_id":"refund-1842","run_id":"A","agent":null,"status":"running","outcome":null,"text":null,` +
		`"budget":{"attempts":{"used":0,"limit":null},"cost_usd":{"used":0,"limit":null},"deadline":null},"attempts":[],"actions":[],"history":{"events":0,"bytes":0}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestPrintShowsTheStoryAndNoControlCharacters(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.fail(h.call("A", 1, 1), "network", onceward.NewFailure(onceward.ClassNetwork, onceward.PhaseStream, "cut \x1b[31mred"), settled(5))
	h.complete(h.call("A", 1, 2, onceward.Dropped{Resource: "east", Step: "excluded", Reason: "network in this turn"}), onceward.CallResult{Settled: settled(900)})
	act(h, onceward.ActionReceipt{ActionID: refund, Tool: "create_refund", Status: onceward.StateCommitted, Ref: "rf-1", Commits: 1, VerifiedBy: onceward.VerifiedByRead})
	h.end(onceward.Result{Outcome: onceward.OutcomeCompleted, Text: "The refund\x07 was made."})
	var out bytes.Buffer
	if err := Print(&out, build(t, ended, h)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"refunds · closed · completed", "east/gpt-5.6", "network", "passed over east", "rf-1", "The refund was made.", "attempts 2 of 12"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if strings.ContainsAny(out.String(), "\x1b\x07") {
		t.Errorf("control characters got through: %q", out.String())
	}
}

func timerFired(id string) *historypb.HistoryEvent {
	return &historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_TIMER_FIRED, Attributes: &historypb.HistoryEvent_TimerFiredEventAttributes{
		TimerFiredEventAttributes: &historypb.TimerFiredEventAttributes{TimerId: id},
	}}
}
