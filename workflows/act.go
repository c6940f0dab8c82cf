package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

const (
	// actTimeout bounds one Act, which starts or attaches and waits about 2 s, and what
	// else asks Temporal about an action.
	actTimeout = 20 * time.Second
	// askTimeout bounds an ask with all its retries.
	askTimeout = 2 * time.Minute
)

// Act carries out the calls of a turn: reads at once and in parallel, writes one
// at a time in the model's order. Every call gets exactly one output item,
// whatever happened, and the items enter the transcript in the order of the
// calls. The returned turn has an Outcome if the run ends here.
func (r *Run) Act(ctx workflow.Context, turn onceward.Turn) (onceward.Turn, error) {
	understandCalls(turn.Calls)
	outputs := make([]onceward.Item, len(turn.Calls))
	r.update(ctx) // the turn's cost is settled, and its tools may take long
	carried := len(turn.Calls)
	if limit := r.plan.Limits.Calls; limit > 0 {
		carried = min(carried, limit)
	}
	reads := reads{run: r, turn: turn, outputs: outputs, room: r.plan.Limits.OutputBytes}
	var writes []int
	for i, call := range turn.Calls[:carried] {
		switch {
		case call.Output != nil:
			outputs[i] = *call.Output
		case call.Kind == onceward.KindRead:
			reads.waiting = append(reads.waiting, i)
		default:
			writes = append(writes, i)
		}
	}
	reads.carryOut(ctx)
	r.refuseBeyond(ctx, turn.Calls, carried, outputs)
	end := onceward.Turn{N: turn.N}
	for _, i := range writes {
		call := turn.Calls[i]
		if end.Outcome == "" {
			end.Outcome, end.Reason, end.Failure = r.stopBefore(ctx, call)
		}
		if end.Outcome != "" {
			outputs[i] = r.writeItem(ctx, call.CallID, "not_carried_out", "the run ended before this call was carried out")
			continue
		}
		outputs[i], end.Outcome, end.Reason = r.write(ctx, turn.N, call)
	}
	r.append(outputs...)
	if end.Outcome == "" && ctx.Err() != nil {
		end.Outcome, end.Reason = onceward.OutcomeCancelled, "the run was cancelled"
	}
	if end.Outcome != "" {
		return end, nil
	}
	return turn, nil
}

// answersAtOnce is how many answers one local activity writes: each of them is a
// marker in the history, and has to stay far below the size of a payload.
const answersAtOnce = 500

// refuseBeyond answers the calls that a response may not ask for any more.
func (r *Run) refuseBeyond(ctx workflow.Context, calls []onceward.Call, carried int, outputs []onceward.Item) {
	free, cancel := workflow.NewDisconnectedContext(ctx)
	for from := carried; from < len(calls); from += answersAtOnce {
		to := min(from+answersAtOnce, len(calls))
		input := onceward.WriteItemsInput{Code: "too_many_calls", Message: fmt.Sprintf("only the first %d calls of a response are carried out: ask for this again if it is still needed", carried)}
		for _, call := range calls[from:to] {
			input.CallIDs = append(input.CallIDs, call.CallID)
		}
		var items []onceward.Item
		err := workflow.ExecuteLocalActivity(local(free, "write items"), onceward.ActivityWriteItems, input).Get(free, &items)
		if err != nil || len(items) != to-from {
			panic(fmt.Sprintf("write %d items: there are %d (%v)", to-from, len(items), err)) // as in writeItem
		}
		copy(outputs[from:to], items)
		for i := from; i < to; i++ {
			if calls[i].Output != nil { // a call that is no function's has its own kind of answer
				outputs[i] = *calls[i].Output
			}
		}
	}
	cancel()
}

// stopBefore says why the run ends instead of carrying out a write.
func (r *Run) stopBefore(ctx workflow.Context, call onceward.Call) (onceward.Outcome, string, *onceward.Failure) {
	if ctx.Err() != nil {
		return onceward.OutcomeCancelled, "the run was cancelled", nil
	}
	if r.plan.Version < bounded {
		return "", "", nil
	}
	if why := r.outgrown(ctx); why != "" {
		return onceward.OutcomeFailed, why, onceward.NewFailure(onceward.ClassPayloadTooLarge, onceward.PhasePrepare, why)
	}
	known := slices.ContainsFunc(r.actions, func(a onceward.ActionReceipt) bool { return a.ActionID == call.ActionID })
	if !known && len(r.actions) >= onceward.MaxActions {
		return onceward.OutcomeBudgetExhausted, fmt.Sprintf("actions: %d of %d used", len(r.actions), onceward.MaxActions), nil
	}
	return "", "", nil
}

func (r *Run) tool(name string) onceward.ToolPlan {
	for _, tool := range r.plan.Tools {
		if tool.Name == name {
			return tool
		}
	}
	return onceward.ToolPlan{Name: name}
}

// write carries out one write through its Action and waits until there is a
// receipt. An outcome that nobody can tell stops the write: the run then waits
// for a person.
func (r *Run) write(ctx workflow.Context, turn int, call onceward.Call) (onceward.Item, onceward.Outcome, string) {
	input := onceward.ActInput{
		ActionID: call.ActionID, Agent: r.plan.Agent, Tool: call.Tool, Digest: call.Digest, Bare: call.Bare, Caller: r.plan.Caller(), Args: call.Args, CallID: call.CallID,
		Run: workflow.GetInfo(ctx).WorkflowExecution.ID, RunID: r.runID, Policy: r.tool(call.Tool).Write, Repeated: r.proposed(call.ActionID),
		Version: r.plan.Version,
	}
	receipts := workflow.GetSignalChannel(ctx, onceward.SignalReceipt)
	input.Approval = call.Approval
	var people time.Duration // waited for people on this call
	var submit time.Time     // when the wait for an effect that the product has accepted ends
	var pause patience
	for {
		input.Until = workflow.Now(ctx).Add(r.plan.Budget.PeopleDeadline - people)
		result, err := r.ask(ctx, turn, input)
		if err != nil && ctx.Err() == nil { // Temporal could not start or read the action; nothing says that it will
			result = onceward.ActResult{Pending: true, Receipt: r.known(input, cutSummary(err.Error()))}
			err = nil
		}
		if err != nil { // the run is cancelled: the action goes on without it
			if r.takeBack(ctx, input) {
				r.learn(ctx, input)
			}
			return r.writeItem(ctx, call.CallID, "not_awaited", "the run was cancelled before the receipt came"), onceward.OutcomeCancelled, "the run was cancelled"
		}
		if !result.Conflict {
			result.Receipt = r.note(result.Receipt)
		}
		if !result.Pending {
			r.resumed(ctx)
			r.withdraw(call.Tool, result)
			if result.Receipt.Status == onceward.StateAccepted && !result.Conflict && !workflow.Now(ctx).Before(r.deadline()) {
				return *result.Output, onceward.OutcomeResultDelayed, fmt.Sprintf("the deadline passed, and %s was submitted", call.ActionID)
			}
			return *result.Output, "", ""
		}
		approval := result.Receipt.Status == onceward.StateAwaitingApproval
		person := awaitsPerson(result.Receipt.Status)
		now := workflow.Now(ctx)
		left := r.deadline().Sub(now)
		if result.Receipt.Status == onceward.StateAccepted && input.Policy.Submit > 0 && !input.Submit {
			if submit.IsZero() { // half of the time left, so that the model can still tell somebody
				submit = now.Add(min(input.Policy.Submit, left/2))
			}
			if input.Submit = !now.Before(submit); input.Submit {
				continue
			}
			left = min(left, submit.Sub(now))
		}
		if person {
			left = r.plan.Budget.PeopleDeadline - people
		}
		switch {
		case approval:
			r.wait(ctx, onceward.StatusWaitingPerson, "", fmt.Sprintf("an approval of %s: %s", call.ActionID, result.Receipt.Reason))
		case person:
			r.wait(ctx, onceward.StatusWaitingPerson, onceward.OutcomeUnknown, fmt.Sprintf("a decision about %s: %s", call.ActionID, result.Receipt.Reason))
		default:
			r.wait(ctx, onceward.StatusRunning, "", fmt.Sprintf("the receipt of %s (%s)", call.ActionID, result.Receipt.Status))
		}
		waited := r.sleepOrSignal(ctx, receipts, pause.next(workflow.Now(ctx), person, result.Receipt.Run == input.Run, left), "wait for the receipt of "+string(call.ActionID))
		if person {
			people += waited
			r.use.Waited += waited
		}
		if approval && people >= r.plan.Budget.PeopleDeadline {
			if r.takeBack(ctx, input) { // decided before it was taken back: the action goes on
				continue
			}
			r.resumed(ctx)
			return r.writeStatus(ctx, call.CallID, string(onceward.GateNotDecided), fmt.Sprintf("nobody decided within %s; nothing was done", r.plan.Budget.PeopleDeadline)), "", ""
		}
		why := ""
		if person && people >= r.plan.Budget.PeopleDeadline {
			why = fmt.Sprintf("nobody decided about %s within %s", call.ActionID, r.plan.Budget.PeopleDeadline)
		} else if !person && !workflow.Now(ctx).Before(r.deadline()) {
			why = fmt.Sprintf("the deadline passed while %s was %s", call.ActionID, result.Receipt.Status)
		}
		if why != "" {
			r.learn(ctx, input)
			return r.writeItem(ctx, call.CallID, "outcome_unknown", why), onceward.OutcomeUnknown, why
		}
	}
}

// ask starts the action or attaches to it. Act is idempotent, so Temporal
// retries it, for as long that a passing fault of the service is no matter.
func (r *Run) ask(ctx workflow.Context, turn int, input onceward.ActInput) (onceward.ActResult, error) {
	options := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: actTimeout,
		// Bounded, so that an action that can never be started meets the deadline.
		ScheduleToCloseTimeout: askTimeout,
		HeartbeatTimeout:       r.plan.Heartbeat, // a worker that is lost while it waits is noticed soon
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, MaximumInterval: 10 * time.Second},
		Summary:                onceward.Summary(fmt.Sprintf("turn %d · %s · %s", turn, input.Tool, input.ActionID)),
	})
	var result onceward.ActResult
	err := workflow.ExecuteActivity(options, onceward.ActivityAct, input).Get(ctx, &result)
	return result, err
}

// sleepOrSignal waits on a durable timer that an action's signal ends early, and
// returns how long it waited.
func (r *Run) sleepOrSignal(ctx workflow.Context, receipts workflow.ReceiveChannel, d time.Duration, what string) time.Duration {
	begin := workflow.Now(ctx)
	timerCtx, cancel := workflow.WithCancel(ctx)
	timer := workflow.NewTimerWithOptions(timerCtx, d, workflow.TimerOptions{Summary: onceward.Summary(what)})
	workflow.NewSelector(ctx).
		AddFuture(timer, func(workflow.Future) {}).
		AddReceive(receipts, func(c workflow.ReceiveChannel, _ bool) { c.Receive(ctx, nil) }). // what it says is read from the action itself
		Select(ctx)
	cancel() // not deferred: deferred functions also run when the workflow is evicted
	return workflow.Now(ctx).Sub(begin)
}

// awaitsPerson reports that only a person can take the action further.
func awaitsPerson(s onceward.ActionState) bool {
	return s == onceward.StateAwaitingApproval || s == onceward.StateAwaitingOperator || s == onceward.StateUnknown || s == onceward.StateReversed
}

// note keeps the newest receipt of each action, in the order of first proposal, and
// returns it. What the product has accepted counts as made: it will be, without the
// run.
func (r *Run) note(receipt onceward.ActionReceipt) onceward.ActionReceipt {
	understandReceipt(receipt)
	if receipt.Status == onceward.StateCommitted || receipt.Status == onceward.StateAccepted {
		r.committed = true
	}
	for i, old := range r.actions {
		if old.ActionID == receipt.ActionID {
			if r.plan.Version >= bounded { // histories of the manifest before went by what was said last
				receipt = newest(old, receipt)
			}
			r.actions[i] = receipt
			return receipt
		}
	}
	r.actions = append(r.actions, receipt)
	return receipt
}

// newest is what is known of an action after one more look at it. An action whose
// worker is away answers nothing, and the service alone says no more than that it is
// open: proposed. No transition leads back there, so what was known before stays.
func newest(known, said onceward.ActionReceipt) onceward.ActionReceipt {
	if said.Status == onceward.StateProposed {
		return known
	}
	return said
}

// known returns what the ledger has of an action, for a run that cannot ask.
func (r *Run) known(input onceward.ActInput, why string) onceward.ActionReceipt {
	for _, receipt := range r.actions {
		if receipt.ActionID == input.ActionID {
			return receipt
		}
	}
	return onceward.ActionReceipt{
		ActionID: input.ActionID, Agent: input.Agent, Run: input.Run, Tool: input.Tool, Digest: input.Digest,
		Status: onceward.StateProposed, Reason: why,
	}
}

// proposed reports that the ledger holds the action: the model has asked for it
// before and was answered.
func (r *Run) proposed(id onceward.ActionID) bool {
	return slices.ContainsFunc(r.actions, func(receipt onceward.ActionReceipt) bool { return receipt.ActionID == id })
}

// withdraw takes a tool that is used once away from the model.
func (r *Run) withdraw(tool string, result onceward.ActResult) {
	used := result.Receipt.Status == onceward.StateCommitted || result.Receipt.Status == onceward.StateAccepted
	if r.tool(tool).Once && used && !result.Conflict && !slices.Contains(r.withdrawn, tool) {
		r.withdrawn = append(r.withdrawn, tool)
	}
}

// takeBack takes the ask for an approval back and waits until the gate has said so:
// what it decided before goes first, and is reported. Of a call that needs nobody, or
// that is past its approval, there is nothing to take back.
func (r *Run) takeBack(ctx workflow.Context, input onceward.ActInput) (decided bool) {
	past := func(a onceward.ActionReceipt) bool {
		return a.ActionID == input.ActionID && a.Status != onceward.StateAwaitingApproval
	}
	if !input.Approval.Needed() || slices.ContainsFunc(r.actions, past) {
		return true
	}
	free, cancel := workflow.NewDisconnectedContext(ctx)
	options := workflow.WithActivityOptions(free, workflow.ActivityOptions{
		StartToCloseTimeout: actTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, MaximumInterval: 10 * time.Second},
		Summary:             onceward.Summary("take back the ask for " + string(input.ActionID)),
	})
	var status onceward.GateStatus
	for {
		if err := workflow.ExecuteActivity(options, onceward.ActivityWithdraw, input).Get(free, &status); err == nil {
			break
		}
		_ = workflow.Sleep(free, firstAsk) // only a worker of an older release ends its retries
	}
	cancel()
	r.actions = slices.DeleteFunc(r.actions, func(a onceward.ActionReceipt) bool {
		return a.ActionID == input.ActionID && a.Status == onceward.StateAwaitingApproval
	})
	return status == onceward.GateApproved || status == onceward.GateDenied || status == onceward.GateSuperseded
}

// writeStatus writes an output that is no error.
func (r *Run) writeStatus(ctx workflow.Context, callID, status, reason string) onceward.Item {
	return r.written(ctx, onceward.WriteItemInput{CallID: callID, Status: status, Message: reason})
}

// writeItem writes an output item through a local activity, which also works in
// a cancelled run.
func (r *Run) writeItem(ctx workflow.Context, callID, code, message string) onceward.Item {
	return r.written(ctx, onceward.WriteItemInput{CallID: callID, Code: code, Message: message})
}

func (r *Run) written(ctx workflow.Context, input onceward.WriteItemInput) onceward.Item {
	free, cancel := workflow.NewDisconnectedContext(ctx)
	var item onceward.Item
	if err := workflow.ExecuteLocalActivity(local(free, "write item"), onceward.ActivityWriteItem, input).Get(free, &item); err != nil {
		panic(fmt.Sprintf("write item of %s: %v", input.CallID, err)) // fails the workflow task, not the run: a call without its output would end it at the next turn
	}
	cancel()
	return item
}
