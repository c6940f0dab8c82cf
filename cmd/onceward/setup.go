package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward/worker"
)

func setupCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "setup",
		Short: "Register the search attributes of runs in the namespace",
		Long: `Register the search attributes of runs (OncewardAgent, OncewardStatus, ...) in the
namespace. It may be repeated. Runs work without them; workers look for them until
they are there, and open runs set them with their next attempt.`,
		Example: "  onceward setup --config onceward.yaml",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, t, err := o.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			return setup(cmd.Context(), c, t.Namespace, cmd.OutOrStdout())
		},
	}
}

func setup(ctx context.Context, c client.Client, namespace string, out io.Writer) error {
	have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("list search attributes of %s: %w", namespace, err)
	}
	missing, err := missingAttributes(have.GetCustomAttributes())
	if err != nil {
		return fmt.Errorf("set up namespace %s: %w", namespace, err)
	}
	if len(missing) == 0 {
		_, err := fmt.Fprintf(out, "namespace %s has all search attributes\n", namespace)
		return err
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing})
	if err != nil {
		return fmt.Errorf("add search attributes to %s: %w\non Temporal Cloud they are added in its own console, with these names and types: %v", namespace, err, missing)
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		fmt.Fprintf(out, "added %s (%s)\n", name, missing[name])
	}
	_, err = fmt.Fprintln(out, "workers that are running see them within a minute; open runs set them with their next attempt")
	return err
}

// missingAttributes returns what is to be added. One of another type cannot be
// mended from here.
func missingAttributes(have map[string]enumspb.IndexedValueType) (map[string]enumspb.IndexedValueType, error) {
	missing := map[string]enumspb.IndexedValueType{}
	for name, want := range worker.SearchAttributes() {
		got, ok := have[name]
		switch {
		case !ok:
			missing[name] = want
		case got != want:
			return nil, fmt.Errorf("search attribute %s is %s and must be %s: remove it with `temporal operator search-attribute remove --name %s`, then repeat this", name, got, want, name)
		}
	}
	return missing, nil
}
