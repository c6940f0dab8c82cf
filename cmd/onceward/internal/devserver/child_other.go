//go:build !linux

package devserver

import "os/exec"

// bind does nothing here: only Linux can tie a child's life to its parent's. A
// parent that is killed may leave its children behind.
func bind(*exec.Cmd) {}
