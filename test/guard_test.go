package test

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/test/harness"
	"github.com/onceward/onceward/test/sealed"
)

// A key service that is down for three seconds delays a run and changes nothing in
// it: wherever that meets a payload, the run completes, pays once, and every
// history replays.
func TestCodecFailsForThreeSeconds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, fault string }{
		{"E29 decode of a run's input", `decode:3s:"request":`},
		{"E29 decode of an action's input", `decode:3s:"act":{`},
		{"E29 decode of the manifest, the result of a local activity", `decode:3s:"plan":`},
		{"E29 decode of a model call's input", `decode:3s:"run_key"`},
		{"E29 decode of a model call's result", `decode:3s:"settled"`},
		{"E29 decode of a commit's input", `decode:3s:"original_run_id"`},
		{"E29 decode of a commit's result", `decode:3s:"verified_by":"response"`},
		{"E29 decode of a receipt", `decode:3s:"receipt":{`},
		{"E29 decode of a transcript query", `decode:3s:"from":`},
		{"E29 encode of an action's input", `encode:3s:"act":{`},
		{"E29 encode of the manifest", `encode:3s:"plan":`},
		{"E29 encode of a local activity's marker", `encode:3s:"ActivityID"`},
		{"E29 encode of a model call's input", `encode:3s:"run_key"`},
		{"E29 encode of a model call's result", `encode:3s:"settled"`},
		{"E29 encode of a commit's result", `encode:3s:"verified_by":"response"`},
		{"E29 encode of a run's result", `encode:3s:"turns":`},
		{"E29 encode of a summary", `encode:3s:turn 1`},
		{"E29 encode of the pool's memo", `encode:3s:"disabled":`},
		{"E29 encode of a page of the transcript", `encode:3s:"next":`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := harness.New(t, harness.Options{Converter: sealed.New(sealed.Fault{}).Converter(), Heartbeat: 20 * time.Second, Lease: 30 * time.Second})
			w := b.StartWorker(false, "--seal", "--codec-fault", c.fault)
			order := b.Order()
			b.Check(b.StartRefund("run", order), order, paid())
			b.Said(w, sealed.Said)
			for _, h := range b.Chain(harness.Action(order).WorkflowID()) {
				if err := h.Replay(); err != nil {
					t.Error(err)
				}
			}
			if err := b.History(onceward.PoolWorkflowID(b.Queue), "").Replay(); err != nil {
				t.Error(err)
			}
		})
	}
}
