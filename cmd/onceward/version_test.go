package main

import (
	"encoding/json"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionSaysTheBuildAndWhatItNeeds(t *testing.T) {
	t.Parallel()
	b := buildOf(&debug.BuildInfo{
		Main: debug.Module{Path: module, Version: "v1.2.3"},
		Deps: []*debug.Module{{Path: sdkModule, Version: "v1.51.0"}},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"}},
	})
	want := "onceward v1.2.3\nrevision abc of 2026-01-02T03:04:05Z, modified\ngo " + runtime.Version() + "\ntemporal sdk v1.51.0\ntemporal server 1.28 or newer\n"
	if got := b.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if bare := buildOf(&debug.BuildInfo{}).String(); !strings.HasPrefix(bare, "onceward (devel)\nrevision -\n") {
		t.Errorf("a build that says nothing of itself is %q", bare)
	}
}

func TestVersionIsPrintedByCommandAndFlag(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}} {
		if code, out, errs := call(t, "", args...); code != 0 || !strings.HasPrefix(out, "onceward ") || !strings.Contains(out, "temporal server 1.28") {
			t.Errorf("%v: exit %d, %q, %q", args, code, out, errs)
		}
	}
	code, out, _ := call(t, "", "version", "--json")
	var b build
	if err := json.Unmarshal([]byte(out), &b); code != 0 || err != nil || b.Version == "" || b.Go != runtime.Version() || b.MinimumServer != minimumServer {
		t.Errorf("exit %d, %v: %s", code, err, out)
	}
}

func TestVariableWithATypoIsRefusedWithoutAFileToo(t *testing.T) {
	t.Setenv("ONCEWARD_TEMPORAL_ADRESS", "127.0.0.1:1")
	for _, args := range [][]string{
		{"list"}, {"show", "x"}, {"shape"}, {"setup"}, {"pool", "show"}, {"resolve", "a", "--by", "d", "--status", "rejected"},
		{"complete", "x", "--by", "d", "--text", "t"}, {"classify"}, {"version"},
	} {
		code, _, errs := call(t, "", args...)
		if code != 1 || !strings.Contains(errs, "ONCEWARD_TEMPORAL_ADRESS") || !strings.Contains(errs, "did you mean ONCEWARD_TEMPORAL_ADDRESS?") {
			t.Errorf("E42 %v: exit %d, %q", args, code, errs)
		}
	}
}

func TestVariableThatOnlyAFileNamesIsSaid(t *testing.T) {
	t.Setenv("ONCEWARD_AZURE_KEY", "secret")
	t.Setenv("ONCEWARD_RESOURCE_ONE_BASE_URL", "http://127.0.0.1:1")
	code, _, errs := call(t, "", "version")
	if code != 0 || !strings.Contains(errs, "ONCEWARD_AZURE_KEY") || !strings.Contains(errs, "ONCEWARD_RESOURCE_ONE_BASE_URL") || strings.Contains(errs, "secret") {
		t.Errorf("E42: exit %d, %q", code, errs)
	}
}

func TestProgramsOfTheModuleRunFromAnywhere(t *testing.T) {
	t.Chdir("../..")
	if got := goRun("samples/quiz/starter"); got != "go run ./samples/quiz/starter" {
		t.Errorf("E42: in the checkout it is %q", got)
	}
	if _, err := os.Stat("samples/quiz/starter/main.go"); err != nil {
		t.Error(err)
	}
	t.Chdir(t.TempDir())
	if got := goRun("samples/quiz/starter"); !strings.HasPrefix(got, "go run "+module+"/samples/quiz/starter@") {
		t.Errorf("E42: outside the checkout it is %q", got)
	}
	if err := os.WriteFile("go.mod", []byte("module example.com/other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := goRun("samples/quiz/starter"); !strings.Contains(got, "@") {
		t.Errorf("E42: in another module it is %q", got)
	}
}
