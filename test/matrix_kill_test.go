package test

import (
	"fmt"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/test/harness"
)

// deaths is how many workers each row of the matrix loses, one after another.
const deaths = 3

// shortLease keeps a row short that has to wait for the end of its leases.
const shortLease = 5 * time.Second

// refundEach is a model that refunds the orders one by one, a turn each.
func refundEach(b *harness.Bench, orders []string) routertest.Model {
	var m routertest.Model
	for i, order := range orders {
		m.Rules = append(m.Rules, routertest.Rule{When: routertest.Match{Turn: routertest.At(i)}, Reply: []routertest.Out{
			routertest.CallTool("create_refund", map[string]any{"order_id": order, "amount_cents": b.Amount(order), "reason": "Because."})}})
	}
	m.Rules = append(m.Rules, routertest.Rule{Reply: []routertest.Out{routertest.Say("all done")}})
	return m
}

// orders are so many orders of one test.
func orders(b *harness.Bench, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%s-%d", b.Order(), i))
	}
	return out
}

// upTo calls do the first three times.
func upTo(do func()) func(int) {
	return func(n int) {
		if n <= deaths {
			do()
		}
	}
}

// Three workers in a row lose their power at the same place, in the middle of
// another turn each time: a worker gets past what killed the one before it and
// dies at the next. The run makes as many refunds as that takes.
func TestWorkersAreKilledThreeTimesAtOnePoint(t *testing.T) {
	rows := map[string]struct {
		options harness.Options
		flag    string
		arm     func(*harness.Bench)
		refunds int // 0: one more than deaths
		lost    int // requests to refund that payments loses
	}{
		"before SelectRoute's marker": {flag: "before_select_marker:2"},
		"when a resource has the request": {arm: func(b *harness.Bench) {
			b.Pool.OnRequest(func(r routertest.Request) {
				if r.Seq%2 == 1 && r.Seq < 2*deaths {
					killLive(b)
				}
			})
		}},
		"in the middle of a stream": {arm: func(b *harness.Bench) {
			b.Pool.OnEvent(func(r routertest.Request, e routertest.Event) {
				if r.Seq%2 == 1 && r.Seq < 2*deaths && e.N == 4 {
					killLive(b)
				}
			})
		}},
		"with a whole response that is not recorded": {flag: "call_done:2"},
		"when Act is called":                         {flag: "act_start:2"},
		"with a receipt that is not recorded":        {flag: "act_done:2"},
		"before the read of the commit":              {flag: "commit_start:2"},
		"in the read before the commit, and in the reads after it": {arm: func(b *harness.Bench) {
			b.OnRead(upTo(func() { killLive(b) }))
		}},
		"when payments has the request":               {arm: func(b *harness.Bench) { b.OnBeforeCommit(upTo(func() { killLive(b) })) }},
		"when payments has paid":                      {arm: func(b *harness.Bench) { b.OnAfterCommit(upTo(func() { killLive(b) })) }},
		"with a commit's answer that is not recorded": {flag: "commit_done:2", refunds: 2 * deaths},
		"before a reconciliation": {
			flag:    "find_start:2",
			options: harness.Options{Payments: payments.Config{Fault: payments.Fault{Kind: payments.CommitThenDrop}}}},
		"with a reconciliation that is not recorded": {
			flag:    "find_done:2",
			options: harness.Options{Payments: payments.Config{Fault: payments.Fault{Kind: payments.CommitThenDrop}}}},
		"when payments has the request and loses it": {
			arm:     func(b *harness.Bench) { b.OnPost(upTo(func() { killLive(b) })) },
			options: harness.Options{Payments: payments.Config{Fault: payments.Fault{Kind: payments.DropBeforeCommit, Times: deaths}}},
			lost:    deaths},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row.options.Lease, row.options.Heartbeat = shortLease, harness.SoonLost
			if row.refunds == 0 {
				row.refunds = deaths + 1
			}
			b := harness.New(t, row.options)
			list := orders(b, row.refunds)
			if err := b.Pool.SetModel("", refundEach(b, list)); err != nil {
				t.Fatal(err)
			}
			var flags []string
			if row.flag != "" {
				flags = []string{"--kill-at=" + row.flag}
			}
			if row.arm != nil {
				row.arm(b)
			}
			b.StartMortals(deaths, flags...)
			run := b.Start("run", "RefundWorkflow", "Please refund all of them.")
			result, _ := b.Check(run, list[0], harness.Want{
				Outcome: onceward.OutcomeCompleted, Text: "all done", Orders: list, Refunds: row.refunds, Posts: row.refunds + row.lost, Deaths: deaths,
			})
			if len(result.Actions) != row.refunds {
				t.Errorf("%d actions in the result, want %d", len(result.Actions), row.refunds)
			}
			for _, action := range result.Actions {
				if action.Status != onceward.StateCommitted || action.Ref == "" {
					t.Errorf("receipt %+v, want committed with its ref", action)
				}
			}
		})
	}
}

// The same faults meet the other kinds of writes.
func TestEachKindOfWriteMeetsALostWorkerAndALaggingRead(t *testing.T) {
	rejected := func(t *testing.T, b *harness.Bench, run *harness.Run, order string) {
		t.Helper()
		waiting := awaitsOperator(b, harness.Action(order))
		resolve(t, b, harness.Action(order), onceward.Resolve{Status: onceward.StatusRejected, By: "ops", Version: waiting.Version})
	}
	lost := payments.Fault{Kind: payments.CommitThenDrop, Times: 1}
	lags := payments.Fault{Kind: payments.Lag, Delay: time.Hour}
	killed := func(b *harness.Bench) { b.OnAfterCommit(first(func() { killLive(b) })) }
	options := func(p payments.Config) harness.Options { return harness.Options{Lease: shortLease, Payments: p} }
	table(t, map[string]fault{
		"keyed, killed before it is sent: paid once": {workflow: "KeyedWorkflow", options: options(payments.Config{Dedupe: true}),
			worker: []string{"--kill-at=commit_start"}, want: paid(died)},
		"keyed, killed when it is paid: the read finds it": {workflow: "KeyedWorkflow", options: options(payments.Config{Dedupe: true}),
			arm: killed, want: paid(died), check: expect(onceward.StateCommitted, onceward.VerifiedByRead, 1)},
		"neither, killed before it may have been sent: a person decides": {workflow: "UnsettledWorkflow", options: options(payments.Config{}),
			worker: []string{"--kill-at=commit_start"}, during: rejected,
			want: harness.Want{Outcome: onceward.OutcomeCompleted, Deaths: 1, Text: "rejected"}},
		"neither, killed when it is paid: the read finds it": {workflow: "UnsettledWorkflow", options: options(payments.Config{}),
			arm: killed, want: paid(died), check: expect(onceward.StateCommitted, onceward.VerifiedByRead, 1)},
		"neither, and a read that lags: a person decides, and decides wrongly": {workflow: "UnsettledWorkflow", options: options(payments.Config{Fault: lost, ReadFault: lags}),
			during: rejected, want: harness.Want{Outcome: onceward.OutcomeCompleted, Refunds: 1, Posts: 1, Text: "rejected"}},
		// The residual: Settle says less than the truth.
		"settle, and a read that lags longer: paid twice": {options: options(payments.Config{Fault: lost, ReadFault: lags}),
			want: paid(twoPosts, func(w *harness.Want) { w.Refunds = 2 })},
	})
}
