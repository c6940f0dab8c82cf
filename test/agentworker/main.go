// Command agentworker is the worker of the process tests. It ends itself at a
// named point, as a machine does that loses its power, so that the product needs
// no failpoints.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/onceward/onceward/samples/refund"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/test/agents"
	"github.com/onceward/onceward/worker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "agentworker:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	config := flag.String("config", "", "configuration file")
	paymentsURL := flag.String("payments", "", "base URL of the payments service")
	killAt := flag.String("kill-at", "", "POINT[:N]: SIGKILL itself when the point is reached for the N-th time")
	stopAt := flag.String("stop-at", "", "POINT[:N]: SIGSTOP itself there")
	stopSending := flag.String("stop-sending", "", "SIGSTOP itself after the guard, with the first refund above or below the transport that sends once")
	without := flag.String("without", "", "what this release lacks of the refund sample: its workflow, or just its agent")
	instructions := flag.String("instructions", "", "what this release tells the refund agent")
	deaf := flag.String("deaf", "", "end of the names of the task queues that are not polled")
	seal := flag.String("seal", "", "codec: put the codec of the tests around every payload; own: use a converter that is none of the SDK's")
	fault := flag.String("codec-fault", "", "encode|decode|stall:DURATION:TEXT: that codec fails for a time from the first payload on that holds the text")
	deny := flag.String("deny", "", "name of a call to Temporal that is denied")
	flag.Parse()

	kill, err := parsePoint(*killAt, syscall.SIGKILL)
	if err != nil {
		return err
	}
	halt, err := parsePoint(*stopAt, syscall.SIGSTOP)
	if err != nil {
		return err
	}
	cfg, err := worker.Load(*config)
	if err != nil {
		return err
	}
	client, err := dial(ctx, cfg, *deaf, *deny, *seal, *fault)
	if err != nil {
		return err
	}
	defer client.Close()
	w, err := worker.New(client, cfg, worker.WithInterceptors(&trap{points: []*point{kill, halt}}))
	if err != nil {
		return err
	}
	transport, err := sending(*stopSending)
	if err != nil {
		return err
	}
	tools := &refund.Activities{Payments: payments.NewClient(*paymentsURL, transport)}
	agent := agents.Refunds
	if *instructions != "" {
		agent.Instructions = *instructions
	}
	if *without == "agent" {
		agent.Name = "another"
	}
	if *without != "workflow" {
		if err := w.Register(refund.RefundWorkflow, agent, tools); err != nil {
			return err
		}
	}
	for _, r := range agents.All {
		if err := w.Register(r.Workflow, r.Agent, &agents.Activities{Refund: tools}); err != nil {
			return err
		}
	}
	return w.Run(ctx)
}
