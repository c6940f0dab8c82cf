package show

import (
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/onceward/onceward"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// history writes histories as the server does: event ids from 1, a second apart.
type history struct {
	t     *testing.T
	runID string
	list  []*historypb.HistoryEvent
	at    time.Time
}

func newHistory(t *testing.T, runID string, start onceward.Start) *history {
	h := &history{t: t, runID: runID, at: noon}
	h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
		WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{
			Input: h.payloads(start), FirstExecutionRunId: "A", WorkflowType: &commonpb.WorkflowType{Name: "RefundWorkflow"},
		},
	}})
	h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED})
	return h
}

func (h *history) execution() Execution { return Execution{RunID: h.runID, Events: h.list} }

func (h *history) payloads(v ...any) *commonpb.Payloads {
	h.t.Helper()
	p, err := converter.GetDefaultDataConverter().ToPayloads(v...)
	if err != nil {
		h.t.Fatal(err)
	}
	return p
}

func (h *history) add(e *historypb.HistoryEvent) int64 {
	e.EventId, e.EventTime = int64(len(h.list)+1), timestamppb.New(h.at)
	h.at = h.at.Add(time.Second)
	h.list = append(h.list, e)
	return e.EventId
}

func (h *history) local(kind string, result any) {
	h.t.Helper()
	h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_MARKER_RECORDED, Attributes: &historypb.HistoryEvent_MarkerRecordedEventAttributes{
		MarkerRecordedEventAttributes: &historypb.MarkerRecordedEventAttributes{MarkerName: localActivityMarker, Details: map[string]*commonpb.Payloads{
			localActivityData: h.payloads(map[string]any{"ActivityType": kind, "Attempt": 1}), localActivityResult: h.payloads(result),
		}},
	}})
}

func (h *history) schedule(kind string, input any) int64 {
	h.t.Helper()
	return h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
		ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{ActivityType: &commonpb.ActivityType{Name: kind}, Input: h.payloads(input)},
	}})
}

func (h *history) start(scheduled int64) int64 {
	return h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED, Attributes: &historypb.HistoryEvent_ActivityTaskStartedEventAttributes{
		ActivityTaskStartedEventAttributes: &historypb.ActivityTaskStartedEventAttributes{ScheduledEventId: scheduled},
	}})
}

func (h *history) complete(scheduled int64, result any) {
	h.t.Helper()
	h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
		ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{ScheduledEventId: scheduled, Result: h.payloads(result)},
	}})
}

func (h *history) fail(scheduled int64, kind string, details ...any) {
	h.t.Helper()
	h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED, Attributes: &historypb.HistoryEvent_ActivityTaskFailedEventAttributes{
		ActivityTaskFailedEventAttributes: &historypb.ActivityTaskFailedEventAttributes{ScheduledEventId: scheduled, Failure: &failurepb.Failure{
			Message: kind, FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: kind, Details: h.payloads(details...)}},
		}},
	}})
}

func (h *history) timeOut(scheduled, started int64, kind enumspb.TimeoutType) {
	h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT, Attributes: &historypb.HistoryEvent_ActivityTaskTimedOutEventAttributes{
		ActivityTaskTimedOutEventAttributes: &historypb.ActivityTaskTimedOutEventAttributes{ScheduledEventId: scheduled, StartedEventId: started, Failure: &failurepb.Failure{
			FailureInfo: &failurepb.Failure_TimeoutFailureInfo{TimeoutFailureInfo: &failurepb.TimeoutFailureInfo{TimeoutType: kind}},
		}},
	}})
}

func (h *history) timer(id, text string) {
	h.t.Helper()
	h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_TIMER_STARTED,
		UserMetadata: &sdk.UserMetadata{Summary: h.payloads(text).Payloads[0]},
		Attributes:   &historypb.HistoryEvent_TimerStartedEventAttributes{TimerStartedEventAttributes: &historypb.TimerStartedEventAttributes{TimerId: id}}})
}

func (h *history) end(result onceward.Result) {
	h.t.Helper()
	h.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, Attributes: &historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes{
		WorkflowExecutionCompletedEventAttributes: &historypb.WorkflowExecutionCompletedEventAttributes{Result: h.payloads(result)},
	}})
}

// reset copies what this execution has so far into a new one.
func (h *history) reset(runID string) *history {
	next := &history{t: h.t, runID: runID, list: append([]*historypb.HistoryEvent{}, h.list...), at: h.at}
	next.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED, Attributes: &historypb.HistoryEvent_WorkflowTaskFailedEventAttributes{
		WorkflowTaskFailedEventAttributes: &historypb.WorkflowTaskFailedEventAttributes{
			Cause: enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW, BaseRunId: h.runID, NewRunId: runID,
		},
	}})
	return next
}

const ceiling = onceward.MicroUSD(2000)

// call selects a route and schedules an attempt.
func (h *history) call(runID string, turn, attempt int, dropped ...onceward.Dropped) int64 {
	h.t.Helper()
	route := onceward.Route{Resource: "east", Model: "gpt-5.6", Deployment: "gpt-5.6-east", Ceiling: ceiling}
	h.local(onceward.ActivitySelectRoute, onceward.Decision{Route: &route, Dropped: dropped})
	return h.schedule(onceward.ActivityCallModel, onceward.CallInput{RunID: runID, Turn: turn, Attempt: attempt, Route: route})
}

func settled(cost onceward.MicroUSD) onceward.Settlement {
	return onceward.Settlement{
		Usage: onceward.Usage{Known: true, InputTokens: 100, OutputTokens: 7}, Cost: cost, CostBasis: onceward.CostMeasured,
		ProviderRequestID: "req-1", HTTPStatus: 200, Duration: 1234 * time.Millisecond,
	}
}

func plan() onceward.Plan {
	return onceward.Plan{Agent: "refunds", Budget: onceward.Budget{Attempts: 12, Cost: 500_000, Deadline: 10 * time.Minute}}
}

// opened begins a run that has its manifest.
func opened(t *testing.T) *history {
	h := newHistory(t, "A", onceward.Ask("order-1842"))
	h.local(onceward.ActivityOpen, onceward.Opened{Plan: plan()})
	return h
}
