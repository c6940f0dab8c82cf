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
	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
)

// maxListed is what one page of Temporal's visibility holds.
const maxListed = 1000

// listed is one run as list prints it. What the namespace has no search
// attributes for is null.
type listed struct {
	WorkflowID     string              `json:"workflow_id"`
	RunID          string              `json:"run_id"`
	Agent          *string             `json:"agent"`
	Status         onceward.RunStatus  `json:"status"`
	Outcome        *string             `json:"outcome"`
	Attempts       *int64              `json:"attempts"`
	CostUSD        *float64            `json:"cost_usd"`
	PendingActions []onceward.ActionID `json:"pending_actions"`
	Started        time.Time           `json:"started"`
}

func listCommand(o *options) *cobra.Command {
	var asJSON, actions bool
	var status string
	var most int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List runs, newest first, or open actions",
		Long: `List runs, newest first. With the search attributes of onceward setup these are the
runs of agents with what they wait for; without them every workflow that is no action,
approval or pool, open or closed. The table shortens long workflow ids; --json has
them whole. Attempts and cost are those that show has, over all resets and
continuations, with attempts in flight at their ceiling; of an execution that a reset
left behind they are what it knew itself. The pending actions of a closed run are those
of its end.

--actions lists the actions that have no final receipt instead, those that wait for a
person first, whether their runs are open or not. It needs no search attributes.`,
		Example: "  onceward list\n  onceward list --status waiting_person --json\n  onceward list --actions",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if most < 1 || most > maxListed {
				return usagef("--limit is %d, want 1 to %d", most, maxListed)
			}
			if !knownStatus(status) {
				return usagef("--status is %q, want running, waiting_person, waiting_resource or closed", status)
			}
			if actions && status != "" {
				return usagef("--status is of runs, and --actions lists actions: give one of them")
			}
			c, t, err := o.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			if actions {
				found, err := listActions(cmd.Context(), c, t.Namespace, most)
				if err != nil {
					return err
				}
				return printOpenActions(cmd.OutOrStdout(), found, asJSON)
			}
			runs, known, err := list(cmd.Context(), c, t.Namespace, onceward.RunStatus(status), most)
			if err != nil {
				return err
			}
			if !known { // on stderr, so that --json stays JSON
				fmt.Fprintf(cmd.ErrOrStderr(), "onceward: namespace %s has no search attributes of runs, so agent, outcome, attempts and cost are missing: `onceward setup` registers them\n", t.Namespace)
			}
			if known {
				sayUnlisted(cmd.Context(), c, cmd.ErrOrStderr())
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), runs)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), listTable(runs))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&actions, "actions", false, "list actions without a final receipt instead of runs")
	cmd.Flags().StringVar(&status, "status", "", "only running, waiting_person, waiting_resource or closed")
	cmd.Flags().IntVar(&most, "limit", 50, "how many, at most 1000")
	return cmd
}

// sayUnlisted counts what is open and carries no attributes of runs: a run that was
// opened while the namespace had none is in no list.
func sayUnlisted(ctx context.Context, c client.Client, out io.Writer) {
	answer, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: fmt.Sprintf(
		"%s IS NULL AND ExecutionStatus = 'Running' AND WorkflowType != '%s' AND WorkflowType != '%s' AND WorkflowType != '%s'",
		onceward.AttributeAgent, onceward.WorkflowAction, onceward.WorkflowPool, onceward.WorkflowApproval)})
	switch n := answer.GetCount(); {
	case err != nil: // the list itself is right as far as it goes
		fmt.Fprintf(out, "onceward: whether open runs are missing here cannot be told: %v\n", err)
	case n > 0:
		fmt.Fprintf(out, "onceward: %d open workflows have no search attributes and are not listed: other programs' workflows, and runs that were opened before the namespace had them, which set them with their next attempt\n", n)
	}
}

func knownStatus(s string) bool {
	switch onceward.RunStatus(s) {
	case "", onceward.StatusRunning, onceward.StatusWaitingPerson, onceward.StatusWaitingResource, onceward.StatusClosed:
		return true
	default:
		return false
	}
}

// list asks for the newest runs. known reports whether the namespace has the
// search attributes of runs; without them everything that is no action, approval or
// pool is listed.
func list(ctx context.Context, c client.Client, namespace string, status onceward.RunStatus, most int) (runs []listed, known bool, err error) {
	ask := func(query string) (*workflowservice.ListWorkflowExecutionsResponse, error) {
		return c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{PageSize: int32(most), Query: query})
	}
	query := onceward.AttributeAgent + " IS NOT NULL"
	if status != "" && status != onceward.StatusClosed {
		query += fmt.Sprintf(" AND %s = '%s' AND ExecutionStatus = 'Running'", onceward.AttributeStatus, status)
	}
	plain := fmt.Sprintf("WorkflowType != '%s' AND WorkflowType != '%s' AND WorkflowType != '%s'", onceward.WorkflowAction, onceward.WorkflowPool, onceward.WorkflowApproval)
	if status == onceward.StatusClosed {
		query, plain = query+" AND ExecutionStatus != 'Running'", plain+" AND ExecutionStatus != 'Running'"
	}
	answer, err := ask(query)
	known = true
	if invalid, ok := errors.AsType[*serviceerror.InvalidArgument](err); ok { // it does not know the attributes
		known = false
		if status != "" && status != onceward.StatusClosed {
			return nil, known, fmt.Errorf("list runs that are %s: namespace %s has no search attributes for it: `onceward setup` registers them (%s)", status, namespace, invalid.Error())
		}
		answer, err = ask(plain)
	}
	if err != nil {
		return nil, known, fmt.Errorf("list runs of namespace %s: %w", namespace, err)
	}
	runs = make([]listed, 0, len(answer.GetExecutions()))
	for _, x := range answer.GetExecutions() {
		runs = append(runs, listedOf(x))
	}
	for _, i := range restarted(answer.GetExecutions()) {
		recount(ctx, c, &runs[i])
	}
	return runs, known, ctx.Err()
}

// restarted returns the places of executions, newest of their id, that have another
// behind them which did not hand its figures on: a reset was made, or the id was used
// before. What such a run published of itself leaves out what was sent before the
// reset.
func restarted(found []*workflowpb.WorkflowExecutionInfo) []int {
	newest, again := map[string]int{}, map[string]bool{}
	for i, x := range found {
		id := x.GetExecution().GetWorkflowId()
		if first, ok := newest[id]; !ok {
			newest[id] = i
		} else if x.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW {
			again[id] = true
			if found[first].GetStartTime().AsTime().Before(x.GetStartTime().AsTime()) || x.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
				newest[id] = i
			}
		}
	}
	var places []int
	for _, i := range newest {
		if again[found[i].GetExecution().GetWorkflowId()] {
			places = append(places, i)
		}
	}
	slices.Sort(places)
	return places
}

// recount takes a run's figures from the histories of its whole chain, as show does.
// A run whose histories cannot be read keeps what it published: it must not hide the
// others.
func recount(ctx context.Context, c client.Client, run *listed) {
	if run.Attempts == nil { // the namespace has no figures
		return
	}
	attempts, err := show.Attempts(ctx, c, run.WorkflowID)
	if err != nil {
		return
	}
	count, usd := show.Used(attempts)
	all := int64(count)
	run.Attempts, run.CostUSD = &all, &usd
}

func listedOf(x *workflowpb.WorkflowExecutionInfo) listed {
	run := listed{
		WorkflowID: x.GetExecution().GetWorkflowId(), RunID: x.GetExecution().GetRunId(),
		Status: onceward.StatusClosed, PendingActions: []onceward.ActionID{}, Started: x.GetStartTime().AsTime(),
	}
	fields := x.GetSearchAttributes().GetIndexedFields()
	read := func(name string, v any) {
		if p := fields[name]; p != nil {
			_ = converter.GetDefaultDataConverter().FromPayload(p, v) // one of another type is none of ours
		}
	}
	read(onceward.AttributeAgent, &run.Agent)
	read(onceward.AttributeOutcome, &run.Outcome)
	read(onceward.AttributeAttempts, &run.Attempts)
	read(onceward.AttributeCostUSD, &run.CostUSD)
	read(onceward.AttributePendingActions, &run.PendingActions)
	if run.Outcome != nil && *run.Outcome == "" {
		run.Outcome = nil
	}
	if run.PendingActions == nil {
		run.PendingActions = []onceward.ActionID{}
	}
	switch x.GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		run.Status = onceward.StatusRunning
		read(onceward.AttributeStatus, &run.Status)
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
	default: // it ended without a word of its own: what it published while it waited is not its outcome
		run.Outcome = (*string)(show.ClosedOutcome(x.GetStatus()))
	}
	return run
}

func listTable(runs []listed) string {
	t := show.NewTable("run", "agent", "status", "outcome", "attempts", "cost $", "pending actions", "started")
	for _, r := range runs {
		var pending []string
		for _, id := range r.PendingActions {
			pending = append(pending, string(id))
		}
		t.AppendRow(table.Row{
			shortID(r.WorkflowID), orDash(r.Agent, "%s"), r.Status, orDash(r.Outcome, "%s"), orDash(r.Attempts, "%d"), orDash(r.CostUSD, "%.6f"),
			strings.Join(pending, " "), r.Started.Local().Format(time.DateTime),
		})
	}
	return show.Render(t)
}

// maxRunColumn bounds the column of workflow ids in characters.
const maxRunColumn = 48

// shortID leaves out the middle of a long workflow id: both its beginning, which
// says what it is about, and its end tell it from others.
func shortID(id string) string {
	r := []rune(id)
	if len(r) > maxRunColumn {
		const end = maxRunColumn / 2
		id = string(r[:maxRunColumn-end-1]) + "…" + string(r[len(r)-end:])
	}
	return show.OneLine(id)
}

func orDash[T any](p *T, format string) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprintf(format, *p)
}
