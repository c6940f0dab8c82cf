// Command worker runs the refund agent's worker.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/activities"
	"github.com/onceward/onceward/samples/refund"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/worker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "refund worker:", onceward.Printable(err.Error()))
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var config, paymentsURL string
	var approveAbove int64
	cmd := &cobra.Command{
		Use: "worker", Short: "Run the refund agent's worker until SIGTERM or Ctrl-C",
		Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkPayments(paymentsURL); err != nil {
				return err
			}
			cfg, err := worker.Load(config)
			if err != nil {
				return err
			}
			client, err := worker.Dial(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			defer client.Close()
			w, err := worker.New(client, cfg)
			if err != nil {
				return err
			}
			agent := refund.Refunds
			if approveAbove >= 0 {
				agent = refund.ApproveAbove(approveAbove)
			}
			tools := &refund.Activities{Payments: payments.NewClient(paymentsURL, activities.SendOnce(nil))}
			if err := w.Register(refund.RefundWorkflow, agent, tools); err != nil {
				return err
			}
			return w.Run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&config, "config", "onceward.yaml", "configuration file")
	cmd.Flags().StringVar(&paymentsURL, "payments", "http://127.0.0.1:9200", "base URL of the payments service")
	cmd.Flags().Int64Var(&approveAbove, "approve-above", -1, "ask a person about refunds of more than so many `cents`; negative asks about none")
	return cmd
}

// checkPayments refuses an address that no request could be sent to: a refund
// would only find that out in the middle of a run.
func checkPayments(base string) error {
	if err := payments.CheckURL(base); err != nil {
		return fmt.Errorf("--payments %w", err)
	}
	return nil
}
