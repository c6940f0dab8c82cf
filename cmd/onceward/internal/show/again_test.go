package show

import (
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"

	"github.com/onceward/onceward"
)

func (h *history) admit(id, name string, v any) {
	h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED, Attributes: &historypb.HistoryEvent_WorkflowExecutionUpdateAdmittedEventAttributes{
		WorkflowExecutionUpdateAdmittedEventAttributes: &historypb.WorkflowExecutionUpdateAdmittedEventAttributes{Request: &updatepb.Request{
			Meta: &updatepb.Meta{UpdateId: id}, Input: &updatepb.Input{Name: name, Args: h.payloads(v)},
		}},
	}})
}

func (h *history) accept(id string) {
	h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED, Attributes: &historypb.HistoryEvent_WorkflowExecutionUpdateAcceptedEventAttributes{
		WorkflowExecutionUpdateAcceptedEventAttributes: &historypb.WorkflowExecutionUpdateAcceptedEventAttributes{ProtocolInstanceId: id},
	}})
}

// A reset applies what people sent by update once more. What is refused then is in no
// history and in no list of the workflow's.
func TestUpdateThatAResetBringsAgainIsListedUnlessItIsTaken(t *testing.T) {
	t.Parallel()
	decision := onceward.Resolve{Status: onceward.StatusCommitted, Ref: "rf-9", By: "dana", Note: "seen"}
	for name, c := range map[string]struct {
		play func(h *history)
		want string
	}{
		"E33 refused by the execution that the reset made": {func(h *history) { h.admit("u", onceward.UpdateResolve, decision); h.task() }, "dana said committed rf-9 (seen)"},
		"E33 refused after two resets, it is listed once": {func(h *history) {
			h.admit("u", onceward.UpdateResolve, decision)
			h.task()
			h.admit("u", onceward.UpdateResolve, decision)
			h.task()
		}, "dana said committed rf-9 (seen)"},
		"E33 a completion": {func(h *history) {
			h.admit("u", onceward.UpdateComplete, onceward.Complete{By: "dana", Text: "by hand"})
			h.task()
		}, "dana said by hand"},
		"E33 taken":                              {func(h *history) { h.admit("u", onceward.UpdateResolve, decision); h.accept("u"); h.task() }, ""},
		"E33 no worker has seen it yet":          {func(h *history) { h.task(); h.admit("u", onceward.UpdateResolve, decision) }, ""},
		"an update of a user's own is theirs":    {func(h *history) { h.admit("u", "hint", "x"); h.task() }, ""},
		"a decision of an execution left behind": {func(h *history) { h.accept("u"); h.task() }, ""},
	} {
		h := newHistory(t, "B", onceward.Start{})
		c.play(h)
		folded, err := fold([]Execution{h.execution()})
		if err != nil {
			t.Fatal(err)
		}
		got := folded.again.refused(folded.again.refused([]string{"earlier"}))
		if len(got) != 1+min(1, len(c.want)) || c.want != "" && !strings.HasPrefix(got[1], c.want+": ") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
