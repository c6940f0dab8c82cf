package harness

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// spawn starts a command that dies with this process. The kernel ties the death
// signal to the thread that started the child, so all children are started by
// one thread that lives as long as the process.
func spawn(cmd *exec.Cmd) error {
	spawner.Do(func() {
		go func() {
			runtime.LockOSThread()
			for request := range spawns {
				request.done <- request.cmd.Start()
			}
		}()
	})
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	request := spawnRequest{cmd, make(chan error, 1)}
	spawns <- request
	return <-request.done
}

type spawnRequest struct {
	cmd  *exec.Cmd
	done chan error
}

var (
	spawner sync.Once
	spawns  = make(chan spawnRequest)
)

// killed reports whether a process ended by SIGKILL.
func killed(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}
