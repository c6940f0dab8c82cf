package test

import (
	"fmt"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/test/agents"
	"github.com/onceward/onceward/test/harness"
)

// Bounds of a history, measured and with some room: it grows by what was said.
const (
	maxEventsPerTurn = 9
	maxTalkBytes     = 1_300_000
)

func TestHistoryGrowsByWhatWasSaid(t *testing.T) {
	t.Parallel()
	talk := strings.Repeat("blah ", 8<<10/5)
	model := routertest.Model{Rules: []routertest.Rule{{Reply: []routertest.Out{routertest.Say("${n} " + talk)}}}}
	b := harness.New(t, harness.Options{Model: &model})
	b.StartWorker(false)
	run := b.Start("run", "TalkWorkflow", "Talk.")
	if result := run.Result(); result.Outcome != onceward.OutcomeCompleted || result.Turns != agents.TalkTurns {
		t.Fatalf("outcome %s after %d turns (%s, %v)", result.Outcome, result.Turns, result.Reason, result.Failure)
	}
	chain := run.Chain()
	if len(chain) != 1 {
		t.Fatalf("%d executions, want 1", len(chain))
	}
	h := chain[0]
	calls := h.Activities(onceward.ActivityCallModel)
	// A worker that is late for a task costs its timeout and the task that is scheduled again.
	late := 2 * h.Count(enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT)
	perTurn := float64(len(h.Events)-late) / float64(calls)
	said := agents.TalkTurns * len(talk)
	t.Logf("%d turns of %d bytes: %d events (%.1f a turn), %d bytes of history for %d bytes said", calls, len(talk), len(h.Events), perTurn, h.Size(), said)
	if perTurn > maxEventsPerTurn {
		t.Errorf("%.1f events a turn, want at most %d", perTurn, maxEventsPerTurn)
	}
	if h.Size() > maxTalkBytes {
		t.Errorf("%d bytes of history, want at most %d", h.Size(), maxTalkBytes)
	}
	if err := h.Replay(); err != nil {
		t.Error(err)
	}
}

// pages is a model that asks for a page in each of so many turns.
func pages(turns, bytes int) routertest.Model {
	return routertest.Model{Rules: []routertest.Rule{
		{When: routertest.Match{Turn: routertest.At(turns)}, Reply: []routertest.Out{routertest.Say(fmt.Sprintf("read %d pages", turns))}},
		{Reply: []routertest.Out{routertest.CallTool("page", map[string]int{"bytes": bytes})}},
	}}
}

// The server asks runs of this test to continue as new after a few turns.
func TestContinueAsNewCarriesTheWholeRun(t *testing.T) {
	t.Parallel()
	server, err := harness.Server{Dynamic: []string{"limit.historyCount.suggestContinueAsNew=40"}}.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	t.Run("transcript and budget over many executions", func(t *testing.T) {
		const turns = 24
		model := pages(turns, 4000)
		b := harness.New(t, harness.Options{Server: server, Model: &model})
		b.StartWorker(false)
		run := b.Start("run", "ReaderWorkflow", "Read.")
		result := run.Result()
		chain := run.Chain()
		attempts := b.Attempts(chain)
		if result.Outcome != onceward.OutcomeCompleted || result.Text != fmt.Sprintf("read %d pages", turns) || result.Turns != turns+1 {
			t.Errorf("outcome %s, text %q, %d turns (%s, %v)", result.Outcome, result.Text, result.Turns, result.Reason, result.Failure)
		}
		if len(chain) < 4 {
			t.Errorf("%d executions, want several", len(chain))
		}
		if reserved := harness.Reserved(attempts); reserved != turns+1 || result.Use.Attempts != reserved || b.Pool.Attempts() != reserved {
			t.Errorf("%d attempts in the result, %d in history, %d requests; want %d of each", result.Use.Attempts, reserved, b.Pool.Attempts(), turns+1)
		}
		items := run.Transcript()
		if err := harness.CheckTranscript(items); err != nil {
			t.Error(err)
		}
		if n := len(harness.Outputs(items)); n != turns {
			t.Errorf("%d calls in the transcript, want %d", n, turns)
		}
		for _, h := range chain[:len(chain)-1] {
			if h.Count(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW) != 1 {
				t.Errorf("execution %s did not continue as new", h.RunID)
			}
		}
		for _, h := range chain {
			if err := h.Replay(); err != nil {
				t.Error(err)
			}
		}
		record(t, "continued-as-new", chain[1])
	})
	t.Run("ledger: a note that was written before is known after", func(t *testing.T) {
		title := "carried"
		model := noteThenPages(title, 16)
		b := harness.New(t, harness.Options{Server: server, Model: &model})
		b.StartWorker(false)
		run := b.Start("run", "ReaderWorkflow", "Note it.")
		result := run.Result()
		if len(run.Chain()) < 2 || result.Outcome != onceward.OutcomeCompleted {
			t.Errorf("%d executions, outcome %s (%s, %v)", len(run.Chain()), result.Outcome, result.Reason, result.Failure)
		}
		if len(result.Actions) != 1 || result.Actions[0].Status != onceward.StateCommitted {
			t.Errorf("actions %+v, want the one note", result.Actions)
		}
		outputs := harness.Outputs(run.Transcript())
		if last := outputs[len(outputs)-1]; last.Field("status") != "already_committed" {
			t.Errorf("the second proposal was told %s, want already_committed", last.Text)
		}
	})
}

// noteThenPages is a model that writes a note, reads pages, and writes the same
// note again.
func noteThenPages(title string, turns int) routertest.Model {
	note := []routertest.Out{routertest.CallTool("write_note", map[string]string{"title": title})}
	return routertest.Model{Rules: []routertest.Rule{
		{When: routertest.Match{Turn: routertest.At(0)}, Reply: note},
		{When: routertest.Match{Turn: routertest.At(turns)}, Reply: note},
		{When: routertest.Match{Turn: routertest.At(turns + 1)}, Reply: []routertest.Out{routertest.Say("done")}},
		{Reply: []routertest.Out{routertest.CallTool("page", map[string]int{"bytes": 10})}},
	}}
}
