package devserver

import (
	"os/exec"
	"syscall"
)

// bind has the kernel kill the child with its parent, and keeps a Ctrl-C in the
// terminal from reaching it before the parent has said what to do.
func bind(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
