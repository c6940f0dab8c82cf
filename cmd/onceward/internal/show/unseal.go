package show

import (
	"context"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/onceward/onceward/worker/guard"
)

// unseal takes the client's codec off every payload of a message, in place, so that
// all that reads it afterwards needs none. A payload that it cannot read stays as
// it is, as one signal under a key that nobody has must not hide a history; if it
// can read none, the codec is what is wrong.
func unseal(ctx context.Context, c client.Client, message proto.Message) error {
	dc := guard.Of(ctx, c)
	if dc == converter.GetDefaultDataConverter() {
		return nil
	}
	var read int
	var failed error
	take := func(_ *proxy.VisitPayloadsContext, in []*commonpb.Payload) ([]*commonpb.Payload, error) {
		out := make([]*commonpb.Payload, len(in))
		for i, p := range in {
			var raw converter.RawValue
			out[i] = p
			switch err := dc.FromPayload(p, &raw); {
			case err != nil && failed == nil:
				failed = err
			case err == nil && raw.Payload() != nil:
				out[i] = raw.Payload()
				read++
			}
		}
		return out, nil
	}
	if err := proxy.VisitPayloads(ctx, message, proxy.VisitPayloadsOptions{Visitor: take, SkipSearchAttributes: true}); err != nil {
		return fmt.Errorf("decode payloads: %w", err)
	}
	if failed != nil && read == 0 {
		return fmt.Errorf("decode payloads: %w", failed)
	}
	texts := func(_ *proxy.VisitFailuresContext, f *failurepb.Failure) error {
		converter.DecodeCommonFailureAttributes(converter.GetDefaultDataConverter(), f)
		return nil
	}
	if err := proxy.VisitFailures(ctx, message, proxy.VisitFailuresOptions{Visitor: texts}); err != nil {
		return fmt.Errorf("decode failures: %w", err)
	}
	return nil
}
