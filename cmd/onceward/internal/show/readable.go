package show

import (
	"context"
	"errors"
	"fmt"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/onceward/onceward"
)

// ErrNoCodec says that workers have a codec which this client does not have.
var ErrNoCodec = errors.New("what workers write cannot be read here: if they have a codec of their own, name a server of it with --codec-endpoint")

// Readable refuses a workflow whose workers write through a codec that the client
// does not have, before anything is sent to it: workers read what is in clear, so
// what was sent would be taken, and stand in clear in the history.
func Readable(ctx context.Context, c client.Client, workflowID string) error {
	info, err := describe(ctx, c, workflowID)
	if err != nil {
		return err
	}
	written := info.GetMemo().GetFields()[onceward.MemoHealth] // a pool's record is its newest
	if written == nil {
		events, err := Events(ctx, c, workflowID, info.GetExecution().GetRunId())
		if err != nil {
			return err
		}
		written = newest(events)
	}
	if unread(written) {
		return fmt.Errorf("read workflow %s: %w", workflowID, ErrNoCodec)
	}
	return nil
}

// newest returns what a worker wrote last of its own accord, else what the workflow
// was started with. What others have sent, as by a signal, says nothing about workers,
// and neither do a user's own activities, which may have a converter of their own.
func newest(events []*historypb.HistoryEvent) *commonpb.Payload {
	var own, sealed, input *commonpb.Payload
	for _, e := range events {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
			input = first(e.GetWorkflowExecutionStartedEventAttributes().GetInput())
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			attributes := e.GetActivityTaskScheduledEventAttributes()
			if p := first(attributes.GetInput()); p != nil && strings.HasPrefix(attributes.GetActivityType().GetName(), "onceward.") {
				own = p
			}
		case enumspb.EVENT_TYPE_MARKER_RECORDED:
			attributes := e.GetMarkerRecordedEventAttributes()
			name, _ := marker(attributes)
			switch p := first(attributes.GetDetails()[localActivityData]); {
			case unread(p):
				sealed = p
			case strings.HasPrefix(name, "onceward."):
				own = p
			}
		}
	}
	for _, p := range []*commonpb.Payload{own, sealed, input} {
		if p != nil {
			return p
		}
	}
	return nil
}

func first(p *commonpb.Payloads) *commonpb.Payload {
	if len(p.GetPayloads()) == 0 {
		return nil
	}
	return p.GetPayloads()[0]
}

func unread(p *commonpb.Payload) bool {
	var v any
	return p != nil && errors.Is(converter.GetDefaultDataConverter().FromPayload(p, &v), converter.ErrEncodingIsNotSupported)
}
