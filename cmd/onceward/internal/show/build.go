package show

import (
	"errors"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/onceward/onceward"
)

// Summaries of the timers on which a run waits. History tells by them what an
// open run waits for when no worker can be asked.
const (
	timerComplete = "wait for " + onceward.UpdateComplete
	timerResource = "wait for a resource"
)

// Input is all that Build needs.
type Input struct {
	WorkflowID string
	Status     enumspb.WorkflowExecutionStatus // of the newest execution
	History    History
	Executions []Execution // of the whole chain, the newest last; at least one
	// Actions are the receipts of the Actions' own workflows. An action that is
	// missing is reported as the run itself knows it.
	Actions map[onceward.ActionID]onceward.ActionReceipt
	Unread  map[onceward.ActionID]error // why those of the others could not be read
	// Undecided are proposals that nobody approved in time: they have no action.
	Undecided []onceward.ActionID
	Live      *onceward.Status // the run's own answer, if a worker gave one
}

// Build makes the report. Its error names the execution and the event that
// cannot be read. It is a pure function.
func Build(in Input) (Report, error) {
	c, err := fold(in.Executions)
	if err != nil {
		return Report{}, err
	}
	report := Report{
		WorkflowID: in.WorkflowID, RunID: in.Executions[len(in.Executions)-1].RunID,
		Attempts: []Attempt{}, Actions: []Action{}, History: in.History, closed: c.closed,
	}
	for _, entry := range c.ordered() {
		report.Attempts = append(report.Attempts, entry.Attempt)
	}
	for _, id := range c.actions {
		if !slices.Contains(in.Undecided, id) {
			report.Actions = append(report.Actions, c.action(id, in))
		}
	}
	report.spend(c, in.Live)
	report.state(c, in)
	return report, nil
}

// action reports one entry of the ledger: as the Action says, else as the run
// knows it. What neither knows is said to be unknown, unless the run may be about
// to start it.
func (c *chain) action(id onceward.ActionID, in Input) Action {
	if receipt, ok := in.Actions[id]; ok {
		return ActionOf(receipt)
	}
	receipt, known := c.receipts[id]
	unread, missing := in.Unread[id], errors.Is(in.Unread[id], ErrNotFound)
	switch {
	case known && (unread == nil || receipt.Status.Final()):
		return ActionOf(receipt)
	case unread == nil, !known && missing && in.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		return ActionOf(onceward.ActionReceipt{ActionID: id, Status: onceward.StateProposed})
	}
	why := "its workflow could not be read: " + OneLine(unread.Error())
	if missing {
		why = "its workflow is not there: it was never started, or is past its retention"
	}
	receipt.ActionID, receipt.Status, receipt.Reason = id, onceward.StateUnknown, why
	action := ActionOf(receipt)
	action.Remark = &why
	return action
}

// Used counts the attempts that were reserved and not given back, and adds up what
// they cost in US dollars, those in flight at their ceiling.
func Used(attempts []Attempt) (count int, usd float64) {
	var cost onceward.MicroUSD
	for _, a := range attempts {
		if a.Resource != nil && !a.NotSent {
			count++
		}
		cost += onceward.FromUSD(a.CostUSD)
	}
	return count, cost.USD()
}

// spend sums up over the whole chain: a reset takes nothing back that was sent.
func (r *Report) spend(c *chain, live *onceward.Status) {
	r.Budget.Attempts.Used, r.Budget.CostUSD.Used = Used(r.Attempts)
	if c.plan == nil {
		return
	}
	r.Agent = text(c.plan.Agent)
	limit, usd := c.plan.Budget.Attempts, c.plan.Budget.Cost.USD()
	r.Budget.Attempts.Limit, r.Budget.CostUSD.Limit = &limit, &usd
	deadline := c.started.Add(c.plan.Budget.Deadline + c.waited).UTC().Format(time.RFC3339)
	if live != nil && live.Deadline != "" {
		deadline = live.Deadline // knows of waits that are not over
	}
	r.Budget.Deadline = &deadline
}

// ClosedOutcome is the outcome of a run that was closed without a result, nil if
// that has none.
func ClosedOutcome(status enumspb.WorkflowExecutionStatus) *onceward.Outcome {
	switch status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return text(onceward.OutcomeCancelled)
	case enumspb.WORKFLOW_EXECUTION_STATUS_FAILED:
		return text(onceward.OutcomeFailed)
	default:
		return nil
	}
}

func (r *Report) state(c *chain, in Input) {
	switch {
	case c.result != nil:
		r.CompletedBy, r.Note, r.Refused, r.More = text(c.result.CompletedBy), text(c.result.Note), c.result.Refused, c.result.More
	case in.Live != nil:
		r.Refused, r.More = in.Live.Refused, in.Live.More
	default:
		r.Refused, r.More = c.refused, c.more
	}
	r.Refused = c.again.refused(r.Refused)
	if in.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		r.Status = onceward.StatusClosed
		r.Outcome = ClosedOutcome(in.Status)
		if c.result != nil {
			r.Outcome, r.Text = text(c.result.Outcome), &c.result.Text
		}
		return
	}
	r.Status = onceward.StatusRunning
	for _, a := range r.Actions {
		if a.Status == onceward.StateAwaitingApproval {
			r.Status, r.waiting = onceward.StatusWaitingPerson, "an approval: onceward approve "+string(a.ActionID)
		}
		if a.Status == onceward.StateAwaitingOperator || a.Status == onceward.StateReversed || a.Status == onceward.StateUnknown && a.Remark == nil {
			r.Status, r.Outcome = onceward.StatusWaitingPerson, text(onceward.OutcomeUnknown)
			r.waiting = "a decision about " + string(a.ActionID) + ": onceward resolve " + string(a.ActionID)
		}
	}
	for _, timer := range c.timers {
		switch {
		case strings.HasPrefix(timer, timerComplete):
			r.Status, r.Outcome = onceward.StatusWaitingPerson, text(onceward.OutcomeManualCompletion)
			r.waiting = "a person to complete it: onceward complete " + r.WorkflowID
		case strings.HasPrefix(timer, timerResource) && r.Status == onceward.StatusRunning:
			r.Status = onceward.StatusWaitingResource
		}
	}
	if in.Live != nil && in.Live.Status != "" {
		r.Status, r.Outcome, r.waiting = in.Live.Status, text(in.Live.Outcome), in.Live.Waiting
	}
}
