// Command payments runs the refund sample's product as a process of its own, with faults by flag.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward/samples/refund/payments"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(os.Stdout).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "payments:", err)
		stop()
		os.Exit(1)
	}
}

type options struct {
	addr, db         string
	dedupe           bool
	fault, readFault string
	times, readTimes int
}

func command(out io.Writer) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:           "payments",
		Short:         "A payments service on SQLite that loses answers on request",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), out)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.addr, "addr", "127.0.0.1:0", "address to listen on; port 0 takes a free one")
	flags.StringVar(&o.db, "db", "", "SQLite file, created when missing (default: in memory, gone at exit)")
	flags.BoolVar(&o.dedupe, "dedupe", true, "answer a repeated Idempotency-Key with the first refund; false pays every request")
	flags.StringVar(&o.fault, "fault", "", "fault of POST /refunds: commit_then_drop, commit_then_slow:DURATION, drop_before_commit, slow:DURATION (pays even if the client hangs up), status:CODE or stored_status:CODE (for ever, by key)")
	flags.IntVar(&o.times, "times", 1, "how many POST /refunds the fault hits; 0: all")
	flags.StringVar(&o.readFault, "read-fault", "", "fault of GET /refunds: status:CODE, or lag:DURATION (younger refunds are not shown)")
	flags.IntVar(&o.readTimes, "read-times", 0, "how many GET /refunds the read fault hits; 0: all")
	return cmd
}

func (o options) run(ctx context.Context, out io.Writer) (err error) {
	fault, err := payments.ParseWriteFault(o.fault, o.times)
	if err != nil {
		return fmt.Errorf("read --fault: %w", err)
	}
	readFault, err := payments.ParseReadFault(o.readFault, o.readTimes)
	if err != nil {
		return fmt.Errorf("read --read-fault: %w", err)
	}
	service, err := payments.New(payments.Config{DB: o.db, Dedupe: o.dedupe, Fault: fault, ReadFault: readFault})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.Close()) }()
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", o.addr, err)
	}
	// No read or write timeout for whole requests: a slow fault and a long poll are longer than any sensible one.
	server := &http.Server{
		Handler:           service.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	if _, err := fmt.Fprintf(out, "payments listening on http://%s\n", listener.Addr()); err != nil {
		return errors.Join(fmt.Errorf("print address: %w", err), server.Close())
	}
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	// First the service, which ends long polls and pauses; the server would wait for them otherwise.
	err = service.Close()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, server.Shutdown(ending))
}
