package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
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

// stopped reports whether the kernel has stopped every thread of a process.
func stopped(pid int) bool {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil || len(threads) == 0 {
		return false
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/stat", pid, thread.Name()))
		// The state follows the name, which may hold anything but ends with the last bracket.
		if _, state, found := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" ")); err != nil || !found || state[0] != 'T' {
			return false
		}
	}
	return true
}
