// Package guard puts a payload converter of anybody's behind one rule: what a
// codec cannot do for the moment fails the workflow task, which Temporal then
// tries again, and never becomes a decision of the workflow.
//
// The SDK hands a converter's errors to workflow code, where they look like a
// failed activity, or drops them, and then the history no longer replays.
package guard

import (
	"context"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

// place is where a converter is used.
type place int

const (
	outside    place = iota // a client, or nobody said: errors are returned
	inActivity              // errors that pass are waited for, then returned
	inWorkflow              // errors that pass fail the workflow task
	inTask                  // the SDK itself, in a workflow task: every error of the codec fails it
)

// Converter is a converter behind the guard. It is safe for concurrent use if
// the one it guards is. Make it with New; its zero value is of no use.
type Converter struct {
	inner converter.DataConverter
	at    place
	ctx   context.Context // of the activity
	fault *fault          // of the workflow task, where it is known
	made  *made           // of the client it belongs to; nil for one that New returned

	doubts   *doubts
	replayed func() bool // of a workflow task
}

// New puts the guard around a converter; nil is the SDK's own. One that is
// guarded already is returned as it is.
func New(dc converter.DataConverter) *Converter {
	if dc == nil {
		dc = converter.GetDefaultDataConverter()
	}
	if g, ok := dc.(*Converter); ok {
		return g
	}
	return &Converter{inner: dc, doubts: &doubts{}}
}

// with returns a copy for another place.
func (g *Converter) with(inner converter.DataConverter, at place, ctx context.Context) *Converter {
	return &Converter{inner: inner, at: at, ctx: ctx, made: g.made, doubts: g.doubts}
}

// WithWorkflowContext implements workflow.ContextAware.
func (g *Converter) WithWorkflowContext(ctx workflow.Context) converter.DataConverter {
	inner := g.inner
	if inner != converter.GetDefaultDataConverter() {
		// A codec that is slow to answer is no workflow code that never yields.
		inner = workflow.DataConverterWithoutDeadlockDetection(inner)
	}
	if aware, ok := inner.(workflow.ContextAware); ok {
		inner = aware.WithWorkflowContext(ctx)
	}
	out := g.with(inner, inWorkflow, nil)
	out.fault, _ = ctx.Value(faultKey{}).(*fault)
	out.replayed = func() bool { return workflow.IsReplaying(ctx) }
	return out
}

// WithContext implements workflow.ContextAware.
func (g *Converter) WithContext(ctx context.Context) converter.DataConverter {
	inner, at := g.inner, outside
	if aware, ok := inner.(workflow.ContextAware); ok {
		inner = aware.WithContext(ctx)
	}
	if activity.IsActivity(ctx) {
		at = inActivity
	}
	return g.with(inner, at, ctx)
}

// WithSerializationContext implements converter.DataConverterWithSerializationContext.
func (g *Converter) WithSerializationContext(ctx converter.SerializationContext) converter.DataConverter {
	out := g.with(converter.WithDataConverterSerializationContext(g.inner, ctx), g.at, g.ctx)
	out.fault, out.replayed = g.fault, g.replayed
	return out
}

// Codec implements converter.PayloadCodecProvider: headers go through the codec of
// the converter that is guarded, if it names one.
func (g *Converter) Codec() converter.PayloadCodec {
	if provider, ok := g.inner.(converter.PayloadCodecProvider); ok {
		return provider.Codec()
	}
	return nil
}

// ToPayload implements converter.DataConverter.
func (g *Converter) ToPayload(value any) (p *commonpb.Payload, err error) {
	err = g.encode(value, func() error {
		p, err = g.inner.ToPayload(value)
		return err
	})
	return p, err
}

// ToPayloads implements converter.DataConverter.
func (g *Converter) ToPayloads(values ...any) (p *commonpb.Payloads, err error) {
	err = g.encode(first(values), func() error {
		p, err = g.inner.ToPayloads(values...)
		return err
	})
	return p, err
}

// FromPayload implements converter.DataConverter.
func (g *Converter) FromPayload(p *commonpb.Payload, to any) error {
	return g.decode([]any{to}, []*commonpb.Payload{p}, func() error { return g.inner.FromPayload(p, to) })
}

// FromPayloads implements converter.DataConverter.
func (g *Converter) FromPayloads(p *commonpb.Payloads, to ...any) error {
	return g.decode(to, p.GetPayloads(), func() error { return g.inner.FromPayloads(p, to...) })
}

// ToString implements converter.DataConverter.
func (g *Converter) ToString(p *commonpb.Payload) string { return g.inner.ToString(p) }

// ToStrings implements converter.DataConverter.
func (g *Converter) ToStrings(p *commonpb.Payloads) []string { return g.inner.ToStrings(p) }

func first(values []any) any {
	if len(values) == 0 {
		return nil
	}
	return values[0]
}

// encode has one value or several encoded. What the converter says of a value is
// returned: the program is wrong, and asking again would not help.
func (g *Converter) encode(value any, do func() error) error {
	if f, ok := value.(*finder); ok {
		f.found = g
		return errFound
	}
	err := do()
	if err == nil || ofValue(err) {
		return err
	}
	switch g.at {
	case inActivity:
		return g.wait(nil, do, err)
	case inWorkflow, inTask:
		g.raise(fmt.Errorf("encode payload: %w", err))
	case outside:
	}
	return err
}

func (g *Converter) decode(to []any, payloads []*commonpb.Payload, do func() error) error {
	err := do()
	if err == nil {
		return nil
	}
	kind := kindOf(to)
	switch {
	case g.at == outside, ofValue(err) && (g.at != inTask || kind == kindSent):
		return err
	case g.at == inActivity:
		return g.wait(to, do, err)
	case g.at == inTask && kind != kindSent, kind == kindOwn: // the SDK decodes an update in the task
		g.raise(fmt.Errorf("decode payload: %w", err))
	case IsPermanent(err):
	case kind == kindSent:
		// A sender's payload that never decodes would block all that comes after
		// it, so it is told from a codec that is down.
		if !g.hopeless(to, payloads, err) {
			g.raise(fmt.Errorf("decode payload: %w", err))
		}
	default:
		g.raise(fmt.Errorf("decode payload: %w", err))
	}
	if raw := rawOf(to); raw != nil { // a signal: the SDK would drop it unseen
		*raw = refused(err)
		return nil
	}
	return fmt.Errorf("decode payload: %w", err)
}
