package test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/test/harness"
)

// An operator finds what waits, reads it, and decides it by the command line.
func TestApprovalsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{})
	w := b.StartWorker(false)
	order := b.Order()
	id := harness.Action(order)
	run := b.Start("run", "FourEyesWorkflow", "Please refund "+order+".")
	gate := gateOf(b, id)
	refused := func(says string, args ...string) {
		t.Helper()
		if out, said, err := b.Command(args...); err == nil || !strings.Contains(said, says) {
			t.Errorf("onceward %s: %v\n%s%s\nwant %q", strings.Join(args, " "), err, out, said, says)
		}
	}
	version := fmt.Sprint("--version=", gate.Version)
	refused("--by is required", "approve", string(id))
	refused("--version is required", "approve", string(id), "--by", "dana")
	refused("note is empty", "deny", string(id), "--by", "dana", version)
	refused("nobody asks for its approval", "approve", "refund/nothing/v1", "--by", "dana", "--version=7")
	refused("is not the request's version", "approve", string(id), "--by", "dana", "--version=7")

	// Visibility follows in its own time, and other tests ask too, some of them with
	// workers that are gone.
	lists := func(has func(out string) bool, args ...string) {
		t.Helper()
		for ctx := b.Context(); ; {
			out, said, err := b.Command(append([]string{"approvals", "--limit", "1000"}, args...)...)
			switch {
			case err != nil:
				t.Fatalf("approvals: %v\n%s%s", err, out, said)
			case has(out):
				return
			case ctx.Err() != nil:
				t.Fatalf("approvals lists %s", out)
			}
		}
	}
	lists(func(out string) bool {
		var listed []onceward.Gate
		if err := json.Unmarshal([]byte(out), &listed); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return slices.ContainsFunc(listed, func(g onceward.Gate) bool {
			return g.ActionID == id && g.Needed == 2 && g.Version == gate.Version && strings.Contains(string(g.Arguments), order)
		})
	}, "--json")
	if out, said, err := b.Command("show", run.ID); err != nil || !strings.Contains(out, "awaiting_approval") {
		t.Errorf("show: %v\n%s%s", err, out, said)
	}
	if out, said, err := b.Command("approve", string(id), "--by", "dana", version); err != nil || !strings.Contains(out, "approved by 1 of 2 people, by dana") {
		t.Errorf("approve: %v\n%s%s", err, out, said)
	}
	refused("has approved already", "approve", "approval/"+string(id), "--by", "DANA", version)

	w.Kill() // what waits is listed all the same
	lists(func(out string) bool { return strings.Contains(out, string(id)) })
	b.StartWorker(false)
	gateOf(b, id)
	if out, said, err := b.Command("approve", string(id), "--by", "eve", "--note", "the parcel is lost", version); err != nil || !strings.Contains(out, "approved, by eve") {
		t.Errorf("approve: %v\n%s%s", err, out, said)
	}
	want := paid()
	want.Deaths, want.NotSent = 1, -1
	b.Check(run, order, want)
	refused("is approved already", "deny", string(id), "--by", "eve", "--note", "too late", version)
	if out, said, err := b.Command("show", run.ID); err != nil || !strings.Contains(out, "approved by eve") || !strings.Contains(out, "the parcel is lost") {
		t.Errorf("show: %v\n%s%s", err, out, said)
	}
}
