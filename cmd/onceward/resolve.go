package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/activities"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
)

func resolveCommand(o *options) *cobra.Command {
	var in onceward.Resolve
	var status string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "resolve ACTION_ID --status committed|rejected|reversed --by WHO [--ref REF] [--note NOTE]",
		Short: "Decide an action whose outcome nobody could read, or report that one failed after all",
		Long: `Decide an action whose outcome nobody could read. Look at the product first: after a
wrong "rejected" the model may make the effect once more, under another id; a wrong
"committed" hides that it was never made. Nothing is made again under this id.

The decision names the version of the state it was made for, and is refused for
another. --ref is the product's own name for the effect, required for committed.

An action that was closed from outside without a receipt (terminated, cancelled,
failed) gets a run of its own that records the decision and commits nothing.

A committed action that failed after all, as the product reports days later, is
recorded with --status reversed and a --note that says what it reports. Runs that
propose it again then wait, until somebody decides it as committed or rejected.
Nothing is made again under its id.`,
		Example: `  onceward resolve refund/order-1842/v1 --status committed --ref rf-17 --by dana
  onceward resolve refund/order-1842/v1 --status rejected --by dana --note "not in the ledger of the bank"
  onceward resolve refund/order-1842/v1 --status reversed --by dana --note "the bank sent it back"`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := required(cmd.Flags(), "status", "by"); err != nil {
				return err
			}
			in.Status, in.By = onceward.ReceiptStatus(status), strings.TrimSpace(in.By)
			in.Ref = strings.TrimSpace(in.Ref)
			id, err := onceward.ParseActionWorkflowID(args[0])
			if err != nil {
				return usageError{fmt.Errorf("read action id %q: %w", args[0], err)}
			}
			report := onceward.Reversal{By: in.By, Reason: in.Note}
			validate, reversed := in.Validate, in.Status == onceward.StatusReversed
			if reversed {
				validate = report.Validate
			}
			if err := validate(); err != nil {
				return usageError{flagOf(err, in, reversed)}
			}
			c, _, err := o.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			if reversed {
				return reverse(cmd.Context(), c, id, report, cmd.OutOrStdout(), asJSON)
			}
			return resolve(cmd.Context(), c, id, in, cmd.OutOrStdout(), cmd.ErrOrStderr(), asJSON)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&status, "status", "", "committed: the effect exists; rejected: it does not; reversed: it failed after it was committed (required)")
	flags.StringVar(&in.Ref, "ref", "", "the product's own name for the effect (required for committed)")
	flags.StringVar(&in.By, "by", "", "who decides (required)")
	flags.StringVar(&in.Note, "note", "", "why, for the record (required for reversed)")
	flags.IntVar(&in.Version, "version", 0, "version of the state it decides (default: the current one, as onceward.receipt says it)")
	flags.BoolVar(&asJSON, "json", false, "print the receipt as JSON")
	return cmd
}

// flagOf puts the flag in front of a refusal whose field has another name.
func flagOf(err error, in onceward.Resolve, reversed bool) error {
	switch {
	case reversed && strings.TrimSpace(in.Note) == "":
		return fmt.Errorf("--note: %w", err)
	case in.Status == onceward.StatusCommitted && in.Ref == "":
		return fmt.Errorf("--ref: %w", err)
	}
	return err
}

func resolve(ctx context.Context, c client.Client, id onceward.ActionID, in onceward.Resolve, out, warn io.Writer, asJSON bool) error {
	receipt, closed, err := show.ReadAction(ctx, c, id)
	switch {
	case errors.Is(err, show.ErrNotFound):
		return fmt.Errorf("resolve %s: there is no such action; `onceward show WORKFLOW_ID` lists those of a run", id)
	case err != nil:
		return fmt.Errorf("resolve %s: %w", id, err)
	case receipt.Status.Final():
		if err := printReceipt(out, receipt, asJSON); err != nil {
			return err
		}
		return fmt.Errorf("resolve %s: it is %s, and a receipt is final", id, receipt.Status)
	case closed && in.Version != 0:
		return fmt.Errorf("resolve %s: it was closed, and --version %d is of a state before that: look at it again, and decide without --version", id, in.Version)
	case closed:
		receipt, err = resolveClosed(ctx, c, receipt, in, warn)
	default:
		if in.Version == 0 {
			in.Version = receipt.Version
		}
		if in.Version == 0 {
			return fmt.Errorf("resolve %s: no worker answers %s, so the version of its state is unknown: start a worker, or name it with --version", id, onceward.QueryReceipt)
		}
		before := receipt
		err = sendUpdate(ctx, c, id.WorkflowID(), onceward.UpdateResolve, in, &receipt)
		// Its own execution's counts: a reset takes back nothing that was sent.
		receipt.Commits, receipt.Reconciled = max(receipt.Commits, before.Commits), max(receipt.Reconciled, before.Reconciled)
	}
	if err != nil {
		return err
	}
	return printReceipt(out, receipt, asJSON)
}

// reverse records that a committed action failed after all, and prints it as it
// stands then: waiting for a decision.
func reverse(ctx context.Context, c client.Client, id onceward.ActionID, report onceward.Reversal, out io.Writer, asJSON bool) error {
	if _, err := activities.Reverse(ctx, c, id, report); err != nil {
		return err
	}
	receipt, _, err := show.ReadAction(ctx, c, id)
	if err != nil {
		return fmt.Errorf("reverse %s: it is recorded; read it: %w", id, err)
	}
	return printReceipt(out, receipt, asJSON)
}

// resolveClosed starts a run of the action's id that records the decision and
// never commits.
func resolveClosed(ctx context.Context, c client.Client, before onceward.ActionReceipt, in onceward.Resolve, warn io.Writer) (onceward.ActionReceipt, error) {
	var receipt onceward.ActionReceipt
	id := before.ActionID
	events, err := show.Events(ctx, c, id.WorkflowID(), "")
	if err != nil {
		return receipt, err
	}
	options, input, err := resolveOnly(events, before, in)
	if err != nil {
		return receipt, fmt.Errorf("resolve %s: %w", id, err)
	}
	if in.Status == onceward.StatusRejected {
		all, err := show.ActionEvents(ctx, c, id)
		if err != nil {
			return receipt, err
		}
		if until := landsUntil(all, input.Act.Policy); time.Now().Before(until) {
			_, _ = fmt.Fprintf(warn, "warning: a commit of %s may have been in flight when it was closed, and be made until %s: look at the product again after that\n", id, until.Format(time.RFC3339))
		}
	}
	run, err := c.ExecuteWorkflow(ctx, options, onceward.WorkflowAction, input)
	if err != nil {
		return receipt, fmt.Errorf("resolve %s: start the run that records it: %w", id, err)
	}
	began := time.Now()
	waiting, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	err = run.Get(waiting, &receipt)
	if waitedOut(ctx, waiting, err) {
		return receipt, fmt.Errorf("resolve %s: the decision is recorded as %s, and no worker carried it out within %s: it takes effect as soon as one runs", id, id.WorkflowID(), since(began))
	}
	if err != nil {
		return receipt, fmt.Errorf("resolve %s: read its receipt: %w", id, err)
	}
	return receipt, nil
}

// landsUntil returns until when the last commit of an action may still show at the
// product, as its tool declares; the zero time if none was scheduled.
func landsUntil(events []*historypb.HistoryEvent, p onceward.WritePolicy) time.Time {
	var until time.Time
	for _, e := range events {
		if strings.HasSuffix(e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName(), ".commit") {
			if ends := e.GetEventTime().AsTime().Add(p.Lease + p.Settle + p.Skew); ends.After(until) {
				until = ends
			}
		}
	}
	return until
}

// resolveOnly builds the run that records a decision from the history of the one
// that was closed. Only a failed end may be followed by it: the reuse policy
// refuses an action that has a receipt by now. It carries what was sent before, or
// the decision would make it look as if nothing had been.
func resolveOnly(events []*historypb.HistoryEvent, before onceward.ActionReceipt, in onceward.Resolve) (client.StartWorkflowOptions, onceward.ActionInput, error) {
	id := before.ActionID
	old, started, err := show.StartedAction(events)
	if err != nil {
		return client.StartWorkflowOptions{}, old, err
	}
	if old.Act.ActionID != id {
		return client.StartWorkflowOptions{}, old, fmt.Errorf("the workflow %s was started for action %s", id.WorkflowID(), old.Act.ActionID)
	}
	return client.StartWorkflowOptions{
		ID: id.WorkflowID(), TaskQueue: started.GetTaskQueue().GetName(),
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		Memo:                                     map[string]any{onceward.MemoTool: old.Act.Tool, onceward.MemoDigest: old.Act.Digest, onceward.MemoRun: old.Act.Run},
		StaticSummary:                            onceward.Summary(fmt.Sprintf("%s · %s · decided by %s", old.Act.Tool, id, in.By)),
	}, onceward.ActionInput{Act: old.Act, Resolve: &in, Commits: before.Commits, Reconciled: before.Reconciled, Refused: before.Refused, More: before.More}, nil
}

func printReceipt(out io.Writer, r onceward.ActionReceipt, asJSON bool) error {
	if asJSON {
		return printJSON(out, show.ActionOf(r))
	}
	return show.PrintActions(out, []show.Action{show.ActionOf(r)})
}
