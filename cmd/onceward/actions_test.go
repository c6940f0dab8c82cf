package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func TestOpenActionsSayWhoTheyWaitFor(t *testing.T) {
	t.Parallel()
	const id = onceward.ActionID("refund/1/v1")
	since, at := time.Unix(100, 0), time.Unix(200, 0)
	for state, want := range map[onceward.ActionState]string{
		onceward.StateProposed: "worker", onceward.StateCommitting: "worker", onceward.StateReconciling: "worker", onceward.StateAccepted: "product",
		onceward.StateAwaitingOperator: "person", onceward.StateReversed: "person", onceward.StateUnknown: "person",
	} {
		a := openActionOf(id, onceward.ActionReceipt{ActionID: id, Status: state, Reason: "why", Run: "refund-1", At: at}, since, nil)
		if a.WaitsFor == nil || *a.WaitsFor != want || *a.Reason != "why" || *a.Run != "refund-1" || !a.Since.Equal(at) {
			t.Errorf("%s: %+v, want %s", state, a, want)
		}
	}
	unread := openActionOf(id, onceward.ActionReceipt{}, since, errors.New("gone"))
	if unread.WaitsFor != nil || unread.Remark == nil || !strings.Contains(*unread.Remark, "gone") || !unread.Since.Equal(since) {
		t.Errorf("one that cannot be read: %+v", unread)
	}
	var out bytes.Buffer
	if err := printOpenActions(&out, []openAction{unread}, false); err != nil || !strings.Contains(out.String(), "refund/1/v1  -     unknown") || !strings.Contains(out.String(), "refund/1/v1: it cannot be read: gone") {
		t.Errorf("%v\n%s", err, &out)
	}
	out.Reset()
	var rows []map[string]any
	if err := printOpenActions(&out, []openAction{unread}, true); err != nil || json.Unmarshal(out.Bytes(), &rows) != nil || len(rows) != 1 || rows[0]["action_id"] != string(id) || rows[0]["waits_for"] != nil {
		t.Errorf("%v\n%s", err, &out)
	}
	both := []openAction{unread, openActionOf(id, onceward.ActionReceipt{ActionID: id, Status: onceward.StateReversed}, since, nil)}
	slices.SortStableFunc(both, func(a, b openAction) int { return urgency(a) - urgency(b) })
	if both[0].Status != onceward.StateReversed {
		t.Error("who waits for a person does not come first")
	}
}
