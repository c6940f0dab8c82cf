// Command worker runs the quiz agent's worker.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/samples/quiz"
	"github.com/onceward/onceward/worker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "quiz worker:", onceward.Printable(err.Error()))
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var config string
	cmd := &cobra.Command{
		Use: "worker", Short: "Run the quiz agent's worker until SIGTERM or Ctrl-C",
		Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
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
			if err := w.Register(quiz.QuizWorkflow, quiz.Quizzes, nil); err != nil {
				return err
			}
			return w.Run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&config, "config", "onceward.yaml", "configuration file")
	return cmd
}
