package harness

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// parallel is how many tests run at once: they mostly wait for leases and
// heartbeats, so there may be more of them than processors.
const parallel = "4"

// Main runs the tests of a package and ends what they share. Call it from
// TestMain.
func Main(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", parallel) // fails only for a flag that is not there
	}
	code := m.Run()
	if shared.server != nil {
		shared.server.Stop()
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

// shared is what the tests of one process have together.
var shared struct {
	serverOnce, binaryOnce sync.Once
	server                 *Temporal
	serverErr, binaryErr   error
	dir, binary            string
}

// Shared returns the server of this test process.
func Shared(t testing.TB) *Temporal {
	t.Helper()
	shared.serverOnce.Do(func() { shared.server, shared.serverErr = StartTemporal() })
	if shared.serverErr != nil {
		t.Fatal(shared.serverErr)
	}
	return shared.server
}

// workerBinary builds the worker of the tests once.
func workerBinary(t testing.TB) string {
	t.Helper()
	shared.binaryOnce.Do(func() {
		if shared.dir, shared.binaryErr = os.MkdirTemp("", "onceward-test-*"); shared.binaryErr != nil {
			return
		}
		shared.binary = filepath.Join(shared.dir, "agentworker")
		build := exec.Command("go", "build", "-o", shared.binary, "./test/agentworker")
		build.Dir = Root()
		if out, err := build.CombinedOutput(); err != nil {
			shared.binaryErr = fmt.Errorf("build agentworker: %w\n%s", err, out)
		}
	})
	if shared.binaryErr != nil {
		t.Fatal(shared.binaryErr)
	}
	return shared.binary
}
