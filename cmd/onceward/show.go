package main

import (
	"github.com/spf13/cobra"

	"github.com/onceward/onceward/cmd/onceward/internal/show"
)

func showCommand(o *options) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show WORKFLOW_ID",
		Short: "Show what a run did: attempts, routes, receipts, cost, outcome",
		Long: `Show what a run did: every model attempt with its route and failure class, which
candidates were passed over and why, the receipt of every action, what it cost and
what came of it.

It reads histories, over all resets and continuations of the run, and so works
with no worker running. A worker that runs only adds what the run waits for.`,
		Example: "  onceward show refund-order-1842\n  onceward show refund-order-1842 --json | jq .actions",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "" {
				return usagef("workflow id is empty: `onceward list` prints those of runs")
			}
			c, _, err := o.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			report, err := show.Read(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), report)
			}
			return show.Print(cmd.OutOrStdout(), report)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
