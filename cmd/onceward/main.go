// Command onceward runs and inspects durable agents. Its exit codes are 0 for
// success, 1 when a command failed or was refused, and 2 for a command line that
// cannot be read.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/converter"

	"github.com/onceward/onceward/cmd/onceward/internal/show"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main without the process, so that tests can call it.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	out, errs = printableText(out), printableText(errs)
	cmd := root()
	cmd.SetArgs(args)
	cmd.SetIn(in)
	cmd.SetOut(out)
	cmd.SetErr(errs)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if errors.Is(err, converter.ErrEncodingIsNotSupported) && !errors.Is(err, show.ErrNoCodec) {
		err = fmt.Errorf("%w\n%w", err, show.ErrNoCodec)
	}
	fmt.Fprintln(errs, "onceward:", err)
	var wrong usageError
	if errors.As(err, &wrong) {
		return 2
	}
	return 1
}

// usageError is a command line that cannot be read.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// arguments makes wrong arguments a usageError.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{fmt.Errorf("%w\nusage: %s", err, cmd.UseLine())}
		}
		return nil
	}
}
