package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"gopkg.in/yaml.v3"

	"github.com/onceward/onceward/worker"
)

// The environment variables that stand in for --address and --namespace.
const (
	addressVariable   = "ONCEWARD_TEMPORAL_ADDRESS"
	namespaceVariable = "ONCEWARD_TEMPORAL_NAMESPACE"
)

// temporal returns where Temporal is: flags before the file, the file before the
// environment, the environment before the defaults.
func (o *options) temporal(getenv func(string) string) (worker.Temporal, error) {
	t := worker.Temporal{Address: "127.0.0.1:7233", Namespace: "default"}
	if o.config != "" {
		cfg, err := loadForOperator(o.config, os.Environ())
		if err != nil {
			return t, err
		}
		t = cfg.Temporal
	} else {
		override(&t.Address, getenv(addressVariable))
		override(&t.Namespace, getenv(namespaceVariable))
	}
	override(&t.Address, o.address)
	override(&t.Namespace, o.namespace)
	return t, nil
}

func override(field *string, value string) {
	if value != "" {
		*field = value
	}
}

// loadForOperator reads a configuration for a command that only asks Temporal.
// The credentials of resources belong to the worker: a variable that the file
// names and this environment lacks is no mistake here.
func loadForOperator(path string, environ []string) (worker.Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return worker.Config{}, fmt.Errorf("read configuration: %w", err)
	}
	var file struct {
		Pool struct {
			Resources []struct {
				APIKeyEnv string `yaml:"api_key_env"`
			} `yaml:"resources"`
		} `yaml:"pool"`
	}
	// A file that this cannot read is explained, with its lines, by Parse below.
	_ = yaml.Unmarshal(text, &file)
	for _, r := range file.Pool.Resources {
		if r.APIKeyEnv != "" && os.Getenv(r.APIKeyEnv) == "" {
			environ = append(environ, r.APIKeyEnv+"=not-needed-here")
		}
	}
	return worker.Parse(path, text, environ)
}

// dial connects quietly: the SDK's own log is none of an operator's concern.
func (o *options) dial(ctx context.Context) (client.Client, worker.Temporal, error) {
	t, err := o.temporal(os.Getenv)
	if err != nil {
		return nil, t, err
	}
	sdk, err := t.Options()
	if err != nil {
		return nil, t, err
	}
	sdk.Logger = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	c, err := client.DialContext(ctx, sdk)
	if err != nil {
		return nil, t, fmt.Errorf("connect to Temporal at %s: %w\nis it running? `onceward dev` starts one; --address names another", t.Address, err)
	}
	return c, t, nil
}
