package devserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// Child is a process that ends when this one does. The zero value is not usable.
// It is safe for concurrent use.
type Child struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // of Wait, once done is closed
}

// StartChild starts the command. Where the system can, it kills the child when
// this process dies, so that a killed demo leaves nothing running.
func StartChild(cmd *exec.Cmd) (*Child, error) {
	bind(cmd)
	c := &Child{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The signal for the parent's death is tied to the thread that started the
		// child: this one must live as long as the child does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			c.err = cmd.Wait()
		}
		close(c.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return c, nil
}

// Done is closed when the child has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err says how the child ended. It waits for the end.
func (c *Child) Err() error {
	<-c.done
	return c.err
}

// Kill ends the child as a power cut would, and waits until it is gone.
func (c *Child) Kill() error {
	err := c.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-c.done
	return err
}

// Stop asks the child to end and kills it after grace.
func (c *Child) Stop(grace time.Duration) {
	if err := c.cmd.Process.Signal(os.Interrupt); err == nil {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-c.done:
			return
		case <-timer.C:
		}
	}
	_ = c.Kill() // it has ended already, or nothing more can be done about it
}

// PID is the child's process id.
func (c *Child) PID() int { return c.cmd.Process.Pid }
