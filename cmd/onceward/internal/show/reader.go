package show

import (
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/onceward/onceward"
)

// reader walks the history of one execution.
type reader struct {
	*chain
	execution     Execution
	boundary      int64
	turn, attempt int // of the selection at hand
	dropped       []Dropped
	verdicts      []onceward.RouteVerdict
	calls         map[int64]attemptKey // scheduled event -> attempt
	acts          map[int64]bool
	started       map[int64]time.Time // scheduled event -> when a worker took it
}

func (r *reader) event(e *historypb.HistoryEvent) error {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
		return r.begin(e)
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED:
		if r.chain.started.IsZero() { // what the workflow's own clock showed when it opened
			r.chain.started = e.GetEventTime().AsTime()
		}
	case enumspb.EVENT_TYPE_MARKER_RECORDED:
		return r.marker(e)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		return r.scheduled(e)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		r.started[e.GetActivityTaskStartedEventAttributes().GetScheduledEventId()] = e.GetEventTime().AsTime()
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		return r.completed(e)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		a := e.GetActivityTaskFailedEventAttributes()
		return r.failed(e, a.GetScheduledEventId(), a.GetFailure())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		a := e.GetActivityTaskTimedOutEventAttributes()
		return r.failed(e, a.GetScheduledEventId(), a.GetFailure())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		f := onceward.NewFailure(onceward.ClassCancelled, onceward.PhaseSent, "the run was cancelled while the attempt was in flight")
		r.fail(e, e.GetActivityTaskCanceledEventAttributes().GetScheduledEventId(), *f, nil)
	case enumspb.EVENT_TYPE_TIMER_STARTED:
		r.timers[e.GetTimerStartedEventAttributes().GetTimerId()] = summary(e)
	case enumspb.EVENT_TYPE_TIMER_FIRED:
		delete(r.timers, e.GetTimerFiredEventAttributes().GetTimerId())
	case enumspb.EVENT_TYPE_TIMER_CANCELED:
		delete(r.timers, e.GetTimerCanceledEventAttributes().GetTimerId())
	default:
		return r.end(e)
	}
	return nil
}

// begin reads what continue-as-new has carried.
func (r *reader) begin(e *historypb.HistoryEvent) error {
	var in onceward.Start
	r.turn = 1
	if err := decode(e.GetWorkflowExecutionStartedEventAttributes().GetInput(), &in); err != nil || in.Carry == nil {
		return nil // a workflow of the user's may take an argument of its own; what matters of it is in the manifest
	}
	r.turn = in.Carry.Turn + 1
	r.resolved(in.Carry.Plan)
	r.chain.started, r.waited = in.Carry.Started, in.Carry.Use.Waited
	r.know(in.Carry.Actions...)
	r.refused, r.more = in.Carry.Refused, in.Carry.More
	return nil
}

// resolved takes a manifest. Of a newer release only its version can be read, which
// says nothing about a budget: the report then has none.
func (r *reader) resolved(plan onceward.Plan) {
	if plan.Version <= onceward.ManifestVersion {
		r.plan = &plan
	}
}

func (r *reader) marker(e *historypb.HistoryEvent) error {
	kind, result := marker(e.GetMarkerRecordedEventAttributes())
	switch kind {
	case onceward.ActivityOpen:
		var opened onceward.Opened
		if err := decode(result, &opened); err != nil {
			return fmt.Errorf("decode manifest: %w", err)
		}
		r.resolved(opened.Plan)
	case onceward.ActivitySelectRoute:
		var decision onceward.Decision
		if err := decode(result, &decision); err != nil {
			return fmt.Errorf("decode selection: %w", err)
		}
		r.attempt++
		r.dropped = make([]Dropped, 0, len(decision.Dropped))
		for _, d := range decision.Dropped {
			r.dropped = append(r.dropped, Dropped{Resource: d.Resource, Step: d.Step, Reason: d.Reason})
		}
		r.verdicts = decision.Verdicts
		if decision.Route == nil {
			r.noRoute(e)
		}
	}
	return nil
}

// noRoute records a selection that found nothing.
func (r *reader) noRoute(e *historypb.HistoryEvent) {
	class, phase := onceward.ClassNoRoute, onceward.PhasePrepare
	at := e.GetEventTime().AsTime()
	r.attempts[attemptKey{turn: r.turn, attempt: r.attempt, at: at.UnixNano()}] = &attemptEntry{
		at: at, own: true, ended: true,
		Attempt: Attempt{
			Turn: r.turn, Attempt: r.attempt, Class: &class, Phase: &phase, NotSent: true,
			CostBasis: onceward.CostMeasured, Reasoning: "kept", Dropped: r.dropped, Verdicts: r.verdicts, message: "no candidate passed selection",
		},
	}
}

func (r *reader) scheduled(e *historypb.HistoryEvent) error {
	a := e.GetActivityTaskScheduledEventAttributes()
	switch a.GetActivityType().GetName() {
	case onceward.ActivityCallModel:
		var in onceward.CallInput
		if err := decode(a.GetInput(), &in); err != nil {
			return fmt.Errorf("decode attempt: %w", err)
		}
		r.turn, r.attempt = in.Turn, in.Attempt
		key := attemptKey{runID: in.RunID, turn: in.Turn, attempt: in.Attempt}
		r.calls[e.GetEventId()] = key
		if r.attempts[key] == nil {
			r.attempts[key] = newAttempt(in, r.dropped, e.GetEventTime().AsTime())
			r.attempts[key].Verdicts = r.verdicts
		}
		r.dropped, r.verdicts = nil, nil
	case onceward.ActivityAct:
		var in onceward.ActInput
		if err := decode(a.GetInput(), &in); err != nil {
			return fmt.Errorf("decode action: %w", err)
		}
		r.acts[e.GetEventId()] = true
		r.proposed(in.ActionID)
	}
	return nil
}

func newAttempt(in onceward.CallInput, dropped []Dropped, at time.Time) *attemptEntry {
	if dropped == nil {
		dropped = []Dropped{}
	}
	entry := &attemptEntry{at: at, route: in.Route, Attempt: Attempt{
		Turn: in.Turn, Attempt: in.Attempt,
		Resource: text(in.Route.Resource), Model: text(in.Route.Model), Deployment: text(in.Route.Deployment),
		CostUSD: in.Route.Ceiling.USD(), CostBasis: onceward.CostReserved, Reasoning: "kept", Dropped: dropped, reason: in.Route.Reason,
	}}
	if in.Route.StripReasoning {
		entry.Reasoning = "stripped"
	}
	return entry
}

func (r *reader) completed(e *historypb.HistoryEvent) error {
	a := e.GetActivityTaskCompletedEventAttributes()
	id := a.GetScheduledEventId()
	if r.acts[id] {
		var result onceward.ActResult
		if err := decode(a.GetResult(), &result); err != nil {
			return fmt.Errorf("decode receipt: %w", err)
		}
		r.know(result.Receipt)
		return nil
	}
	key, ok := r.calls[id]
	if !ok {
		return nil
	}
	var result onceward.CallResult
	if err := decode(a.GetResult(), &result); err != nil {
		return fmt.Errorf("decode answer: %w", err)
	}
	if entry := r.attempts[key]; r.takes(entry, e, key) {
		phase := onceward.PhaseSettled
		entry.Class, entry.Phase, entry.NotSent, entry.message = nil, &phase, false, ""
		entry.settle(result.Settled)
	}
	r.turn, r.attempt = key.turn+1, 0
	return nil
}

// failed reads the error of an attempt as the run itself does.
func (r *reader) failed(e *historypb.HistoryEvent, scheduled int64, cause *failurepb.Failure) error {
	if _, ok := r.calls[scheduled]; !ok {
		return nil
	}
	for cause.GetCause() != nil && cause.GetApplicationFailureInfo() == nil && cause.GetTimeoutFailureInfo() == nil {
		cause = cause.GetCause()
	}
	if info := cause.GetApplicationFailureInfo(); info != nil {
		if info.GetType() == onceward.ErrorNotRegistered {
			r.fail(e, scheduled, *onceward.NotSentFailure(onceward.ClassWorkerLost, "the worker does not have "+onceward.ActivityCallModel), nil)
			return nil
		}
		if details := info.GetDetails().GetPayloads(); onceward.Class(info.GetType()).Known() && len(details) > 0 {
			var f onceward.Failure
			var settled onceward.Settlement
			if err := decodeBoth(info.GetDetails(), &f, &settled); err != nil {
				return fmt.Errorf("decode failure: %w", err)
			}
			r.fail(e, scheduled, f, &settled)
			return nil
		}
	}
	f := *onceward.NewFailure(onceward.ClassWorkerLost, onceward.PhaseSent, cause.GetMessage())
	if cause.GetTimeoutFailureInfo().GetTimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START && !attemptedBefore(cause) {
		f = *onceward.NotSentFailure(onceward.ClassWorkerLost, "no worker took the attempt")
	}
	r.fail(e, scheduled, f, nil)
	return nil
}

// attemptedBefore reports that an activity that timed out had an attempt before
// the one that did, as the workflow itself tells it.
func attemptedBefore(f *failurepb.Failure) bool {
	return f.GetCause() != nil || f.GetTimeoutFailureInfo().GetLastHeartbeatDetails() != nil
}

// fail records a failed attempt. Without a settlement nobody measured its cost.
func (r *reader) fail(e *historypb.HistoryEvent, scheduled int64, f onceward.Failure, settled *onceward.Settlement) {
	key, ok := r.calls[scheduled]
	if !ok {
		return
	}
	entry := r.attempts[key]
	if !r.takes(entry, e, key) {
		return
	}
	if f.NotSent && !entry.own {
		// A reset dispatched the attempt again and its guard refused. That says
		// nothing about the first dispatch, whose request may have gone out.
		f = *onceward.NewFailure(onceward.ClassWorkerLost, onceward.PhaseSent, "the run was reset while the attempt was in flight")
		settled = nil
	}
	entry.Class, entry.Phase, entry.NotSent, entry.message = &f.Class, &f.Phase, f.NotSent, f.Message
	switch {
	case settled != nil:
		entry.settle(*settled)
	case f.NotSent:
		entry.CostUSD, entry.CostBasis = 0, onceward.CostMeasured
	default:
		entry.CostUSD, entry.CostBasis = entry.route.Ceiling.USD(), onceward.CostReserved
	}
	if entry.HTTPStatus == nil && f.HTTPStatus != 0 {
		entry.HTTPStatus = &f.HTTPStatus
	}
	if entry.RequestID == nil {
		entry.RequestID = text(f.ProviderRequestID)
	}
	if began, ok := r.started[scheduled]; ok && entry.DurationMS == nil {
		ms := e.GetEventTime().AsTime().Sub(began).Milliseconds()
		entry.DurationMS = &ms
	}
}

// takes reports whether an event decides the outcome of an attempt: what was
// recorded in the execution that scheduled it wins over what a reset made of it.
func (r *reader) takes(entry *attemptEntry, e *historypb.HistoryEvent, key attemptKey) bool {
	own := r.execution.RunID == key.runID || e.GetEventId() < r.boundary
	if entry.ended && (entry.own || !own) {
		return false
	}
	entry.ended, entry.own = true, own
	return true
}

func (a *attemptEntry) settle(s onceward.Settlement) {
	if s.Usage.Known {
		a.Usage = &s.Usage
	}
	a.CostUSD, a.CostBasis = s.Cost.USD(), s.CostBasis
	if a.CostBasis == "" {
		a.CostBasis = onceward.CostMeasured
	}
	a.RequestID = text(s.ProviderRequestID)
	if s.HTTPStatus != 0 {
		a.HTTPStatus = &s.HTTPStatus
	}
	if s.Duration > 0 {
		ms := s.Duration.Milliseconds()
		a.DurationMS = &ms
	}
	if s.ReasoningStripped {
		a.Reasoning = "stripped"
	}
}

func (r *reader) end(e *historypb.HistoryEvent) error {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		var result onceward.Result
		if err := decode(e.GetWorkflowExecutionCompletedEventAttributes().GetResult(), &result); err != nil {
			return fmt.Errorf("decode result: %w", err)
		}
		r.result, r.waited = &result, result.Use.Waited
		r.know(result.Actions...)
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
		r.closed = "failed: " + e.GetWorkflowExecutionFailedEventAttributes().GetFailure().GetMessage()
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
		r.closed = "terminated: " + e.GetWorkflowExecutionTerminatedEventAttributes().GetReason()
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
		r.closed = "cancelled"
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
		r.closed = "timed out"
	}
	return nil
}
