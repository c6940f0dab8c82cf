package harness

import (
	"flag"
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
	serverOnce sync.Once
	server     *Temporal
	serverErr  error

	mu       sync.Mutex
	dir      string
	binaries map[string]string // path by package
}

// Shared returns the server of this test process.
func Shared(t testing.TB) *Temporal {
	t.Helper()
	shared.serverOnce.Do(func() { shared.server, shared.serverErr = Server{}.Start() })
	if shared.serverErr != nil {
		t.Fatal(shared.serverErr)
	}
	return shared.server
}

// Binary builds a command of the module once and returns its path. pkg is
// relative to the module, such as ./cmd/onceward.
func Binary(t testing.TB, pkg string) string {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if path := shared.binaries[pkg]; path != "" {
		return path
	}
	if shared.dir == "" {
		dir, err := os.MkdirTemp("", "onceward-test-*")
		if err != nil {
			t.Fatal(err)
		}
		shared.dir, shared.binaries = dir, map[string]string{}
	}
	path := filepath.Join(shared.dir, filepath.Base(pkg))
	build := exec.Command("go", "build", "-o", path, pkg)
	build.Dir = Root()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	shared.binaries[pkg] = path
	return path
}
