package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward/cmd/onceward/internal/shape"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
)

func shapeCommand(o *options) *cobra.Command {
	var asJSON bool
	var query string
	var most int
	cmd := &cobra.Command{
		Use:   "shape [WORKFLOW_ID...]",
		Short: "Count how many requests the turns of runs took, and what failed where",
		Long: `Count how many requests the turns of runs took: one, or a failure and a success, or
two failures and a success, and so on, and for each resource its requests and its
failures by class. A pool of N members in which a client loses its state shows as a
spike at N: N-1 failures, then one success.
It reads the histories of the named runs, of those that a visibility query finds, or
of the latest; no worker has to run.`,
		Example: `  onceward shape
  onceward shape refund-1842 refund-1843
  onceward shape --query "OncewardAgent = 'refunds' AND CloseTime > '2026-07-01T00:00:00Z'" --limit 500 --json`,
		Args: arguments(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if most < 1 || most > maxListed {
				return usagef("--limit is %d, want 1 to %d", most, maxListed)
			}
			if query != "" && len(args) > 0 {
				return usagef("name runs or give --query, not both")
			}
			c, t, err := o.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			named := len(args) > 0
			if !named {
				if args, err = latest(cmd.Context(), c, t.Namespace, query, most); err != nil {
					return err
				}
			}
			s, err := shapeOf(cmd.Context(), c, args, named)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), s)
			}
			return s.Print(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&query, "query", "", "visibility query that finds the runs")
	cmd.Flags().IntVar(&most, "limit", 50, "how many runs are read when none is named, at most 1000")
	return cmd
}

// latest returns the ids of the runs that a query finds, or of the latest.
// Continuations of one run are one.
func latest(ctx context.Context, c client.Client, namespace, query string, most int) ([]string, error) {
	var found []string
	if query == "" {
		runs, _, err := list(ctx, c, namespace, "", most)
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			found = append(found, r.WorkflowID)
		}
	} else {
		answer, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{PageSize: int32(most), Query: query})
		if err != nil {
			return nil, fmt.Errorf("find runs of namespace %s: %w", namespace, err)
		}
		for _, x := range answer.GetExecutions() {
			found = append(found, x.GetExecution().GetWorkflowId())
		}
	}
	seen, ids := map[string]bool{}, []string(nil)
	for _, id := range found {
		if !seen[id] {
			ids = append(ids, id)
		}
		seen[id] = true
	}
	return ids, nil
}

// shapeOf reads the runs' histories. What a query finds may have gone meanwhile;
// what was named must be there.
func shapeOf(ctx context.Context, c client.Client, ids []string, named bool) (shape.Shape, error) {
	var turns []shape.Turn
	runs := 0
	for _, id := range ids {
		attempts, err := show.Attempts(ctx, c, id)
		if errors.Is(err, show.ErrNotFound) && !named {
			continue
		}
		if err != nil {
			return shape.Shape{}, err
		}
		runs++
		turns = append(turns, shape.Turns(attempts)...)
	}
	return shape.Of(runs, turns), nil
}
