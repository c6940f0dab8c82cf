package worker

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward/router/redact"
	"github.com/onceward/onceward/worker/config"
)

// Config is what New takes: a configuration as package config reads and checks
// it. A worker's own file is all that most programs need of that package.
type Config = config.Config

// Load reads and checks the configuration of a file, as config.Load does.
func Load(path string) (Config, error) { return config.Load(path) }

// Dial connects to the Temporal service of a configuration. It ends with ctx;
// the caller closes the client.
func Dial(ctx context.Context, cfg Config) (client.Client, error) {
	options, err := cfg.Temporal.Options()
	if err != nil {
		return nil, err
	}
	c, err := client.DialContext(ctx, options)
	if err != nil {
		err = redact.NewSet(cfg.Temporal.APIKey.Reveal()).Error(err) // a server says whose key it refuses
		return nil, fmt.Errorf("dial temporal at %s: %w", cfg.Temporal.Address, err)
	}
	return c, nil
}
