package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/onceward/onceward"
)

// inbox reads the signals of one workflow execution. Its zero value is ready.
type inbox struct{ read int }

// receive reads one signal raw and decodes it here: the SDK would drop one that
// does not decode, and the operator would never hear of it.
//
// That a codec refused a signal is put on record. Its key may be known to the
// worker that replays the run, which would otherwise take the signal after all and
// do what the history does not hold.
func (b *inbox) receive(ctx workflow.Context, channel workflow.ReceiveChannel, v any) error {
	var raw converter.RawValue
	channel.Receive(ctx, &raw)
	b.read++
	payload := raw.Payload()
	refused := payload != nil && string(payload.GetMetadata()[converter.MetadataEncoding]) == onceward.EncodingRefused
	if refused || workflow.IsReplaying(ctx) {
		change := fmt.Sprintf("signal-refused-%d", b.read)
		recorded := workflow.GetVersion(ctx, change, workflow.DefaultVersion, 1) != workflow.DefaultVersion
		if refused && !recorded { // it was read when it came: this worker cannot replay what followed
			panic(fmt.Sprintf("decode signal %s: %s", channel.Name(), payload.GetData()))
		}
		if recorded {
			why := "it was refused when it came"
			if refused {
				why = string(payload.GetData())
			}
			return fmt.Errorf("decode signal: %s", why)
		}
	}
	if payload == nil {
		return errors.New("the signal has no argument, one JSON object is needed")
	}
	if err := converter.GetDefaultDataConverter().FromPayload(payload, v); err != nil {
		return fmt.Errorf("decode signal: %w", err)
	}
	return nil
}
