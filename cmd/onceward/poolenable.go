package main

import (
	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
)

func poolEnableCommand(o *options, name *string) *cobra.Command {
	var change onceward.PoolChange
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "enable RESOURCE[/MODEL] --by WHO",
		Short: "Let attempts go to a route again",
		Long: `Let attempts go to a route again, say what was enabled, and print the pool. Workers follow
within seconds; reports that are older than this do not disable it once more.
RESOURCE alone is all that tests have disabled of it, and what workers have found; where an
operator has disabled the whole resource it is that decision alone. RESOURCE/MODEL is one
model, whoever disabled it, but not where an operator keeps attempts away from the whole.
Exit code 1: there is nothing to enable.`,
		Example: "  onceward pool enable swedencentral --by dana\n  onceward pool enable swedencentral/gpt-5.6 --by dana",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := required(cmd.Flags(), "by"); err != nil {
				return err
			}
			var answer onceward.PoolEnabled
			return o.updatePool(cmd, *name, args[0], onceward.UpdateEnable, change, &answer, updateTimeout, func(pool string) error {
				return printChanged(cmd.OutOrStdout(), pool, true, answer, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&change.By, "by", "", "who enables it (required)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
