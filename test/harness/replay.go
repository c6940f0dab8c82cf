package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	sdk "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/samples/refund"
	"github.com/onceward/onceward/test/agents"
	"github.com/onceward/onceward/worker"
	"github.com/onceward/onceward/workflows"
)

// Replayer returns a replayer that knows every workflow of the tests and reads
// payloads with a converter; nil is the SDK's.
func Replayer(dc converter.DataConverter) (sdk.WorkflowReplayer, error) {
	options := sdk.WorkflowReplayerOptions{}
	if dc != nil && dc != converter.GetDefaultDataConverter() {
		options.DataConverter = worker.GuardConverter(dc)
		options.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: dc, EncodeCommonAttributes: true})
	}
	r, err := sdk.NewWorkflowReplayerWithOptions(options)
	if err != nil {
		return nil, fmt.Errorf("make replayer: %w", err)
	}
	r.RegisterWorkflowWithOptions(workflows.Action, workflow.RegisterOptions{Name: onceward.WorkflowAction})
	r.RegisterWorkflowWithOptions(workflows.Approval, workflow.RegisterOptions{Name: onceward.WorkflowApproval})
	r.RegisterWorkflowWithOptions(workflows.Pool, workflow.RegisterOptions{Name: onceward.WorkflowPool})
	r.RegisterWorkflow(refund.RefundWorkflow)
	for _, agent := range agents.All {
		r.RegisterWorkflow(agent.Workflow)
	}
	return r, nil
}

// Replay runs today's workflow code against a history.
func (h History) Replay() error {
	r, err := Replayer(h.Converter)
	if err != nil {
		return err
	}
	if err := r.ReplayWorkflowHistory(quiet{}, &historypb.History{Events: h.Events}); err != nil {
		return fmt.Errorf("replay %s %s: %w", h.Type, h.RunID, err)
	}
	return nil
}

// Save writes a history in the form that the Temporal UI and CLI export. The
// name of the machine that ran a worker is left out.
func (h History) Save(path string) error {
	raw, err := protojson.Marshal(&historypb.History{Events: h.Events})
	if err != nil {
		return fmt.Errorf("encode history: %w", err)
	}
	var plain any // protojson varies its white space on purpose
	if err := json.Unmarshal(raw, &plain); err != nil {
		return fmt.Errorf("encode history: %w", err)
	}
	scrub(plain)
	if raw, err = json.MarshalIndent(plain, "", " "); err != nil {
		return fmt.Errorf("encode history: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("save history: %w", err)
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}

// scrub replaces the names of processes and of their own queues, which name the
// machine.
func scrub(v any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			scrub(one)
		}
	case map[string]any:
		if v["kind"] == "TASK_QUEUE_KIND_STICKY" {
			v["name"] = "sticky"
		}
		for key, one := range v {
			if _, ok := one.(string); ok && key == "identity" {
				v[key] = "test"
				continue
			}
			scrub(one)
		}
	}
}

// LoadHistory reads a stored history.
func LoadHistory(path string) (History, error) {
	file, err := os.Open(path)
	if err != nil {
		return History{}, fmt.Errorf("load history: %w", err)
	}
	defer file.Close()
	stored, err := client.HistoryFromJSON(file, client.HistoryJSONOptions{})
	if err != nil {
		return History{}, fmt.Errorf("load history %s: %w", path, err)
	}
	h := History{Events: stored.GetEvents()}
	if len(h.Events) == 0 || h.Events[0].GetEventType() != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED {
		return History{}, fmt.Errorf("load history %s: it does not begin with the start of a workflow", path)
	}
	started := h.Events[0].GetWorkflowExecutionStartedEventAttributes()
	h.WorkflowID, h.RunID, h.Type = started.GetWorkflowId(), started.GetOriginalExecutionRunId(), started.GetWorkflowType().GetName()
	return h, nil
}
