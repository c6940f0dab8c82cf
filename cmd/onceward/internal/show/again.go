package show

import (
	"fmt"
	"slices"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/onceward/onceward"
)

// again is what people sent by update and a reset brought to the execution that it
// made. Refused there it leaves no event and reaches no list of the workflow's, and
// its sender was told that it is taken. The zero value is ready.
type again struct {
	list []repeated
}

type repeated struct {
	id, said string
	seen     bool // a workflow task has ended since
}

func (a *again) event(e *historypb.HistoryEvent) {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED:
		request := e.GetWorkflowExecutionUpdateAdmittedEventAttributes().GetRequest()
		said := ""
		switch request.GetInput().GetName() {
		case onceward.UpdateResolve:
			var in onceward.Resolve
			_ = decode(request.GetInput().GetArgs(), &in) // what cannot be read was said all the same
			said = saidOf(in.By, string(in.Status)+" "+in.Ref, in.Note)
		case onceward.UpdateComplete:
			var in onceward.Complete
			_ = decode(request.GetInput().GetArgs(), &in)
			said = saidOf(in.By, in.Text, in.Note)
		default:
			return
		}
		a.take(request.GetMeta().GetUpdateId())
		a.list = append(a.list, repeated{id: request.GetMeta().GetUpdateId(), said: said})
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
		a.take(e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetProtocolInstanceId())
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
		for i := range a.list {
			a.list[i].seen = true
		}
	}
}

func (a *again) take(id string) {
	a.list = slices.DeleteFunc(a.list, func(r repeated) bool { return r.id == id })
}

func saidOf(by, what, note string) string {
	if note != "" {
		what += fmt.Sprintf(" (%s)", onceward.Cut(note, 100))
	}
	return fmt.Sprintf("%s said %s: a reset has brought it again, and it was not taken", onceward.Cut(by, 60), onceward.Cut(strings.TrimSpace(what), 220))
}

// refused adds what was not taken to a list of refusals.
func (a *again) refused(list []string) []string {
	var left []string
	for _, r := range a.list {
		if r.seen {
			left = append(left, r.said)
		}
	}
	return joined(list, left)
}

// joined adds to a list what it does not have.
func joined(list, more []string) []string {
	for _, why := range more {
		if !slices.Contains(list, why) {
			list = append(slices.Clip(list), why)
		}
	}
	return list
}
