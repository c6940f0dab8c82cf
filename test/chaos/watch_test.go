package chaos

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
)

// Times of looking at histories.
const (
	lookEvery = 100 * time.Millisecond
	lookLong  = time.Minute // a call takes, on a server that has just been killed
)

// recent is how many of the workflows are looked at, the newest: those before
// them have ended, but for what a reset opens again.
const recent = 6

// watcher counts the events of histories as they grow. It asks again and again,
// one call after another, and cancels none: the dev server's database suffers
// from queries that are broken off, and every test that uses it with them. Make
// it with newWatcher; it is safe for concurrent use.
type watcher struct {
	client client.Client
	signal func()

	mu  sync.Mutex
	ids []string
}

// newWatcher watches until the test ends.
func newWatcher(t *testing.T, c client.Client, signal func()) *watcher {
	w := &watcher{client: c, signal: signal}
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() { w.look(stop) })
	t.Cleanup(func() {
		close(stop)
		done.Wait()
	})
	return w
}

// add has a workflow watched, be it there yet or not.
func (w *watcher) add(workflowID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids = append(w.ids, workflowID)
}

func (w *watcher) look(stop <-chan struct{}) {
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	seen := map[string]int64{} // events, by execution
	for n := 0; ; n++ {
		w.mu.Lock()
		ids := w.ids[max(0, len(w.ids)-recent):]
		w.mu.Unlock()
		if len(ids) > 0 {
			w.count(ids[n%len(ids)], seen)
		}
		select {
		case <-stop:
			return
		case <-again.C:
		}
	}
}

// count signals what has been recorded of a workflow since it was last seen.
func (w *watcher) count(workflowID string, seen map[string]int64) {
	ctx, cancel := context.WithTimeout(context.Background(), lookLong)
	defer cancel()
	described, err := w.client.DescribeWorkflow(ctx, workflowID, "")
	if err != nil {
		return // it does not exist yet, or the server is away
	}
	length := described.RawResponse.GetWorkflowExecutionInfo().GetHistoryLength()
	runID := described.WorkflowExecution.RunID
	for ; seen[runID] < length; seen[runID]++ {
		w.signal()
	}
}
