package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward/cmd/onceward/internal/devserver"
	"github.com/onceward/onceward/cmd/onceward/internal/local"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/worker"
	"github.com/onceward/onceward/worker/config"
)

// The documented ports of Temporal and of its UI.
const (
	temporalPort = 7233
	uiPort       = 8233
)

// ports are those that were asked for; 0 is any.
type ports struct{ temporal, ui, payments, pool int }

// check refuses ports that somebody has. It comes before everything else: a stack
// that starts in part has to be taken down again, and a worker beside somebody
// else's Temporal would serve that one.
func (p ports) check(ctx context.Context) error {
	return devserver.Check(ctx, devserver.Port{Flag: "port", Number: p.temporal}, devserver.Port{Flag: "ui-port", Number: p.ui},
		devserver.Port{Flag: "payments-port", Number: p.payments}, devserver.Port{Flag: "pool-port", Number: p.pool})
}

func devCommand(o *options) *cobra.Command {
	var p ports
	var db string
	var sample sampleOptions
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run Temporal, model resources, payments and a worker on this machine",
		Long: `Run all that the samples need on this machine until Ctrl-C: the Temporal dev server
with its UI, a pool of three scripted model resources, the payments service of the
refund sample, and a worker with the sample agents refund and quiz. It writes a configuration and
prints its path. All listeners are on loopback. No account and no key is needed.

The pool's control address takes faults while it runs; package routertest says how.`,
		Example: "  onceward dev\n  onceward dev --port 7300 --ui-port 7301 --db dev.db",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return dev(cmd.Context(), o, p, db, sample, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	sample.flags(cmd)
	flags := cmd.Flags()
	flags.IntVar(&p.temporal, "port", 0, "port of Temporal; refused if somebody has it (default 7233 if it is free, else a free one)")
	flags.IntVar(&p.ui, "ui-port", 0, "port of the Temporal UI (default 8233 if it is free, else a free one)")
	flags.IntVar(&p.payments, "payments-port", 0, "port of payments (default a free one)")
	flags.IntVar(&p.pool, "pool-port", 0, "port of the pool's control address (default a free one)")
	flags.StringVar(&db, "db", "", "file that keeps Temporal's data (default: gone at exit)")
	return cmd
}

func dev(ctx context.Context, o *options, p ports, db string, sample sampleOptions, out, errs io.Writer) error {
	if err := p.check(ctx); err != nil {
		return fmt.Errorf("start dev: %w", err)
	}
	server, err := serverConfig(o, p)
	if err != nil {
		return err
	}
	server.DB = db
	stack, err := local.Start(ctx, local.Config{
		Temporal: server, Payments: payments.Config{Dedupe: true}, Model: local.SampleModel(),
		PaymentsAddr: loopback(p.payments), PoolAddr: loopback(p.pool),
		Timing: local.Timing{Heartbeat: heartbeat, StickyTimeout: stickyTimeout},
	})
	if err != nil {
		return err
	}
	defer func() { _ = stack.Close() }() // everything in it is about to be gone
	cfg, err := loadStack(stack)
	if err != nil {
		return err
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(errs, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err := printDev(out, stack); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	working := make(chan error, 1)
	sample.payments = stack.PaymentsURL
	go func() { working <- runWorker(ctx, cfg, sample) }()
	select {
	case err := <-working:
		return err
	case <-stack.Temporal.Done():
		cancel()
		<-working
		return fmt.Errorf("run dev: the Temporal dev server has ended: %w", stack.Temporal.Err())
	}
}

// loadStack reads the stack's configuration without this environment: variables
// meant for another Temporal must not lead the worker away from it.
func loadStack(stack *local.Stack) (worker.Config, error) {
	text, err := os.ReadFile(stack.ConfigFile)
	if err != nil {
		return worker.Config{}, fmt.Errorf("read configuration: %w", err)
	}
	return config.Parse(stack.ConfigFile, text, nil)
}

// serverConfig takes the documented ports where they are free and nothing else
// was asked for.
func serverConfig(o *options, p ports) (devserver.Config, error) {
	cfg := devserver.Config{CLI: o.temporalCLI, Port: p.temporal, UIPort: p.ui}
	asked := []int{p.temporal, p.ui, p.payments, p.pool}
	var err error
	for port, documented := range map[*int]int{&cfg.Port: temporalPort, &cfg.UIPort: uiPort} {
		switch {
		case *port != 0:
		case slices.Contains(asked, documented): // for another part
			*port, err = devserver.FreePort()
		default:
			*port, err = devserver.PortOr(documented)
		}
		if err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func printDev(out io.Writer, s *local.Stack) error {
	_, err := fmt.Fprintf(out, `Temporal       %s (namespace default)
Temporal UI    %s
payments       %s
pool           %s (control)
`, s.Temporal.Address, s.Temporal.UI, s.PaymentsURL, s.Pool.ControlURL())
	if err != nil {
		return err
	}
	for _, r := range s.Pool.Resources() {
		if _, err := fmt.Fprintf(out, "  %-12s %s\n", r.Name(), r.URL()); err != nil {
			return err
		}
	}
	refund, quiz, command := goRun("samples/refund/starter"), goRun("samples/quiz/starter"), goRun("cmd/onceward")
	_, err = fmt.Fprintf(out, `configuration  %s

A worker with the sample agents is running. Type next, in another terminal:
  %s --config %s --order order-1842 --wait
  %s --config %s --topic rivers --wait
  %s show refund-order-1842 --address %s
Ctrl-C stops everything.
`, s.ConfigFile, refund, s.ConfigFile, quiz, s.ConfigFile, command, s.Temporal.Address)
	return err
}

// goRun is a command that runs a program of this module from where the user is: in a
// checkout from its files, elsewhere from the release that this one was built of.
func goRun(folder string) string {
	if text, err := os.ReadFile("go.mod"); err == nil && modfile(text) == module {
		return "go run ./" + folder
	}
	version := thisBuild().Version
	if !strings.HasPrefix(version, "v") || strings.Contains(version, "+") { // a build of changed files is no release
		version = "latest"
	}
	return "go run " + module + "/" + folder + "@" + version
}

// modfile returns the module that a go.mod declares.
func modfile(text []byte) string {
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			return strings.TrimSpace(path)
		}
	}
	return ""
}
