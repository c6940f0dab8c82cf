package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/worker"
	"github.com/onceward/onceward/worker/config"
)

func poolCommand(o *options) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "pool",
		Short: "Show, test, enable and disable the routes of a pool",
		Long: `Show, test, enable and disable the routes of a pool. What is disabled, why, since when and
how its last test went is kept by the workflow pool/NAME, over restarts of workers;
workers read it every few seconds. The pool's name is --pool, or what --config says,
or that of the namespace's only one. A worker starts the workflow when there is none.`,
		Example: `  onceward pool show
  onceward pool test swedencentral
  onceward pool enable swedencentral --by dana
  onceward pool disable swedencentral/gpt-5.6 --by dana --reason "wrong answers" --for 2h`,
		Args:                       noCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SuggestionsMinimumDistance: 2,
	}
	cmd.PersistentFlags().StringVar(&name, "pool", "", "name of the pool (default what --config says, else the namespace's only one)")
	cmd.AddCommand(poolShowCommand(o, &name), poolTestCommand(o, &name), poolEnableCommand(o, &name), poolDisableCommand(o, &name))
	return cmd
}

func poolShowCommand(o *options, name *string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the state of every route, why, since when, and its last test",
		Long: `Show the state of every route of a pool, why, since when and by whom, how its last test
went and when the next one is, and how many neutral requests were sent to it:
  ok         attempts go there
  reported   a worker has found something, and no other has confirmed it yet
  alone      another worker did not confirm it: that one alone stays away
  disabled   no attempt goes there, because a test failed or an operator decided it
Passing trouble (a 429, an open breaker, a suspicion) is each worker's own and not here.
It reads the memo of the workflow pool/NAME, which needs no worker.`,
		Example: "  onceward pool show\n  onceward pool show --pool eu --json",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.withPool(cmd.Context(), *name, func(c client.Client, pool string) error {
				running, err := poolRuns(cmd.Context(), c, pool)
				if err != nil {
					return err
				}
				health, err := worker.ReadPool(cmd.Context(), c, pool)
				if err != nil {
					return fmt.Errorf("read pool %s: %w", pool, err)
				}
				return printPool(cmd.OutOrStdout(), pool, running, health, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func poolEnableCommand(o *options, name *string) *cobra.Command {
	var change onceward.PoolChange
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "enable RESOURCE[/MODEL] --by WHO",
		Short:   "Let attempts go to a route again",
		Long:    "Let attempts go to one model of a resource again, or to the resource with all of its\nmodels. Where an operator has disabled the whole resource, that alone is ended. Workers\nfollow within seconds. Reports that are older than this do not disable it once more.",
		Example: "  onceward pool enable swedencentral --by dana",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := required(cmd.Flags(), "by"); err != nil {
				return err
			}
			return o.changePool(cmd, *name, args[0], onceward.UpdateEnable, change, asJSON)
		},
	}
	cmd.Flags().StringVar(&change.By, "by", "", "who enables it (required)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func poolDisableCommand(o *options, name *string) *cobra.Command {
	var change onceward.PoolChange
	var asJSON bool
	var lasts time.Duration
	cmd := &cobra.Command{
		Use:   "disable RESOURCE[/MODEL] --by WHO --reason REASON [--for DURATION]",
		Short: "Keep attempts away from a route",
		Long: `Keep attempts away from a resource, or from one of its models, until somebody enables
it, or for a time. Attempts in flight go on; workers follow within seconds. What an
operator has disabled is not tested.`,
		Example: `  onceward pool disable swedencentral --by dana --reason "key is being rotated" --for 30m`,
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := required(cmd.Flags(), "by", "reason"); err != nil {
				return err
			}
			if cmd.Flags().Changed("for") {
				if lasts <= 0 {
					return usagef("--for is %s, want more than nothing", lasts)
				}
				change.Until = time.Now().Add(lasts).UTC().Truncate(time.Second)
			}
			return o.changePool(cmd, *name, args[0], onceward.UpdateDisable, change, asJSON)
		},
	}
	cmd.Flags().StringVar(&change.By, "by", "", "who disables it (required)")
	cmd.Flags().StringVar(&change.Reason, "reason", "", "why (required)")
	cmd.Flags().DurationVar(&lasts, "for", 0, "how long, such as 30m (default until it is enabled)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// withPool connects and finds out which pool is meant.
func (o *options) withPool(ctx context.Context, name string, do func(c client.Client, pool string) error) error {
	if name == "" && o.config != "" {
		cfg, err := config.LoadUnkeyed(o.config)
		if err != nil {
			return err
		}
		name = cfg.Pool.Name
	}
	c, t, err := o.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if name == "" {
		if name, err = onlyPool(ctx, c, t.Namespace); err != nil {
			return err
		}
	}
	return do(c, name)
}

// onlyPool returns the name of the namespace's one pool.
func onlyPool(ctx context.Context, c client.Client, namespace string) (string, error) {
	answer, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: 100, Query: fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running'", onceward.WorkflowPool),
	})
	if err != nil {
		return "", fmt.Errorf("list pools of namespace %s: %w", namespace, err)
	}
	var names []string
	for _, x := range answer.GetExecutions() {
		names = append(names, strings.TrimPrefix(x.GetExecution().GetWorkflowId(), onceward.PoolWorkflowID("")))
	}
	switch len(names) {
	case 0:
		return "", fmt.Errorf("read pool: namespace %s has none yet: a worker starts it", namespace)
	case 1:
		return names[0], nil
	}
	slices.Sort(names)
	return "", usagef("--pool is required: there are %s", strings.Join(names, ", "))
}

// poolRuns reports whether the Pool workflow is open. One that is not there is an
// error with its remedy.
func poolRuns(ctx context.Context, c client.Client, pool string) (bool, error) {
	described, err := c.DescribeWorkflow(ctx, onceward.PoolWorkflowID(pool), "")
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return false, fmt.Errorf("read pool %s: there is no workflow %s: a worker of that pool starts it; check --pool, --address and --namespace", pool, onceward.PoolWorkflowID(pool))
	}
	if err != nil {
		return false, fmt.Errorf("read pool %s: %w", pool, err)
	}
	return described.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// changePool sends an update about RESOURCE[/MODEL] and prints what follows.
func (o *options) changePool(cmd *cobra.Command, name, route, update string, change onceward.PoolChange, asJSON bool) error {
	var health onceward.PoolHealth
	return o.updatePool(cmd, name, route, update, change, &health, updateTimeout, func(pool string) error {
		return printPool(cmd.OutOrStdout(), pool, true, health, asJSON)
	})
}

// updatePool sends an update about RESOURCE[/MODEL] to an open Pool workflow, and waits
// for its end as long as it may take.
func (o *options) updatePool(cmd *cobra.Command, name, route, update string, change onceward.PoolChange, out any, most time.Duration, done func(pool string) error) error {
	var pair bool
	if change.Resource, change.Model, pair = strings.Cut(route, "/"); pair && change.Model == "" {
		return usageError{fmt.Errorf("read route %q: there is no model after the slash; leave the slash out for every model of %s", route, change.Resource)}
	}
	change.By = strings.TrimSpace(change.By)
	if err := change.Validate(); err != nil {
		return usageError{err}
	}
	return o.withPool(cmd.Context(), name, func(c client.Client, pool string) error {
		running, err := poolRuns(cmd.Context(), c, pool)
		if err != nil {
			return err
		}
		if !running {
			return fmt.Errorf("send %s: the workflow %s has been closed: a worker of that pool starts it again", update, onceward.PoolWorkflowID(pool))
		}
		if err := sendUpdateFor(cmd.Context(), c, onceward.PoolWorkflowID(pool), update, change, out, most); err != nil {
			return err
		}
		return done(pool)
	})
}

func routeText(resource, model string) string {
	if model == "" {
		return resource + " (all models)"
	}
	return resource + "/" + model
}

func localTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}
