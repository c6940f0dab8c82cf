package worker

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/onceward/onceward"
)

// lookTimeout bounds each question to the service before the workers start.
const lookTimeout = 10 * time.Second

// searchAttributes are the attributes of a run, with the types they must have.
var searchAttributes = map[string]enums.IndexedValueType{
	onceward.AttributeAgent:          enums.INDEXED_VALUE_TYPE_KEYWORD,
	onceward.AttributeStatus:         enums.INDEXED_VALUE_TYPE_KEYWORD,
	onceward.AttributeOutcome:        enums.INDEXED_VALUE_TYPE_KEYWORD,
	onceward.AttributeResource:       enums.INDEXED_VALUE_TYPE_KEYWORD,
	onceward.AttributeAttempts:       enums.INDEXED_VALUE_TYPE_INT,
	onceward.AttributeCostUSD:        enums.INDEXED_VALUE_TYPE_DOUBLE,
	onceward.AttributePendingActions: enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
}

// SearchAttributes returns the names and types of a run's search attributes.
func SearchAttributes() map[string]enums.IndexedValueType {
	out := make(map[string]enums.IndexedValueType, len(searchAttributes))
	for name, kind := range searchAttributes {
		out[name] = kind
	}
	return out
}

// look asks the namespace what runs and actions will rely on. It fails only when
// the namespace cannot be asked at all.
func (w *Worker) look(ctx context.Context) error {
	retention, err := w.retention(ctx)
	if err != nil {
		return err
	}
	if !w.passing(ctx) {
		w.warnOfHorizon(retention)
	}
	w.attributes.ask(ctx, w)
	return nil
}

func (w *Worker) retention(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	answer, err := w.client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: w.cfg.Temporal.Namespace})
	if err != nil {
		return 0, fmt.Errorf("describe namespace %s: %w", w.cfg.Temporal.Namespace, err)
	}
	return answer.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(), nil
}

// passing reports whether the server is a dev server, which keeps everything in
// SQLite and usually forgets all of it at its end. One that does not say is none.
func (w *Worker) passing(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	answer, err := w.client.WorkflowService().GetClusterInfo(ctx, &workflowservice.GetClusterInfoRequest{})
	return err == nil && answer.GetPersistenceStore() == "sqlite"
}

func missingAttributes(have map[string]enums.IndexedValueType) []string {
	var missing []string
	for name, kind := range searchAttributes {
		got, ok := have[name]
		switch {
		case !ok:
			missing = append(missing, name)
		case got != kind:
			missing = append(missing, fmt.Sprintf("%s (is %s, must be %s)", name, got, kind))
		}
	}
	slices.Sort(missing)
	return missing
}

// warnOfHorizon says for which tools an action can be forgotten: after the
// retention only the read before a commit protects, and only as far as it sees.
func (w *Worker) warnOfHorizon(retention time.Duration) {
	if retention <= 0 {
		return
	}
	var tools []string
	var longest time.Duration
	for _, name := range w.order {
		for _, tool := range w.agents[name].Manifest.Plan.Tools {
			if tool.Kind == onceward.KindWrite && retention < tool.Write.ReadHorizon {
				tools, longest = append(tools, name+"."+tool.Name), max(longest, tool.Write.ReadHorizon)
			}
		}
	}
	if len(tools) > 0 {
		w.log.Warn("the namespace forgets an action before its product's read does: an id proposed again after that relies on the read alone, and beyond Spec.ReadHorizon waits for a person",
			"tools", tools, "retention", retention, "longest_read_horizon", longest,
			"remedy", fmt.Sprintf("`temporal operator namespace update --namespace %s --retention %dh`, or a shorter Spec.ReadHorizon", w.cfg.Temporal.Namespace, int(math.Ceil(longest.Hours()))))
	}
}
