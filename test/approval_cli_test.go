package test

import (
	"encoding/json"
	"fmt"
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

	out, said, err := b.Command("approvals", "--json")
	var listed []onceward.Gate
	if err != nil || json.Unmarshal([]byte(out), &listed) != nil {
		t.Fatalf("%v\n%s%s", err, out, said)
	}
	found := false
	for _, g := range listed { // other tests ask too
		found = found || g.ActionID == id && g.Needed == 2 && g.Version == gate.Version && strings.Contains(string(g.Arguments), order)
	}
	if !found {
		t.Errorf("approvals lists %s", out)
	}
	if out, said, err := b.Command("show", run.ID); err != nil || !strings.Contains(out, "awaiting_approval") {
		t.Errorf("show: %v\n%s%s", err, out, said)
	}
	if out, said, err := b.Command("approve", string(id), "--by", "dana", version); err != nil || !strings.Contains(out, "approved by 1 of 2 people, by dana") {
		t.Errorf("approve: %v\n%s%s", err, out, said)
	}
	refused("has approved already", "approve", "approval/"+string(id), "--by", "DANA", version)

	w.Kill() // what waits is listed all the same
	if out, said, err := b.Command("approvals"); err != nil || !strings.Contains(out, string(id)) {
		t.Errorf("approvals without a worker: %v\n%s%s", err, out, said)
	}
	b.StartWorker(false)
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
