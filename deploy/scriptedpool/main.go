// Command scriptedpool serves a scripted pool of Responses resources as a
// process of its own, for docker-compose.yml and for trying things by hand.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward/router/routertest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(os.Stdout).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "scriptedpool:", err)
		stop()
		os.Exit(1)
	}
}

func command(out io.Writer) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use: "scriptedpool --config FILE", Short: "Serve a scripted pool of resources until SIGTERM or Ctrl-C",
		Example: "  scriptedpool --config deploy/scriptedpool/example.json",
		Args:    cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), path, out) },
	}
	cmd.Flags().StringVar(&path, "config", "", "JSON file: resources, model, faults, control (required)")
	_ = cmd.MarkFlagRequired("config") // fails only for a flag that is not there
	return cmd
}

func serve(ctx context.Context, path string, out io.Writer) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open configuration: %w", err)
	}
	defer file.Close()
	cfg, err := routertest.Load(file)
	if err != nil {
		return err
	}
	pool, err := routertest.New(cfg)
	if err != nil {
		return err
	}
	defer pool.Close()
	for _, r := range pool.Resources() {
		if _, err := fmt.Fprintf(out, "resource %s at %s\n", r.Name(), r.URL()); err != nil {
			return fmt.Errorf("print address: %w", err)
		}
	}
	if url := pool.ControlURL(); url != "" {
		if _, err := fmt.Fprintf(out, "control at %s\n", url); err != nil {
			return fmt.Errorf("print address: %w", err)
		}
	}
	<-ctx.Done()
	return nil
}
