package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// reads carries out the reads of one turn side by side, within the limits of the
// plan. A plan without limits starts all of them at once.
type reads struct {
	run     *Run
	turn    onceward.Turn
	outputs []onceward.Item
	waiting []int   // calls whose read is not started, in order
	flight  []*read // started and not answered, in the order of the calls
	room    int     // left of Limits.OutputBytes
}

// read is one call in flight.
type read struct {
	call     int
	future   workflow.Future
	reserved int
	begun    time.Time
	pause    time.Duration
	ended    bool // future was read, and err is what it said
	err      error
}

// carryOut answers every read of the turn. Answers may come in any order; whatever
// adds a command is done for the first call that has none yet, so that the order of
// commands rests on the calls.
func (b *reads) carryOut(ctx workflow.Context) {
	for len(b.waiting)+len(b.flight) > 0 {
		b.start(ctx)
		if len(b.flight) == 0 {
			b.giveUp(ctx)
			continue
		}
		b.await(ctx)
		b.collect(ctx)
	}
}

// start starts what fits, in the order of the calls.
func (b *reads) start(ctx workflow.Context) {
	limits := b.run.plan.Limits
	for len(b.waiting) > 0 {
		call := b.turn.Calls[b.waiting[0]]
		reserve := 0
		if limits.Calls > 0 {
			if reserve = b.run.tool(call.Tool).MaxOutput; reserve <= 0 {
				reserve = onceward.MaxOutput
			}
			if ctx.Err() != nil || len(b.flight) >= limits.ReadsInFlight || reserve > b.room {
				return
			}
		}
		b.room -= reserve
		b.flight = append(b.flight, &read{
			call: b.waiting[0], future: b.run.startRead(ctx, b.turn.N, call), reserved: reserve, begun: workflow.Now(ctx), pause: firstAsk,
		})
		b.waiting = b.waiting[1:]
	}
}

// giveUp answers the next call, which could not be started although nothing that
// is in flight could make room for it.
func (b *reads) giveUp(ctx workflow.Context) {
	i := b.waiting[0]
	b.waiting = b.waiting[1:]
	code, why := "turn_output_used", fmt.Sprintf("the reads of one response may return %d bytes together, and this one needs room for more than is left: ask for it again, alone or with less", b.run.plan.Limits.OutputBytes)
	if ctx.Err() != nil {
		code, why = "not_carried_out", "the run ended before this call was carried out"
	}
	b.outputs[i] = b.run.writeItem(ctx, b.turn.Calls[i].CallID, code, why)
}

// await waits until a read in flight says something new. A cancellation ends the
// reads themselves.
func (b *reads) await(ctx workflow.Context) {
	free, cancel := workflow.NewDisconnectedContext(ctx)
	_ = workflow.Await(free, func() bool {
		return slices.ContainsFunc(b.flight, func(one *read) bool { return !one.ended && one.future.IsReady() })
	})
	cancel()
}

// collect takes the answers that are there.
func (b *reads) collect(ctx workflow.Context) {
	for _, one := range b.flight {
		if !one.ended && one.future.IsReady() {
			one.err, one.ended = one.future.Get(ctx, &b.outputs[one.call]), true
		}
	}
	b.flight = slices.DeleteFunc(b.flight, func(one *read) bool {
		if one.ended && one.err == nil {
			b.answered(one)
			return true
		}
		return false
	})
	for len(b.flight) > 0 && b.flight[0].ended {
		one := b.flight[0]
		call := b.turn.Calls[one.call]
		if b.run.again(ctx, call, one) {
			one.future, one.ended = b.run.startRead(ctx, b.turn.N, call), false
			return
		}
		b.outputs[one.call] = b.run.writeItem(ctx, call.CallID, "tool_failed", "the tool did not answer: "+cutSummary(one.err.Error()))
		b.answered(one)
		b.flight = b.flight[1:]
	}
}

// answered gives back what a read did not need of its reservation.
func (b *reads) answered(one *read) {
	b.room += max(0, one.reserved-b.outputs[one.call].Encoded())
}

func (r *Run) startRead(ctx workflow.Context, turn int, call onceward.Call) workflow.Future {
	tool := r.tool(call.Tool)
	timeout, attempts := tool.Timeout, tool.MaxAttempts
	if timeout <= 0 {
		timeout = 30 * time.Second
	}
	if attempts <= 0 {
		attempts = 3
	}
	options := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: timeout,
		HeartbeatTimeout:    r.plan.Heartbeat,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, MaximumInterval: 10 * time.Second, MaximumAttempts: int32(attempts)},
		Summary:             onceward.Summary(fmt.Sprintf("turn %d · %s", turn, call.Tool)),
	})
	return workflow.ExecuteActivity(options, onceward.ReadActivity(r.plan.Agent, call.Tool),
		onceward.ReadInput{CallID: call.CallID, Args: call.Args, MaxAttempts: attempts, MaxOutput: tool.MaxOutput, Caller: r.plan.Caller()})
}

// again waits before a read is asked of another worker, and reports whether it is:
// one that does not have the tool, as in the middle of a deploy, says nothing about
// the order of things, while the run's time lasts.
func (r *Run) again(ctx workflow.Context, call onceward.Call, one *read) bool {
	now := workflow.Now(ctx)
	left := r.deadline().Sub(now) - one.pause
	if !notRegistered(one.err) || left <= 0 {
		return false
	}
	r.wait(ctx, onceward.StatusRunning, "", "a worker that has the tool "+call.Tool)
	if err := workflow.Sleep(ctx, min(stretched(one.pause, now.Sub(one.begun)), one.pause+left)); err != nil {
		one.err = err
		return false
	}
	one.pause = min(2*one.pause, lastAsk)
	r.resumed(ctx)
	return true
}

// notRegistered reports that a worker took an activity that it does not have.
func notRegistered(err error) bool {
	var application *temporal.ApplicationError
	return errors.As(err, &application) && application.Type() == onceward.ErrorNotRegistered
}
