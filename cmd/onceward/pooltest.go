package main

import (
	"fmt"
	"io"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
)

// poolTestTimeout is the longest that a test may take that a worker's record has
// taken: the pause after the one before, waits for workers, and the request.
const poolTestTimeout = 5 * time.Minute

func poolTestCommand(o *options, name *string) *cobra.Command {
	var change onceward.PoolChange
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "test RESOURCE[/MODEL]",
		Short: "Send one neutral request to a route now",
		Long: `Send one neutral request to a route now, whatever its state, through a worker that has
it, print what it said and keep it. Without a model it goes to the resource's first.
One that passes enables what workers have found; what an operator has disabled stays.
Tests of one route are 10 s apart, so it may wait for that.
Exit code 1: it did not pass, or no worker took it.`,
		Example: "  onceward pool test swedencentral/gpt-5.6",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var test onceward.PoolTest
			return o.updatePool(cmd, *name, args[0], onceward.UpdateTest, change, &test, poolTestTimeout, func(string) error {
				return printTest(cmd.OutOrStdout(), test, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&change.By, "by", asker(), "who wants to know")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// asker is who runs the command, as this machine calls him: a test decides nothing, so
// that nobody has to sign for it.
func asker() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return onceward.Cut(u.Username, 60)
	}
	return "somebody"
}

// printTest prints the result of a test. One that did not pass is an error.
func printTest(w io.Writer, test onceward.PoolTest, asJSON bool) error {
	var err error
	if asJSON {
		err = printJSON(w, test)
	} else {
		_, err = io.WriteString(w, testTable([]onceward.PoolTest{test}, nil))
	}
	if err != nil || test.Passed {
		return err
	}
	return fmt.Errorf("the test of %s/%s did not pass: %s", test.Resource, test.Model, testText(test))
}

// testText is a verdict with what there is to say about it.
func testText(test onceward.PoolTest) string {
	out := string(verdictOf(test))
	if test.Class != "" {
		out += " " + string(test.Class)
	}
	if test.Error != "" {
		out += ": " + show.OneLine(test.Error)
	}
	return out
}

// verdictOf is that of a test, of an earlier build too.
func verdictOf(test onceward.PoolTest) onceward.Verdict {
	switch {
	case test.Verdict != "":
		return test.Verdict
	case test.Passed:
		return onceward.VerdictPassed
	default:
		return onceward.VerdictFailed
	}
}
