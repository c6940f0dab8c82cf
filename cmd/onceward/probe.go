package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/onceward/onceward/cmd/onceward/internal/show"
	"github.com/onceward/onceward/router/probe"
	"github.com/onceward/onceward/worker"
)

func probeCommand(o *options) *cobra.Command {
	var asJSON bool
	var timeout time.Duration
	var input int
	cmd := &cobra.Command{
		Use:   "probe --config FILE",
		Short: "Ask each resource what it can do, and compare it with the configuration",
		Long: `Ask each resource what it can do, with a handful of real requests to each, and
compare the answers with the configuration: encrypted reasoning, item ids, strict
schemas, which resources read each other's reasoning, and in what the members that
serve one model differ (model snapshot, quota class, filter policy).
Reasoning is only said to be read where the same resource refuses it spoiled.
It spends a few hundred tokens on each deployment, and one prompt of plain words of
at most --input-tokens on its max_input_tokens, which is checked as far as that: a
server that cuts what it is sent is found by the count that it gives back. It needs
the credentials of the resources, as a worker does. It changes nothing.
Exit code 1: something differs, or a resource could not be asked.`,
		Example: "  onceward probe --config onceward.yaml\n  onceward probe --config onceward.yaml --json --timeout 20s | jq .differences",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := required(cmd.Flags(), "config"); err != nil {
				return err
			}
			if timeout <= 0 {
				return usagef("--timeout is %s, want more than nothing", timeout)
			}
			cfg, err := worker.Load(o.config)
			if err != nil {
				return err
			}
			report, err := probe.Run(cmd.Context(), probe.Config{
				Pool: cfg.RouterConfig(), Timeout: timeout, InputTokens: input,
				Progress: func(step string) { fmt.Fprintln(cmd.ErrOrStderr(), step) },
			})
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), report)
			} else {
				err = printProbe(cmd.OutOrStdout(), report)
			}
			return errors.Join(err, differs(report))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON; progress goes to standard error")
	cmd.Flags().DurationVar(&timeout, "timeout", time.Minute, "of one request")
	cmd.Flags().IntVar(&input, "input-tokens", 8192, "how far max_input_tokens is checked on each deployment; -1 sends nothing for it")
	return cmd
}

// differs sums up why a pool is not what the configuration says.
func differs(report probe.Report) error {
	var errs []error
	for _, r := range report.Resources {
		if len(r.Errors) > 0 {
			errs = append(errs, fmt.Errorf("%s/%s could not be asked", r.Resource, r.Model))
		}
	}
	if n := len(report.Drift); n > 0 {
		errs = append(errs, fmt.Errorf("members of the pool differ in %d facts", n))
	}
	if n := len(report.Differences); n > 0 {
		errs = append(errs, fmt.Errorf("the configuration says %d things that are not so", n))
	}
	return errors.Join(errs...)
}

func printProbe(w io.Writer, report probe.Report) error {
	t := show.NewTable("resource", "model", "served as", "store=false kept to", "encrypted reasoning", "ids kept", "ids omitted", "strict schema", "reads reasoning", "max input tokens")
	var notes []string
	for _, r := range report.Resources {
		t.AppendRow(table.Row{r.Resource, r.Model, show.OneLine(orDashText(r.Served)), r.StoreHonoured, r.EncryptedReasoning, r.IDsKept, r.IDsOmitted, r.StrictSchema, r.ReadsReasoning, r.Window})
		for _, e := range r.Errors {
			notes = append(notes, fmt.Sprintf("  %s/%s could not be asked: %s\n", r.Resource, r.Model, show.OneLine(e)))
		}
	}
	var b strings.Builder
	b.WriteString(show.Render(t) + "\n" + strings.Join(notes, ""))
	b.WriteString(pairMatrices(report))
	if len(report.Drift) > 0 {
		b.WriteString("\nmembers that serve one model differ:\n" + driftTable(report.Drift))
	}
	if len(report.Differences) > 0 {
		t := show.NewTable("resource", "model", "key", "says", "should say", "why")
		for _, d := range report.Differences {
			t.AppendRow(table.Row{d.Resource, orDashText(d.Model), d.Key, d.Says, d.Should, show.OneLine(d.Why)})
		}
		b.WriteString("\nthe configuration should say:\n" + show.Render(t) + "\n")
	}
	verdict := "nothing differs from the configuration"
	if differs(report) != nil {
		verdict = fmt.Sprintf("%d differences from the configuration, %d between members", len(report.Differences), len(report.Drift))
	}
	fmt.Fprintf(&b, "\n%s · %d requests\n", verdict, report.Requests)
	_, err := io.WriteString(w, b.String())
	return err
}

// pairMatrices has one matrix a model: who wrote reasoning, and who reads it.
func pairMatrices(report probe.Report) string {
	var models []string
	for _, p := range report.Pairs {
		if !slices.Contains(models, p.Model) {
			models = append(models, p.Model)
		}
	}
	var b strings.Builder
	for _, model := range models {
		var names []string
		answers := map[[2]string]probe.Answer{}
		for _, p := range report.Pairs {
			if p.Model != model {
				continue
			}
			answers[[2]string{p.From, p.To}] = p.Accepted
			for _, name := range []string{p.From, p.To} {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
		t := show.NewTable(append([]string{model + " written by"}, prefixed("read by ", names)...)...)
		for _, from := range names {
			row := table.Row{from}
			for _, to := range names {
				row = append(row, orDashText(string(answers[[2]string{from, to}])))
			}
			t.AppendRow(row)
		}
		b.WriteString("\n" + show.Render(t) + "\n")
	}
	return b.String()
}

func driftTable(drift []probe.Drift) string {
	t := show.NewTable("model", "fact", "resource", "value")
	for _, d := range drift {
		for _, resource := range slices.Sorted(maps.Keys(d.Values)) {
			t.AppendRow(table.Row{d.Model, d.Fact, resource, show.OneLine(orDashText(d.Values[resource]))})
		}
	}
	return show.Render(t) + "\n"
}

func prefixed(prefix string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = prefix + name
	}
	return out
}

func orDashText(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
