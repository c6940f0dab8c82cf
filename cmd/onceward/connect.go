package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"

	"github.com/onceward/onceward/worker/config"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

// The environment variables that stand in for --address and --namespace.
const (
	addressVariable   = "ONCEWARD_TEMPORAL_ADDRESS"
	namespaceVariable = "ONCEWARD_TEMPORAL_NAMESPACE"
)

// temporal returns where Temporal is: flags before all else, then the file with
// its documented overrides, or without a file the environment, then the defaults.
func (o *options) temporal(getenv func(string) string) (config.Temporal, error) {
	t := config.Temporal{Address: "127.0.0.1:7233", Namespace: "default"}
	if o.config != "" {
		var err error
		if t, err = config.LoadTemporal(o.config); err != nil {
			return t, err
		}
	} else {
		override(&t.Address, getenv(addressVariable))
		override(&t.Namespace, getenv(namespaceVariable))
	}
	override(&t.Address, o.address)
	override(&t.Namespace, o.namespace)
	if err := config.CheckAddress(t.Address); err != nil { // that of a flag or a file has been checked
		return t, fmt.Errorf("read %s: it %w", addressVariable, err)
	}
	return t, nil
}

// check refuses addresses that nothing could be asked at, before anything is asked.
func (o *options) check(getenv func(string) string) error {
	if o.address != "" {
		if err := config.CheckAddress(o.address); err != nil {
			return usagef("--address %w", err)
		}
	}
	if endpoint, from := o.endpoint(getenv); endpoint != "" {
		if u, err := url.Parse(endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return usagef("%s is not a URL that begins with http:// or https://", from)
		}
	}
	return nil
}

// environ refuses a misspelt variable, and says which have no meaning, where no file
// is read that would do both: unseen, it would lead a command to another Temporal.
func (o *options) environ(errs io.Writer) error {
	if o.config != "" {
		return nil
	}
	unused, err := config.CheckEnviron(os.Environ())
	if err != nil {
		return err
	}
	for _, name := range unused {
		fmt.Fprintf(errs, "onceward: the environment variable %s is not used without --config\n", name)
	}
	return nil
}

func override(field *string, value string) {
	if value != "" {
		*field = value
	}
}

// dial connects quietly: the SDK's own log is none of an operator's concern.
func (o *options) dial(ctx context.Context) (client.Client, config.Temporal, error) {
	t, err := o.temporal(os.Getenv)
	if err != nil {
		return nil, t, err
	}
	sdk, err := t.Options()
	if err != nil {
		return nil, t, err
	}
	sdk.DataConverter = o.codec(os.Getenv)
	sdk.Logger = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	c, err := client.DialContext(ctx, sdk)
	if err != nil {
		return nil, t, fmt.Errorf("connect to Temporal at %s: %w\nis it running? `onceward dev` starts one; --address names another", t.Address, err)
	}
	return c, t, nil
}
