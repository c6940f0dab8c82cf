package demo

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/onceward/onceward/cmd/onceward/internal/devserver"
	"github.com/onceward/onceward/samples/refund/payments"
)

// workers is the worker's process, the one that replaces it, and others beside it.
type workers struct {
	cfg    Config
	output devserver.Tail
	once   sync.Once
	killed chan struct{}

	mu      sync.Mutex
	child   *devserver.Child   // the last that was started
	all     []*devserver.Child // those that ended included
	stopped bool
}

func (w *workers) start(config, paymentsURL string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	cmd := exec.Command(w.cfg.Executable, "worker", "--config", config, "--payments", paymentsURL)
	cmd.Stdout, cmd.Stderr = io.Discard, &w.output
	// Variables meant for another Temporal must not lead the worker away from this one.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ONCEWARD_") })
	child, err := devserver.StartChild(cmd)
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	w.child, w.all = child, append(w.all, child)
	w.cfg.Say("worker %d is started", child.PID())
	return nil
}

// killOnce kills the worker before payments answers the refund that was paid.
func (w *workers) killOnce(r payments.Refund) {
	w.once.Do(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.child == nil || w.stopped {
			return
		}
		pid := w.child.PID()
		if err := w.child.Kill(); err != nil {
			w.cfg.Say("worker %d cannot be killed: %v", pid, err)
			return
		}
		w.cfg.Say("refund %s is paid; worker %d gets SIGKILL before it hears of it; the answer is dropped", r.RefundID, pid)
		close(w.killed)
	})
}

// kill ends the last worker with SIGKILL.
func (w *workers) kill() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.child.Kill(); err != nil {
		return fmt.Errorf("kill worker %d: %w", w.child.PID(), err)
	}
	w.cfg.Say("worker %d gets SIGKILL", w.child.PID())
	return nil
}

func (w *workers) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	var ended sync.WaitGroup
	for _, child := range w.all {
		ended.Go(func() { child.Stop(stopGrace) })
	}
	ended.Wait()
}

// said is what the workers logged, for the error of a story that went wrong.
func (w *workers) said() error {
	if text := w.output.String(); text != "" {
		return fmt.Errorf("the workers said:\n%s", text)
	}
	return nil
}
