// Package devserver runs the Temporal dev server as a child process.
package devserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Install is the command that installs the Temporal CLI.
const Install = "go install github.com/temporalio/cli/cmd/temporal@v1.5.1"

// FindCLI returns the path of the Temporal CLI: the one that was asked for, else
// bin/temporal below the working directory, else the one beside this executable,
// else the first in PATH. Its error says how to install it.
func FindCLI(asked string) (string, error) {
	executable, err := os.Executable()
	if err != nil {
		executable = "" // then there is no "beside"
	}
	return find(asked, executable, exec.LookPath)
}

func find(asked, executable string, lookPath func(string) (string, error)) (string, error) {
	if asked != "" {
		if !runnable(asked) {
			return "", fmt.Errorf("find the Temporal CLI: --temporal-cli %s is not an executable file", asked)
		}
		return asked, nil
	}
	candidates := []string{filepath.Join("bin", name())}
	if executable != "" {
		candidates = append(candidates, filepath.Join(filepath.Dir(executable), name()))
	}
	for _, path := range candidates {
		if runnable(path) {
			return filepath.Abs(path)
		}
	}
	path, err := lookPath(name())
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", fmt.Errorf("find the Temporal CLI: it is not in bin/, beside onceward or in PATH; name it with --temporal-cli, or install it: %s", Install)
	}
	return filepath.Abs(path)
}

func name() string {
	if runtime.GOOS == "windows" {
		return "temporal.exe"
	}
	return "temporal"
}

func runnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode().Perm()&0o111 != 0)
}
