package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
	"github.com/onceward/onceward/worker/config"
)

func preflightCommand(o *options) *cobra.Command {
	var asJSON, ask bool
	cmd := &cobra.Command{
		Use:   "preflight --config FILE [--probe]",
		Short: "Say which routes each task class has, and what remains when one thing is lost",
		Long: `Say, for each task class of a configuration, which routes can serve it, which cannot
and every item they miss, and what remains when any one route, resource, account,
encryption boundary or region is lost. Above them stands for each resource the
final URL that its requests are posted to.
It names the routes that get no neutral requests, and why: they are only ever avoided.
It asks nobody, neither Temporal nor a resource, and needs no credential: the
variables and files that the configuration names for them may be missing.
With --probe it sends one neutral request to each of the other routes, as workers do
that look into a failure, and says what came of it: that needs the credentials.
Exit code 1: there is no task class, one has no route, a single loss leaves it none, or
a neutral request did not pass.`,
		Example: "  onceward preflight --config onceward.yaml\n  onceward preflight --config onceward.yaml --probe\n  onceward preflight --config onceward.yaml --json | jq .ok",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := required(cmd.Flags(), "config"); err != nil {
				return err
			}
			load := config.LoadUnkeyed
			if ask {
				load = config.Load
			}
			cfg, err := load(o.config)
			if err != nil {
				return err
			}
			report := preflight{Preflight: config.NewPreflight(cfg)}
			if ask {
				if report.Neutral, err = neutralToEach(cmd.Context(), cfg, report.Untested); err != nil {
					return err
				}
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), report)
			} else {
				err = printPreflight(cmd.OutOrStdout(), report)
			}
			return errors.Join(err, stranded(report.Preflight), unpassed(report.Neutral))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&ask, "probe", false, "send one neutral request to each route")
	return cmd
}

// stranded names the task classes that one loss leaves without a route.
func stranded(report config.Preflight) error {
	if report.OK {
		return nil
	}
	var errs []error
	if len(report.Tasks) == 0 {
		errs = append(errs, errors.New("the configuration has no task class, so no agent can be registered: name at least one below tasks"))
	}
	for _, task := range report.Tasks {
		if len(task.Routes) == 0 {
			errs = append(errs, fmt.Errorf("task %s has no route", task.Task))
		}
		for _, r := range task.Removals {
			if len(r.Remain) == 0 {
				errs = append(errs, fmt.Errorf("task %s has no route left without the %s %s", task.Task, r.Kind, r.Name))
			}
		}
	}
	return errors.Join(errs...)
}

func printPreflight(w io.Writer, report preflight) error {
	var b strings.Builder
	urls := show.NewTable("resource", "kind", "api", "requests go to", "headers")
	for _, r := range report.Resources {
		urls.AppendRow(table.Row{r.Resource, r.Kind, r.API, show.OneLine(r.URL), orNone(strings.Join(r.Headers, ", "))})
	}
	b.WriteString(show.Render(urls) + "\n")
	for _, r := range report.Resources {
		if r.PlainHTTP {
			fmt.Fprintf(&b, "  %s: plain http and not of this machine: what is sent, a credential too, can be read on the way\n", r.Resource)
		}
	}
	for _, r := range report.Untested {
		fmt.Fprintf(&b, "  %s gets no neutral requests and is only ever avoided: %s\n", r.Route, show.OneLine(r.Why))
	}
	b.WriteString(testTable(report.Neutral, nil))
	for _, test := range report.Neutral {
		if test.Verdict == onceward.VerdictUnclear {
			fmt.Fprintf(&b, "  %s/%s: neutral requests tell nothing of it, so that it would only ever be avoided: a host that refuses so few tokens needs neutral: {max_output_tokens: N}\n", test.Resource, test.Model)
		}
	}
	b.WriteString("\n")
	for i, task := range report.Tasks {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "task %s: %s\n", task.Task, orNone(strings.Join(task.Routes, ", ")))
		for _, d := range task.Dropped {
			fmt.Fprintf(&b, "  cannot serve it: %s\n", d.Route)
			for _, missing := range d.Missing {
				fmt.Fprintf(&b, "    %s\n", missing)
			}
		}
		if len(task.Removals) == 0 {
			continue
		}
		t := show.NewTable("without the", "named", "remain", "routes")
		for _, r := range task.Removals {
			t.AppendRow(table.Row{r.Kind, r.Name, len(r.Remain), orNone(strings.Join(r.Remain, ", "))})
		}
		b.WriteString(show.Render(t) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
