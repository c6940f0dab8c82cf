package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
)

// updateTimeout bounds the wait for a worker to take an operator's update.
const updateTimeout = 15 * time.Second

func completeCommand(o *options) *cobra.Command {
	var in onceward.Complete
	cmd := &cobra.Command{
		Use:     "complete WORKFLOW_ID --by WHO --text TEXT [--note NOTE]",
		Short:   "Complete a run that waits for a person",
		Long:    "Complete a run that waits as manual_completion_required: the text becomes its answer.",
		Example: `  onceward complete refund-order-1842 --by dana --text "Refunded by hand, reference rf-17."`,
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := required(cmd.Flags(), "by", "text"); err != nil {
				return err
			}
			in.By = strings.TrimSpace(in.By)
			if err := in.Validate(); err != nil {
				return usageError{err}
			}
			c, _, err := o.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			var status onceward.Status
			if err := sendUpdate(cmd.Context(), c, args[0], onceward.UpdateComplete, in, &status); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is completed by %s\n", args[0], in.By)
			return err
		},
	}
	cmd.Flags().StringVar(&in.By, "by", "", "who completes it (required)")
	cmd.Flags().StringVar(&in.Text, "text", "", "the answer (required)")
	cmd.Flags().StringVar(&in.Note, "note", "", "why, for the record: it is in the result and in show, not in the answer")
	return cmd
}

// sendUpdate sends an operator's update and waits for what it says. A refusal comes
// back in the words of the validator. Nothing is sent in clear to workers that have
// a codec, and what was taken is not told as a failure to send.
func sendUpdate(ctx context.Context, c client.Client, workflowID, name string, in, out any) error {
	return sendUpdateFor(ctx, c, workflowID, name, in, out, updateTimeout)
}

// sendUpdateFor is sendUpdate for one that may take longer once a worker has it.
func sendUpdateFor(ctx context.Context, c client.Client, workflowID, name string, in, out any, most time.Duration) error {
	switch err := show.Readable(ctx, c, workflowID); {
	case errors.Is(err, show.ErrNotFound):
		return noneOpen(name, workflowID)
	case err != nil:
		return fmt.Errorf("send %s: nothing was sent: %w", name, err)
	}
	began := time.Now()
	waiting, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	stage := client.WorkflowUpdateStageCompleted
	if most > updateTimeout {
		stage = client.WorkflowUpdateStageAccepted
	}
	handle, err := c.UpdateWorkflow(waiting, client.UpdateWorkflowOptions{
		WorkflowID: workflowID, UpdateName: name, Args: []any{in}, WaitForStage: stage,
	})
	completed := err == nil // the handle has the answer, and only decodes it
	if completed {
		ending, cancel := context.WithTimeout(ctx, most)
		defer cancel()
		if err = handle.Get(ending, out); waitedOut(ctx, ending, err) {
			return fmt.Errorf("send %s to %s: it was taken, and its answer has not come within %s: look at it with `onceward pool show`", name, workflowID, since(began))
		}
	}
	var refused *temporal.ApplicationError
	var missing *serviceerror.NotFound
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return fmt.Errorf("%s was refused: %s", name, refused.Message())
	case completed:
		return fmt.Errorf("send %s to %s: it was taken, but its answer cannot be read here: %w", name, workflowID, err)
	case errors.As(err, &missing):
		return noneOpen(name, workflowID)
	case waitedOut(ctx, waiting, err):
		return fmt.Errorf("send %s: no worker took it within %s: is one running for the task queue of %s? One that starts soon may still take it: look before you repeat it", name, since(began), workflowID)
	}
	return fmt.Errorf("send %s to %s: %w", name, workflowID, err)
}

// waitedOut tells whether err is the end of a wait that ctx did not ask for. The
// server knows our deadline and may end the request a moment before we do, and a
// proxy may end it sooner: then waiting has not ended yet.
func waitedOut(ctx, waiting context.Context, err error) bool {
	if err == nil || ctx.Err() != nil {
		return false
	}
	var update *client.WorkflowUpdateServiceTimeoutOrCanceledError
	var late *serviceerror.DeadlineExceeded
	var cut *serviceerror.Canceled
	return waiting.Err() != nil || errors.As(err, &update) || errors.As(err, &late) || errors.As(err, &cut) || errors.Is(err, context.DeadlineExceeded)
}

func since(t time.Time) time.Duration { return time.Since(t).Round(time.Second) }

func noneOpen(name, workflowID string) error {
	return fmt.Errorf("send %s: there is no open workflow %s: look at it with `onceward show`", name, workflowID)
}
