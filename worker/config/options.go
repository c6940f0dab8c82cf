package config

import (
	"fmt"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/onceward/onceward/worker/guard"
)

// Options returns the SDK's options, for a caller that adds to them, such as a
// DataConverter: its plugin puts the guard around whatever converter the client is
// made with. They log to the default logger of log/slog.
func (t Temporal) Options() (client.Options, error) {
	options := client.Options{
		HostPort:  t.Address,
		Namespace: t.Namespace,
		Logger:    log.NewStructuredLogger(slog.Default()),
		Plugins:   []client.Plugin{guard.Plugin()},
	}
	if t.TLS != nil {
		tls, err := t.TLS.config()
		if err != nil {
			return client.Options{}, fmt.Errorf("dial temporal: temporal.tls: %w", err)
		}
		options.ConnectionOptions.TLS = tls
	}
	if !t.APIKey.Empty() { // the SDK turns TLS on with it
		options.Credentials = client.NewAPIKeyStaticCredentials(t.APIKey.Reveal())
	}
	return options, nil
}
