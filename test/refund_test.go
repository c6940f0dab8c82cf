package test

import (
	"slices"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/test/harness"
)

// fault is one row: what goes wrong, and what is counted from outside when the
// run has ended. Every row is a whole run of an agent that refunds.
type fault struct {
	workflow string // "": the refund sample
	options  harness.Options
	worker   []string             // flags of the first worker
	arm      func(*harness.Bench) // before the first worker is started
	during   func(*testing.T, *harness.Bench, *harness.Run, string)
	want     harness.Want
	check    func(*testing.T, *harness.Bench, onceward.Result, []harness.History)
	// runAs and actionAs record the newest execution of each under a name.
	runAs, actionAs string
}

func (f fault) run(t *testing.T) {
	t.Parallel()
	if f.want.Deaths > 0 {
		if f.options.Heartbeat == 0 {
			f.options.Heartbeat = harness.SoonLost
		}
		if f.options.Lease == 0 {
			f.options.Lease = shortLease
		}
	}
	b := harness.New(t, f.options)
	if f.arm != nil {
		f.arm(b)
	}
	b.StartWorker(true, f.worker...)
	if f.workflow == "" {
		f.workflow = "RefundWorkflow"
	}
	order := b.Order()
	run := b.Start("run", f.workflow, "Please refund "+order+".")
	if f.during != nil {
		f.during(t, b, run, order)
	}
	result, chain := b.Check(run, order, f.want)
	if f.check != nil {
		f.check(t, b, result, chain)
	}
	recordAll(t, chain, f.runAs, f.actionAs)
}

// table runs rows by name; the name states the outcome.
func table(t *testing.T, rows map[string]fault) {
	for name, f := range rows {
		t.Run(name, f.run)
	}
}

// paid is the undisturbed end: one request to refund and one refund.
func paid(changes ...func(*harness.Want)) harness.Want {
	want := harness.Want{Outcome: onceward.OutcomeCompleted, Refunds: 1, Posts: 1, Text: "status committed"}
	for _, change := range changes {
		change(&want)
	}
	return want
}

func died(w *harness.Want)     { w.Deaths = 1 }
func twoPosts(w *harness.Want) { w.Posts = 2 }

// first calls do the first time only.
func first(do func()) func(int) {
	return func(n int) {
		if n == 1 {
			do()
		}
	}
}

func killLive(b *harness.Bench) { b.Live().Kill() }

// receipt returns the one receipt of a result.
func receipt(t *testing.T, result onceward.Result) onceward.ActionReceipt {
	t.Helper()
	if len(result.Actions) != 1 {
		t.Fatalf("the result has %d actions, want 1: %+v", len(result.Actions), result.Actions)
	}
	return result.Actions[0]
}

// expect checks what a result's one receipt rests on.
func expect(status onceward.ActionState, by onceward.VerifiedBy, commits int) func(*testing.T, *harness.Bench, onceward.Result, []harness.History) {
	return func(t *testing.T, _ *harness.Bench, result onceward.Result, _ []harness.History) {
		t.Helper()
		got := receipt(t, result)
		if got.Status != status || got.VerifiedBy != by || got.Commits != commits {
			t.Errorf("receipt %s, verified by %q, %d commits; want %s, %q, %d", got.Status, got.VerifiedBy, got.Commits, status, by, commits)
		}
	}
}

func TestWithoutAFaultEveryAttemptAndReceiptIsInHistory(t *testing.T) {
	fault{want: paid(), runAs: "refund", actionAs: "action-committed", check: func(t *testing.T, b *harness.Bench, result onceward.Result, chain []harness.History) {
		expect(onceward.StateCommitted, onceward.VerifiedByResponse, 1)(t, b, result, chain)
		attempts := b.Attempts(chain)
		if len(attempts) != 3 || b.Pool.Attempts() != 3 {
			t.Errorf("%d attempts in history and %d requests, want 3 of each", len(attempts), b.Pool.Attempts())
		}
		for i, a := range attempts {
			if a.Settled == nil || a.Settled.CostBasis != onceward.CostMeasured || a.Settled.Cost <= 0 || a.Settled.ProviderRequestID == "" {
				t.Errorf("attempt %d has no measured cost or no request id: %+v", i, a.Settled)
			}
			if a.Input.Turn != i+1 || a.Input.Attempt != 1 {
				t.Errorf("attempt %d is turn %d, attempt %d", i, a.Input.Turn, a.Input.Attempt)
			}
		}
		action := receipt(t, result)
		if action.ActionID != harness.Action(b.Order()) || action.Ref == "" || action.Run != chain[0].WorkflowID {
			t.Errorf("receipt %+v does not name the action, its ref and the run", action)
		}
		// The product sees a digest in a safe alphabet, never the action's own id.
		if keys := b.Keys(); !slices.Equal(keys, []string{action.ActionID.Key()}) || len(keys[0]) != onceward.KeyLength {
			t.Errorf("idempotency keys %q, want the one digest %q", keys, action.ActionID.Key())
		}
	}}.run(t)
}

// The moments of the failover story: the model's resource fails, and the run
// goes on elsewhere or says truthfully how it ended.
func TestResourceFails(t *testing.T) {
	at := func(turn int, f routertest.Fault) harness.Options {
		f.Match.Turn = routertest.At(turn)
		return harness.Options{Faults: []routertest.Fault{f}}
	}
	everywhere := func(status int, turn int) harness.Options { return at(turn, routertest.FailWith(status, "")) }
	table(t, map[string]fault{
		"before any byte: another resource answers":           {options: at(0, routertest.Fault{Kind: routertest.FaultReset, Times: 1}), want: paid()},
		"with a status before the first token":                {options: at(0, routertest.FailWith(503, "").For(1)), want: paid()},
		"with response.failed before the first token":         {options: at(0, routertest.Fault{Kind: routertest.FaultFailed, Code: "server_error", Times: 1}), want: paid()},
		"with an error event before the first token":          {options: at(1, routertest.Fault{Kind: routertest.FaultErrorEvent, Code: "server_error", Times: 1}), want: paid()},
		"after the first token: the half answer is discarded": {options: at(0, routertest.Fault{Kind: routertest.FaultCutEvents, AfterEvents: 5, RST: true, Times: 1}), want: paid()},
		"after a tool proposal: it is proposed again and paid once": {
			options: at(1, routertest.Fault{Kind: routertest.FaultNoTerminal, Times: 1}), want: paid()},
		"after the tool was accepted": {
			options: func() harness.Options {
				o := at(2, routertest.FailWith(500, "").For(1))
				o.Payments.Fault = payments.Fault{Kind: payments.Slow, Delay: 3 * time.Second, Times: 1}
				return o
			}(), want: paid()},
		"after a verified commit: the explanation comes from the fallback": {
			workflow: "VerifiedWorkflow", options: at(2, routertest.FailWith(503, "").For(1)), want: paid(),
			check: func(t *testing.T, b *harness.Bench, result onceward.Result, chain []harness.History) {
				expect(onceward.StateCommitted, onceward.VerifiedByRead, 1)(t, b, result, chain)
				attempts := b.Attempts(chain)
				last, proposal := attempts[len(attempts)-1], attempts[1]
				if last.Input.Route.Resource == proposal.Input.Route.Resource || proposal.Result == nil || len(proposal.Result.Calls) != 1 {
					t.Errorf("the proposal came from %s and the explanation from %s, want two resources", proposal.Input.Route.Resource, last.Input.Route.Resource)
				}
				if proposal.Result.Calls[0].ActionID != receipt(t, result).ActionID {
					t.Errorf("the receipt is of %s, the proposal was %s", receipt(t, result).ActionID, proposal.Result.Calls[0].ActionID)
				}
			}},
		"after a verified commit, and no resource is left: unavailable, with the receipt": {
			options: func() harness.Options {
				o := everywhere(401, 2)
				o.Faults = append(o.Faults, routertest.FailWith(401, "").Of(routertest.Neutrals))
				return o
			}(),
			want:  paid(func(w *harness.Want) { w.Outcome, w.Text = onceward.OutcomeUnavailable, "" }),
			check: expect(onceward.StateCommitted, onceward.VerifiedByResponse, 1)},
		"after a verified commit, and every resource refuses this run alone: failed, with the receipt": {
			options: everywhere(401, 2),
			want:    paid(func(w *harness.Want) { w.Outcome, w.Text = onceward.OutcomeFailed, "" }),
			check:   expect(onceward.StateCommitted, onceward.VerifiedByResponse, 1)},
		"for good before anything was paid: unavailable, each asked once": {
			options: everywhere(401, 0),
			want:    harness.Want{Outcome: onceward.OutcomeUnavailable},
			check: func(t *testing.T, b *harness.Bench, _ onceward.Result, _ []harness.History) {
				if n := b.Pool.Attempts(); n != 2 {
					t.Errorf("%d requests, want one at each of 2 resources", n)
				}
			}},
		"with 500 for ever: the budget ends the run": {
			options: func() harness.Options { o := everywhere(500, 2); o.Attempts = 5; return o }(),
			want:    paid(func(w *harness.Want) { w.Outcome, w.Text = onceward.OutcomeBudgetExhausted, "" })},
		"with a malformed request: one request, not one at each": {
			options: harness.Options{Resources: []string{"a", "b", "c"}, Faults: []routertest.Fault{
				routertest.FailWith(400, `{"error":{"message":"Invalid type for 'input[0]': expected an object, but got a string instead.","type":"invalid_request_error","param":"input[0]","code":"invalid_type"}}`)}},
			want: harness.Want{Outcome: onceward.OutcomeFailed},
			check: func(t *testing.T, b *harness.Bench, result onceward.Result, _ []harness.History) {
				if n := b.Pool.Attempts(); n != 1 {
					t.Errorf("%d requests, want 1", n)
				}
				if result.Failure == nil || result.Failure.Class != onceward.ClassInvalidRequest {
					t.Errorf("failure %v, want %s", result.Failure, onceward.ClassInvalidRequest)
				}
			}},
		"with 429 and a long wait: another is asked at once": {
			options: at(0, routertest.Fault{Kind: routertest.FaultStatus, Status: 429, Header: map[string]string{"Retry-After": "300"}, Times: 1}),
			want:    paid(),
			check: func(t *testing.T, b *harness.Bench, _ onceward.Result, _ []harness.History) {
				requests := b.Pool.Requests()
				if requests[0].Resource == requests[1].Resource {
					t.Errorf("both requests went to %s", requests[0].Resource)
				}
				if gap := requests[1].Time.Sub(requests[0].Time); gap >= 5*time.Minute {
					t.Errorf("the second resource was asked after %s, want at once", gap)
				}
			}},
		"one after another, each in its own way: each is asked once": {
			options: harness.Options{Resources: []string{"a", "b", "c"}, Faults: []routertest.Fault{
				{Kind: routertest.FaultStatus, Status: 402, Times: 1, Match: routertest.Match{Turn: routertest.At(1)}},
				{Kind: routertest.FaultNoOutput, Times: 1, Match: routertest.Match{Turn: routertest.At(1)}}}},
			want: paid(),
			check: func(t *testing.T, b *harness.Bench, _ onceward.Result, chain []harness.History) {
				asked := map[string]int{}
				for _, a := range b.Attempts(chain) {
					if a.Input.Turn == 2 {
						asked[a.Input.Route.Resource]++
					}
				}
				if len(asked) != 3 || asked["a"] != 1 || asked["b"] != 1 || asked["c"] != 1 {
					t.Errorf("turn 2 asked %v, want each once", asked)
				}
			}},
	})
}

// The product's side of the story: what it did and what it said differ.
func TestCommitIsUnclear(t *testing.T) {
	short := func(p payments.Config) harness.Options { return harness.Options{Lease: shortLease, Payments: p} }
	table(t, map[string]fault{
		"paid and the answer is lost: the read finds it": {
			options: harness.Options{Payments: payments.Config{Fault: payments.Fault{Kind: payments.CommitThenDrop, Times: 1}}},
			want:    paid(), check: expect(onceward.StateCommitted, onceward.VerifiedByRead, 1)},
		"lost before it was paid: the read says absent and it is sent again": {
			options: short(payments.Config{Fault: payments.Fault{Kind: payments.DropBeforeCommit, Times: 1}}),
			want:    paid(twoPosts), check: expect(onceward.StateCommitted, onceward.VerifiedByResponse, 2)},
		"answered with 500 and not paid: the same": {
			options: short(payments.Config{Fault: payments.Fault{Kind: payments.AnswerStatus, Status: 500, Times: 1}}),
			want:    paid(twoPosts), check: expect(onceward.StateCommitted, onceward.VerifiedByResponse, 2)},
		"paid long after the client gave up: the read finds it": {
			workflow: "PatientWorkflow", // its Settle leaves a slow machine the time to pay before absent means absent
			options:  short(payments.Config{Fault: payments.Fault{Kind: payments.Slow, Delay: shortLease + 500*time.Millisecond, Times: 1}}),
			want:     paid(), check: expect(onceward.StateCommitted, onceward.VerifiedByRead, 1)},
		"a read that lags and a product that deduplicates: sent again, paid once": {
			workflow: "KeyedWorkflow",
			options: short(payments.Config{
				Dedupe: true, Fault: payments.Fault{Kind: payments.CommitThenDrop, Times: 1}, ReadFault: payments.Fault{Kind: payments.Lag, Delay: time.Hour}}),
			want: paid(twoPosts), check: expect(onceward.StateCommitted, onceward.VerifiedByResponse, 2)},
		"refused by the product: rejected, and the model says so": {
			options: harness.Options{Payments: payments.Config{Fault: payments.Fault{Kind: payments.AnswerStatus, Status: 422, Times: 1}}},
			want:    harness.Want{Outcome: onceward.OutcomeCompleted, Posts: 1, Text: "rejected"},
			check:   expect(onceward.StateRejected, onceward.VerifiedByResponse, 1)},
	})
}

// A worker that loses its power, at every point at which it may.
func TestWorkerIsKilled(t *testing.T) {
	rows := map[string]fault{
		"while the commit is at the product": {arm: func(b *harness.Bench) { b.OnBeforeCommit(first(func() { killLive(b) })) }, want: paid(died)},
		"when the product has paid": {arm: func(b *harness.Bench) { b.OnAfterCommit(first(func() { killLive(b) })) }, want: paid(died),
			runAs: "refund-killed", actionAs: "action-reconciled"},
		"in the read before the commit": {arm: func(b *harness.Bench) { b.OnRead(first(func() { killLive(b) })) }, want: paid(died)},
		"when a resource has its request": {arm: func(b *harness.Bench) {
			b.Pool.OnRequest(func(r routertest.Request) {
				if r.Seq == 2 {
					killLive(b)
				}
			})
		}, want: paid(died)},
		"in the middle of a stream": {arm: func(b *harness.Bench) {
			b.Pool.OnEvent(func(r routertest.Request, e routertest.Event) {
				if r.Seq == 2 && e.N == 5 {
					killLive(b)
				}
			})
		}, want: paid(died)},
		"in the middle of the last stream": {arm: func(b *harness.Bench) {
			b.Pool.OnEvent(func(r routertest.Request, e routertest.Event) {
				if r.Seq == 3 && e.N == 5 {
					killLive(b)
				}
			})
		}, want: paid(died)},
		"before its reconciliation read": {
			options: harness.Options{Payments: payments.Config{Fault: payments.Fault{Kind: payments.CommitThenDrop, Times: 1}}},
			worker:  []string{"--kill-at=find_start"}, want: paid(died)},
	}
	for _, point := range []string{
		"before_open_marker", "before_select_marker:2", "call_start:2", "call_done:2", "read_done",
		"act_start", "act_done", "commit_start", "commit_done",
	} {
		rows["at "+point] = fault{worker: []string{"--kill-at=" + point}, want: paid(died)}
	}
	table(t, rows)
}
