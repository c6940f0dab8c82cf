package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
)

// openAction is an action without a final receipt, as list --actions prints it.
type openAction struct {
	show.Action
	Reason   *string   `json:"reason"`    // what the state rests on
	WaitsFor *string   `json:"waits_for"` // person | product | worker; null: it cannot be read
	Since    time.Time `json:"since"`     // when it came to its state; where no worker says so, when it was closed or started
	Run      *string   `json:"run"`       // that proposed it first; it may have ended
}

// listActions finds the actions that have no final receipt, those that wait for a
// person first. Whether their runs are still open does not matter: an effect that
// was reversed after its run would otherwise be in no list.
func listActions(ctx context.Context, c client.Client, namespace string, most int) ([]openAction, error) {
	// What is open comes first. What was closed from outside has no receipt either,
	// unless a later execution of its id has.
	answer, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: int32(most), Query: fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus != 'Completed'", onceward.WorkflowAction),
	})
	if err != nil {
		return nil, fmt.Errorf("list actions of namespace %s: %w", namespace, err)
	}
	var ids []onceward.ActionID
	begun := map[onceward.ActionID]time.Time{}
	for _, x := range answer.GetExecutions() {
		id, err := onceward.ParseActionWorkflowID(x.GetExecution().GetWorkflowId())
		if err == nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
			if begun[id] = x.GetStartTime().AsTime(); x.GetCloseTime() != nil {
				begun[id] = x.GetCloseTime().AsTime()
			}
		}
	}
	found := []openAction{}
	err = show.EachAction(ctx, c, ids, func(id onceward.ActionID, r onceward.ActionReceipt, err error) error {
		switch {
		case errors.Is(err, show.ErrNoCodec):
			return err
		case errors.Is(err, show.ErrNotFound) || err == nil && r.Status.Final(): // gone or decided meanwhile
		default:
			found = append(found, openActionOf(id, r, begun[id], err))
		}
		return nil
	})
	slices.SortStableFunc(found, func(a, b openAction) int { return urgency(a) - urgency(b) })
	return found, err
}

func openActionOf(id onceward.ActionID, r onceward.ActionReceipt, since time.Time, unread error) openAction {
	if unread != nil { // one that cannot be read hides no other
		why := "it cannot be read: " + show.OneLine(unread.Error())
		a := openAction{Action: show.ActionOf(onceward.ActionReceipt{ActionID: id, Status: onceward.StateUnknown}), Reason: &why, Since: since}
		a.Remark = &why
		return a
	}
	a := openAction{Action: show.ActionOf(r), Since: since}
	a.Reason, a.Run, a.WaitsFor = orNull(r.Reason), orNull(r.Run), orNull(waitsFor(r.Status))
	if !r.At.IsZero() {
		a.Since = r.At
	}
	return a
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// waitsFor says who has to do something before the action has a receipt.
func waitsFor(state onceward.ActionState) string {
	switch state {
	case onceward.StateAwaitingApproval, onceward.StateAwaitingOperator, onceward.StateReversed, onceward.StateUnknown:
		return "person"
	case onceward.StateAccepted:
		return "product"
	case onceward.StateProposed, onceward.StateCommitting, onceward.StateReconciling:
		return "worker"
	case onceward.StateCommitted, onceward.StateRejected:
	}
	return ""
}

func urgency(a openAction) int {
	if a.WaitsFor != nil && *a.WaitsFor == "person" {
		return 0
	}
	return 1
}

func printOpenActions(w io.Writer, actions []openAction, asJSON bool) error {
	if asJSON {
		return printJSON(w, actions)
	}
	t := show.NewTable("action", "tool", "status", "since", "waits for", "run")
	var notes []string
	for _, a := range actions {
		run := "-"
		if a.Run != nil {
			run = shortID(*a.Run)
		}
		t.AppendRow(table.Row{a.ActionID, orDashText(a.Tool), a.Status, localTime(a.Since), orDash(a.WaitsFor, "%s"), run})
		if a.Reason != nil {
			notes = append(notes, fmt.Sprintf("  %s: %s\n", show.OneLine(string(a.ActionID)), show.OneLine(*a.Reason)))
		}
	}
	_, err := io.WriteString(w, show.Render(t)+"\n"+strings.Join(notes, ""))
	return err
}
