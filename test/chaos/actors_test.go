package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/test/harness"
)

// actor is one kind of fault. act strikes once and returns a line for the log and
// what ends the fault, nil where nothing lasts. It must not wait for the runs:
// what it waits for may wait for it.
type actor struct {
	name   string
	weight int
	own    bool // it needs a server of its own
	sealed bool // it needs a codec
	act    func(w *world, dice *rand.Rand) (did string, heal func())
}

// share is the weight of an actor in a schedule.
func (a actor) share(s schedule) int {
	switch {
	case a.own && !s.own, a.sealed && !s.sealed:
		return 0
	case a.own, a.sealed:
		return 4 * a.weight // it is what such a schedule is for
	}
	return a.weight
}

// actors are all there are. Each further fault of the edge is a line here.
var actors = []actor{
	{name: "kill a worker", weight: 4, act: killWorker},
	{name: "stop a worker", weight: 2, act: stopWorker},
	{name: "restart the server", weight: 2, own: true, act: restartServer},
	{name: "start a worker whose codec fails", weight: 2, sealed: true, act: failCodec},
	{name: "drop connections", weight: 2, act: dropLink},
	{name: "refuse connections", weight: 1, act: refuseLink},
	{name: "slow a connection down", weight: 1, act: slowLink},
	{name: "hold what is sent", weight: 1, act: holdLink},
	{name: "reset a run", weight: 2, act: resetRun},
	{name: "reset an action", weight: 1, act: resetAction},
	{name: "start another run about the same", weight: 2, act: secondRun},
	{name: "cancel a run", weight: 1, act: cancelRun},
	{name: "cancel an action", weight: 1, act: cancelAction},
	{name: "spoil a resource", weight: 5, act: spoilResource},
	{name: "lose the key of a resource", weight: 2, act: loseKey},
	{name: "answer what is not to be carried out", weight: 3, act: tellFalsehood},
	{name: "say what is not to be believed", weight: 2, act: speak},
	{name: "spoil payments", weight: 4, act: spoilPayments},
	{name: "spoil the read of payments", weight: 2, act: spoilRead},
	{name: "put a gateway before payments", weight: 4, act: spoilGateway},
}

func killWorker(w *world, dice *rand.Rand) (string, func()) {
	alive := slices.DeleteFunc(w.bench.Alive(), func(one *harness.Worker) bool { return one == w.stopped })
	if len(alive) == 0 {
		return "there is none", nil
	}
	one := alive[dice.IntN(len(alive))]
	one.Kill()
	return "killed", nil
}

func stopWorker(w *world, dice *rand.Rand) (string, func()) {
	alive := w.bench.Alive()
	if len(alive) == 0 || w.stopped != nil {
		return "there is none, or one is stopped", nil
	}
	one := alive[dice.IntN(len(alive))]
	w.stopped = one
	one.Halt()
	return "stopped", func() {
		one.Continue()
		w.stopped = nil
	}
}

func restartServer(w *world, _ *rand.Rand) (string, func()) {
	must(w.t, w.bench.Temporal.Restart())
	return "restarted", nil
}

// failCodec starts a worker whose codec fails for a while from the first payload
// on that holds a text: what a run or an action is about, or anything.
func failCodec(w *world, dice *rand.Rand) (string, func()) {
	texts := []string{"", "get_order", "create_refund", "committed", w.bench.Order()}
	fault := fmt.Sprintf("%s:%dms:%s", []string{"encode", "decode"}[dice.IntN(2)], 500+dice.IntN(3000), texts[dice.IntN(len(texts))])
	w.bench.StartWorker(false, append(w.flags(), "--codec-fault="+fault)...)
	return fault, nil
}

func anyLink(w *world, dice *rand.Rand) *harness.Link {
	links := w.bench.Links()
	return links[dice.IntN(len(links))]
}

func dropLink(w *world, dice *rand.Rand) (string, func()) {
	l := anyLink(w, dice)
	l.Drop()
	return l.Name, nil
}

func refuseLink(w *world, dice *rand.Rand) (string, func()) {
	l := anyLink(w, dice)
	l.Refuse()
	return l.Name, l.Heal
}

func slowLink(w *world, dice *rand.Rand) (string, func()) {
	l, delay := anyLink(w, dice), time.Duration(50+dice.IntN(400))*time.Millisecond
	l.Slow(delay)
	return fmt.Sprintf("%s by %s", l.Name, delay), l.Heal
}

func holdLink(w *world, dice *rand.Rand) (string, func()) {
	l := anyLink(w, dice)
	l.Hold()
	return l.Name, l.Heal
}

func anyRun(w *world, dice *rand.Rand) *run { return w.runs[dice.IntN(len(w.runs))] }

func resetRun(w *world, dice *rand.Rand) (string, func()) {
	return resetTo(w, anyRun(w, dice).ID, dice), nil
}

func resetAction(w *world, dice *rand.Rand) (string, func()) {
	return resetTo(w, anyRun(w, dice).action().WorkflowID(), dice), nil
}

// resetTo goes back to any workflow task of the newest execution. The server may
// refuse where the execution ends, or is not there yet.
func resetTo(w *world, workflowID string, dice *rand.Rand) string {
	chance := dice.Float64()
	described, err := w.bench.Client.DescribeWorkflow(w.bench.Context(), workflowID, "")
	if err != nil {
		return fmt.Sprintf("%s is not there: %v", workflowID, err)
	}
	runID := described.WorkflowExecution.RunID
	var tasks []int64
	for _, e := range w.bench.History(workflowID, runID).Events {
		if e.GetWorkflowTaskCompletedEventAttributes() != nil {
			tasks = append(tasks, e.GetEventId())
		}
	}
	if len(tasks) == 0 {
		return workflowID + " has no task yet"
	}
	at := tasks[int(chance*float64(len(tasks)))]
	_, err = w.bench.TryReset(workflowID, runID, at)
	return fmt.Sprintf("%s to event %d: %v", workflowID, at, err)
}

func secondRun(w *world, dice *rand.Rand) (string, func()) {
	r := w.begin(anyRun(w, dice).order)
	return r.ID, nil
}

func cancelRun(w *world, dice *rand.Rand) (string, func()) {
	r := anyRun(w, dice)
	r.cancelled = true
	err := w.bench.Client.CancelWorkflow(w.bench.Context(), r.ID, "")
	return fmt.Sprintf("%s: %v", r.ID, err), nil // an error: it is closed
}

func cancelAction(w *world, dice *rand.Rand) (string, func()) {
	id := anyRun(w, dice).action().WorkflowID()
	err := w.bench.Client.CancelWorkflow(w.bench.Context(), id, "")
	return fmt.Sprintf("%s: %v", id, err), nil // an error: it is closed, or not there yet
}

// status is what the receipt of an action says when nothing is left to be done.
func status(id onceward.ActionID, r onceward.ActionReceipt) string {
	return fmt.Sprintf("%s is %s (ref %q, %d commits, verified by %q, resolved by %q)", id, r.Status, r.Ref, r.Commits, r.VerifiedBy, r.ResolvedBy)
}
