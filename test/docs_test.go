package test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	goBlock   = regexp.MustCompile("(?s)```go\n(package .*?)```")
	moduleRow = regexp.MustCompile(`(?m)^\| (\S+\.\S+/\S+) \|`)
	pageLink  = regexp.MustCompile(`\]\(([^)#]+)(?:#[^)]*)?\)`)
	testName  = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]+)`")
	makeWord  = regexp.MustCompile("[`$] ?make ([a-z][a-z-]*)")
)

func readPage(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A reader copies these lines first; they have to compile.
func TestReadmeCodeCompiles(t *testing.T) {
	t.Parallel()
	blocks := goBlock.FindAllStringSubmatch(readPage(t, "README.md"), -1)
	if len(blocks) < 2 {
		t.Fatalf("README.md has %d whole Go files, want the agent and its worker", len(blocks))
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	// An overlay makes the files a package of this module without writing into it.
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for i, block := range blocks {
		name := fmt.Sprintf("block%d.go", i)
		// Not main: a command would be linked, which takes longer than all else here.
		source := strings.Replace(block[1], "package main", "package readme", 1)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(root, "test", "readme", name)] = filepath.Join(dir, name)
	}
	raw, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", file, "./test/readme")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("build the README's code: %v\n%s", err, out)
	}
}

func TestEveryDirectDependencyHasItsReason(t *testing.T) {
	t.Parallel()
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(runGo(t, "mod", "edit", "-json"), &mod); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, r := range mod.Require {
		if !r.Indirect {
			want = append(want, r.Path)
		}
	}
	for _, row := range moduleRow.FindAllStringSubmatch(readPage(t, "docs/dependencies.md"), -1) {
		got = append(got, row[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("docs/dependencies.md lists\n%s\ngo.mod requires\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestDocsLinkToFilesThatAreThere(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../README.md", "../CONTRIBUTING.md") {
		text := readPage(t, strings.TrimPrefix(page, "../"))
		for _, link := range pageLink.FindAllStringSubmatch(text, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), link[1])); err != nil {
				t.Errorf("%s links to %s: %v", page, link[1], err)
			}
		}
	}
}

func TestDocsNameMakeTargetsThatAreThere(t *testing.T) {
	t.Parallel()
	makefile := readPage(t, "Makefile")
	named := 0
	for _, page := range []string{"README.md", "CONTRIBUTING.md"} {
		for _, word := range makeWord.FindAllStringSubmatch(readPage(t, page), -1) {
			named++
			if !strings.Contains(makefile, "\n"+word[1]+":") {
				t.Errorf("%s names make %s, which the Makefile has not", page, word[1])
			}
		}
	}
	if named == 0 {
		t.Error("no page names a target: the pattern found nothing")
	}
}

// A guarantee without a test that shows it is a wish.
func TestGuaranteesNameTestsThatAreThere(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	files, err := filepath.Glob("../*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"../*/*_test.go", "../*/*/*_test.go", "../*/*/*/*/*_test.go"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range declared.FindAllStringSubmatch(string(raw), -1) {
			there[name[1]] = true
		}
	}
	named := 0
	for line := range strings.Lines(readPage(t, "docs/guarantees.md")) {
		names := testName.FindAllStringSubmatch(line, -1)
		row := strings.HasPrefix(line, "| ") && !strings.Contains(line, "shown by |")
		if row && len(names) == 0 {
			t.Errorf("docs/guarantees.md: no test shows %s", line)
		}
		for _, name := range names {
			named++
			if !there[name[1]] {
				t.Errorf("docs/guarantees.md names %s, which is nowhere", name[1])
			}
		}
	}
	if named == 0 {
		t.Error("docs/guarantees.md names no test")
	}
}
