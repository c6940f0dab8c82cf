package guard

import (
	"context"
	"errors"
	"reflect"
	"strings"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// finder is a value that no client sends: the guard of its converter answers to it
// with an error before anything is sent.
type finder struct{ found *Converter }

var errFound = errors.New("found the guard")

// find returns the guard of a client, or nil. A client of the SDK says nothing of
// its converter, so it is asked to encode a value that the guard knows.
func find(ctx context.Context, c client.Client) *Converter {
	if !ofSDK(c) {
		return nil
	}
	found := ask(ctx, c)
	if found == nil { // a lazy client connects before it encodes
		if _, err := c.CheckHealth(ctx, nil); err != nil {
			return nil
		}
		found = ask(ctx, c)
	}
	return found
}

func ask(ctx context.Context, c client.Client) *Converter {
	ended, cancel := context.WithCancel(ctx)
	cancel() // where there is no guard, nothing may be sent
	f := &finder{}
	_ = c.RecordActivityHeartbeat(ended, []byte{0}, f)
	return f.found
}

// Alone refuses a client that is connected and whose converter was guarded by New,
// without the plugin that workers need. Of others it says nothing.
func Alone(c client.Client) error {
	if ofSDK(c) {
		if g := ask(context.Background(), c); g != nil && g.made == nil {
			return ErrUnguarded
		}
	}
	return nil
}

// Of returns the converter of a client, for what the SDK does not decode: memos,
// and payloads read from a history. It is guarded if the client's is.
func Of(ctx context.Context, c client.Client) converter.DataConverter {
	if g := find(ctx, c); g != nil {
		return g
	}
	return converter.GetDefaultDataConverter()
}

// OfWorkflow is Of for payloads of one workflow: a codec may bind what it seals to
// the workflow's id.
func OfWorkflow(ctx context.Context, c client.Client, workflowID string) converter.DataConverter {
	g := find(ctx, c)
	if g == nil || g.made == nil {
		return Of(ctx, c)
	}
	namespace := g.made.options.Namespace
	if namespace == "" {
		namespace = client.DefaultNamespace
	}
	return g.WithSerializationContext(converter.WorkflowSerializationContext{Namespace: namespace, WorkflowID: workflowID})
}

// ofSDK reports whether the SDK made a client: others, such as those of tests, have
// no converter.
func ofSDK(c client.Client) bool {
	t := reflect.TypeOf(c)
	return t != nil && t.Kind() == reflect.Pointer && strings.HasPrefix(t.Elem().PkgPath(), "go.temporal.io/sdk/")
}

// plain reports whether a client uses the SDK's own converter, which has no codec
// that could fail. The SDK keeps that in a field of its own; where it is not found,
// nothing is known of the client.
func plain(c client.Client) bool {
	if !ofSDK(c) {
		return false
	}
	field := reflect.ValueOf(c).Elem().FieldByName("dataConverter")
	own := reflect.ValueOf(converter.GetDefaultDataConverter())
	return field.IsValid() && field.Kind() == reflect.Interface && field.Elem().Kind() == reflect.Pointer &&
		own.Kind() == reflect.Pointer && field.Elem().Pointer() == own.Pointer()
}
