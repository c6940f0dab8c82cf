package main

import (
	"github.com/spf13/cobra"
)

func classifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "classify",
		Short: "Classify failed answers of resources: JSON lines in, JSON lines out",
		Long: `Classify failed answers of resources, as the router does. Each line of standard
input is an object {id, transport, status, headers, body}; each line of output is
{id, class, state_effect, fallback_eligible, retryable, retry_after_ms, scope,
repair}. A line that cannot be read gives {id, line, error}, and the stream goes on.`,
		Example: `  echo '{"id":1,"status":429,"headers":{"retry-after":"7"},"body":{}}' | onceward classify`,
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return classifyLines(cmd.InOrStdin(), printableJSON(cmd.OutOrStdout()))
		},
	}
}
