package chaos

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/test/harness"
	"github.com/onceward/onceward/test/sealed"
)

// Times of a schedule. A lease is short, so that a commit that was lost is made
// again soon.
const (
	lease    = 5 * time.Second
	attempts = 60 // of a run: what is drawn must not use them up
	workers  = 2  // at once, so that runs go on while one of them is stopped
)

// world is a schedule that is being played.
type world struct {
	t        *testing.T
	schedule schedule
	bench    *harness.Bench
	signals  *board
	gateway  *gateway
	watcher  *watcher
	config   string // of every worker

	runs    []*run
	orders  int // that runs were begun about
	stopped *harness.Worker
	lasting []lasting
	cuts    bool // a resource has said that answers are cut at the output limit
	pages   bool // a resource has answered runs with a page of something else
	lost    bool // a resource has lost its key for a while
}

// run is a run of the agent.
type run struct {
	*harness.Run
	order     string
	cancelled bool
}

func (r *run) action() onceward.ActionID { return harness.Action(r.order) }

// lasting is a fault that lasts until a later step.
type lasting struct {
	until int
	heal  func()
}

func newWorld(t *testing.T, s schedule, server *harness.Temporal) *world {
	w := &world{t: t, schedule: s, signals: newBoard(), gateway: &gateway{}}
	options := harness.Options{
		Server:   server,
		Attempts: attempts, Lease: lease, Heartbeat: harness.SoonLost, Links: true, Front: w.gateway.before,
		Payments: payments.Config{Dedupe: s.agent.keyed},
	}
	if s.sealed {
		options.Converter = sealed.New(sealed.Fault{}).Converter()
	}
	w.bench = harness.New(t, options)
	w.bench.Pool.OnRequest(func(routertest.Request) { w.signals.hit(asked) })
	w.bench.Pool.OnEvent(func(routertest.Request, routertest.Event) { w.signals.hit(streamed) })
	w.bench.OnPost(func(int) { w.signals.hit(posted) })
	w.bench.OnAfterCommit(func(int) { w.signals.hit(paid) })
	w.bench.OnRead(func(int) { w.signals.hit(read) })
	// What is switched off comes back.
	w.config = w.bench.OtherConfig(func(text string) string {
		return strings.Replace(text, "retest: {first: 0s}", "retest: {first: 1s, most: 2s}", 1)
	})
	w.watcher = newWatcher(t, w.bench.Client, func() { w.signals.hit(recorded) })
	return w
}

// start starts the workers.
func (w *world) start() {
	for range workers {
		w.bench.Supervise(w.flags()...)
	}
}

// flags are those that every worker of the schedule has.
func (w *world) flags() []string {
	flags := []string{"--config=" + w.config}
	if w.schedule.sealed {
		flags = append(flags, "--seal=codec")
	}
	return flags
}

// busy sees to it that there are open runs, for a fault to meet them.
func (w *world) busy() {
	open := 0
	for _, id := range w.open() {
		if !strings.HasPrefix(id, "action/") {
			open++
		}
	}
	for ; open < w.schedule.runs; open++ {
		w.orders++
		w.begin(fmt.Sprintf("%s-%d", w.bench.Order(), w.orders))
	}
}

// ask is what a run about an order is asked.
func ask(order string) string { return "Please refund " + order + "." }

// begin starts a run about an order, be it the first about it or not.
func (w *world) begin(order string) *run {
	one := w.bench.Start(fmt.Sprint(len(w.runs)), w.schedule.agent.workflow, ask(order))
	r := &run{Run: one, order: order}
	first := true
	for _, other := range w.runs {
		first = first && other.order != order
	}
	w.runs = append(w.runs, r)
	w.watcher.add(r.ID)
	if first {
		w.watcher.add(r.action().WorkflowID())
	}
	return r
}

// await waits for a step's signal. Where nothing happens any more, because all
// has ended or a fault holds it, the step is taken all the same.
func (w *world) await(s step) {
	reached := w.signals.arm(s)
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-reached:
			return
		case <-look.C:
			if w.signals.still() {
				return
			}
		}
	}
}

// recover ends the faults that have lasted until step i.
func (w *world) recover(i int) {
	kept := w.lasting[:0]
	for _, l := range w.lasting {
		if l.until > i {
			kept = append(kept, l)
			continue
		}
		l.heal()
	}
	w.lasting = kept
}

// settle ends every fault and every process and connection that could still send
// something, and waits with new workers until all runs and actions are closed. A
// person who looks at payments decides what nobody else can.
func (w *world) settle() {
	w.recover(len(w.schedule.steps) + 100)
	w.bench.Pool.ClearFaults()
	must(w.t, w.bench.Payments.SetFault(payments.Fault{}))
	must(w.t, w.bench.Payments.SetReadFault(payments.Fault{}))
	w.gateway.set(nil)
	w.bench.Retire()
	for _, l := range w.bench.Links() {
		l.Drop()
	}
	w.bench.AwaitPaid()
	w.bench.StartWorker(false, w.flags()...)
	ctx := w.bench.Context()
	for open := w.open(); len(open) > 0; open = w.open() {
		for _, id := range open {
			if action, err := onceward.ParseActionWorkflowID(id); err == nil && id == action.WorkflowID() {
				w.decide(action)
			}
		}
		select {
		case <-ctx.Done():
			w.t.Fatalf("after %s still open: %v", harness.Patience, open)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// open are the workflows that have begun and not ended.
func (w *world) open() []string {
	var open []string
	for _, id := range w.workflows() {
		described, err := w.bench.Client.DescribeWorkflow(w.bench.Context(), id, "")
		if err == nil && described.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			open = append(open, id)
		}
	}
	return open
}

// workflows are the ids of all runs and actions, each once.
func (w *world) workflows() []string {
	var ids []string
	seen := map[string]bool{}
	for _, r := range w.runs {
		for _, id := range []string{r.ID, r.action().WorkflowID()} {
			if !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// decide is the person who resolves an action that awaits one, by what payments
// has. Nothing that was sent before is on its way any more.
func (w *world) decide(id onceward.ActionID) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	answer, err := w.bench.Client.QueryWorkflow(ctx, id.WorkflowID(), "", onceward.QueryReceipt)
	var receipt onceward.ActionReceipt
	if err != nil || answer.Get(&receipt) != nil || receipt.Status != onceward.StateAwaitingOperator {
		return // it is asked again
	}
	decision := onceward.Resolve{Status: onceward.StatusRejected, By: "chaos", Version: receipt.Version}
	if w.refunds(id) > 0 {
		decision.Status, decision.Ref = onceward.StatusCommitted, "looked-up"
	}
	handle, err := w.bench.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: id.WorkflowID(), UpdateName: onceward.UpdateResolve, Args: []any{decision}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(ctx, nil)
	}
	w.t.Logf("a person decides %s: %s (%v)", id, decision.Status, err)
}

// refunds counts what payments has paid for an action.
func (w *world) refunds(id onceward.ActionID) int {
	w.t.Helper()
	stats, err := w.bench.Payments.Stats()
	must(w.t, err)
	return stats.ByAction[string(id)]
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
