package worker

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/router"
)

func TestRunRefusesWithoutAnAgentOrASecondTime(t *testing.T) {
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	w := newWorker(t)
	if err := w.Run(stopped); err == nil || err.Error() != "run worker: no agent is registered" {
		t.Errorf("without an agent: %v", err)
	}
	if err := w.Register(nil, shopAgent(), &shop{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Run(stopped); err == nil || err.Error() != "run worker: no workflow is registered" {
		t.Errorf("without a workflow: %v", err)
	}
	w = newWorker(t)
	if err := w.Register(refundWorkflow, shopAgent(), &shop{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Run(stopped); err == nil || !strings.HasPrefix(err.Error(), "run worker: describe namespace default: ") {
		t.Errorf("with a service that does not answer: %v", err)
	}
	if err := w.Run(stopped); err == nil || err.Error() != "run worker: it runs once, and has" {
		t.Errorf("a second time: %v", err)
	}
	if err := w.Register(otherWorkflow, onceward.Agent{Name: "late"}, nil); err == nil || err.Error() != "register agent late: the worker runs already" {
		t.Errorf("registered after the start: %v", err)
	}
}

func TestAllRegistrationsAreAcceptedByTheSDK(t *testing.T) {
	w := newWorker(t, "drain: 180s", "drain: 180s, max_activities: 5, max_commits: 7, sticky_timeout: 1s")
	if err := w.Register(refundWorkflow, shopAgent(), &shop{}); err != nil {
		t.Fatal(err)
	}
	acts, err := w.activities(newPoolSync(w))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.workers(acts, func(error) {}); err != nil {
		t.Error(err)
	}
	// Two workflows of one name are refused by Register; past it the SDK panics.
	w.workflows = append(w.workflows, registration{"refundWorkflow", refundWorkflow})
	if _, _, err := w.workers(acts, func(error) {}); err == nil || !strings.HasPrefix(err.Error(), "register with the SDK: ") {
		t.Errorf("a panic of the SDK: %v, want an error", err)
	}
}

func TestMissingAndMistypedSearchAttributesAreNamed(t *testing.T) {
	have := SearchAttributes()
	if got := missingAttributes(have); len(got) != 0 {
		t.Errorf("complete: missing %v", got)
	}
	delete(have, onceward.AttributeOutcome)
	have[onceward.AttributeCostUSD] = enums.INDEXED_VALUE_TYPE_INT
	want := []string{"OncewardCostUSD (is Int, must be Double)", "OncewardOutcome"}
	if got := missingAttributes(have); !slices.Equal(got, want) {
		t.Errorf("missing %v, want %v", got, want)
	}
}

func TestRetentionShorterThanTheReadHorizonIsLoggedOnceWithItsRemedy(t *testing.T) {
	for _, row := range []struct {
		name      string
		retention time.Duration
		want      int
	}{
		{"shorter than the default horizon", 3 * 24 * time.Hour, 1},
		{"as long", 30 * 24 * time.Hour, 0},
		{"unknown", 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			var log bytes.Buffer
			w := newWorker(t)
			WithLogger(slog.New(slog.NewTextHandler(&log, nil)))(w)
			other := shopAgent()
			other.Name = "returns"
			if err := errors.Join(w.Register(refundWorkflow, shopAgent(), &shop{}), w.Register(nil, other, &shop{})); err != nil {
				t.Fatal(err)
			}
			w.warnOfHorizon(row.retention)
			if got := strings.Count(log.String(), "create_refund returns.create_refund"); got != row.want || strings.Contains(log.String(), "get_order") ||
				strings.Count(log.String(), "--retention 720h`") != row.want {
				t.Errorf("%d warnings, want %d:\n%s", got, row.want, &log)
			}
		})
	}
}

func TestOnlyACredentialOverPlainHTTPToAnotherMachineIsWarnedOf(t *testing.T) {
	for url, want := range map[string]bool{
		"http://gateway.internal/v1/": true, "http://10.0.0.1/v1/": true,
		"https://gateway.internal/v1/": false, "http://127.0.0.1:9/": false, "http://[::1]:9/": false, "http://localhost:9/": false,
	} {
		if got := openKey(router.Resource{BaseURL: url, Key: "k"}); got != want {
			t.Errorf("%s: %v, want %v", url, got, want)
		}
	}
	if openKey(router.Resource{BaseURL: "http://gateway.internal/v1/"}) {
		t.Error("a resource without a credential is warned of")
	}
}
