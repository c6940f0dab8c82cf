package judges

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// oldest is the first major version of Node.js that runs all the packages.
const oldest = 20

// npmPackages are what a folder's lock names, installed once a process.
type npmPackages struct {
	from string // holds package.json and package-lock.json
	once sync.Once

	dir    string // holds node_modules
	reason string // why there is none
	err    error
}

var clientPackages, codexPackages = npmPackages{from: "npm"}, npmPackages{from: "npm/codex"}

// get returns the folder of node_modules. Without npm or a registry it skips the
// test.
func (p *npmPackages) get(t *testing.T) string {
	t.Helper()
	cases(t) // make corpus asks for it: nobody's plain go test shall download packages
	p.once.Do(func() { p.dir, p.reason, p.err = install(p.from) })
	if p.err != nil {
		t.Fatal(p.err)
	}
	if p.reason != "" {
		t.Skip(p.reason)
	}
	return p.dir
}

// installed returns a folder with this test's scripts and the packages that they
// import.
func installed(t *testing.T) string {
	t.Helper()
	packages := clientPackages.get(t)
	dir := t.TempDir()
	scripts, err := filepath.Glob("npm/*.mjs")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, script := range scripts {
		data, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(script)), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(packages, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// install puts the packages of a folder's package-lock.json into a folder that is
// named by the lock and kept, so that they are fetched once a machine.
func install(from string) (dir, reason string, err error) {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", program + " is not on this machine: the clients of other languages were not run", nil
		}
	}
	version, err := exec.Command("node", "--version").Output()
	if err != nil {
		return "", "", fmt.Errorf("ask node for its version: %w", err)
	}
	var major int
	if _, err := fmt.Sscanf(string(version), "v%d.", &major); err != nil || major < oldest {
		return "", fmt.Sprintf("node is %s, the packages need %d", bytes.TrimSpace(version), oldest), nil
	}
	lock, err := os.ReadFile(filepath.Join(from, "package-lock.json"))
	if err != nil {
		return "", "", err
	}
	sum := sha256.Sum256(lock)
	base, err := filepath.Abs("../../.cache/judges")
	if err != nil {
		return "", "", err
	}
	dir = filepath.Join(base, hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir, "", nil
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		return "", "", err
	}
	half, err := os.MkdirTemp(base, "half-")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(half)
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return "", "", err
		}
		if err := os.WriteFile(filepath.Join(half, name), data, 0o600); err != nil {
			return "", "", err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	npm.Dir = half
	npm.WaitDelay = 5 * time.Second
	if out, err := npm.CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("EUSAGE")) || bytes.Contains(out, []byte("EINTEGRITY")) {
			return "", "", fmt.Errorf("install %s/package-lock.json: %w\n%s", from, err, out)
		}
		return "", fmt.Sprintf("npm could not install the packages (%v): %.500s", err, out), nil
	}
	// A second process may have been faster; then its folder is as good.
	if err := os.Rename(half, dir); err != nil {
		if _, missing := os.Stat(dir); missing != nil {
			return "", "", err
		}
	}
	return dir, "", nil
}

// environment is what a script gets: nothing of the caller's that could send it
// elsewhere or give it another key.
func environment(base string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(), "BASE_URL=" + base, "OPENAI_AGENTS_DISABLE_TRACING=1", "NO_PROXY=*"}
}

// script runs a client against an address and reads what it prints into out.
func script(t *testing.T, name, base string, out any) {
	t.Helper()
	dir := installed(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	node := exec.CommandContext(ctx, "node", name)
	node.Dir, node.Env, node.WaitDelay = dir, environment(base), 5*time.Second
	var stdout, stderr bytes.Buffer
	node.Stdout, node.Stderr = &stdout, &stderr
	if err := node.Run(); err != nil {
		t.Fatalf("node %s: %v\n%s%s", name, err, stdout.Bytes(), stderr.Bytes())
	}
	if err := json.Unmarshal(stdout.Bytes(), out); err != nil {
		t.Fatalf("node %s printed %q, %s: %v", name, stdout.Bytes(), stderr.Bytes(), err)
	}
}

// serveScript starts a script that serves and returns the address that it prints
// first. The script ends with the test.
func serveScript(t *testing.T, name string) string {
	t.Helper()
	dir := installed(t)
	node := exec.Command("node", name)
	node.Dir, node.Env, node.WaitDelay = dir, environment(""), 5*time.Second
	var stderr bytes.Buffer
	node.Stderr = &stderr
	in, err := node.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		reader := bufio.NewReader(out)
		first, _ := reader.ReadString('\n')
		lines <- strings.TrimSpace(first)
		_, _ = io.Copy(io.Discard, reader)
	}()
	t.Cleanup(func() {
		_ = in.Close()
		select {
		case <-drained:
		case <-time.After(10 * time.Second): // it did not end by itself
			_ = node.Process.Kill()
			<-drained
		}
		var exit *exec.ExitError
		if err := node.Wait(); err != nil && !errors.As(err, &exit) {
			t.Error(err)
		}
	})
	select {
	case address := <-lines:
		if !strings.HasPrefix(address, "http://127.0.0.1:") {
			t.Fatalf("node %s printed %q: %s", name, address, stderr.Bytes())
		}
		return address
	case <-time.After(3 * time.Minute):
		t.Fatalf("node %s printed no address", name)
		return ""
	}
}
