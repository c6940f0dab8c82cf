package guard

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
)

// pluginName names the plugin in the SDK's lists.
const pluginName = "onceward.guard"

// plugin puts the guard around the converter that a client is made with, whoever
// set it and whatever other plugins made of it.
type plugin struct {
	client.PluginBase
	made *made // set: the plugin of a client for SDK workers
}

// made is what a client was made with.
type made struct {
	options client.Options
	data    converter.DataConverter // without the guard
	failure converter.FailureConverter
	doubts  *doubts
}

// Plugin returns the client plugin that puts the guard around the client's
// converter. Without a FailureConverter of the client's own, the texts and details
// of failures go through its DataConverter too.
func Plugin() client.Plugin { return &plugin{} }

func (*plugin) Name() string { return pluginName }

func (*plugin) ConfigureClient(context.Context, client.PluginConfigureClientOptions) error {
	return nil
}

// NewClient comes after every plugin has configured the options, so that none can
// put a converter around the guard.
func (p *plugin) NewClient(ctx context.Context, options client.PluginNewClientOptions, next func(context.Context, client.PluginNewClientOptions) error) error {
	o := &options.ClientOptions
	if p.made != nil {
		o.DataConverter = &Converter{inner: p.made.data, at: inTask, made: p.made, doubts: p.made.doubts}
		o.FailureConverter = failures{inner: p.made.failure}
		if p.made.failure == nil {
			o.FailureConverter = failures{inner: failuresOf(p.made.data, o.DataConverter)}
		}
		return next(ctx, options)
	}
	if g, ok := o.DataConverter.(*Converter); ok && g.made != nil {
		return next(ctx, options) // named twice
	}
	m := &made{options: *o, data: o.DataConverter, failure: o.FailureConverter}
	if g, ok := m.data.(*Converter); ok {
		m.data = g.inner
	}
	guarded := New(m.data)
	o.DataConverter = guarded.of(m)
	if m.failure == nil {
		o.FailureConverter = failuresOf(m.data, o.DataConverter)
	}
	return next(ctx, options)
}

// of returns a copy that knows what its client was made with.
func (g *Converter) of(m *made) *Converter {
	m.data, m.doubts = g.inner, g.doubts
	return &Converter{inner: g.inner, made: m, doubts: g.doubts}
}

// failuresOf is the failure converter of a client that names none. The SDK's own
// keeps failures readable, also where everything else is encrypted.
func failuresOf(plain, guarded converter.DataConverter) converter.FailureConverter {
	if plain == nil || plain == converter.GetDefaultDataConverter() {
		return temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: guarded})
	}
	return temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: guarded, EncodeCommonAttributes: true})
}

// ForWorkers returns a client of the same connection for SDK workers alone, whose
// converter knows that the SDK uses it in workflow tasks. The caller calls the
// function when the workers have stopped.
func ForWorkers(ctx context.Context, c client.Client) (client.Client, func(), error) {
	g := find(ctx, c)
	switch {
	case g != nil && g.made != nil:
	case g == nil && plain(c): // the SDK's own converter has no codec that could fail
		return c, func() {}, nil
	default:
		return nil, nil, ErrUnguarded
	}
	options := g.made.options
	options.Plugins = []client.Plugin{&plugin{made: g.made}}
	for _, other := range g.made.options.Plugins {
		if w, ok := other.(worker.Plugin); ok && other.Name() != pluginName {
			options.Plugins = append(options.Plugins, workerOnly{Plugin: w})
		}
	}
	own, err := client.NewClientFromExistingWithContext(ctx, c, options)
	if err != nil {
		return nil, nil, fmt.Errorf("make client for workers: %w", err)
	}
	return own, own.Close, nil
}

// ErrUnguarded says that nothing can guard the converter of a client.
var ErrUnguarded = errors.New("the client has a payload converter of its own and no plugin guards it, so a codec that fails for a moment could close a run: make the client with worker.Dial, from Temporal.Options, or with worker.Guard() among its plugins")

// workerOnly is another plugin of the client's, which has configured the options
// already and configures the workers still.
type workerOnly struct {
	client.PluginBase
	worker.Plugin
}

func (w workerOnly) Name() string { return w.Plugin.Name() }
