package test

import (
	"os"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/samples/refund/payments"
	"github.com/onceward/onceward/test/harness"
	"github.com/onceward/onceward/test/sealed"
	"github.com/onceward/onceward/worker"
	"github.com/onceward/onceward/worker/config"
)

// GuardConverter is for replayers. A worker needs the plugin, and says so before it
// has begun.
func TestWorkerIsMadeWithAGuardedClientOnly(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{})
	text, err := os.ReadFile(b.Config())
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Parse(b.Config(), text, []string{harness.KeyVariable + "=" + harness.Key})
	if err != nil {
		t.Fatal(err)
	}
	codec := sealed.New(sealed.Fault{}).Converter()
	for name, c := range map[string]struct {
		options client.Options
		refused bool
	}{
		"a converter that GuardConverter guards":    {client.Options{DataConverter: worker.GuardConverter(codec)}, true},
		"the same, with the plugin":                 {client.Options{DataConverter: worker.GuardConverter(codec), Plugins: []client.Plugin{worker.Guard()}}, false},
		"a converter with the plugin":               {client.Options{DataConverter: codec, Plugins: []client.Plugin{worker.Guard()}}, false},
		"the SDK's own converter without the guard": {client.Options{}, false},
	} {
		c.options.HostPort = b.Temporal.Address
		dialled, err := client.DialContext(b.Context(), c.options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(dialled.Close)
		_, err = worker.New(dialled, cfg)
		if refused := err != nil && strings.Contains(err.Error(), "worker.Guard() among its plugins"); refused != c.refused || err != nil && !refused {
			t.Errorf("%s: %v, want refused %t", name, err, c.refused)
		}
	}
}

// A key service that is down for three seconds delays a run and changes nothing in
// it: wherever that meets a payload, the run completes, pays once, and every
// history replays.
func TestCodecFailsForThreeSeconds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, seal, fault string }{
		{"E29 decode of a run's input", "codec", `decode:3s:"request":`},
		{"E29 decode of an action's input", "codec", `decode:3s:"act":{`},
		{"E29 decode of the manifest, the result of a local activity", "codec", `decode:3s:"plan":`},
		{"E29 decode of a model call's input", "codec", `decode:3s:"run_key"`},
		{"E29 decode of a model call's result", "codec", `decode:3s:"settled"`},
		{"E29 decode of a commit's input", "codec", `decode:3s:"original_run_id"`},
		{"E29 decode of a commit's result", "codec", `decode:3s:"verified_by":"response"`},
		{"E29 decode of a receipt", "codec", `decode:3s:"receipt":{`},
		{"E29 decode of a transcript query", "codec", `decode:3s:"from":`},
		{"E29 decode of the pool's memo", "codec", `decode:3s:"disabled":`},
		{"E29 encode of an action's input", "codec", `encode:3s:"act":{`},
		{"E29 encode of the manifest", "codec", `encode:3s:"plan":`},
		{"E29 encode of a local activity's marker", "codec", `encode:3s:"ActivityID"`},
		{"E29 encode of a model call's input", "codec", `encode:3s:"run_key"`},
		{"E29 encode of a model call's result", "codec", `encode:3s:"settled"`},
		{"E29 encode of a commit's result", "codec", `encode:3s:"verified_by":"response"`},
		{"E29 encode of a run's result", "codec", `encode:3s:"turns":`},
		{"E29 encode of a summary", "codec", `encode:3s:turn 1`},
		{"E29 encode of the pool's first signal", "codec", `encode:3s:"retest":`},
		{"E29 encode of the pool's memo", "codec", `encode:3s:"disabled":null`},
		{"E29 encode of a page of the transcript", "codec", `encode:3s:"next":`},
		{"E29 decode of a commit's result by a converter of the user's own", "own", `decode:3s:"verified_by":"response"`},
		{"E29 encode of a model call's result by a converter of the user's own", "own", `encode:3s:"settled"`},
		{"E29 decode of a run's input by a converter of the user's own", "own", `decode:3s:"request":`},
		{"E29 decode of a model call's result while everything else decodes", "codec", `one:3s:"settled"`},
		{"E29 a decode of a model call's result that takes three seconds", "codec", `stall:3s:"settled"`},
		{"E29 a decode of a run's input that takes three seconds", "codec", `stall:3s:"request":`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := harness.Options{Heartbeat: 20 * time.Second, Lease: 30 * time.Second}
			if c.seal == "codec" {
				o.Converter = sealed.New(sealed.Fault{}).Converter()
			}
			b := harness.New(t, o)
			w := b.StartWorker(false, "--seal", c.seal, "--codec-fault", c.fault)
			order := b.Order()
			b.Check(b.StartRefund("run", order), order, paid(func(w *harness.Want) { w.NotSent = -1 })) // an attempt that cannot read its transcript sends nothing
			b.Said(w, sealed.Said)
			harness.Until(b, onceward.PoolWorkflowID(b.Queue), onceward.QueryHealth, "a pool that answers", func(onceward.PoolHealth) bool { return true })
			if err := b.History(onceward.PoolWorkflowID(b.Queue), "").Replay(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A key service that is down for three seconds when a person speaks costs neither
// the words nor the run, be it down for everything or for that person's key alone.
func TestCodecFailsWhileAPersonSpeaks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, seal, fault string
		signal            bool
		complete          bool // a run, else an action is resolved
	}{
		{"E29 decode of a signal to a run", "codec", `decode:3s:"by":"ops"`, true, true},
		{"E29 decode of an update of a run", "codec", `decode:3s:"by":"ops"`, false, true},
		{"E29 decode of a signal to a run while all else decodes", "codec", `one:3s:"by":"ops"`, true, true},
		{"E29 decode of an update of a run while all else decodes", "codec", `one:3s:"by":"ops"`, false, true},
		{"E29 decode of a signal to a run by a converter of the user's own", "own", `decode:3s:"by":"ops"`, true, true},
		{"E29 decode of an update of a run by a converter of the user's own, while all else decodes", "own", `one:3s:"by":"ops"`, false, true},
		{"E29 a decode of a signal to a run that takes three seconds", "codec", `stall:3s:"by":"ops"`, true, true},
		{"E29 a decode of an update of a run that takes three seconds", "codec", `stall:3s:"by":"ops"`, false, true},
		{"E29 decode of a signal to an action", "codec", `decode:3s:"by":"ops"`, true, false},
		{"E29 decode of an update of an action", "codec", `decode:3s:"by":"ops"`, false, false},
		{"E29 decode of a signal to an action while all else decodes", "codec", `one:3s:"by":"ops"`, true, false},
		{"E29 decode of an update of an action while all else decodes", "codec", `one:3s:"by":"ops"`, false, false},
		{"E29 decode of a signal to an action by a converter of the user's own", "own", `decode:3s:"by":"ops"`, true, false},
		{"E29 encode of what an update answers", "codec", `encode:3s:"resolved_by":"ops"`, false, false},
		{"E29 encode of what an update answers by a converter of the user's own", "own", `encode:3s:"resolved_by":"ops"`, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := harness.Options{Lease: shortLease, Payments: payments.Config{Fault: payments.Fault{Kind: payments.DropBeforeCommit, Times: 1}}}
			if c.complete {
				o = harness.Options{Degraded: "manual_completion_required", Faults: []routertest.Fault{routertest.FailWith(401, "")}}
			}
			if c.seal == "codec" {
				o.Converter = sealed.New(sealed.Fault{}).Converter()
			}
			b := harness.New(t, o)
			w := b.StartWorker(false, "--seal", c.seal, "--codec-fault", c.fault)
			order := b.Order()
			run := b.Start("run", "UnsettledWorkflow", "Please refund "+order+".")
			id, name, argument := run.ID, onceward.UpdateComplete, any(onceward.Complete{By: "ops", Text: "We refund by hand."})
			if c.complete {
				waitsForPerson(b, run, onceward.OutcomeManualCompletion)
			} else {
				action := harness.Action(order)
				waiting := awaitsOperator(b, action)
				id, name, argument = action.WorkflowID(), onceward.UpdateResolve, onceward.Resolve{Status: onceward.StatusRejected, By: "ops", Version: waiting.Version}
			}
			say := func() error { return b.Update(id, name, argument, nil) }
			if c.signal {
				say = func() error { return b.Client.SignalWorkflow(b.Context(), id, "", name, argument) }
			}
			if err := say(); err != nil {
				t.Fatal(err)
			}
			result := run.Result()
			b.Said(w, sealed.Said)
			if result.Outcome != onceward.OutcomeCompleted || c.complete && result.CompletedBy != "ops" || len(result.Refused) > 0 {
				t.Errorf("outcome %s (%s) by %q, refused %q", result.Outcome, result.Reason, result.CompletedBy, result.Refused)
			}
			chain := run.Chain()
			if !c.complete {
				if r := result.Actions; len(r) != 1 || r[0].Status != onceward.StateRejected || r[0].ResolvedBy != "ops" || len(r[0].Refused) > 0 {
					t.Errorf("receipts %+v", r)
				}
				chain = append(chain, b.Chain(id)...)
			}
			for _, h := range chain {
				if err := h.Replay(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// replays checks a history with the workers' key alone, and with every key: what a
// key could not read when it came must not be read by a replay.
func replays(t *testing.T, h harness.History) {
	t.Helper()
	for _, dc := range []converter.DataConverter{sealed.New(sealed.Fault{}).Converter(), sealed.Knowing().Converter()} {
		h.Converter = dc
		if err := h.Replay(); err != nil {
			t.Error(err)
		}
	}
}

// A signal under a key that no worker has would block all that come after it, or
// be dropped unseen. It is listed as refused instead.
func TestSignalUnderAnUnknownKeyBlocksNothing(t *testing.T) {
	t.Parallel()
	ours := sealed.New(sealed.Fault{}).Converter()
	listed := func(list []string) bool { return len(list) == 1 && strings.Contains(list[0], "unknown key") }
	t.Run("E29 of a run: listed, and the next one completes it", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{Converter: ours, Degraded: "manual_completion_required", Faults: []routertest.Fault{routertest.FailWith(401, "")}})
		b.StartWorker(false, "--seal", "codec")
		run := b.StartRefund("run", b.Order())
		waitsForPerson(b, run, onceward.OutcomeManualCompletion)
		stranger := b.ClientWith(sealed.Stranger().Converter())
		if err := stranger.SignalWorkflow(b.Context(), run.ID, "", onceward.UpdateComplete, onceward.Complete{By: "eve", Text: "all is well"}); err != nil {
			t.Fatal(err)
		}
		harness.Until(b, run.ID, onceward.QueryStatus, "a refused signal", func(s onceward.Status) bool { return listed(s.Refused) })
		if err := b.Client.SignalWorkflow(b.Context(), run.ID, "", onceward.UpdateComplete, onceward.Complete{By: "ops", Text: "We refund by hand."}); err != nil {
			t.Fatal(err)
		}
		if result := run.Result(); result.Outcome != onceward.OutcomeCompleted || result.CompletedBy != "ops" {
			t.Errorf("outcome %s by %q, want it completed by ops", result.Outcome, result.CompletedBy)
		}
		replays(t, b.History(run.ID, ""))
	})
	t.Run("E29 of an action: listed, an update too is refused, and the next one decides it", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{Converter: ours, Lease: shortLease, Payments: payments.Config{Fault: payments.Fault{Kind: payments.DropBeforeCommit, Times: 1}}})
		b.StartWorker(false, "--seal", "codec")
		order := b.Order()
		run := b.Start("run", "UnsettledWorkflow", "Please refund "+order+".")
		id := harness.Action(order)
		waiting := awaitsOperator(b, id)
		decision := onceward.Resolve{Status: onceward.StatusRejected, By: "ops", Version: waiting.Version}
		stranger := b.ClientWith(sealed.Stranger().Converter())
		if err := stranger.SignalWorkflow(b.Context(), id.WorkflowID(), "", onceward.UpdateResolve, decision); err != nil {
			t.Fatal(err)
		}
		harness.Until(b, id.WorkflowID(), onceward.QueryReceipt, "a refused signal", func(r onceward.ActionReceipt) bool { return listed(r.Refused) })
		handle, err := stranger.UpdateWorkflow(b.Context(), client.UpdateWorkflowOptions{
			WorkflowID: id.WorkflowID(), UpdateName: onceward.UpdateResolve, Args: []any{decision}, WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		if err == nil {
			err = handle.Get(b.Context(), nil)
		}
		if err == nil || !strings.Contains(err.Error(), "unknown key") {
			t.Errorf("an update that nobody can read is refused with %v", err)
		}
		if err := b.Client.SignalWorkflow(b.Context(), id.WorkflowID(), "", onceward.UpdateResolve, decision); err != nil {
			t.Fatal(err)
		}
		if result := run.Result(); result.Outcome != onceward.OutcomeCompleted {
			t.Errorf("outcome %s (%s)", result.Outcome, result.Reason)
		}
		replays(t, b.History(id.WorkflowID(), ""))
	})
	t.Run("E29 of a pool: listed, and an operator's update works", func(t *testing.T) {
		t.Parallel()
		b := harness.New(t, harness.Options{Converter: ours})
		b.StartWorker(false, "--seal", "codec")
		pool := onceward.PoolWorkflowID(b.Queue)
		healthy := func(onceward.PoolHealth) bool { return true }
		harness.Until(b, pool, onceward.QueryHealth, "a pool", healthy)
		stranger := b.ClientWith(sealed.Stranger().Converter())
		for _, signal := range []string{onceward.SignalReport, onceward.SignalRoutes} {
			if err := stranger.SignalWorkflow(b.Context(), pool, "", signal, onceward.PoolReport{Resource: "a", Reason: "says eve"}); err != nil {
				t.Fatal(err)
			}
		}
		harness.Until(b, pool, onceward.QueryHealth, "two refused signals", func(h onceward.PoolHealth) bool {
			return len(h.Refused) == 2 && strings.Contains(h.Refused[0], "unknown key")
		})
		if err := b.Update(pool, onceward.UpdateDisable, onceward.PoolChange{Resource: "a", By: "ops", Reason: "drifting"}, nil); err != nil {
			t.Fatal(err)
		}
		replays(t, b.History(pool, ""))
	})
}
