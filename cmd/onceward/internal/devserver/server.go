package devserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

// flags make the dev server fast enough to watch: the defaults pace its queues
// for a cluster. They are not meant for production.
var flags = []string{
	"history.transferProcessorMaxPollRPS=10000",
	"history.timerProcessorMaxPollRPS=10000",
	"matching.numTaskqueueReadPartitions=1",
	"matching.numTaskqueueWritePartitions=1",
	"system.enableActivityEagerExecution=true",
}

const (
	// startTimeout is for a starved machine: an idle one starts it in a second.
	startTimeout = 3 * time.Minute
	// startTries bounds how often a server is started again whose port was free when
	// it was chosen and is taken now.
	startTries = 3
	stopGrace  = 5 * time.Second
)

// Config says how the server runs. The zero value takes free ports and forgets
// everything when it stops.
type Config struct {
	CLI        string // path of the Temporal CLI; empty: FindCLI
	Port       int    // 0: a free one
	UIPort     int    // 0: a free one
	DB         string // file that outlives the server; empty: in memory
	Attributes map[string]enumspb.IndexedValueType
}

// Check refuses ports of the configuration that somebody has.
func (c Config) Check(ctx context.Context) error {
	return Check(ctx, Port{"port", c.Port}, Port{"ui-port", c.UIPort})
}

// Server is a running dev server on loopback.
type Server struct {
	Address string // host:port
	UI      string // URL
	*Child
}

// Start runs the server and waits until it answers. It ends with Stop, and with
// this process. Ports that were asked for and that somebody has are refused.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cli, err := FindCLI(cfg.CLI)
	if err != nil {
		return nil, err
	}
	if err := cfg.Check(ctx); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		s, err := start(ctx, cli, cfg)
		// Ports that were asked for stay taken; others are chosen anew.
		if own := cfg.Port == 0 || cfg.UIPort == 0; !errors.Is(err, errEnded) || !own || try == startTries {
			if errors.Is(err, errEnded) { // somebody may have come between the check and the start
				err = errors.Join(err, cfg.Check(ctx))
			}
			return s, err
		}
	}
}

// errEnded is a server that ended before it answered.
var errEnded = errors.New("it ended at once")

func start(ctx context.Context, cli string, cfg Config) (*Server, error) {
	var err error
	for _, port := range []*int{&cfg.Port, &cfg.UIPort} {
		if *port == 0 {
			if *port, err = FreePort(); err != nil {
				return nil, err
			}
		}
	}
	cmd := exec.Command(cli, arguments(cfg)...)
	output := &Tail{}
	greeting := &greeting{Tail: output, heard: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = greeting, output
	child, err := StartChild(cmd)
	if err != nil {
		return nil, err
	}
	s := &Server{
		Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(cfg.Port)),
		UI:      "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(cfg.UIPort)),
		Child:   child,
	}
	if err := s.ready(ctx, greeting.heard); err != nil {
		s.Stop()
		return nil, fmt.Errorf("start the Temporal dev server: %w%s", err, note(output))
	}
	return s, nil
}

// Stop ends the server and waits until it is gone.
func (s *Server) Stop() { s.Child.Stop(stopGrace) }

func arguments(cfg Config) []string {
	args := []string{
		"server", "start-dev", "--ip", "127.0.0.1", "--log-level", "error",
		"--port", strconv.Itoa(cfg.Port), "--ui-port", strconv.Itoa(cfg.UIPort),
	}
	for _, value := range flags {
		args = append(args, "--dynamic-config-value", value)
	}
	if cfg.DB != "" {
		args = append(args, "--db-filename", cfg.DB)
	}
	var names []string
	for name := range cfg.Attributes {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		args = append(args, "--search-attribute", name+"="+cfg.Attributes[name].String())
	}
	return args
}

// ready asks until the namespace answers: the port opens earlier than that. Before
// it asks, the child must have said on standard output that it runs: the CLI does
// so when it has its ports, and ends if it cannot have them. Whoever took a port
// between the check and the start would else answer for it.
func (s *Server) ready(ctx context.Context, runs <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	c, err := client.NewLazyClient(client.Options{HostPort: s.Address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		return err
	}
	defer c.Close()
	ended := func() error { return fmt.Errorf("%w: %w", errEnded, s.Err()) }
	select {
	case <-runs:
	case <-s.Done():
		return ended()
	case <-ctx.Done():
		return fmt.Errorf("it does not say that it runs: %w", ctx.Err())
	}
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		try, cancel := context.WithTimeout(ctx, 10*time.Second)
		_, err := c.WorkflowService().DescribeNamespace(try, &workflowservice.DescribeNamespaceRequest{Namespace: "default"})
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-s.Done():
			return ended()
		case <-ctx.Done():
			return fmt.Errorf("it does not answer at %s: %w", s.Address, err)
		case <-ticker.C:
		}
	}
}
