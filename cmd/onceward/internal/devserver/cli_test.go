package devserver

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func place(t *testing.T, path string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// The places are taken away one by one: what is found each time is the order.
func TestFindCLIOrder(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	asked := place(t, filepath.Join(dir, "asked", "temporal-2"), 0o755)
	inBin := place(t, filepath.Join(dir, "bin", name()), 0o755)
	beside := place(t, filepath.Join(dir, "installed", name()), 0o755)
	executable := filepath.Join(dir, "installed", "onceward")
	inPath := place(t, filepath.Join(dir, "path", name()), 0o755)
	lookPath := func(string) (string, error) { return inPath, nil }

	if got, err := find(asked, executable, lookPath); got != asked || err != nil {
		t.Errorf("got %s, %v, want the one that was asked for", got, err)
	}
	for _, want := range []string{inBin, beside} {
		got, err := find("", executable, lookPath)
		if err != nil || got != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
		if err := os.Remove(want); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := find("", executable, lookPath); got != inPath || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, inPath)
	}
	_, err := find("", executable, func(string) (string, error) { return "", errors.New("none") })
	if err == nil || !strings.Contains(err.Error(), Install) {
		t.Errorf("%v does not say how to install it", err)
	}
}

func TestWhatCannotBeRunIsNotTheCLI(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	plain := place(t, filepath.Join(dir, "bin", name()), 0o644)
	none := func(string) (string, error) { return "", errors.New("none") }
	for _, asked := range []string{plain, dir, filepath.Join(dir, "missing")} {
		if got, err := find(asked, "", none); err == nil || !strings.Contains(err.Error(), "--temporal-cli") {
			t.Errorf("asked for %s: got %s, %v, want a refusal that names the flag", asked, got, err)
		}
	}
	if got, err := find("", "", none); err == nil {
		t.Errorf("a file that is not executable was taken: %s", got)
	}
}
