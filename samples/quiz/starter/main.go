// Command starter starts one run of the quiz agent.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/samples/quiz"
	"github.com/onceward/onceward/worker"
	"github.com/onceward/onceward/worker/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(os.Stdout).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "quiz starter:", onceward.Printable(err.Error()))
		os.Exit(1)
	}
}

type options struct {
	config, topic, id string
	wait, json        bool
}

// started is the output of --json. Outcome and Text are null until the run ends.
type started struct {
	WorkflowID string            `json:"workflow_id"`
	RunID      string            `json:"run_id"`
	Outcome    *onceward.Outcome `json:"outcome"`
	Text       *string           `json:"text"`

	config string // for who watches it
}

func command(out io.Writer) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use: "starter --config FILE [--topic TOPIC]", Short: "Start a run that writes a quiz",
		Example: "  starter --config onceward.yaml --topic rivers --wait",
		Args:    cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkTopic(o.topic); err != nil {
				return err
			}
			return o.run(cmd.Context(), out)
		},
	}
	cmd.Flags().StringVar(&o.config, "config", "onceward.yaml", "configuration file; only its temporal section is used")
	cmd.Flags().StringVar(&o.topic, "topic", "rivers", "what the quiz is about")
	cmd.Flags().StringVar(&o.id, "id", "", "workflow id of the run (default a new one each time)")
	cmd.Flags().BoolVar(&o.wait, "wait", false, "wait for the run's end and print its outcome")
	cmd.Flags().BoolVar(&o.json, "json", false, "print {workflow_id, run_id, outcome, text}")
	return cmd
}

// maxTopic bounds a topic in bytes: the summary of the run holds it whole.
const maxTopic = 200

// checkTopic refuses a topic that says nothing or does not fit one line.
func checkTopic(topic string) error {
	switch {
	case strings.TrimSpace(topic) == "":
		return errors.New("--topic is empty, want what the quiz is about")
	case len(topic) > maxTopic:
		return fmt.Errorf("--topic has %d bytes, at most %d", len(topic), maxTopic)
	case !utf8.ValidString(topic) || strings.ContainsFunc(topic, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("--topic holds a character that cannot be printed on one line")
	}
	return nil
}

func (o options) run(ctx context.Context, out io.Writer) error {
	at, err := config.LoadTemporal(o.config) // the credentials of resources are the worker's alone
	if err != nil {
		return err
	}
	temporal, err := worker.Dial(ctx, worker.Config{Temporal: at})
	if err != nil {
		return err
	}
	defer temporal.Close()
	id := o.id
	if id == "" {
		id = "quiz-" + uuid.NewString()
	}
	run, err := temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: at.TaskQueue,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true, // or the old run would be answered for the new one
		StaticSummary:                            onceward.Summary("quiz about " + o.topic),
	}, quiz.QuizWorkflow, onceward.Ask("Write a quiz. Topic: "+o.topic))
	if _, ok := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); ok {
		return fmt.Errorf("start run: there is a run %s already; look at it with `onceward show %s`, or give this one another --id", id, id)
	}
	if err != nil {
		return fmt.Errorf("start run %s: %w", id, err)
	}
	answer := started{WorkflowID: run.GetID(), RunID: run.GetRunID(), config: o.config}
	if o.wait {
		var result onceward.Result
		if err := run.Get(ctx, &result); err != nil {
			return fmt.Errorf("wait for run %s: %w", id, err)
		}
		answer.Outcome, answer.Text = &result.Outcome, &result.Text
	}
	return answer.print(out, o.json)
}

// print writes what a model wrote without what a terminal would obey.
func (s started) print(out io.Writer, asJSON bool) error {
	if asJSON {
		raw, err := json.Marshal(s)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s\n", onceward.PrintableJSON(raw))
		return err
	}
	id := onceward.PrintableLine(s.WorkflowID)
	if s.Outcome == nil {
		_, err := fmt.Fprintf(out, "started %s (run %s)\nwatch it: go run github.com/onceward/onceward/cmd/onceward show %s --config %s\n", id, s.RunID, id, onceward.PrintableLine(s.config))
		return err
	}
	_, err := fmt.Fprintf(out, "%s: %s\n%s\n", id, onceward.PrintableLine(string(*s.Outcome)), onceward.Printable(*s.Text))
	return err
}
