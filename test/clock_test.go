package test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// clockNames are the parts of package time that read or wait for the machine's
// clock. The rest (durations, arithmetic, formats) is pure.
var clockNames = map[string]bool{
	"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true,
	"Tick": true, "NewTimer": true, "NewTicker": true, "Local": true, "LoadLocation": true,
}

// A clock in the vocabulary or in workflow code would give a replay another
// answer than the first execution had.
func TestVocabularyAndWorkflowsNeverReadTheClock(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"..", "../workflows"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			read++
			uses, err := clockUses(file, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, use := range uses {
				t.Errorf("%s", use)
			}
		}
		if read == 0 {
			t.Errorf("no Go files in %s", folder)
		}
	}
}

func TestClockUsesAreFoundUnderAnyName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, src string
		want      int
	}{
		{"plain call", `package p; import "time"; var t = time.Now()`, 1},
		{"as a value", `package p; import "time"; var f = time.Now`, 1},
		{"renamed import", `package p; import clock "time"; var t = clock.Since(clock.Time{})`, 1},
		{"dot import", `package p; import . "time"; var t = Now()`, 1},
		{"durations are pure", `package p; import "time"; var d = 3 * time.Second`, 0},
		{"another package's Now", `package p; import time "example.org/workflow"; var t = time.Now()`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			uses, err := clockUses("p.go", c.src)
			if err != nil {
				t.Fatal(err)
			}
			if len(uses) != c.want {
				t.Errorf("found %d uses, want %d: %v", len(uses), c.want, uses)
			}
		})
	}
}

// clockUses lists the places of a file that use the clock. src is nil to read
// the file.
func clockUses(path string, src any) ([]string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", path, err)
	}
	var uses []string
	local := ""
	for _, imp := range file.Imports {
		if p, err := strconv.Unquote(imp.Path.Value); err != nil || p != "time" {
			continue
		}
		local = "time"
		if imp.Name != nil {
			local = imp.Name.Name
		}
		if local == "." { // its names could no longer be told from the file's own
			uses = append(uses, fmt.Sprintf("%s: package time is imported as a dot", fset.Position(imp.Pos())))
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := sel.X.(*ast.Ident); ok && local != "" && id.Name == local && clockNames[sel.Sel.Name] {
			uses = append(uses, fmt.Sprintf("%s: time.%s", fset.Position(sel.Pos()), sel.Sel.Name))
		}
		return true
	})
	return uses, nil
}
