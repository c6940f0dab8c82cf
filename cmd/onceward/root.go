package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// options are the flags that all commands share.
type options struct {
	config, address, namespace, temporalCLI, codecEndpoint string
}

func root() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "onceward",
		Short: "Durable LLM agents on Temporal that only go forward",
		Long: `onceward runs and inspects durable LLM agents on Temporal: a committed side effect
is never repeated, and every model attempt is on record with its route and reason.

Commands that talk to Temporal find it by --config FILE (its section temporal), by
--address and --namespace, or by ONCEWARD_TEMPORAL_ADDRESS and
ONCEWARD_TEMPORAL_NAMESPACE; else at 127.0.0.1:7233, namespace default. Payloads that
workers encrypt with a codec of their own are read and written through a codec
server: --codec-endpoint URL or TEMPORAL_CODEC_ENDPOINT, and TEMPORAL_CODEC_AUTH for
its Authorization header.

Exit codes: 0 success; 1 the command failed or was refused; 2 the command line
cannot be read.`,
		Example: `  onceward demo refund          # watch a refund survive a kill, a lost answer and a cut stream
  onceward dev                  # Temporal, model resources, payments and a worker on this machine
  onceward show refund-1842     # what a run did, attempt by attempt
  onceward list --status waiting_person
  onceward pool show            # which resources are disabled, and why`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Version:       thisBuild().String(),
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return errors.Join(o.check(os.Getenv), o.environ(cmd.ErrOrStderr()))
		},
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	cmd.SetVersionTemplate("{{.Version}}")
	flags := cmd.PersistentFlags()
	flags.StringVar(&o.config, "config", "", "configuration file")
	flags.StringVar(&o.address, "address", "", "host:port of the Temporal service (default 127.0.0.1:7233)")
	flags.StringVar(&o.namespace, "namespace", "", "Temporal namespace (default default)")
	flags.StringVar(&o.codecEndpoint, "codec-endpoint", "", "base URL of a codec server for payloads")
	flags.StringVar(&o.temporalCLI, "temporal-cli", "", "Temporal CLI for dev and demo (default bin/temporal, else beside onceward, else in PATH)")
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd.HasAvailableSubCommands() { // a flag of a command that does not exist is not what is wrong
			if unknown := noCommand(cmd, cmd.Flags().Args()); unknown != nil {
				return unknown
			}
		}
		return usageError{fmt.Errorf("%w\nusage: %s", err, cmd.UseLine())}
	})
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(
		demoCommand(&o), devCommand(&o), workerCommand(&o), setupCommand(&o), preflightCommand(&o), probeCommand(&o),
		poolCommand(&o), showCommand(&o), listCommand(&o), shapeCommand(&o), approvalsCommand(&o), approveCommand(&o), denyCommand(&o), resolveCommand(&o), completeCommand(&o), classifyCommand(), versionCommand(),
	)
	return cmd
}

// noCommand refuses words where a command was expected, and names those there are.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	meant := ""
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		meant = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return usagef("unknown command %q for %s%s\ncommands: %s", args[0], cmd.CommandPath(), meant, strings.Join(names, ", "))
}

// required refuses a command line that leaves one of the flags out or empty.
func required(flags *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		if flags.Lookup(name).Value.String() == "" {
			return usagef("--%s is required", name)
		}
	}
	return nil
}
