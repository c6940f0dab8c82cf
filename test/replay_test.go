package test

import (
	"flag"
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/converter"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/test/harness"
)

// update records the histories again: go test ./test -update. Do it when a
// release adds a command to a workflow, and keep the old file beside the new
// one: runs that began under the old release still have to replay.
var update = flag.Bool("update", false, "record the histories of test/histories again")

const histories = "histories"

// stored are the histories there must be.
var stored = []string{
	"refund", "refund-killed", "refund-reset", "continued-as-new",
	"action-committed", "action-reconciled", "action-resolved", "action-reset", "action-reset-reads",
	"pool-renewed",
	"pool-confirmed", // of a build in which an earlier test's time outlived a newer one's finding: it cannot be recorded again
	"pool",           // of one whose loop tested inline and disabled at once
}

// record keeps a history if the tests were asked to.
func record(t *testing.T, name string, h harness.History) {
	t.Helper()
	if !*update {
		return
	}
	if err := h.Save(filepath.Join(histories, name+".json")); err != nil {
		t.Error(err)
	}
}

// recordAll keeps the newest execution of the run and of its action under the
// names that are not empty.
func recordAll(t *testing.T, chain []harness.History, run, action string) {
	t.Helper()
	for _, h := range chain { // oldest first: the newest overwrites
		name := run
		if h.Type == onceward.WorkflowAction {
			name = action
		}
		if name != "" {
			record(t, name, h)
		}
	}
}

// While a release is rolled out, a worker of the one before may take what a worker of
// this one tells, and go on: the history replays all the same.
func TestOlderWorkerMayTakeTheRoutesOfANewerOne(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pool", "pool-confirmed"} {
		h, err := harness.LoadHistory(filepath.Join(histories, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		for _, e := range h.Events {
			a := e.GetWorkflowExecutionSignaledEventAttributes()
			if a.GetSignalName() != onceward.SignalRoutes {
				continue
			}
			var routes onceward.PoolRoutes
			if err := converter.GetDefaultDataConverter().FromPayloads(a.GetInput(), &routes); err != nil {
				t.Fatal(err)
			}
			routes.Version = onceward.PoolVersion
			if a.Input, err = converter.GetDefaultDataConverter().ToPayloads(routes); err != nil {
				t.Fatal(err)
			}
			told++
		}
		if err := h.Replay(); err != nil || told == 0 {
			t.Errorf("%s with the routes told %d times by newer workers: %v", name, told, err)
		}
	}
}

// Runs that began under an earlier release go on under this one.
func TestStoredHistoriesReplay(t *testing.T) {
	t.Parallel()
	if *update {
		t.Skip("the histories are being recorded; run again without -update")
	}
	files, err := filepath.Glob(filepath.Join(histories, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, file := range files {
		found[file] = true
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			h, err := harness.LoadHistory(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Replay(); err != nil {
				t.Error(err)
			}
		})
	}
	for _, name := range stored {
		if file := filepath.Join(histories, name+".json"); !found[file] {
			t.Errorf("%s is missing: record it with go test ./test -update", file)
		}
	}
}
