package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/onceward/onceward/worker"
)

// readyTimeout bounds the start of a server; it takes 0.2 s on an idle machine.
const readyTimeout = 3 * time.Minute

// Temporal is a dev server of its own process. Start it with Server.Start and end
// it with Stop. It is safe for concurrent use.
type Temporal struct {
	Address string
	Client  client.Client
	dir     string   // of its log, and of its file where it has one
	args    []string // of its command line, the program first
	once    sync.Once

	mu   sync.Mutex // held to start and end the process
	cmd  *exec.Cmd
	gone chan struct{} // closed when cmd has ended
}

// devFlags make a dev server quick: the defaults poll 20 times a second.
var devFlags = []string{
	"history.transferProcessorMaxPollRPS=10000",
	"history.timerProcessorMaxPollRPS=10000",
	"matching.numTaskqueueReadPartitions=1",
	"matching.numTaskqueueWritePartitions=1",
	"system.enableActivityEagerExecution=true",
}

// Server says how a dev server differs from the shared one. The zero value does
// not.
type Server struct {
	Dynamic      []string // dynamic configuration in the form key=value
	NoAttributes bool     // without the search attributes of runs
	Durable      bool     // writes to a file, so that Restart loses nothing
}

// Start starts a dev server.
func (o Server) Start() (*Temporal, error) {
	cli, err := findCLI()
	if err != nil {
		return nil, err
	}
	for range 3 { // a port that was free may be taken a moment later
		var server *Temporal
		if server, err = startTemporal(cli, o); err == nil {
			return server, nil
		}
	}
	return nil, err
}

func startTemporal(cli string, o Server) (*Temporal, error) {
	port, err := freePort()
	if err != nil {
		return nil, fmt.Errorf("start temporal: %w", err)
	}
	dir, err := os.MkdirTemp("", "temporal-*")
	if err != nil {
		return nil, fmt.Errorf("start temporal: %w", err)
	}
	s := &Temporal{Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), dir: dir}
	s.args = []string{cli, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", strconv.Itoa(port), "--log-level", "error"}
	if o.Durable {
		// The process is killed, never the machine: what it wrote is in the file
		// without waiting for the disk, which is busy with other tests.
		s.args = append(s.args, "--db-filename", filepath.Join(dir, "temporal.db"),
			"--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=0")
	}
	for _, value := range append(append([]string{}, devFlags...), o.Dynamic...) {
		s.args = append(s.args, "--dynamic-config-value", value)
	}
	for name, kind := range worker.SearchAttributes() {
		if o.NoAttributes {
			break
		}
		s.args = append(s.args, "--search-attribute", name+"="+attributeName(kind))
	}
	if err := s.launch(); err != nil {
		said := s.Log()
		s.Stop()
		return nil, fmt.Errorf("start temporal: %w: %s", err, said)
	}
	return s, nil
}

// launch starts the process and waits until it serves.
func (s *Temporal) launch() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd, gone := exec.Command(s.args[0], s.args[1:]...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = out, out
	if err := spawn(cmd); err != nil {
		return err
	}
	s.cmd, s.gone = cmd, gone
	go func() {
		_ = cmd.Wait()
		close(gone)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	for {
		if err = s.connect(ctx); err == nil {
			return nil
		}
		select {
		case <-gone:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return fmt.Errorf("not ready after %s: %w", readyTimeout, err)
		default:
			pace(ctx)
		}
	}
}

// Restart kills the server, as a power failure does, and starts it again on the
// same port with what its file holds. Its clients find it again by themselves.
func (s *Temporal) Restart() error {
	s.kill()
	if err := s.launch(); err != nil {
		return fmt.Errorf("restart temporal: %w", err)
	}
	return nil
}

// kill ends the process and waits for its end: until then it holds its port.
func (s *Temporal) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		<-s.gone
	}
}

// connect dials and asks for the namespace: the port opens before there is one.
func (s *Temporal) connect(ctx context.Context) error {
	c := s.Client
	if c == nil {
		var err error
		if c, err = client.DialContext(ctx, client.Options{HostPort: s.Address, Logger: quiet{}}); err != nil {
			return err
		}
	}
	_, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: client.DefaultNamespace})
	switch {
	case err == nil:
		s.Client = c
	case s.Client == nil:
		c.Close()
	}
	return err
}

func attributeName(kind enums.IndexedValueType) string {
	return strings.TrimPrefix(kind.String(), "INDEXED_VALUE_TYPE_")
}

// Stop ends the server; it holds nothing worth a graceful end.
func (s *Temporal) Stop() {
	s.once.Do(func() {
		if s.Client != nil {
			s.Client.Close()
		}
		s.kill()
		_ = os.RemoveAll(s.dir)
	})
}

// Log returns the end of what the server said.
func (s *Temporal) Log() string { return tail(s.logFile(), 4<<10) }

func (s *Temporal) logFile() string { return filepath.Join(s.dir, "log") }

func tail(path string, n int) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(raw[max(0, len(raw)-n):])
}

// findCLI looks for the Temporal CLI. A test that was skipped without it would
// look like a test that passed.
func findCLI() (string, error) {
	if path := os.Getenv("TEMPORAL_CLI"); path != "" {
		return path, nil
	}
	if path := filepath.Join(Root(), "bin", "temporal"); isFile(path) {
		return path, nil
	}
	if path, err := exec.LookPath("temporal"); err == nil {
		return path, nil
	}
	return "", errors.New("the Temporal CLI is not to be found (TEMPORAL_CLI, bin/temporal, PATH); install it with: GOBIN=" +
		filepath.Join(Root(), "bin") + " go install github.com/temporalio/cli/cmd/temporal@v1.5.1")
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Root is the module's folder.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// given are the ports that were handed out. Two servers that start at once and
// get one port would be one server: the second is not needed for a dial.
var given sync.Map

func freePort() (int, error) {
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		port := l.Addr().(*net.TCPAddr).Port
		if err := l.Close(); err != nil {
			return 0, err
		}
		if _, taken := given.LoadOrStore(port, true); !taken {
			return port, nil
		}
	}
}

// quiet drops the SDK's log lines of the test process.
type quiet struct{}

var _ log.Logger = quiet{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
