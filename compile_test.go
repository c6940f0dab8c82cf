package onceward_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The promise of Write is made by the compiler: no reconciliation read, no
// program.
func TestWriteWithoutItsReadDoesNotCompile(t *testing.T) {
	for _, row := range []struct{ program, want string }{
		{"goodwrite", ""},
		{"badwrite", "not enough arguments in call to onceward.Write"},
	} {
		t.Run(row.program, func(t *testing.T) {
			build := exec.Command("go", "build", "-o", filepath.Join(t.TempDir(), "program"), filepath.Join("testdata", row.program, "main.go"))
			out, err := build.CombinedOutput()
			switch {
			case row.want == "" && err != nil:
				t.Errorf("it does not compile: %v\n%s", err, out)
			case row.want != "" && (err == nil || !strings.Contains(string(out), row.want)):
				t.Errorf("compiled with %v and\n%s\nwant %q", err, out, row.want)
			}
		})
	}
}
