package harness

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// Worker is a worker process. It is safe for concurrent use, so that a hook of
// the pool or of payments may kill it.
type Worker struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	once sync.Once
	err  error // set before done is closed
}

// StartWorker starts a worker of the bench. args are flags of the agentworker,
// such as --kill-at=commit_done. With respawn a worker that was killed is
// followed by one without these flags, as a supervisor would.
func (b *Bench) StartWorker(respawn bool, args ...string) *Worker {
	b.t.Helper()
	binary := Binary(b.t, "./test/agentworker")
	b.mu.Lock()
	defer b.mu.Unlock()
	heirs := 0
	if respawn {
		heirs = 1
	}
	return b.start(binary, args, heirs)
}

// StartMortals starts a worker that is followed by another whenever one is
// killed, n times: the first n have the flags, the one after them has none.
func (b *Bench) StartMortals(n int, args ...string) {
	b.t.Helper()
	binary := Binary(b.t, "./test/agentworker")
	b.mu.Lock()
	defer b.mu.Unlock()
	b.start(binary, args, n)
}

// endless is the number of heirs of a supervised worker.
const endless = -1

// Supervise starts a worker that is followed by another, with the same flags, in
// whatever way it ends: a worker that cannot reach the server ends by itself.
func (b *Bench) Supervise(args ...string) {
	b.t.Helper()
	binary := Binary(b.t, "./test/agentworker")
	b.mu.Lock()
	defer b.mu.Unlock()
	b.start(binary, args, endless)
}

// Retire kills all workers, the stopped ones too, and waits until they are gone.
// Nobody follows them.
func (b *Bench) Retire() {
	b.mu.Lock()
	b.retired = true
	workers := slices.Clone(b.workers)
	b.mu.Unlock()
	for _, w := range workers {
		w.Kill()
	}
	b.wait.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.retired = false
}

// Alive are the workers that have not ended, oldest first.
func (b *Bench) Alive() []*Worker {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.workers), func(w *Worker) bool {
		select {
		case <-w.done:
			return true
		default:
			return false
		}
	})
}

// start needs the lock. A worker that is killed is followed by an heir while
// there are any; the last heir has no flags.
func (b *Bench) start(binary string, args []string, heirs int) *Worker {
	if b.ended || b.retired {
		return nil
	}
	w := &Worker{log: filepath.Join(b.dir, "worker-"+strconv.Itoa(len(b.workers))+".log"), done: make(chan struct{})}
	out, err := os.Create(w.log)
	if err != nil {
		b.t.Errorf("start worker: %v", err)
		return nil
	}
	defer out.Close()
	w.cmd = exec.Command(binary, append([]string{"--config", b.config, "--payments", b.through("payments", b.paymentsURL)}, args...)...)
	w.cmd.Env = append(os.Environ(), KeyVariable+"="+Key)
	w.cmd.Stdout, w.cmd.Stderr = out, out
	if err := spawn(w.cmd); err != nil {
		b.t.Errorf("start worker: %v", err)
		return nil
	}
	b.workers = append(b.workers, w)
	b.live = w
	b.wait.Go(func() {
		w.err = w.cmd.Wait()
		close(w.done)
		if heirs == endless && !killed(w.err) {
			pace(context.Background()) // a worker that finds no server would follow itself all the time
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if killed(w.err) && !b.ended {
			b.deaths++
		}
		switch {
		case heirs == endless:
			b.start(binary, args, endless)
		case killed(w.err):
			switch {
			case heirs > 1:
				b.start(binary, args, heirs-1)
			case heirs == 1:
				b.start(binary, nil, 0)
			}
		}
	})
	return w
}

// Command runs the command line of the product against the bench's server and
// returns what it prints and how it ended.
func (b *Bench) Command(args ...string) (stdout, stderr string, err error) {
	b.t.Helper()
	cmd := exec.CommandContext(b.Context(), Binary(b.t, "./cmd/onceward"), append(args, "--address", b.Temporal.Address)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// CLI runs the Temporal command line against the bench's server, as somebody does
// who does not have the product's.
func (b *Bench) CLI(args ...string) (string, error) {
	b.t.Helper()
	cli, err := findCLI()
	if err != nil {
		b.t.Fatal(err)
	}
	out, err := exec.CommandContext(b.Context(), cli, append(args, "--address", b.Temporal.Address)...).CombinedOutput()
	return string(out), err
}

// Kill ends the process as a power failure would.
func (w *Worker) Kill() {
	w.once.Do(func() { _ = w.cmd.Process.Kill() })
	<-w.done
}

// Stop asks the process to end and waits for it; it returns the exit error.
func (w *Worker) Stop() error {
	_ = w.cmd.Process.Signal(syscall.SIGTERM)
	<-w.done
	return w.err
}

// Terminate asks the process to end and does not wait.
func (w *Worker) Terminate() { _ = w.cmd.Process.Signal(syscall.SIGTERM) }

// Said waits until a worker has logged a text.
func (b *Bench) Said(w *Worker, text string) {
	ctx := b.Context()
	for ctx.Err() == nil {
		if raw, err := os.ReadFile(w.log); err == nil && bytes.Contains(raw, []byte(text)) {
			return
		}
		pace(ctx)
	}
	b.t.Errorf("the worker never said %q", text)
}

// Suspend stops the process as a virtual machine that is moved, or a page fault
// that never ends: it is alive and does nothing.
func (b *Bench) Suspend(w *Worker) {
	_ = w.cmd.Process.Signal(syscall.SIGSTOP)
	b.AwaitStopped(w)
}

// Halt is Suspend for a worker that may end meanwhile: it does not wait.
func (w *Worker) Halt() { _ = w.cmd.Process.Signal(syscall.SIGSTOP) }

// AwaitStopped waits until the kernel has stopped a process, by Suspend or by
// --stop-at: the signal is sent before that.
func (b *Bench) AwaitStopped(w *Worker) {
	ctx := b.Context()
	for ctx.Err() == nil {
		if stopped(w.cmd.Process.Pid) {
			return
		}
		pace(ctx)
	}
	b.t.Error("the worker never stopped")
}

// Continue wakes a process after Suspend or --stop-at.
func (w *Worker) Continue() { _ = w.cmd.Process.Signal(syscall.SIGCONT) }

// Live returns the worker that was started last.
func (b *Bench) Live() *Worker {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.live
}

// Deaths counts the workers that ended by SIGKILL.
func (b *Bench) Deaths() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.deaths
}

// AwaitDeath waits until a worker has been killed.
func (b *Bench) AwaitDeath() {
	b.t.Helper()
	ctx := b.Context()
	for b.Deaths() == 0 {
		if ctx.Err() != nil {
			b.t.Fatal("no worker was killed")
		}
		pace(ctx)
	}
}

// end stops the workers, looks for credentials in what they said, and shows it if
// the test failed.
func (b *Bench) end(t *testing.T) {
	b.mu.Lock()
	b.ended = true
	workers := b.workers
	b.mu.Unlock()
	for _, w := range workers {
		_ = w.cmd.Process.Kill() // a stopped process dies of it too
	}
	b.wait.Wait()
	for i, w := range workers {
		if raw, err := os.ReadFile(w.log); err != nil || bytes.Contains(raw, []byte(Key)) {
			t.Errorf("worker %d wrote a credential into its log (%v)", i, err)
		}
	}
	if !t.Failed() {
		return
	}
	for i, w := range workers {
		t.Logf("worker %d: %s", i, tail(w.log, 1500))
	}
}
