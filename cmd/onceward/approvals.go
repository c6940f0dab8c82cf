package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/cmd/onceward/internal/show"
)

// maxShownArguments is how much of a request's arguments a table shows, in characters.
const maxShownArguments = 200

func approvalsCommand(o *options) *cobra.Command {
	var asJSON bool
	var most int
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "List what waits for somebody's approval",
		Long: `List the writes that somebody has to approve before anything is sent, those that are
wanted soonest first. It needs no search attributes. Without a worker the version of a
request is unknown, and it cannot be decided by a command yet.`,
		Example: "  onceward approvals\n  onceward approvals --json",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if most < 1 || most > maxListed {
				return usagef("--limit is %d, want 1 to %d", most, maxListed)
			}
			c, t, err := o.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			gates, err := listGates(cmd.Context(), c, t.Namespace, most, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), gates)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), gateTable(gates))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with the whole arguments")
	cmd.Flags().IntVar(&most, "limit", 100, "how many, at most 1000")
	return cmd
}

// listGates finds the open approvals.
func listGates(ctx context.Context, c client.Client, namespace string, most int, warn io.Writer) ([]show.Gate, error) {
	answer, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: int32(most), Query: fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running'", onceward.WorkflowApproval),
	})
	if err != nil {
		return nil, fmt.Errorf("list approvals of namespace %s: %w", namespace, err)
	}
	var ids []onceward.ActionID
	for _, x := range answer.GetExecutions() {
		if id, ok := strings.CutPrefix(x.GetExecution().GetWorkflowId(), onceward.ActionID("").GateID()); ok && !slices.Contains(ids, onceward.ActionID(id)) {
			ids = append(ids, onceward.ActionID(id))
		}
	}
	gates := []show.Gate{}
	err = show.EachGate(ctx, c, ids, func(id onceward.ActionID, g show.Gate, err error) error {
		switch {
		case errors.Is(err, show.ErrNoCodec):
			return err
		case errors.Is(err, show.ErrNotFound): // gone meanwhile
		case err != nil: // one that cannot be read hides no other
			fmt.Fprintf(warn, "onceward: the approval of %s cannot be read: %s\n", show.OneLine(string(id)), show.OneLine(err.Error()))
		case g.Open:
			gates = append(gates, g)
		}
		return nil
	})
	slices.SortStableFunc(gates, func(a, b show.Gate) int { return a.Until.Compare(b.Until) })
	return gates, err
}

func gateTable(gates []show.Gate) string {
	t := show.NewTable("action", "tool", "tenant", "user", "approved", "wanted until", "version")
	var notes strings.Builder
	for _, g := range gates {
		version := "-"
		if g.Version != 0 {
			version = fmt.Sprint(g.Version)
		}
		t.AppendRow(table.Row{
			show.OneLine(string(g.ActionID)), g.Tool, orDashText(show.OneLine(g.Caller.Tenant)), orDashText(show.OneLine(g.Caller.User)),
			fmt.Sprintf("%d of %d", len(g.ApprovedBy), g.Needed), localTime(g.Until), version,
		})
		fmt.Fprintf(&notes, "  %s: %s\n    %s\n", show.OneLine(string(g.ActionID)), show.OneLine(g.Why), shortArguments(g))
	}
	return show.Render(t) + "\n" + notes.String()
}

// shortArguments are the arguments of a request on one line.
func shortArguments(g show.Gate) string {
	text := []rune(show.OneLine(string(g.Arguments)))
	if len(text) > maxShownArguments {
		return string(text[:maxShownArguments]) + "… (--json has all of it)"
	}
	return string(text)
}

func approveCommand(o *options) *cobra.Command {
	return voteCommand(o, onceward.UpdateApprove, &cobra.Command{
		Use:   "approve ACTION_ID --by WHO [--note NOTE] [--version VERSION]",
		Short: "Approve a write, which is then made",
		Long: `Approve a write that waits for it: the request is printed, and asked about. Where two
people are needed, each approves under a name of their own; nobody authenticates names.

On a terminal it asks before it approves what it has printed. Elsewhere --version is
required, as "onceward approvals" says it: an approval is of the request that somebody
has read, and is refused for another.

An action that was started without asking anybody, by hand or by a worker of an older
release, waits for a person too, and is approved in the same way.`,
		Example: "  onceward approve refund/order-1842/v1 --by dana",
	})
}

func denyCommand(o *options) *cobra.Command {
	return voteCommand(o, onceward.UpdateDeny, &cobra.Command{
		Use:   "deny ACTION_ID --by WHO --note WHY [--version VERSION]",
		Short: "Refuse a write for good",
		Long: `Refuse a write that waits for an approval. The model is told the note, as the reason.
The same write is not asked about again; with other arguments it may be. On a terminal
it asks first; elsewhere --version is required.`,
		Example: "  onceward deny refund/order-1842/v1 --by dana --note \"paid in cash already\"",
	})
}

func voteCommand(o *options, update string, cmd *cobra.Command) *cobra.Command {
	var v onceward.Vote
	var asJSON bool
	deny := update == onceward.UpdateDeny
	cmd.Args = arguments(cobra.ExactArgs(1))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := required(cmd.Flags(), "by"); err != nil {
			return err
		}
		id, err := onceward.ParseActionWorkflowID(strings.TrimPrefix(args[0], onceward.ActionID("").GateID()))
		if err != nil {
			return usageError{fmt.Errorf("read action id %q: %w", args[0], err)}
		}
		v.By = strings.TrimSpace(v.By)
		whole := v
		whole.Version = max(1, v.Version) // it is asked for below
		if err := whole.Validate(deny); err != nil {
			return usageError{err}
		}
		terminal := isatty.IsTerminal(os.Stdin.Fd())
		if v.Version == 0 && !terminal {
			return usagef("--version is required where nobody can be asked: `onceward approvals` says the version of the request")
		}
		c, _, err := o.dial(cmd.Context())
		if err != nil {
			return err
		}
		defer c.Close()
		ask := func(string) (bool, error) { return true, nil }
		if v.Version == 0 {
			ask = func(question string) (bool, error) { return confirmed(cmd.ErrOrStderr(), cmd.InOrStdin(), question) }
		}
		return vote(cmd.Context(), c, id, update, v, ask, cmd.OutOrStdout(), asJSON)
	}
	flags := cmd.Flags()
	flags.StringVar(&v.By, "by", "", "who decides (required)")
	flags.StringVar(&v.Note, "note", "", "why, for the record")
	if deny {
		flags.Lookup("note").Usage = "why; the model is told (required)"
	}
	flags.IntVar(&v.Version, "version", 0, "version of the request it decides")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// vote sends a decision to the open approval of an action, or to an action that waits
// because nobody was asked.
func vote(ctx context.Context, c client.Client, id onceward.ActionID, update string, v onceward.Vote, ask func(string) (bool, error), out io.Writer, asJSON bool) error {
	what := strings.TrimPrefix(update, "onceward.")
	gate, err := show.ReadGate(ctx, c, id)
	if (errors.Is(err, show.ErrNotFound) || err == nil && !gate.Open) && update == onceward.UpdateApprove {
		receipt, closed, missing := show.ReadAction(ctx, c, id)
		if missing == nil && !closed && receipt.Status == onceward.StateAwaitingOperator {
			return release(ctx, c, receipt, v, ask, out, asJSON)
		}
	}
	switch {
	case errors.Is(err, show.ErrNotFound):
		return fmt.Errorf("%s %s: nobody asks for its approval: `onceward approvals` lists what is asked", what, id)
	case err != nil:
		return fmt.Errorf("%s %s: %w", what, id, err)
	case !gate.Open:
		return fmt.Errorf("%s %s: it is %s already", what, id, gate.Status)
	}
	if v.Version == 0 {
		if gate.Version == 0 {
			return fmt.Errorf("%s %s: no worker answers %s, so the version of the request is unknown: start a worker, or name it with --version", what, id, onceward.QueryReceipt)
		}
		v.Version = gate.Version
	}
	if !asJSON {
		if _, err := io.WriteString(out, gateTable([]show.Gate{gate})); err != nil {
			return err
		}
	}
	if yes, err := ask(fmt.Sprintf("%s %s as %s?", what, id, v.By)); err != nil || !yes {
		return errors.Join(err, fmt.Errorf("%s %s: nothing was sent", what, id))
	}
	after := show.Gate{Open: true}
	if err := sendUpdate(ctx, c, id.GateID(), update, v, &after.Gate); err != nil {
		return err
	}
	after.Open = !after.Status.Final()
	if asJSON {
		return printJSON(out, after)
	}
	_, err = fmt.Fprintf(out, "%s is %s, by %s\n", id, statusAfter(after), v.By)
	return err
}

func statusAfter(g show.Gate) string {
	if g.Open {
		return fmt.Sprintf("approved by %d of %d people", len(g.ApprovedBy), g.Needed)
	}
	return string(g.Status)
}

// release approves an action that was started without asking anybody.
func release(ctx context.Context, c client.Client, receipt onceward.ActionReceipt, v onceward.Vote, ask func(string) (bool, error), out io.Writer, asJSON bool) error {
	if v.Version == 0 {
		v.Version = receipt.Version
	}
	if !asJSON {
		if _, err := fmt.Fprintf(out, "%s: %s\n", show.OneLine(string(receipt.ActionID)), show.OneLine(receipt.Reason)); err != nil {
			return err
		}
	}
	if yes, err := ask(fmt.Sprintf("approve %s as %s?", receipt.ActionID, v.By)); err != nil || !yes {
		return errors.Join(err, fmt.Errorf("approve %s: nothing was sent", receipt.ActionID))
	}
	if err := sendUpdate(ctx, c, receipt.ActionID.WorkflowID(), onceward.UpdateApprove, v, &receipt); err != nil {
		return err
	}
	return printReceipt(out, receipt, asJSON)
}

// confirmed asks a person on a terminal. Anything but a yes is a no.
func confirmed(out io.Writer, in io.Reader, question string) (bool, error) {
	if _, err := fmt.Fprintf(out, "%s [y/N] ", question); err != nil {
		return false, err
	}
	line, err := bufio.NewReader(io.LimitReader(in, 100)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}
