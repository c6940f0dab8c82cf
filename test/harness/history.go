package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/onceward/onceward"
)

// History is one execution of a workflow as Temporal keeps it.
type History struct {
	WorkflowID, RunID, Type string
	Events                  []*historypb.HistoryEvent
	Converter               converter.DataConverter // of its payloads; nil: the SDK's
}

// History fetches one execution; runID "" is the newest.
func (b *Bench) History(workflowID, runID string) History {
	b.t.Helper()
	ctx := b.Context()
	h := History{WorkflowID: workflowID, RunID: runID, Converter: b.convert}
	iter := b.Client.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for iter.HasNext() {
		event, err := iter.Next()
		if err != nil {
			b.t.Fatalf("history of %s: %v", workflowID, err)
		}
		h.Events = append(h.Events, event)
	}
	if len(h.Events) == 0 {
		b.t.Fatalf("history of %s is empty", workflowID)
	}
	started := h.Events[0].GetWorkflowExecutionStartedEventAttributes()
	h.Type = started.GetWorkflowType().GetName()
	if runID == "" {
		h.RunID = b.newest(workflowID)
	}
	return h
}

func (b *Bench) newest(workflowID string) string {
	b.t.Helper()
	described, err := b.Client.DescribeWorkflow(b.Context(), workflowID, "")
	if err != nil {
		b.t.Fatalf("describe %s: %v", workflowID, err)
	}
	return described.WorkflowExecution.RunID
}

// Chain fetches every execution of a run, oldest first: the newest one names the
// one before it, be it by a reset or by continue-as-new.
func (r *Run) Chain() []History {
	r.b.t.Helper()
	return r.b.Chain(r.ID)
}

// Chain fetches every execution of a workflow id, oldest first. Executions that
// this bench's resets made and that a later reset left aside are among them: what
// they sent counts, although the newest execution does not name them.
func (b *Bench) Chain(workflowID string) []History {
	b.t.Helper()
	var chain []History
	for runID := b.newest(workflowID); runID != ""; {
		h := b.History(workflowID, runID)
		chain = append(chain, h)
		runID = ""
		for _, e := range h.Events { // the newest reset is the one that made this execution
			if a := e.GetWorkflowTaskFailedEventAttributes(); a.GetCause() == enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW && a.GetNewRunId() == h.RunID {
				runID = a.GetBaseRunId()
			}
		}
		if runID == "" {
			runID = h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId()
		}
	}
	slices.Reverse(chain)
	for _, runID := range b.madeByReset(workflowID) {
		if !slices.ContainsFunc(chain, func(h History) bool { return h.RunID == runID }) {
			chain = slices.Insert(chain, len(chain)-1, b.History(workflowID, runID))
		}
	}
	return chain
}

func (b *Bench) madeByReset(workflowID string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.resets[workflowID])
}

// Attempt is a model attempt as the histories of a chain tell it.
type Attempt struct {
	Input   onceward.CallInput
	Result  *onceward.CallResult
	Failure *onceward.Failure // nil while in flight, after success, and after a timeout of the server
	Settled *onceward.Settlement
	Lost    bool // timed out: the worker went away
}

// NotSent reports that nothing left the worker.
func (a Attempt) NotSent() bool { return a.Failure != nil && a.Failure.NotSent }

// Attempts reads the model attempts of a chain in the order in which they were
// scheduled. What a reset copied into a later execution counts once.
func (b *Bench) Attempts(chain []History) []Attempt {
	b.t.Helper()
	type key struct {
		run           string
		turn, attempt int
	}
	at := map[key]int{}
	var out []Attempt
	for _, h := range chain {
		scheduled := map[int64]int{}
		for _, e := range h.Events {
			if a := e.GetActivityTaskScheduledEventAttributes(); a.GetActivityType().GetName() == onceward.ActivityCallModel {
				var in onceward.CallInput
				b.decode(a.GetInput(), &in)
				k := key{in.RunID, in.Turn, in.Attempt}
				if _, seen := at[k]; !seen {
					at[k] = len(out)
					out = append(out, Attempt{Input: in})
				}
				scheduled[e.GetEventId()] = at[k]
			}
			b.closeAttempt(e, scheduled, out)
		}
	}
	return out
}

func (b *Bench) closeAttempt(e *historypb.HistoryEvent, scheduled map[int64]int, out []Attempt) {
	if a := e.GetActivityTaskCompletedEventAttributes(); a != nil {
		if i, ours := scheduled[a.GetScheduledEventId()]; ours {
			out[i].Result = &onceward.CallResult{}
			b.decode(a.GetResult(), out[i].Result)
			out[i].Settled = &out[i].Result.Settled
		}
	}
	if a := e.GetActivityTaskTimedOutEventAttributes(); a != nil {
		if i, ours := scheduled[a.GetScheduledEventId()]; ours {
			out[i].Lost = true
		}
	}
	if a := e.GetActivityTaskFailedEventAttributes(); a != nil {
		i, ours := scheduled[a.GetScheduledEventId()]
		details := applicationDetails(a.GetFailure())
		if !ours || details == nil || out[i].Result != nil {
			return
		}
		out[i].Failure, out[i].Settled = &onceward.Failure{}, &onceward.Settlement{}
		b.decode(details, out[i].Failure, out[i].Settled)
	}
}

func applicationDetails(f *failurepb.Failure) *commonpb.Payloads {
	return f.GetApplicationFailureInfo().GetDetails()
}

// Decode reads payloads of a history.
func (b *Bench) Decode(payloads *commonpb.Payloads, to ...any) {
	b.t.Helper()
	b.decode(payloads, to...)
}

func (b *Bench) decode(payloads *commonpb.Payloads, to ...any) {
	b.t.Helper()
	if err := b.convert.FromPayloads(payloads, to...); err != nil {
		b.t.Fatalf("decode payload: %v", err)
	}
}

// Reserved counts the attempts of a chain that may have reached a resource.
func Reserved(attempts []Attempt) int {
	n := 0
	for _, a := range attempts {
		if !a.NotSent() {
			n++
		}
	}
	return n
}

// Lost counts the attempts of a chain whose worker went away, or was so slow that
// the server thought so.
func Lost(attempts []Attempt) int {
	n := 0
	for _, a := range attempts {
		if a.Lost {
			n++
		}
	}
	return n
}

// Count counts the events of a kind in a history.
func (h History) Count(kind enumspb.EventType) int {
	n := 0
	for _, e := range h.Events {
		if e.GetEventType() == kind {
			n++
		}
	}
	return n
}

// Activities counts how often activities of a type were scheduled.
func (h History) Activities(activityType string) int {
	n := 0
	for _, e := range h.Events {
		if e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == activityType {
			n++
		}
	}
	return n
}

// Size is the number of bytes of the events on the wire, which the server counts
// towards its limit.
func (h History) Size() int {
	n := 0
	for _, e := range h.Events {
		n += proto.Size(e)
	}
	return n
}

// Holds reports whether a text is anywhere in a history, in any payload.
func (h History) Holds(text string) bool {
	for _, e := range h.Events {
		raw, err := proto.Marshal(e)
		if err == nil && bytes.Contains(raw, []byte(text)) {
			return true
		}
	}
	return false
}

// Transcript reads all items of a run through its query.
func (r *Run) Transcript() []onceward.Item {
	r.b.t.Helper()
	var items []onceward.Item
	for ctx := r.b.Context(); ; {
		answer, err := r.b.Client.QueryWorkflow(ctx, r.ID, "", onceward.QueryTranscript, onceward.TranscriptQuery{From: len(items)})
		if _, late := errors.AsType[*serviceerror.DeadlineExceeded](err); late && ctx.Err() == nil {
			continue // the query was given to a worker that was killed
		}
		if err != nil {
			r.b.t.Fatalf("query transcript of %s: %v", r.ID, err)
		}
		var page onceward.TranscriptPage
		if err := answer.Get(&page); err != nil {
			r.b.t.Fatalf("decode transcript of %s: %v", r.ID, err)
		}
		items = append(items, page.Items...)
		if len(items) >= page.Length || len(page.Items) == 0 {
			return items
		}
	}
}

// CheckTranscript reports what makes a transcript one that a resource would
// refuse: a call without its one output, or an output without its call.
func CheckTranscript(items []onceward.Item) error {
	calls, outputs := map[string]int{}, map[string]int{}
	for _, item := range items {
		switch item.Type {
		case "function_call":
			calls[item.CallID]++
		case "function_call_output":
			if calls[item.CallID] == 0 {
				return fmt.Errorf("output of %s comes before its call", item.CallID)
			}
			outputs[item.CallID]++
		}
	}
	for id, n := range calls {
		if n != 1 || outputs[id] != 1 {
			return fmt.Errorf("call %s is there %d times and has %d outputs, want one of each", id, n, outputs[id])
		}
	}
	return nil
}

// Outputs returns what the model was told about its calls, by tool, in order.
func Outputs(items []onceward.Item) []Output {
	var out []Output
	at := map[string]int{}
	for _, item := range items {
		var wire struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
			Output    string `json:"output"`
		}
		if json.Unmarshal(item.Raw, &wire) != nil {
			continue
		}
		switch item.Type {
		case "function_call":
			at[item.CallID] = len(out)
			out = append(out, Output{Tool: wire.Name, Arguments: wire.Arguments})
		case "function_call_output":
			if i, ok := at[item.CallID]; ok {
				out[i].Text = wire.Output
			}
		}
	}
	return out
}

// Output is one call of the model and what it was told.
type Output struct{ Tool, Arguments, Text string }

// Field reads a text field of an output that is a JSON object.
func (o Output) Field(name string) string {
	var fields map[string]any
	if json.Unmarshal([]byte(o.Text), &fields) != nil {
		return ""
	}
	text, _ := fields[name].(string)
	return text
}
