package show

import (
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"github.com/onceward/onceward"
)

// Names under which the Go SDK writes a local activity into a marker.
const (
	localActivityMarker = "LocalActivity"
	localActivityData   = "data"
	localActivityResult = "result"
)

// decode reads the first payload. Where there is none, v stays as it is.
func decode(p *commonpb.Payloads, v any) error {
	one := first(p)
	if one == nil {
		return nil
	}
	err := converter.GetDefaultDataConverter().FromPayload(one, v)
	if errors.Is(err, converter.ErrEncodingIsNotSupported) {
		return fmt.Errorf("%w: %w", err, ErrNoCodec)
	}
	return err
}

// marker returns the type of a local activity and its result, or "".
func marker(a *historypb.MarkerRecordedEventAttributes) (string, *commonpb.Payloads) {
	if a.GetMarkerName() != localActivityMarker || a.GetFailure() != nil {
		return "", nil
	}
	var data struct{ ActivityType string }
	if err := decode(a.GetDetails()[localActivityData], &data); err != nil {
		return "", nil // a local activity of the user's, with a converter of their own
	}
	return data.ActivityType, a.GetDetails()[localActivityResult]
}

// summary is the text that the Temporal UI shows at an event.
func summary(e *historypb.HistoryEvent) string {
	var s string
	if p := e.GetUserMetadata().GetSummary(); p != nil {
		_ = converter.GetDefaultDataConverter().FromPayload(p, &s) // a summary is for people; an unreadable one is none
	}
	return s
}

// StartedAction reads what an Action was started with from its first event.
func StartedAction(events []*historypb.HistoryEvent) (onceward.ActionInput, *historypb.WorkflowExecutionStartedEventAttributes, error) {
	var in onceward.ActionInput
	if len(events) == 0 {
		return in, nil, fmt.Errorf("read action: its history is empty")
	}
	started := events[0].GetWorkflowExecutionStartedEventAttributes()
	if started.GetWorkflowType().GetName() != onceward.WorkflowAction {
		return in, nil, fmt.Errorf("read action: its workflow is of type %q, not %s", started.GetWorkflowType().GetName(), onceward.WorkflowAction)
	}
	if err := decode(started.GetInput(), &in); err != nil {
		return in, nil, fmt.Errorf("read action: decode its input: %w", err)
	}
	return in, started, nil
}

// decodeBoth reads the two details of a failed attempt.
func decodeBoth(p *commonpb.Payloads, f *onceward.Failure, s *onceward.Settlement) error {
	if len(p.GetPayloads()) == 1 {
		return decode(p, f)
	}
	return converter.GetDefaultDataConverter().FromPayloads(p, f, s)
}
