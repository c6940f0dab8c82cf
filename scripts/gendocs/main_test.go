package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

var update = flag.Bool("update", false, "rewrite docs/failures.md")

func TestFailuresPageIsInStepWithTheTable(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "failures.md")
	want := render()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is stale: run go generate ./router/classify", path)
	}
}

func TestEveryClassHasARow(t *testing.T) {
	page := render()
	for _, r := range onceward.Classes() {
		if !strings.Contains(page, "| `"+string(r.Class)+"` |") {
			t.Errorf("no row for %s", r.Class)
		}
	}
}
