package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/onceward/onceward"

// listed is what `go list -json` says of a package.
type listed struct {
	ImportPath string
	Imports    []string
}

// importRule says what the packages at and below a folder may import directly.
// The standard library is allowed except for what deny names; of everything
// else only allow is, and deny wins over allow. A pattern is an import path, or
// a path that ends in /... for all at and below it.
type importRule struct {
	folder string // pattern relative to the module; the first rule that matches a package is its rule
	allow  []string
	deny   []string
}

// importRules is the table of docs/architecture.md. .golangci.yaml repeats it
// for editors; a change belongs in all three.
var importRules = []importRule{
	{
		// The vocabulary is pure: whoever imports it, a workflow included, gets no network, files, clock or chance.
		folder: ".",
		deny:   []string{"net/...", "os/...", "math/rand/...", "crypto/rand", "syscall", "testing/..."},
	},
	{
		// The scripted pool is a resource, not a part of the router: it shares no code with what it tests.
		folder: "router/routertest/...",
		deny:   []string{"testing/..."},
	},
	{
		// What crosses between workflows and activities is vocabulary that no author needs.
		folder: "internal/border",
		allow:  []string{module},
		deny:   []string{"net/...", "os/...", "math/rand/...", "crypto/rand", "syscall", "testing/..."},
	},
	{
		// One model attempt over HTTP, of use without Temporal and without a configuration file.
		folder: "router/...",
		allow: []string{
			module, module + "/router/...",
			"github.com/openai/openai-go/v3/...", "github.com/sony/gobreaker/v2",
		},
		deny: []string{module + "/router/routertest/...", "testing/..."},
	},
	{
		// Deterministic code. JSON is decoded by activities, so that a replay never depends on an encoder;
		// sdk/converter only carries payloads through, and api/enums names policies of the SDK.
		folder: "workflows/...",
		allow: []string{
			module, module + "/internal/border",
			"go.temporal.io/sdk/workflow", "go.temporal.io/sdk/temporal", "go.temporal.io/sdk/converter",
			"go.temporal.io/api/enums/v1",
		},
		deny: []string{
			"net/...", "os/...", "encoding/json", "math/rand/...", "crypto/rand", "sync/...", "context", "testing/...",
		},
	},
	{
		// The router comes through an interface that activities declares.
		folder: "activities/...",
		allow: []string{
			module, module + "/internal/border",
			"go.temporal.io/sdk/activity", "go.temporal.io/sdk/temporal", "go.temporal.io/sdk/client",
			"go.temporal.io/api/...", "go.temporal.io/sdk/converter",
			"github.com/hashicorp/golang-lru/v2/...",
			"google.golang.org/protobuf/...",
		},
		deny: []string{"testing/..."},
	},
	{
		// The file and the environment, checked. What it describes is made elsewhere.
		folder: "worker/config/...",
		allow: []string{
			module, module + "/router/...", module + "/worker/guard", "go.temporal.io/sdk/client", "go.temporal.io/sdk/log",
			"github.com/spf13/viper", "gopkg.in/yaml.v3",
		},
		deny: []string{module + "/router/routertest/...", "testing/..."},
	},
	{
		// Around the converter of a client: it knows the SDK, and of this module the types that cross it.
		folder: "worker/guard/...",
		allow:  []string{module, "go.temporal.io/sdk/...", "go.temporal.io/api/..."},
		deny:   []string{"net/...", "os/...", "testing/..."},
	},
	{
		folder: "worker/schema/...",
		allow:  []string{module, "github.com/google/jsonschema-go/..."},
		deny:   []string{"net/...", "os/...", "testing/..."},
	},
	{
		// Wiring may see everything but its users.
		folder: "worker/...",
		allow: []string{
			module, module + "/router/...", module + "/workflows/...", module + "/activities/...", module + "/worker/...",
			"go.temporal.io/...", "google.golang.org/...",
		},
		deny: []string{module + "/router/routertest/...", "testing/..."},
	},
}

// nowhere is refused in every package of the module. The dev server is a child
// process: linked in, its dependencies would be those of every user.
var nowhere = []string{"go.temporal.io/server/..."}

func TestPackagesImportOnlyWhatTheirFolderMay(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		for _, path := range p.Imports {
			if matchesAny(nowhere, path) && !(strings.HasPrefix(p.ImportPath, module+"/test/") && strings.HasPrefix(path, module+"/test/")) {
				t.Errorf("%s imports %s, which no package may", p.ImportPath, path)
			}
			if rule, ok := ruleOf(p.ImportPath); ok && !rule.permits(path) {
				t.Errorf("%s imports %s, which %s may not", p.ImportPath, path, rule.folder)
			}
		}
	}
}

// overRouter are folders below router/ that use the router instead of being a
// part of it. probe asks a whole pool, in the router's own configuration.
var overRouter = []string{module + "/router/probe"}

func TestRouterHasNoBackArrows(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		if !strings.HasPrefix(p.ImportPath, module+"/router/") || slices.Contains(overRouter, p.ImportPath) {
			continue
		}
		for _, path := range p.Imports {
			if path == module+"/router" || slices.Contains(overRouter, path) {
				t.Errorf("%s imports %s above it", p.ImportPath, path)
			}
		}
	}
}

// What is on top has no users: commands, and what the tests that cross packages share.
func TestNobodyImportsCommandsOrTests(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		for _, top := range []string{module + "/cmd/", module + "/test/", module + "/deploy/"} {
			for _, path := range p.Imports {
				if strings.HasPrefix(path, top) && !strings.HasPrefix(p.ImportPath, top) {
					t.Errorf("%s imports %s, which is on top of everything", p.ImportPath, path)
				}
			}
		}
	}
}

func TestGoModHasNoTemporalServer(t *testing.T) {
	t.Parallel()
	var mod struct{ Require []struct{ Path string } }
	if err := json.Unmarshal(runGo(t, "mod", "edit", "-json"), &mod); err != nil {
		t.Fatal(err)
	}
	if len(mod.Require) == 0 {
		t.Fatal("go.mod requires nothing: it was not read")
	}
	for _, r := range mod.Require {
		if r.Path == "go.temporal.io/server" {
			t.Errorf("go.mod requires %s", r.Path)
		}
	}
}

// The table is code, so it is tested like code: a rule that permits everything
// would pass over the whole tree in silence.
func TestImportRulesRefuseWhatTheyName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, pkg, path string
		permitted       bool
	}{
		{"vocabulary may encode", module, "encoding/json", true},
		{"vocabulary has no network", module, "net/http", false},
		{"vocabulary has no files", module, "os", false},
		{"vocabulary has no chance", module, "math/rand/v2", false},
		{"vocabulary has no dependency", module, "github.com/google/uuid", false},
		{"math is not math/rand", module, "math", true},
		{"router speaks HTTP", module + "/router/wire", "net/http", true},
		{"router has no Temporal", module + "/router", "go.temporal.io/sdk/activity", false},
		{"router has no configuration", module + "/router/route", "github.com/spf13/viper", false},
		{"router is not tested by itself", module + "/router", module + "/router/routertest", false},
		{"scripted pool shares no code with the router", module + "/router/routertest", module + "/router/wire", false},
		{"workflows use the workflow API", module + "/workflows", "go.temporal.io/sdk/workflow", true},
		{"workflows have no activities", module + "/workflows", module + "/activities", false},
		{"workflows have no router", module + "/workflows", module + "/router", false},
		{"workflows have no HTTP", module + "/workflows", "net/http", false},
		{"workflows have no JSON", module + "/workflows", "encoding/json", false},
		{"workflows have no OpenAI client", module + "/workflows", "github.com/openai/openai-go/v3", false},
		{"activities have no router", module + "/activities", module + "/router", false},
		{"activities have no workflows", module + "/activities", module + "/workflows", false},
		{"activities have no configuration", module + "/activities", "github.com/spf13/viper", false},
		{"worker wires the router", module + "/worker", module + "/router", true},
		{"configuration wires nothing", module + "/worker/config", module + "/activities", false},
		{"schemas know no configuration", module + "/worker/schema", module + "/worker/config", false},
		{"worker has no samples", module + "/worker", module + "/samples/refund", false},
		{"worker has no command line", module + "/worker", "github.com/spf13/cobra", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rule, ok := ruleOf(c.pkg)
			if !ok {
				t.Fatalf("no rule for %s", c.pkg)
			}
			if got := rule.permits(c.path); got != c.permitted {
				t.Errorf("%s importing %s: permitted %t, want %t", c.pkg, c.path, got, c.permitted)
			}
		})
	}
	if !matchesAny(nowhere, "go.temporal.io/server/common/log") {
		t.Error("a package of the Temporal server is not refused")
	}
}

func (r importRule) permits(path string) bool {
	if matchesAny(r.deny, path) {
		return false
	}
	return isStandard(path) || matchesAny(r.allow, path)
}

func ruleOf(pkg string) (importRule, bool) {
	folder := strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/")
	if folder == "" {
		folder = "."
	}
	for _, r := range importRules {
		if matches(r.folder, folder) {
			return r, true
		}
	}
	return importRule{}, false
}

func matchesAny(patterns []string, path string) bool {
	for _, p := range patterns {
		if matches(p, path) {
			return true
		}
	}
	return false
}

func matches(pattern, path string) bool {
	base, below := strings.CutSuffix(pattern, "/...")
	return path == base || below && strings.HasPrefix(path, base+"/")
}

// isStandard holds for the standard library, whose paths have no dot in their
// first element.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	// -e: a package that does not compile is another test's failure, not this one's.
	dec := json.NewDecoder(bytes.NewReader(runGo(t, "list", "-e", "-json=ImportPath,Imports", module+"/...")))
	var out []listed
	for {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("read the answer of go list: %v", err)
		}
		out = append(out, p)
	}
	if len(out) < 5 {
		t.Fatalf("go list found %d packages: the rules would hold for nothing", len(out))
	}
	return out
}

func runGo(t *testing.T, args ...string) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = ".."
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out
}
