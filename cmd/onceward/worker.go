package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/activities"
	"github.com/onceward/onceward/samples/quiz"
	"github.com/onceward/onceward/samples/refund"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/worker"
)

func workerCommand(o *options) *cobra.Command {
	var sample sampleOptions
	cmd := &cobra.Command{
		Use:   "worker --config FILE",
		Short: "Run a worker with the sample agents",
		Long: `Run a worker with the sample agents refund and quiz, each if the configuration has its
task class, until Ctrl-C or SIGTERM; attempts and commits in flight end first. Agents of your own have a main of their own: see
samples/refund/worker.`,
		Example: "  onceward worker --config onceward.yaml --payments http://127.0.0.1:9200",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := required(cmd.Flags(), "config"); err != nil {
				return err
			}
			if err := checkPayments(sample.payments); err != nil {
				return err
			}
			cfg, err := worker.Load(o.config)
			if err != nil {
				return err
			}
			override(&cfg.Temporal.Address, o.address)
			override(&cfg.Temporal.Namespace, o.namespace)
			slog.SetDefault(slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)))
			return runWorker(cmd.Context(), cfg, sample)
		},
	}
	cmd.Flags().StringVar(&sample.payments, "payments", "http://127.0.0.1:9200", "base URL of the payments service of the refund sample")
	sample.flags(cmd)
	return cmd
}

// sampleOptions are what the sample agents are made with.
type sampleOptions struct {
	payments     string
	approveAbove int64 // cents; negative: nobody is asked
}

func (s *sampleOptions) flags(cmd *cobra.Command) {
	cmd.Flags().Int64Var(&s.approveAbove, "approve-above", -1, "ask a person about refunds of more than so many `cents`; negative asks about none")
}

func (s sampleOptions) refunds() onceward.Agent {
	if s.approveAbove < 0 {
		return refund.Refunds
	}
	return refund.ApproveAbove(s.approveAbove)
}

// runWorker runs a worker with the sample agents until ctx ends.
func runWorker(ctx context.Context, cfg worker.Config, sample sampleOptions) error {
	c, err := worker.Dial(ctx, cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	w, err := samples(c, cfg, sample)
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// samples registers the sample agents whose task class the configuration has.
func samples(c client.Client, cfg worker.Config, sample sampleOptions) (*worker.Worker, error) {
	w, err := worker.New(c, cfg)
	if err != nil {
		return nil, err
	}
	agents := 0
	for _, a := range []struct {
		agent      onceward.Agent
		workflow   any
		activities any
	}{
		{sample.refunds(), refund.RefundWorkflow, &refund.Activities{Payments: payments.NewClient(sample.payments, activities.SendOnce(nil))}},
		{quiz.Quizzes, quiz.QuizWorkflow, nil},
	} {
		if _, err := cfg.Task(a.agent.Task); err != nil {
			continue
		}
		if err := w.Register(a.workflow, a.agent, a.activities); err != nil {
			return nil, fmt.Errorf("start worker: %w", err)
		}
		agents++
	}
	if agents == 0 {
		return nil, errors.New("start worker: the configuration has neither a task class refund nor quiz, which the sample agents ask for")
	}
	return w, nil
}

// checkPayments refuses an address that no request could be sent to: a refund
// would only find that out in the middle of a run.
func checkPayments(base string) error {
	if err := payments.CheckURL(base); err != nil {
		return usagef("--payments %v", err)
	}
	return nil
}
