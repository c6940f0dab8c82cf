package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward/cmd/onceward/internal/demo"
	"github.com/onceward/onceward/cmd/onceward/internal/devserver"
	"github.com/onceward/onceward/cmd/onceward/internal/local"
)

// A stack for people to watch notices a lost worker soon.
const (
	heartbeat     = 2 * time.Second
	stickyTimeout = time.Second
)

func demoCommand(o *options) *cobra.Command {
	var asJSON, keep bool
	var p ports
	names := slices.Sorted(maps.Keys(demo.Stories))
	cmd := &cobra.Command{
		Use:   "demo [" + strings.Join(names, "|") + "]",
		Short: "Tell a story with faults, and check its claims",
		Long: `Tell a story with real parts and real processes, and check its claims. It exits with
1, naming the claim, if one of them does not hold. The default is refund.

refund: an agent refunds an order. The refund is paid, its answer is lost, and the
worker is killed at that instant and started again. The model's next answer breaks
off in the middle. The run completes, with one refund and without an operator; the
product behind it would have paid every repetition.

quiz: of four resources A answers 402, B an empty 200, C prose where JSON was asked,
and D works. A run asks each once and takes D's answer; A is disabled with its
reason in the Pool workflow. The worker is killed and started again, and the next
run does not ask A.

pool: the same agent of two turns over four resources, by a client that goes round
them with store=true and retries blindly, and by Onceward: failed requests, how many
attempts the turns took, and how much of the prompts came from the cache.`,
		Example:   "  onceward demo refund\n  onceward demo quiz\n  onceward demo refund --keep      # then look at it in the Temporal UI",
		ValidArgs: names,
		Args:      arguments(cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.check(cmd.Context()); err != nil {
				return fmt.Errorf("start demo: %w", err)
			}
			executable, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			say := cmd.OutOrStdout()
			if asJSON {
				say = cmd.ErrOrStderr()
			}
			tell := demo.Refund
			if len(args) > 0 {
				tell = demo.Stories[args[0]]
			}
			begun := time.Now()
			story, err := tell(cmd.Context(), demo.Config{
				Temporal: devserver.Config{CLI: o.temporalCLI, Port: p.temporal, UIPort: p.ui}, Executable: executable,
				Timing: local.Timing{Heartbeat: heartbeat, StickyTimeout: stickyTimeout, Lease: 15 * time.Second, Attempt: time.Minute},
				Say: func(format string, args ...any) {
					fmt.Fprintf(say, "%5.1fs  %s\n", time.Since(begun).Seconds(), fmt.Sprintf(format, args...))
				},
			})
			if story != nil { // a story that broke off has parts to stop as well
				defer story.Close()
			}
			if err != nil {
				return err
			}
			if err := printStory(cmd.OutOrStdout(), story, asJSON); err != nil {
				return err
			}
			if keep {
				ui, address, run := story.Look()
				fmt.Fprintf(say, "\nLook at it: %s\n  onceward show %s --address %s\nCtrl-C stops everything.\n", ui, run, address)
				<-cmd.Context().Done()
			}
			return broken(story)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&keep, "keep", false, "leave everything up until Ctrl-C")
	flags.BoolVar(&asJSON, "json", false, "print JSON; progress goes to standard error")
	flags.IntVar(&p.temporal, "port", 0, "port of Temporal (default a free one)")
	flags.IntVar(&p.ui, "ui-port", 0, "port of the Temporal UI (default a free one)")
	return cmd
}

func printStory(out io.Writer, story demo.Told, asJSON bool) error {
	if asJSON {
		return printJSON(out, story)
	}
	return story.Print(out)
}

// broken names the claims that do not hold.
func broken(story demo.Told) error {
	var errs []error
	for _, claim := range story.Broken() {
		errs = append(errs, fmt.Errorf("the claim does not hold: %s (%s)", claim.Claim, claim.Found))
	}
	return errors.Join(errs...)
}
