package test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router/routertest"
	"github.com/onceward/onceward/test/harness"
)

// Two services that name one pool share one record. Neither deletes what the other
// knows, and it has a taker while a worker of any of them lives.
func TestServicesThatShareAPoolShareOneRecord(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{Faults: []routertest.Fault{routertest.FailWith(402, "").On("a")}})
	pool := onceward.PoolWorkflowID(b.Queue)
	b.Said(b.StartWorker(false), "worker started")
	if err := b.Update(pool, onceward.UpdateDisable, onceward.PoolChange{Resource: "b", By: "ops", Reason: "drifting"}, nil); err != nil {
		t.Fatal(err)
	}
	found(t, b, "a")
	both := func(h onceward.PoolHealth) bool { return len(h.Disabled) == 2 }
	harness.Until(b, pool, onceward.QueryHealth, "two disabled routes", both)

	other := b.StartWorker(false, "--config="+b.OtherConfig(all(
		swap(t, "task_queue: \""+b.Queue+"\"", "task_queue: \""+b.Queue+"-two\""), swap(t, "- name: b", "- name: c"),
	)))
	b.Said(other, "worker started")
	// c is of the other service alone: its routes have come, and those of the first are there still.
	if err := b.Update(pool, onceward.UpdateDisable, onceward.PoolChange{Resource: "c", By: "ops", Reason: "new"}, nil); err != nil {
		t.Fatalf("E31 the second service's route: %v", err)
	}
	health := harness.Until(b, pool, onceward.QueryHealth, "three disabled routes", func(h onceward.PoolHealth) bool { return len(h.Disabled) == 3 })
	if d := health.Disabled[0]; d.Resource != "b" || d.By != "ops" {
		t.Errorf("E31 the operator's decision is %+v after a configuration without its route", d)
	}

	other.Kill() // the newest worker is gone, and with it its service
	if err := b.Update(pool, onceward.UpdateEnable, onceward.PoolChange{Resource: "b", By: "ops"}, nil); err != nil {
		t.Errorf("E31 nobody took an update after the newest worker had gone: %v", err)
	}
	if out, said, err := b.Command("pool", "enable", "a", "--by", "ops", "--pool", b.Queue); err != nil || !strings.Contains(out, "enabled a/gpt-5.6\n") {
		t.Errorf("pool enable of what a test disabled: %v\n%s%s", err, out, said)
	}
	if out, said, err := b.Command("pool", "enable", "a", "--by", "ops", "--pool", b.Queue); err == nil || !strings.Contains(said, "a is not disabled") {
		t.Errorf("pool enable of nothing: %v\n%s%s", err, out, said)
	}
	if out, said, err := b.Command("pool", "disable", "a", "--by", "ops", "--reason", "rotation", "--pool", b.Queue); err != nil || !strings.Contains(out, "rotation") {
		t.Errorf("E31 pool disable after the newest worker had gone: %v\n%s%s", err, out, said)
	}
	if err := b.History(pool, "").Replay(); err != nil {
		t.Error(err)
	}
}

// A service whose new configuration drops a route keeps what an operator said of
// it, and forgets what its workers had found.
func TestRouteThatIsDroppedKeepsOnlyTheOperatorsDecision(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{Faults: []routertest.Fault{routertest.FailWith(402, "").On("b")}})
	pool := onceward.PoolWorkflowID(b.Queue)
	first := b.StartWorker(false)
	b.Said(first, "worker started")
	found(t, b, "b")
	harness.Until(b, pool, onceward.QueryHealth, "one disabled route", func(h onceward.PoolHealth) bool { return len(h.Disabled) == 1 })
	if err := b.Update(pool, onceward.UpdateDisable, onceward.PoolChange{Resource: "b", By: "ops", Reason: "drifting"}, nil); err != nil {
		t.Fatal(err)
	}
	harness.Until(b, pool, onceward.QueryHealth, "two disabled routes", func(h onceward.PoolHealth) bool { return len(h.Disabled) == 2 })
	first.Kill()
	b.StartWorker(false, "--config="+b.OtherConfig(swap(t, "- name: b", "- name: c")))
	health := harness.Until(b, pool, onceward.QueryHealth, "one disabled route", func(h onceward.PoolHealth) bool { return len(h.Disabled) == 1 })
	if d := health.Disabled[0]; d.By != "ops" || d.Resource != "b" || d.Model != "" {
		t.Errorf("E31 what is left is %+v, want the operator's decision about b", d)
	}
	if err := b.Update(pool, onceward.UpdateEnable, onceward.PoolChange{Resource: "b", By: "ops"}, nil); err != nil {
		t.Errorf("E31 a decision about a route that no configuration has cannot be taken back: %v", err)
	}
}

// A Pool workflow of the build before goes over to this one's with its record, while
// operators change it, and forgets nothing when it is reset.
func TestPoolOfTheBuildBeforeBeginsAnewWhileOperatorsChangeIt(t *testing.T) {
	t.Parallel()
	b := harness.New(t, harness.Options{})
	pool := onceward.PoolWorkflowID(b.Queue)
	routes := onceward.PoolRoutes{Version: onceward.PoolVersion - 1, Service: b.Queue}
	for _, name := range []string{"a", "b"} {
		routes.Routes = append(routes.Routes, onceward.PoolRoute{Resource: name, Endpoint: onceward.EndpointDigest(b.Pool.Resource(name).URL()), Models: []string{"gpt-5.6"}})
	}
	off := onceward.Disabled{Resource: "a", Reason: "drifting", By: "lee", Since: time.Now()}
	if _, err := b.Client.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{ID: pool, TaskQueue: onceward.PoolQueue(b.Queue)}, onceward.WorkflowPool,
		onceward.PoolInput{Version: routes.Version, Pool: b.Queue, Services: []onceward.PoolRoutes{routes}, Health: onceward.PoolHealth{Disabled: []onceward.Disabled{off}}}); err != nil {
		t.Fatal(err)
	}
	b.StartWorker(false)
	var all sync.WaitGroup
	for i := range 10 { // the last of each is a disabling
		all.Go(func() {
			by := fmt.Sprint("operator-", i)
			for range 5 {
				if err := b.Update(pool, onceward.UpdateDisable, onceward.PoolChange{Resource: "b", By: by, Reason: "why"}, nil); err != nil {
					t.Errorf("%s disables: %v", by, err)
				}
				err := b.Update(pool, onceward.UpdateEnable, onceward.PoolChange{Resource: "b", By: by}, nil)
				if err != nil && !strings.Contains(err.Error(), "b is not disabled") { // another one was first
					t.Errorf("%s enables: %v", by, err)
				}
			}
			if err := b.Update(pool, onceward.UpdateDisable, onceward.PoolChange{Resource: "b", By: by, Reason: "at last"}, nil); err != nil {
				t.Errorf("%s disables: %v", by, err)
			}
		})
	}
	all.Wait()
	both := func(h onceward.PoolHealth) bool {
		return h.Loop == onceward.PoolVersion && len(h.Disabled) == 2 && h.Disabled[0].By == "lee" && h.Disabled[1].Reason == "at last"
	}
	harness.Until(b, pool, onceward.QueryHealth, "this build's loop, and both decisions", both)
	for _, h := range b.Chain(pool) {
		if err := h.Replay(); err != nil {
			t.Error(err)
		}
	}
	for _, e := range b.History(pool, "").Events {
		if e.GetWorkflowTaskCompletedEventAttributes() != nil { // what came after it is played again
			b.Reset(pool, e.GetEventId())
			break
		}
	}
	harness.Until(b, pool, onceward.QueryHealth, "after a reset the same", both)
	if err := b.Update(pool, onceward.UpdateEnable, onceward.PoolChange{Resource: "a", By: "ops"}, nil); err != nil {
		t.Error(err)
	}
	if err := b.History(pool, "").Replay(); err != nil {
		t.Error(err)
	}
}
